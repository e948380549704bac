/* Plans which words and memory the agent copies. */
#include "calls/program.h"
#include "calls/values.h"

#include <string.h>
#include <strings.h>

enum { STRUCTURE_BYTES = 128, CLASS_BYTES = 64, PARTS = 4 };

/* The most that is read of a text. A rule's texts must fit. */
static uint16_t text_bytes(const struct calls_noted *noted)
{
    const uint16_t bytes = noted->text_bytes ? noted->text_bytes : CALLS_TEXT_BYTES;
    return noted->late_count && bytes < CALLS_TEXT_BYTES ? CALLS_TEXT_BYTES : bytes;
}

/* … of a text in a structure, or of bytes that may be no text. */
static uint16_t part_bytes(const struct calls_noted *noted)
{
    const uint16_t bytes = text_bytes(noted);
    return bytes < PARTS ? bytes : bytes / PARTS;
}

/* == Words == */

/* Returns CALLS_NO_WORD if there is no room. */
static uint8_t word_at(struct calls_noted *noted, uint8_t place)
{
    uint8_t i = 0;
    if (place == SYMBOLIZE_NOWHERE)
        return CALLS_NO_WORD;
    while (i < PROBE_WORDS && noted->from[i] && noted->from[i] != place)
        i++;
    if (i == PROBE_WORDS)
        return CALLS_NO_WORD;
    noted->from[i] = place;
    return i;
}

static uint8_t result_word(uint8_t place)
{
    switch (place) {
    case SYMBOLIZE_INTEGER: return PROBE_WORD_RAX;
    case SYMBOLIZE_INTEGER + 1: return PROBE_WORD_RDX;
    case SYMBOLIZE_VECTOR: return PROBE_WORD_XMM0;
    case SYMBOLIZE_VECTOR + 1: return PROBE_WORD_XMM1;
    default: return CALLS_NO_WORD;
    }
}

void calls_values_plan_words(struct calls_noted *noted)
{
    const struct symbolize_signature *signature = &noted->signature;
    noted->is_chosen = false;
    for (uint32_t i = 0; i < signature->count; i++)
        for (int k = 0; k < 2; k++)
            noted->is_chosen |= signature->parameters[i].places[k] >= SYMBOLIZE_VECTOR;
    for (uint8_t i = 0; i < PROBE_WORDS; i++)
        noted->from[i] = noted->is_chosen ? 0 : (uint8_t)(PROBE_WORD_INTEGER + i);
    for (uint32_t i = 0; i < signature->count; i++)
        for (int k = 0; k < 2; k++)
            noted->words[i][k] = word_at(noted, signature->parameters[i].places[k]);
    for (int k = 0; k < 2; k++)
        noted->words[SYMBOLIZE_PARAMETERS][k] = result_word(signature->result.places[k]);
}

/* == Numbers == */

uint8_t calls_values_number(const struct symbolize_type *type)
{
    if (!type->bytes || type->bytes > 8)
        return 0;
    switch (type->kind) {
    case SYMBOLIZE_SIGNED:
    case SYMBOLIZE_CHARACTER: return PROBE_SIGNED;
    case SYMBOLIZE_UNSIGNED:
    case SYMBOLIZE_BOOL:
    case SYMBOLIZE_POINTER:
    case SYMBOLIZE_REFERENCE: return PROBE_UNSIGNED;
    case SYMBOLIZE_ENUM: return type->is_signed ? PROBE_SIGNED : PROBE_UNSIGNED;
    case SYMBOLIZE_FLOAT:
        return type->bytes == 4 ? PROBE_SINGLE : type->bytes == 8 ? PROBE_DOUBLE : 0;
    default: return 0;
    }
}

bool calls_values_is_text(const struct symbolize_type *type)
{
    const struct symbolize_type *to = type->to ? type->to : type;
    return to->kind == SYMBOLIZE_STRING || to->kind == SYMBOLIZE_CHARACTERS ||
           (to->kind == SYMBOLIZE_CHARACTER && type->kind == SYMBOLIZE_POINTER);
}

bool calls_captured_has_words(const struct calls_noted *noted,
                              const struct symbolize_located *located)
{
    const uint8_t *words = noted->words[located->parameter];
    const bool needs_both =
        calls_captured_is_word(located) && located->type->kind == SYMBOLIZE_STRING;
    return located->base != SYMBOLIZE_OF_PARAMETER ||
           (words[0] != CALLS_NO_WORD && (!needs_both || words[1] != CALLS_NO_WORD));
}

/* == Pieces == */

static void add_piece(struct calls_noted *noted, uint8_t value, uint8_t member,
                      struct probe_piece piece)
{
    noted->is_full |= noted->piece_count >= noted->piece_most;
    if (!noted->is_full)
        noted->pieces[noted->piece_count++] = (struct calls_piece){value, member, piece};
}

static void add_string(struct calls_noted *noted, uint8_t value, uint8_t member, uint8_t word,
                       uint32_t at, const struct symbolize_type *type)
{
    const uint32_t text = at + type->text_at, length = at + type->length_at;
    if (text <= UINT16_MAX && length <= UINT16_MAX)
        add_piece(
            noted, value, member,
            (struct probe_piece){PROBE_PIECE_LONG_AT, word, (uint16_t)text, (uint16_t)length,
                                 member == CALLS_WHOLE ? text_bytes(noted) : part_bytes(noted)});
}

static bool is_text(const struct symbolize_type *type)
{
    return type->kind == SYMBOLIZE_POINTER && type->to && type->to->kind == SYMBOLIZE_CHARACTER;
}

static void add_structure(struct calls_noted *noted, uint8_t value, uint8_t word, uint16_t at,
                          const struct symbolize_type *type)
{
    const uint16_t size = type->bytes < STRUCTURE_BYTES ? (uint16_t)type->bytes : STRUCTURE_BYTES;
    add_piece(noted, value, CALLS_WHOLE,
              (struct probe_piece){PROBE_PIECE_BYTES, word, at, .size = size});
    if (type->has_class)
        add_piece(noted, value, CALLS_CLASS,
                  (struct probe_piece){PROBE_PIECE_CLASS, word, at, .size = CLASS_BYTES});
    for (uint32_t i = 0; i < type->member_count; i++) {
        const struct symbolize_member *member = &type->members[i];
        if (member->offset + 8 > size || at + member->offset > UINT16_MAX)
            continue;
        if (member->type->kind == SYMBOLIZE_STRING)
            add_string(noted, value, (uint8_t)i, word, at + member->offset, member->type);
        else if (is_text(member->type))
            add_piece(noted, value, (uint8_t)i,
                      (struct probe_piece){PROBE_PIECE_TEXT_AT, word,
                                           (uint16_t)(at + member->offset),
                                           .size = part_bytes(noted)});
    }
}

/* Adds memory at an address in a word. */
static void add_object(struct calls_noted *noted, uint8_t value, uint8_t word,
                       const struct symbolize_type *type, bool is_pointer)
{
    switch (type->kind) {
    case SYMBOLIZE_STRING: add_string(noted, value, CALLS_WHOLE, word, 0, type); break;
    case SYMBOLIZE_STRUCTURE: add_structure(noted, value, word, 0, type); break;
    case SYMBOLIZE_CHARACTER:
        add_piece(noted, value, CALLS_WHOLE,
                  is_pointer
                      ? (struct probe_piece){PROBE_PIECE_TEXT, word, .size = text_bytes(noted)}
                      : (struct probe_piece){PROBE_PIECE_BYTES, word, .size = 1});
        break;
    default:
        if (!is_pointer && type->bytes && type->bytes <= 8)
            add_piece(noted, value, CALLS_WHOLE,
                      (struct probe_piece){PROBE_PIECE_BYTES, word, .size = (uint16_t)type->bytes});
        break;
    }
}

/* Guesses by its name. */
static bool is_length(const struct symbolize_value *value)
{
    static const char *const names[] = {"len", "length", "size", "count", "n", "nbyte", "nbytes"};
    const char *name = value->name;
    if (!name || (value->type->kind != SYMBOLIZE_SIGNED && value->type->kind != SYMBOLIZE_UNSIGNED))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcasecmp(name, names[i]))
            return true;
    const size_t length = strlen(name);
    return (length > 3 && !strcasecmp(name + length - 3, "len")) ||
           (length > 4 && !strcasecmp(name + length - 4, "size"));
}

static bool add_counted(struct calls_noted *noted, uint32_t at, uint8_t when)
{
    const struct symbolize_signature *signature = &noted->signature;
    const struct symbolize_value *value = &signature->parameters[at];
    const bool is_bytes =
        value->type->kind == SYMBOLIZE_POINTER &&
        (!value->type->to || value->type->to->kind == SYMBOLIZE_CHARACTER ||
         (value->type->to->kind == SYMBOLIZE_UNSIGNED && value->type->to->bytes == 1));
    if (!is_bytes || at + 1 >= signature->count || !is_length(value + 1) ||
        noted->words[at + 1][0] == CALLS_NO_WORD || value[1].type->bytes != 8)
        return false;
    add_piece(noted, (uint8_t)(at + when), CALLS_WHOLE,
              (struct probe_piece){PROBE_PIECE_COUNTED, noted->words[at][0], 0,
                                   noted->words[at + 1][0],
                                   value->type->to ? text_bytes(noted) : part_bytes(noted)});
    return true;
}

static void add_passed_string(struct calls_noted *noted, uint8_t value, const uint8_t *words,
                              const struct symbolize_type *type)
{
    const uint32_t text = type->text_at / 8, length = type->length_at / 8;
    if (text < 2 && length < 2 && words[text] != CALLS_NO_WORD && words[length] != CALLS_NO_WORD)
        add_piece(noted, value, CALLS_WHOLE,
                  (struct probe_piece){PROBE_PIECE_COUNTED, words[text], 0, words[length],
                                       text_bytes(noted)});
}

static void add_value(struct calls_noted *noted, uint8_t value, const struct symbolize_value *of,
                      const uint8_t *words)
{
    if (words[0] == CALLS_NO_WORD)
        return;
    if (of->is_by_address)
        add_object(noted, value, words[0], of->type, false);
    else if (of->type->to)
        add_object(noted, value, words[0], of->type->to, of->type->kind == SYMBOLIZE_POINTER);
    else if (of->type->kind == SYMBOLIZE_STRING)
        add_passed_string(noted, value, words, of->type);
}

/* == Captures == */

static void add_step(struct calls_noted *noted, struct probe_piece piece)
{
    add_piece(noted, CALLS_STEP, CALLS_WHOLE, piece);
}

static void add_place(struct calls_noted *noted, uint64_t address)
{
    struct probe_piece constant;
    _Static_assert(sizeof constant == sizeof address, "it takes its place");
    memcpy(&constant, &address, sizeof constant);
    add_step(noted, (struct probe_piece){.kind = PROBE_PIECE_PLACE});
    add_step(noted, constant);
}

/* Adds memory behind an address in a word. */
static void add_located(struct calls_noted *noted, uint8_t value, uint8_t word, uint16_t at,
                        const struct symbolize_type *type)
{
    const bool is_reference = type->kind == SYMBOLIZE_REFERENCE;
    switch (type->kind) {
    case SYMBOLIZE_STRUCTURE: add_structure(noted, value, word, at, type); return;
    case SYMBOLIZE_STRING: add_string(noted, value, CALLS_WHOLE, word, at, type); return;
    case SYMBOLIZE_CHARACTERS:
        add_piece(noted, value, CALLS_WHOLE,
                  (struct probe_piece){PROBE_PIECE_TEXT, word, at,
                                       .size = type->bytes < text_bytes(noted)
                                                   ? (uint16_t)type->bytes
                                                   : text_bytes(noted)});
        return;
    default: break;
    }
    add_piece(noted, value, CALLS_WHOLE,
              (struct probe_piece){PROBE_PIECE_BYTES, word, at,
                                   .size = type->bytes < 8 ? (uint16_t)type->bytes : 8});
    if ((type->kind != SYMBOLIZE_POINTER && !is_reference) || !type->to)
        return;
    add_step(noted, (struct probe_piece){PROBE_PIECE_FOLLOW, word, at, 0, 0});
    add_object(noted, value + 1, PROBE_WORD_CURSOR, type->to, !is_reference);
}

static void add_captured_pieces(struct calls_noted *noted, uint32_t captured)
{
    const struct symbolize_located *located = noted->captured[captured].located;
    const uint8_t value = (uint8_t)(CALLS_CAPTURED + 2 * captured);
    const bool is_place = located->base == SYMBOLIZE_OF_PLACE;
    uint8_t word = is_place ? PROBE_WORD_CURSOR : noted->words[located->parameter][0];
    uint32_t step = 0;
    if (word == CALLS_NO_WORD)
        return;
    if (is_place)
        add_place(noted, noted->bias + located->place);
    else if (calls_captured_is_word(located)) {
        if (located->type->to)
            add_object(noted, value + 1, word, located->type->to,
                       located->type->kind == SYMBOLIZE_POINTER);
        else if (located->type->kind == SYMBOLIZE_STRING)
            add_passed_string(noted, value, noted->words[located->parameter], located->type);
        return;
    } else if (!located->is_direct)
        step++; /* the word is the address */
    for (; step < located->follows; step++) {
        add_step(noted, (struct probe_piece){PROBE_PIECE_FOLLOW, word,
                                             (uint16_t)located->offsets[step], 0, 0});
        word = PROBE_WORD_CURSOR;
    }
    add_located(noted, value, word, (uint16_t)located->offsets[step], located->type);
}

/* Steps are useless without targets. */
static void add_captured(struct calls_noted *noted, uint32_t captured)
{
    const uint32_t before = noted->piece_count;
    noted->is_full = false;
    add_captured_pieces(noted, captured);
    if (noted->is_full)
        noted->piece_count = before;
    noted->is_full = false;
}

static void add_captures(struct calls_noted *noted, bool at_entry)
{
    for (uint32_t i = 0; i < noted->captured_count; i++)
        if (noted->captured[i].at_entry == at_entry)
            add_captured(noted, i);
}

/* == All == */

/* `when`: 0 or CALLS_EARLY. */
static void add_parameters(struct calls_noted *noted, uint8_t when)
{
    const struct symbolize_signature *signature = &noted->signature;
    for (uint32_t i = 0; i < signature->count; i++)
        if (!add_counted(noted, i, when))
            add_value(noted, (uint8_t)(i + when), &signature->parameters[i], noted->words[i]);
}

/* Captures come first, because they are wanted by name. Arguments at the entry get `early_most`
 * pieces. */
static void plan_pieces(struct calls_noted *noted, uint32_t early_most)
{
    noted->piece_count = 0;
    noted->piece_most = PROBE_PIECES;
    add_captures(noted, true);
    noted->piece_most = noted->piece_count + early_most;
    if (early_most)
        add_parameters(noted, CALLS_EARLY);
    noted->early_count = noted->piece_count;
    noted->piece_most = PROBE_PIECES;
    noted->is_full = false;
    add_captures(noted, false);
    if (noted->has_arguments)
        add_parameters(noted, 0);
    if (noted->has_arguments || noted->has_result)
        add_value(noted, CALLS_RESULT, &noted->signature.result,
                  noted->words[SYMBOLIZE_PARAMETERS]);
}

void calls_values_plan(struct calls_noted *noted)
{
    calls_values_plan_words(noted);
    plan_pieces(noted, 0);
    if (noted->has_both)
        plan_pieces(noted, PROBE_PIECES - noted->piece_count);
}
