/* Converts values of kept calls into text. The command can overwrite them: lengths are checked
 * here, texts by readers. */
#include "calls/program.h"
#include "calls/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct calls_noted *calls_values_noted(const struct calls_values *values, uint32_t function,
                                             uint32_t place)
{
    size_t low = 0, high = values->places.count;
    if (!place)
        return function < values->noted.count ? values->noted.items[function] : NULL;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (values->places.items[middle].place < place)
            low = middle + 1;
        else
            high = middle;
    }
    const bool is_there = low < values->places.count && values->places.items[low].place == place &&
                          values->places.items[low].noted->function == function;
    return is_there ? values->places.items[low].noted : NULL;
}

void calls_values_cut(struct calls_call_values *call, const uint8_t *pieces, size_t bytes)
{
    size_t at = 0;
    for (uint32_t i = 0; i < call->noted->piece_count; i++) {
        call->pieces[i].length = PROBE_PIECE_UNREADABLE;
        if (call->noted->pieces[i].value == CALLS_STEP)
            continue;
        if (bytes - at < 2)
            continue;
        uint16_t length = (uint16_t)(pieces[at] | pieces[at + 1] << 8);
        at += 2;
        const bool is_there = length < PROBE_PIECE_ABSENT;
        call->pieces[i].is_cut = is_there && length & PROBE_PIECE_CUT;
        length &= is_there ? PROBE_PIECE_CUT - 1 : UINT16_MAX;
        if (is_there && length > bytes - at) {
            length = (uint16_t)(bytes - at);
            call->pieces[i].is_cut = true;
        }
        call->pieces[i].bytes = pieces + at;
        call->pieces[i].length = length;
        at += is_there ? length : 0;
    }
}

uint32_t calls_values_piece(const struct calls_call_values *call, uint32_t value, uint32_t member)
{
    const uint32_t wanted =
        value < SYMBOLIZE_PARAMETERS && call->is_early ? value + CALLS_EARLY : value;
    uint32_t i = 0;
    while (i < call->noted->piece_count &&
           (call->noted->pieces[i].value != wanted || call->noted->pieces[i].member != member))
        i++;
    return i;
}

/* == Numbers == */

static void append_enumerator(const struct symbolize_type *type, uint64_t value,
                              struct sprof_str *text)
{
    const uint64_t mask = type->bytes < 8 ? (UINT64_C(1) << 8 * type->bytes) - 1 : UINT64_MAX;
    for (uint32_t i = 0; i < type->enumerator_count; i++)
        if ((type->enumerators[i].value & mask) == (value & mask)) {
            sprof_str_append(text, type->enumerators[i].name);
            return;
        }
    sprof_str_appendf(text, type->is_signed ? "%lld" : "%llu", (long long)value);
}

static void append_float(const uint8_t *bytes, uint32_t size, struct sprof_str *text)
{
    double value;
    float single;
    memcpy(&single, bytes, sizeof single);
    if (size == 8)
        memcpy(&value, bytes, sizeof value);
    else
        value = (double)single;
    sprof_str_appendf(text, isnan(value) ? "nan" : "%.*g", size == 8 ? 15 : 7, value);
}

static void append_character(uint64_t value, struct sprof_str *text)
{
    if (value >= ' ' && value < 127)
        sprof_str_appendf(text, "'%c'", (char)value);
    else
        sprof_str_appendf(text, "'\\x%02x'", (unsigned)(value & 0xff));
}

static void append_address(uint64_t value, struct sprof_str *text)
{
    if (value)
        sprof_str_appendf(text, "0x%llx", (unsigned long long)value);
    else
        sprof_str_append(text, "null");
}

static bool append_number(const struct symbolize_type *type, const uint8_t *bytes, size_t length,
                          struct sprof_str *text)
{
    uint64_t value = 0;
    if (!type->bytes || type->bytes > 8 || type->bytes > length)
        return false;
    memcpy(&value, bytes, type->bytes);
    const unsigned unused = 64 - 8 * type->bytes;
    const int64_t is_signed = (int64_t)(value << unused) >> unused;
    switch (type->kind) {
    case SYMBOLIZE_SIGNED: sprof_str_appendf(text, "%lld", (long long)is_signed); break;
    case SYMBOLIZE_UNSIGNED: sprof_str_appendf(text, "%llu", (unsigned long long)value); break;
    case SYMBOLIZE_BOOL: sprof_str_append(text, value & 0xff ? "true" : "false"); break;
    case SYMBOLIZE_CHARACTER: append_character(value, text); break;
    case SYMBOLIZE_FLOAT: append_float(bytes, type->bytes, text); break;
    case SYMBOLIZE_ENUM:
        append_enumerator(type, type->is_signed ? (uint64_t)is_signed : value, text);
        break;
    case SYMBOLIZE_POINTER:
    case SYMBOLIZE_REFERENCE: append_address(value, text); break;
    default: return false;
    }
    return true;
}

/* == Texts == */

static void append_text(const uint8_t *bytes, size_t length, bool is_cut, struct sprof_str *text)
{
    sprof_str_append(text, "\"");
    for (size_t i = 0; i < length; i++) {
        const char c = (char)bytes[i];
        if (c == '"' || c == '\\')
            sprof_str_appendf(text, "\\%c", c);
        else if (c == '\n')
            sprof_str_append(text, "\\n");
        else if ((uint8_t)c < ' ' || c == 127)
            sprof_str_appendf(text, "\\x%02x", (unsigned)(uint8_t)c);
        else
            sprof_str_appendf(text, "%c", c);
    }
    sprof_str_append(text, is_cut ? "…\"" : "\"");
}

static void append_characters(const struct symbolize_type *type, const uint8_t *bytes,
                              size_t length, struct sprof_str *text)
{
    const size_t most = type->bytes < length ? type->bytes : length;
    append_text(bytes, strnlen((const char *)bytes, most), most < type->bytes, text);
}

static const char *absent(uint16_t length)
{
    return length == PROBE_PIECE_NOT_READ    ? "not read"
           : length == PROBE_PIECE_NOT_SAVED ? "not saved"
                                             : "unreadable";
}

static void append_copied(const struct calls_call_values *call, uint32_t piece,
                          struct sprof_str *text)
{
    const uint16_t length = call->pieces[piece].length;
    if (length >= PROBE_PIECE_ABSENT)
        sprof_str_append(text, absent(length));
    else
        append_text(call->pieces[piece].bytes, length,
                    call->pieces[piece].is_cut || length == call->noted->pieces[piece].piece.size,
                    text);
}

/* == Structures == */

static void append_member_value(const struct calls_call_values *call, uint32_t value, uint32_t at,
                                const struct symbolize_member *member, const uint8_t *bytes,
                                size_t length, struct sprof_str *text)
{
    const uint32_t piece = calls_values_piece(call, value, at);
    const bool has_piece = piece < call->noted->piece_count;
    uint64_t address = 0;
    if (member->offset + 8 <= length)
        memcpy(&address, bytes + member->offset, sizeof address);
    if (member->type->kind == SYMBOLIZE_CHARACTERS && member->offset < length)
        append_characters(member->type, bytes + member->offset, length - member->offset, text);
    else if (has_piece && (member->type->kind == SYMBOLIZE_STRING || address))
        append_copied(call, piece, text);
    else if (member->offset >= length ||
             !append_number(member->type, bytes + member->offset, length - member->offset, text))
        sprof_str_append(text, "…");
}

static void append_members(const struct calls_call_values *call, uint32_t value,
                           const struct symbolize_type *type, const uint8_t *bytes, size_t length,
                           struct sprof_str *text)
{
    sprof_str_append(text, "{");
    for (uint32_t i = 0; i < type->member_count; i++) {
        sprof_str_append(text, i ? ", " : "");
        sprof_str_appendf(text, "%s = ", type->members[i].name);
        append_member_value(call, value, i, &type->members[i], bytes, length, text);
    }
    sprof_str_append(text, type->has_more ? type->member_count ? ", …}" : "…}" : "}");
}

/* Returns malloc'd memory; NULL: no mangled name. */
static char *type_name(const uint8_t *bytes, size_t length)
{
    char mangled[256] = "_ZTS";
    if (!length || length >= sizeof mangled - 4)
        return NULL;
    const bool is_local = *bytes == '*'; /* types compared by address */
    memcpy(mangled + 4, bytes + is_local, length - is_local);
    char *readable = symbolize_demangle(mangled);
    const char *name = readable ? strstr(readable, " for ") : NULL;
    char *copy = name ? strdup(name + 5) : NULL;
    free(readable);
    return copy;
}

/* Appends the object's class if it is not the declared one. */
static void append_class(const struct calls_call_values *call, uint32_t value,
                         const struct symbolize_type *type, struct sprof_str *text)
{
    const uint32_t piece = calls_values_piece(call, value, CALLS_CLASS);
    if (piece == call->noted->piece_count)
        return;
    const uint16_t length = call->pieces[piece].length;
    if (length >= call->noted->pieces[piece].piece.size)
        return;
    char *name = type_name(call->pieces[piece].bytes, length);
    if (name && strcmp(name, type->name) != 0)
        sprof_str_appendf(text, "(%s) ", name);
    free(name);
}

/* Bytes without control characters, in UTF-8; the last character may be cut off. */
static bool is_text(const uint8_t *bytes, size_t length)
{
    size_t at = 0;
    while (at < length) {
        const uint8_t first = bytes[at++];
        const unsigned more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
        if ((first < ' ' && first != '\n' && first != '\t') || first == 127 ||
            (first >= 0x80 && first < 0xc2) || first > 0xf4)
            return false;
        for (unsigned i = 0; i < more && at < length; i++)
            if ((bytes[at++] & 0xc0) != 0x80)
                return false;
    }
    return true;
}

/* By enum probe_language. */
static const struct {
    const char *prefix, *nameless;
    bool is_mangled, is_guessed; /* the name; whether there is a text */
} languages[] = {
    [PROBE_CXX] = {"", NULL, true, false},
    [PROBE_RUST] = {"Rust ", "panic", false, true},
    [PROBE_ADA] = {"Ada ", "exception", false, false},
};

bool calls_values_thrown_type(const struct calls_taken_values *taken, struct sprof_str *text)
{
    const struct probe_kept_values *kept = &taken->kept;
    const size_t left = taken->all - taken->bytes;
    const uint8_t *name = taken->pieces + taken->bytes;
    if (kept->type_bytes > left || kept->text_bytes > left - kept->type_bytes ||
        kept->language >= sizeof languages / sizeof *languages ||
        (!kept->type_bytes && !languages[kept->language].nameless))
        return false;
    sprof_str_append(text, languages[kept->language].prefix);
    if (languages[kept->language].is_mangled) {
        char *readable = type_name(name, kept->type_bytes);
        sprof_str_append(text, readable ? readable : "?");
        free(readable);
    } else if (!kept->type_bytes) {
        sprof_str_append(text, languages[kept->language].nameless);
    }
    for (size_t i = 0; !languages[kept->language].is_mangled && i < kept->type_bytes; i++)
        sprof_str_appendf(text, "%c", name[i] > ' ' && name[i] < 127 ? name[i] : '?');
    return true;
}

bool calls_values_thrown(const struct calls_taken_values *taken, struct sprof_str *text)
{
    const struct probe_kept_values *kept = &taken->kept;
    if (!calls_values_thrown_type(taken, text))
        return false;
    const uint8_t *said = taken->pieces + taken->bytes + kept->type_bytes;
    if (kept->has_text &&
        (!languages[kept->language].is_guessed || is_text(said, kept->text_bytes))) {
        sprof_str_append(text, " ");
        append_text(said, kept->text_bytes, false, text);
    }
    return true;
}

static void append_object(const struct calls_call_values *call, uint32_t value,
                          const struct symbolize_type *type, struct sprof_str *text)
{
    const uint32_t piece = calls_values_piece(call, value, CALLS_WHOLE);
    if (piece == call->noted->piece_count) {
        sprof_str_append(text, "…");
        return;
    }
    const uint16_t length = call->pieces[piece].length;
    const uint8_t *bytes = call->pieces[piece].bytes;
    if (length >= PROBE_PIECE_ABSENT) {
        sprof_str_append(text, absent(length));
    } else if (type->kind == SYMBOLIZE_STRUCTURE) {
        append_class(call, value, type, text);
        append_members(call, value, type, bytes, length, text);
    } else if (type->kind == SYMBOLIZE_STRING || type->kind == SYMBOLIZE_CHARACTER ||
               type->kind == SYMBOLIZE_VOID) {
        append_copied(call, piece, text);
    } else if (!append_number(type, bytes, length, text)) {
        sprof_str_append(text, "…");
    }
}

/* == All == */

static void append_pointer(const struct calls_call_values *call, uint32_t value,
                           const struct symbolize_type *type, uint64_t address,
                           struct sprof_str *text)
{
    const bool is_reference = type->kind == SYMBOLIZE_REFERENCE,
               is_text = type->to && type->to->kind == SYMBOLIZE_CHARACTER;
    const uint32_t piece = calls_values_piece(call, value, CALLS_WHOLE);
    const bool has_piece = piece < call->noted->piece_count && address,
               is_there = has_piece && call->pieces[piece].length < PROBE_PIECE_ABSENT;
    if (!has_piece || !(is_reference || (is_text && is_there)))
        append_address(address, text);
    if (!has_piece)
        return;
    if (!is_reference && !(is_text && is_there))
        sprof_str_append(text, " ");
    if (type->to)
        append_object(call, value, type->to, text);
    else
        append_copied(call, piece, text);
}

static bool append_words(const struct calls_call_values *call, uint32_t value,
                         struct sprof_str *text)
{
    const struct symbolize_signature *signature = &call->noted->signature;
    const struct symbolize_value *of =
        value == CALLS_RESULT ? &signature->result : &signature->parameters[value];
    const uint8_t *words = call->noted->words[value == CALLS_RESULT ? SYMBOLIZE_PARAMETERS : value];
    uint64_t bytes[2] = {0};
    for (int i = 0; i < 2; i++)
        if (words[i] < PROBE_WORDS_ALL)
            bytes[i] = call->kept->words[words[i]];
    if (of->is_by_address)
        append_object(call, value, of->type, text);
    else if (of->type->kind == SYMBOLIZE_POINTER || of->type->kind == SYMBOLIZE_REFERENCE)
        append_pointer(call, value, of->type, bytes[0], text);
    else if (of->type->kind == SYMBOLIZE_STRING)
        append_object(call, value, of->type, text);
    else if (of->type->kind == SYMBOLIZE_STRUCTURE)
        append_members(call, value, of->type, (const uint8_t *)bytes,
                       of->type->bytes < sizeof bytes ? of->type->bytes : sizeof bytes, text);
    else
        return append_number(of->type, (const uint8_t *)bytes, sizeof bytes, text);
    return true;
}

bool calls_values_text(const struct calls_call_values *call, uint32_t value, struct sprof_str *text)
{
    const bool is_result = value == CALLS_RESULT;
    const struct symbolize_value *of =
        is_result ? &call->noted->signature.result : &call->noted->signature.parameters[value];
    const uint8_t *words = call->noted->words[is_result ? SYMBOLIZE_PARAMETERS : value];
    if (is_result && (of->type->kind == SYMBOLIZE_VOID || !call->kept->has_result))
        return false;
    if (of->is_constant)
        append_number(of->type, (const uint8_t *)&of->constant, sizeof of->constant, text);
    else if (words[0] == CALLS_NO_WORD)
        sprof_str_append(text, "–");
    else if (is_result ? !call->kept->has_result : !call->kept->has_words)
        sprof_str_append(text, "not saved");
    else if (!append_words(call, value, text))
        sprof_str_append(text, "…");
    return true;
}

/* == Captures == */

void calls_values_captured(const struct calls_call_values *call, uint32_t captured,
                           struct sprof_str *text)
{
    const struct symbolize_located *located = call->noted->captured[captured].located;
    const struct symbolize_type *type = located->type;
    const uint32_t value = CALLS_CAPTURED + 2 * captured,
                   piece = calls_values_piece(call, value, CALLS_WHOLE);
    const bool is_word = calls_captured_is_word(located),
               is_piece = piece < call->noted->piece_count;
    const uint16_t length = is_piece ? call->pieces[piece].length : 0;
    uint64_t word = 0;
    if (is_word && !call->kept->has_words) {
        sprof_str_append(text, "not saved");
        return;
    }
    if (is_word && ((!type->to && type->kind != SYMBOLIZE_STRING) ||
                    call->noted->words[located->parameter][0] == CALLS_NO_WORD)) {
        calls_values_text(call, located->parameter, text);
        return;
    }
    if (is_word)
        word = call->kept->words[call->noted->words[located->parameter][0] % PROBE_WORDS_ALL];
    else if (is_piece && length < PROBE_PIECE_ABSENT && length >= sizeof word)
        memcpy(&word, call->pieces[piece].bytes, sizeof word);
    if (is_piece && length >= PROBE_PIECE_ABSENT)
        sprof_str_append(text, absent(length));
    else if (!is_word && !is_piece)
        sprof_str_append(text, "–");
    else if (type->kind == SYMBOLIZE_POINTER || type->kind == SYMBOLIZE_REFERENCE)
        append_pointer(call, value + 1, type, word, text);
    else if (type->kind == SYMBOLIZE_STRUCTURE || type->kind == SYMBOLIZE_STRING)
        append_object(call, value, type, text);
    else if (type->kind == SYMBOLIZE_CHARACTERS)
        append_text(call->pieces[piece].bytes, length,
                    length == call->noted->pieces[piece].piece.size && length < type->bytes, text);
    else if (!append_number(type, call->pieces[piece].bytes, length, text))
        sprof_str_append(text, "…");
}

/* == What has changed == */

/* Returns NULL if it is no structure. */
static const struct symbolize_type *structure_of(const struct symbolize_value *parameter)
{
    const struct symbolize_type *type =
        parameter->is_by_address ? parameter->type : parameter->type->to;
    return type && type->kind == SYMBOLIZE_STRUCTURE ? type : NULL;
}

uint32_t calls_values_parts(const struct calls_call_values *call, uint32_t parameter)
{
    const struct symbolize_type *structure =
        structure_of(&call->noted->signature.parameters[parameter]);
    return structure ? structure->member_count : 1;
}

static bool is_whole(const struct calls_call_values *call, uint32_t piece)
{
    return piece < call->noted->piece_count && call->pieces[piece].length < PROBE_PIECE_ABSENT &&
           !call->pieces[piece].is_cut;
}

/* `is_elsewhere`: the member has its own piece. Returns false if it is incomplete. */
static bool append_part(const struct calls_call_values *call, uint32_t parameter, uint32_t part,
                        bool is_elsewhere, struct sprof_str *text)
{
    const struct symbolize_value *of = &call->noted->signature.parameters[parameter];
    const struct symbolize_type *structure = structure_of(of);
    const uint32_t whole = calls_values_piece(call, parameter, CALLS_WHOLE);
    uint64_t address = 0;
    if (!structure)
        return is_whole(call, whole) && calls_values_text(call, parameter, text);
    if (whole == call->noted->piece_count || call->pieces[whole].length >= PROBE_PIECE_ABSENT)
        return false;
    const struct symbolize_member *member = &structure->members[part];
    if (member->offset + member->type->bytes > call->pieces[whole].length)
        return false;
    if (member->type->bytes >= sizeof address)
        memcpy(&address, call->pieces[whole].bytes + member->offset, sizeof address);
    if (is_elsewhere && address && !is_whole(call, calls_values_piece(call, parameter, part)))
        return false;
    append_member_value(call, parameter, part, member, call->pieces[whole].bytes,
                        call->pieces[whole].length, text);
    return true;
}

bool calls_values_changed(const struct calls_call_values *call, uint32_t parameter, uint32_t part,
                          struct sprof_str *name, struct sprof_str *text)
{
    const struct symbolize_value *of = &call->noted->signature.parameters[parameter];
    const struct symbolize_type *structure = structure_of(of);
    const uint32_t piece_count = call->noted->piece_count;
    struct calls_call_values early = *call;
    struct sprof_str before = {0}, after = {0};
    early.is_early = true;
    const bool is_elsewhere =
        structure && (calls_values_piece(&early, parameter, part) < piece_count ||
                      calls_values_piece(call, parameter, part) < piece_count);
    const bool has = append_part(&early, parameter, part, is_elsewhere, &before) &&
                     append_part(call, parameter, part, is_elsewhere, &after) && before.text &&
                     after.text,
               is_other = has && strcmp(before.text, after.text) != 0;
    if (is_other) {
        sprof_str_append(name, of->name ? of->name : "");
        if (structure)
            sprof_str_appendf(name, "%s%s", of->type->kind == SYMBOLIZE_POINTER ? "->" : ".",
                              structure->members[part].name);
        sprof_str_appendf(text, "%s → %s", before.text, after.text);
    }
    text->failed |= before.failed || after.failed;
    sprof_str_release(&before);
    sprof_str_release(&after);
    return is_other;
}
