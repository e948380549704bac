/* Decides what the agent notes of the values of kept calls, and makes rows of that. */
#include "trace/figures/values.h"
#include "plan/expressions.h"
#include "trace/figures/keep_quick.h"
#include "trace/probes/probes.h"
#include "trace/several.h"
#include "trace/tracing.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TEXT_BYTES = 256, MEMBER_TEXT_BYTES = 64, STRUCTURE_BYTES = 128, BUFFER_BYTES = 64 };
enum { PIECES_A_SECOND = 20000 };

/* == Words == */

/* The word that holds what is at a place; TRACE_NO_WORD: there is no room for one more. */
static uint8_t word_at(struct trace_noted *noted, uint8_t place)
{
    uint8_t i = 0;
    if (place == SYMBOLIZE_NOWHERE)
        return TRACE_NO_WORD;
    while (i < PROBE_WORDS && noted->from[i] && noted->from[i] != place)
        i++;
    if (i == PROBE_WORDS)
        return TRACE_NO_WORD;
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
    default: return TRACE_NO_WORD;
    }
}

static void plan_words(struct trace_noted *noted)
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

/* == Pieces == */

static void add_piece(struct trace_noted *noted, uint8_t value, uint8_t member,
                      struct probe_piece piece)
{
    if (noted->piece_count < PROBE_PIECES)
        noted->pieces[noted->piece_count++] = (struct trace_piece){value, member, piece};
}

static void add_string(struct trace_noted *noted, uint8_t value, uint8_t member, uint8_t word,
                       uint32_t at, const struct symbolize_type *type)
{
    const uint32_t text = at + type->text_at, length = at + type->length_at;
    if (text <= UINT16_MAX && length <= UINT16_MAX)
        add_piece(noted, value, member,
                  (struct probe_piece){PROBE_PIECE_LONG_AT, word, (uint16_t)text, (uint16_t)length,
                                       member == TRACE_WHOLE ? TEXT_BYTES : MEMBER_TEXT_BYTES});
}

static bool is_text(const struct symbolize_type *type)
{
    return type->kind == SYMBOLIZE_POINTER && type->to && type->to->kind == SYMBOLIZE_CHARACTER;
}

static void add_structure(struct trace_noted *noted, uint8_t value, uint8_t word,
                          const struct symbolize_type *type)
{
    const uint16_t size = type->bytes < STRUCTURE_BYTES ? (uint16_t)type->bytes : STRUCTURE_BYTES;
    add_piece(noted, value, TRACE_WHOLE,
              (struct probe_piece){PROBE_PIECE_BYTES, word, .size = size});
    if (type->has_class)
        add_piece(noted, value, TRACE_CLASS,
                  (struct probe_piece){PROBE_PIECE_CLASS, word, .size = MEMBER_TEXT_BYTES});
    for (uint32_t i = 0; i < type->member_count; i++) {
        const struct symbolize_member *member = &type->members[i];
        if (member->offset + 8 > size)
            continue;
        if (member->type->kind == SYMBOLIZE_STRING)
            add_string(noted, value, (uint8_t)i, word, member->offset, member->type);
        else if (is_text(member->type))
            add_piece(noted, value, (uint8_t)i,
                      (struct probe_piece){PROBE_PIECE_TEXT_AT, word, (uint16_t)member->offset,
                                           .size = MEMBER_TEXT_BYTES});
    }
}

/* What is in memory at the address in a word. */
static void add_object(struct trace_noted *noted, uint8_t value, uint8_t word,
                       const struct symbolize_type *type, bool is_pointer)
{
    switch (type->kind) {
    case SYMBOLIZE_STRING: add_string(noted, value, TRACE_WHOLE, word, 0, type); break;
    case SYMBOLIZE_STRUCTURE: add_structure(noted, value, word, type); break;
    case SYMBOLIZE_CHARACTER:
        add_piece(noted, value, TRACE_WHOLE,
                  is_pointer ? (struct probe_piece){PROBE_PIECE_TEXT, word, .size = TEXT_BYTES}
                             : (struct probe_piece){PROBE_PIECE_BYTES, word, .size = 1});
        break;
    default:
        if (!is_pointer && type->bytes && type->bytes <= 8) /* through a reference */
            add_piece(noted, value, TRACE_WHOLE,
                      (struct probe_piece){PROBE_PIECE_BYTES, word, .size = (uint16_t)type->bytes});
        break;
    }
}

/* Whether a parameter is the length of what the one before it points to, by its name. */
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

/* A pointer and, behind it, how many bytes. */
static bool add_counted(struct trace_noted *noted, uint32_t at)
{
    const struct symbolize_signature *signature = &noted->signature;
    const struct symbolize_value *value = &signature->parameters[at];
    const bool is_bytes =
        value->type->kind == SYMBOLIZE_POINTER &&
        (!value->type->to || value->type->to->kind == SYMBOLIZE_CHARACTER ||
         (value->type->to->kind == SYMBOLIZE_UNSIGNED && value->type->to->bytes == 1));
    if (!is_bytes || at + 1 >= signature->count || !is_length(value + 1) ||
        noted->words[at + 1][0] == TRACE_NO_WORD || value[1].type->bytes != 8)
        return false;
    add_piece(noted, (uint8_t)at, TRACE_WHOLE,
              (struct probe_piece){PROBE_PIECE_COUNTED, noted->words[at][0], 0,
                                   noted->words[at + 1][0],
                                   value->type->to ? TEXT_BYTES : BUFFER_BYTES});
    return true;
}

/* A string that is passed in two registers. */
static void add_passed_string(struct trace_noted *noted, uint8_t value, const uint8_t *words,
                              const struct symbolize_type *type)
{
    const uint32_t text = type->text_at / 8, length = type->length_at / 8;
    if (text < 2 && length < 2 && words[text] != TRACE_NO_WORD && words[length] != TRACE_NO_WORD)
        add_piece(
            noted, value, TRACE_WHOLE,
            (struct probe_piece){PROBE_PIECE_COUNTED, words[text], 0, words[length], TEXT_BYTES});
}

static void add_value(struct trace_noted *noted, uint8_t value, const struct symbolize_value *of,
                      const uint8_t *words)
{
    if (words[0] == TRACE_NO_WORD)
        return;
    if (of->is_by_address)
        add_object(noted, value, words[0], of->type, false);
    else if (of->type->to)
        add_object(noted, value, words[0], of->type->to, of->type->kind == SYMBOLIZE_POINTER);
    else if (of->type->kind == SYMBOLIZE_STRING)
        add_passed_string(noted, value, words, of->type);
}

void trace_values_plan(struct trace_noted *noted)
{
    const struct symbolize_signature *signature = &noted->signature;
    plan_words(noted);
    for (uint32_t i = 0; i < signature->count; i++)
        if (!add_counted(noted, i))
            add_value(noted, (uint8_t)i, &signature->parameters[i], noted->words[i]);
    add_value(noted, TRACE_RESULT, &signature->result, noted->words[SYMBOLIZE_PARAMETERS]);
}

/* == Tests == */

/* How values of a type are compared; 0: not. */
static uint8_t number_of(const struct symbolize_type *type)
{
    switch (type->kind) {
    case SYMBOLIZE_SIGNED:
    case SYMBOLIZE_CHARACTER: return PROBE_SIGNED;
    case SYMBOLIZE_UNSIGNED:
    case SYMBOLIZE_BOOL:
    case SYMBOLIZE_POINTER:
    case SYMBOLIZE_REFERENCE: return PROBE_UNSIGNED;
    case SYMBOLIZE_ENUM: return type->is_signed ? PROBE_SIGNED : PROBE_UNSIGNED;
    case SYMBOLIZE_FLOAT: return type->bytes == 4 ? PROBE_SINGLE : PROBE_DOUBLE;
    default: return 0;
    }
}

/* The parameter that a test names, or "arg2"; `count` where there is none. */
static uint32_t parameter_of(const struct trace_noted *noted, const struct trace_keep_test *test)
{
    const struct symbolize_signature *signature = &noted->signature;
    const uint32_t count = noted->is_known ? signature->count : PROBE_WORDS;
    uint32_t found = count;
    for (uint32_t i = 0; i < count && found == count; i++) {
        const char *name = noted->is_known ? signature->parameters[i].name : NULL;
        if (name && strlen(name) == test->name_length &&
            !memcmp(name, test->name, test->name_length))
            found = i;
    }
    if (found == count && test->name_length == 4 && !memcmp(test->name, "arg", 3) &&
        test->name[3] >= '1' && test->name[3] - '1' < (int)count)
        found = (uint32_t)(test->name[3] - '1');
    return found;
}

/* False: there is no such value, or none that is passed: a compiler has made a constant of it. */
static bool find_binding(const struct trace_noted *noted, const struct trace_keep_test *test,
                         struct probe_binding *binding)
{
    static const struct symbolize_type word = {.kind = SYMBOLIZE_SIGNED, .bytes = 8, .name = ""};
    const struct symbolize_signature *signature = &noted->signature;
    const uint32_t count = noted->is_known ? signature->count : PROBE_WORDS,
                   at = test->name ? parameter_of(noted, test) : SYMBOLIZE_PARAMETERS;
    if (trace_keep_is_errno(test)) {
        binding->word = PROBE_WORD_ERROR;
        binding->number = PROBE_SIGNED;
        binding->bytes = 4;
        return true;
    }
    if (test->name ? at == count : !noted->is_known)
        return false;
    const struct symbolize_value *value =
        test->name ? &signature->parameters[at] : &signature->result;
    const struct symbolize_type *type = noted->is_known ? value->type : &word;
    binding->word = noted->is_known ? noted->words[at][0] : (uint8_t)at;
    binding->number = number_of(type);
    binding->bytes = (uint8_t)type->bytes;
    return binding->word != TRACE_NO_WORD && binding->number && type->bytes && type->bytes <= 8 &&
           !(noted->is_known && (value->is_by_address || value->is_constant));
}

bool trace_values_bind(struct trace_noted *noted, const struct trace_keep_rule *rule,
                       uint32_t number)
{
    const uint32_t before = noted->binding_count;
    for (uint32_t i = 0; i < rule->test_count; i++) {
        struct probe_binding binding = {.rule = (uint8_t)number, .test = (uint8_t)i};
        if (noted->binding_count == PROBE_BINDINGS ||
            !find_binding(noted, &rule->tests[i], &binding)) {
            noted->binding_count = before;
            return false;
        }
        noted->bindings[noted->binding_count++] = binding;
    }
    return true;
}

/* == Functions == */

/* The rules with tests that apply to a function. */
static uint64_t tested_by(const struct trace_session *session, uint32_t function)
{
    const struct trace_kept *kept = &session->trace->kept;
    uint64_t rules = 0;
    for (size_t i = 0; i < kept->rules.count; i++)
        if (kept->rules.items[i].rule.test_count && !kept->rules.items[i].is_over)
            rules |= UINT64_C(1) << i;
    return rules ? rules & atomic_load(&session->process.shared->keep_masks[function]) : 0;
}

static void bind_rules(struct trace_session *session, uint32_t function, struct trace_noted *noted)
{
    for (uint64_t rules = tested_by(session, function); rules; rules &= rules - 1) {
        const uint32_t number = (uint32_t)__builtin_ctzll(rules);
        if (trace_values_bind(noted, &session->trace->kept.rules.items[number].rule, number))
            session->values.bound |= UINT64_C(1) << number;
    }
}

/* Whether arguments are saved at the entry: they are shown, or a rule tests one. */
static bool needs_words(const struct trace_noted *noted)
{
    bool needs = !noted->is_hidden;
    for (uint32_t i = 0; i < noted->binding_count; i++)
        needs |= noted->bindings[i].word < PROBE_WORDS;
    return needs;
}

/* Writes for the agent what is noted. False: its room is used up. */
static bool write_values(struct trace_session *session, uint32_t function,
                         const struct trace_noted *noted)
{
    struct probe_shared *shared = session->process.shared;
    struct trace_values *values = &session->values;
    const uint64_t at = values->used ? values->used : 1;
    struct probe_values *to = (struct probe_values *)&shared->keep.values[at];
    struct probe_piece *pieces = (struct probe_piece *)(to + 1);
    const uint64_t end = at + 1 + noted->piece_count + noted->binding_count;
    if (end > PROBE_VALUE_ROOM - PROBE_PIECES - PROBE_BINDINGS)
        return false;
    memcpy(to->words, noted->from, sizeof to->words);
    to->pieces = (uint8_t)noted->piece_count;
    for (uint32_t i = 0; i < noted->piece_count; i++)
        pieces[i] = noted->pieces[i].piece;
    to->bindings = (uint8_t)noted->binding_count;
    memcpy(pieces + noted->piece_count, noted->bindings,
           noted->binding_count * sizeof *noted->bindings);
    values->used = end;
    const bool has_words = needs_words(noted);
    atomic_store(&shared->keep_values[function],
                 (uint32_t)at | (noted->is_chosen && has_words ? PROBE_VALUES_CHOSEN : 0) |
                     (has_words ? PROBE_VALUES_WORDS : 0) |
                     (noted->is_hidden ? PROBE_VALUES_HIDDEN : 0));
    return true;
}

/* Functions of one file that are looked for, in the order of their addresses. */
struct finding {
    struct trace_session *session;
    uint64_t rules; /* of functions to which one of these applies */
    SPROF_VEC(uint64_t) starts;
    SPROF_VEC(uint32_t) functions;
};

static int note(struct trace_session *session, uint32_t function,
                const struct symbolize_signature *signature)
{
    struct trace_noted *noted = sprof_arena_alloc(&session->arena, sizeof *noted);
    if (!noted)
        return SPROF_ENOMEM;
    *noted = (struct trace_noted){.is_known = signature != NULL,
                                  .is_hidden = session->values.hides.items[function]};
    if (signature) {
        noted->signature = *signature;
        trace_values_plan(noted);
    } else {
        for (uint8_t i = 0; i < PROBE_WORDS; i++)
            noted->from[i] = (uint8_t)(PROBE_WORD_INTEGER + i);
    }
    bind_rules(session, function, noted);
    if (write_values(session, function, noted))
        session->values.noted.items[function] = noted;
    trace_keep_write(session, function,
                     atomic_load(&session->process.shared->keep_masks[function]));
    return 0;
}

static int found(void *context, size_t index, const struct symbolize_signature *signature)
{
    const struct finding *finding = context;
    return note(finding->session, finding->functions.items[index], signature);
}

/* Probes of a file are in the order of their functions. */
static int find_in_file(struct finding *finding, const struct trace_file *file)
{
    struct trace_session *session = finding->session;
    struct image_request request;
    struct image *image;
    int result = 0;
    if (!finding->starts.count)
        return 0;
    if (plan_request_find(&request, session->process.pid, file->identity, file->path))
        return SPROF_ENOMEM;
    if (!image_open(&image, &request, NULL)) {
        result = symbolize_signatures(image, NULL, finding->starts.items, finding->starts.count,
                                      &session->arena, found, finding);
        image_free(image);
    }
    for (size_t i = 0; i < finding->functions.count && !result; i++)
        if (!session->values.noted.items[finding->functions.items[i]])
            result = note(session, finding->functions.items[i], NULL);
    finding->starts.count = finding->functions.count = 0;
    return result;
}

/* Whether values of a function are noted: they are shown, or rules test them. *hides: only that. */
static int wants(const struct trace_session *session, uint32_t function,
                 const struct plan_expressions *expressions, bool *hides, struct sprof_error *error)
{
    const struct trace_probe *probe = &session->probes.items[function];
    *hides = false;
    if (!probe->is_chosen || probe->is_unplaced || !probe->function)
        return 0;
    const int shown = !session->options.arguments ? 0
                      : expressions ? plan_expressions_match(expressions, probe->function, error)
                                    : 1;
    *hides = !shown;
    return shown ? shown : tested_by(session, function) != 0;
}

static int find_wanted(struct finding *finding, size_t first,
                       const struct plan_expressions *expressions, struct sprof_error *error)
{
    struct trace_session *session = finding->session;
    int result = 0;
    for (size_t i = first; i < session->probes.count && !result; i++) {
        const struct trace_probe *probe = &session->probes.items[i];
        bool *hides = &session->values.hides.items[i];
        const uint64_t rules = atomic_load(&session->process.shared->keep_masks[i]);
        const int wanted = finding->rules == UINT64_MAX || rules & finding->rules
                               ? wants(session, (uint32_t)i, expressions, hides, error)
                               : 0;
        if (wanted < 0)
            return wanted;
        if (wanted)
            session->values.noted.items[i] = NULL;
        if (wanted && (sprof_vec_push(&finding->starts, probe->function->start) ||
                       sprof_vec_push(&finding->functions, (uint32_t)i)))
            return SPROF_ENOMEM;
        if (i + 1 == session->probes.count || session->probes.items[i + 1].file != probe->file)
            result = find_in_file(finding, &session->files.items[probe->file]);
    }
    return result;
}

bool trace_values_are_wanted(const struct trace_session *session)
{
    const struct trace_kept *kept = &session->trace->kept;
    bool wanted = session->options.arguments && kept->rules.count;
    for (size_t i = 0; i < kept->rules.count; i++)
        wanted |= kept->rules.items[i].rule.test_count > 0;
    return wanted;
}

/* Warns of rules that no function can meet. */
static void tell_unbound(const struct trace_session *session)
{
    const struct trace_kept *kept = &session->trace->kept;
    for (size_t i = 0; i < kept->rules.count; i++)
        if (kept->rules.items[i].rule.test_count && !(session->values.bound >> i & 1))
            sprof_log_message(session->options.log, SPROF_LOG_WARNING,
                              "--keep '%s': by debug information no function has all these values "
                              "as numbers, so no call is kept for that",
                              kept->rules.items[i].text);
}

int trace_values_check(const struct trace_options *options, struct sprof_error *error)
{
    struct plan_expressions *expressions = NULL;
    if (!options->arguments || !options->arguments_of)
        return 0;
    const int result = plan_expressions_make(&expressions, &options->arguments_of, 1, error);
    plan_expressions_free(expressions);
    return result;
}

/* `rules`: only of functions to which one of these applies. */
static int find_values(struct trace_session *session, size_t first, uint64_t rules,
                       struct sprof_error *error)
{
    const struct trace_options *options = &session->options;
    struct finding finding = {.session = session, .rules = rules};
    struct plan_expressions *expressions = NULL;
    int result = 0;
    trace_values_look(session);
    if (!trace_values_are_wanted(session))
        return 0;
    if (options->arguments_of)
        result = plan_expressions_make(&expressions, &options->arguments_of, 1, error);
    while (!result && session->values.noted.count < session->probes.count)
        if (sprof_vec_push(&session->values.noted, NULL) ||
            sprof_vec_push(&session->values.hides, false))
            result = SPROF_ENOMEM;
    if (!result)
        result = find_wanted(&finding, first, expressions, error);
    const bool is_first =
        !first && rules == UINT64_MAX && !options->children && !trace_has_others(session);
    if (!result && is_first && expressions)
        result =
            trace_tell_unfound(session, "args", options->arguments_of, expressions, false, error);
    if (!result && is_first)
        tell_unbound(session);
    plan_expressions_free(expressions);
    sprof_vec_release(&finding.starts);
    sprof_vec_release(&finding.functions);
    return result == SPROF_ENOMEM ? sprof_error_memory(error) : result;
}

int trace_values_begin(struct trace_session *session, size_t first, struct sprof_error *error)
{
    return find_values(session, first, UINT64_MAX, error);
}

int trace_values_add(struct trace_session *session, uint32_t rule, struct sprof_error *error)
{
    const bool is_first =
        session->trace->kept.rules.count == 1; /* values that are shown are wanted from now on */
    if (!is_first && !session->trace->kept.rules.items[rule].rule.test_count)
        return 0;
    return find_values(session, 0, is_first ? UINT64_MAX : UINT64_C(1) << rule, error);
}

void trace_values_release(struct trace_values *values)
{
    sprof_vec_release(&values->noted);
    sprof_vec_release(&values->hides);
}

void trace_values_look(struct trace_session *session)
{
    struct sprof_proc_status status;
    if (!session->trace->kept.rules.count)
        return;
    const bool may = sprof_proc_status_read(session->process.pid, &status) && !status.has_seccomp &&
                     !atomic_load(&session->process.shared->keep.is_filtered);
    atomic_store(&session->process.shared->keep.pieces_most, may ? PIECES_A_SECOND : 0);
}

/* == Rows == */

static int put_value(struct trace_session *session, uint32_t number, uint32_t position,
                     const char *name, const char *type, struct sprof_str *text)
{
    struct store_call_value row = {
        .run_id = session->run->id,
        .call_number = number,
        .position = position,
        .name = name,
        .type = type,
    };
    row.value = text->failed
                    ? NULL
                    : sprof_arena_text(recording_batch_arena(session->recording), text->text);
    sprof_str_release(text);
    return !row.value || sprof_vec_push(&recording_batch(session->recording)->call_values, row)
               ? SPROF_ENOMEM
               : 0;
}

/* Without debug information. */
static int put_words(struct trace_session *session, uint32_t number,
                     const struct probe_kept_values *kept)
{
    static const char *const names[PROBE_WORDS] = {"arg1", "arg2", "arg3", "arg4", "arg5", "arg6"};
    int result = 0;
    for (uint32_t i = 0; i < PROBE_WORDS && kept->has_words && !result; i++) {
        struct sprof_str text = {0};
        sprof_str_appendf(&text, "0x%llx", (unsigned long long)kept->words[i]);
        result = put_value(session, number, i + 1, names[i], NULL, &text);
    }
    return result;
}

static int put_known(struct trace_session *session, const struct trace_noted *noted,
                     uint32_t number, const struct trace_taken_values *taken)
{
    struct trace_call_values call = {.noted = noted, .kept = &taken->kept};
    int result = 0;
    trace_values_cut(&call, taken->pieces, taken->bytes);
    for (uint32_t i = 0; i < noted->signature.count && !result; i++) {
        const struct symbolize_value *value = &noted->signature.parameters[i];
        struct sprof_str text = {0};
        if (trace_values_text(&call, i, &text))
            result = put_value(session, number, i + 1, value->name ? value->name : "",
                               value->type->name, &text);
    }
    struct sprof_str text = {0};
    if (!result && trace_values_text(&call, TRACE_RESULT, &text))
        return put_value(session, number, 0, "", noted->signature.result.type->name, &text);
    sprof_str_release(&text);
    return result;
}

int trace_values_take(struct trace_session *session, uint32_t function, uint32_t number,
                      const struct trace_taken_values *taken)
{
    const struct trace_noted *noted =
        function < session->values.noted.count ? session->values.noted.items[function] : NULL;
    struct sprof_str text = {0};
    int result = !noted || noted->is_hidden ? 0
                 : noted->is_known          ? put_known(session, noted, number, taken)
                                            : put_words(session, number, &taken->kept);
    if (!result && trace_values_thrown(taken, &text))
        return put_value(session, number, STORE_EXCEPTION, "exception", NULL, &text);
    sprof_str_release(&text);
    return result;
}
