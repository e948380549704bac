/* Writes rows for values of kept calls. */
#include "calls/program.h"

#include "base/compat.h"
#include "calls/values.h"

#include <string.h>

/* == Rows == */

/* Whether a rule tests errno. */
static bool tests_error(const struct calls_noted *noted)
{
    bool tests = false;
    for (uint32_t i = 0; i < noted->binding_count; i++)
        tests |= noted->bindings[i].word == PROBE_WORD_ERROR;
    return tests;
}

/* Guesses by the type of the result. */
static bool has_failed(const struct calls_noted *noted, const struct probe_kept_values *kept)
{
    const struct symbolize_type *type = noted->signature.result.type;
    const uint64_t word = kept->words[PROBE_WORD_RAX];
    if (!kept->has_result)
        return kept->type_bytes || kept->language;
    if (!noted->is_known || !type->bytes || type->bytes > 8)
        return false;
    return type->kind == SYMBOLIZE_POINTER
               ? !word
               : type->kind == SYMBOLIZE_SIGNED && (int64_t)(word << (64 - 8 * type->bytes)) < 0;
}

static int put_value(struct calls_program *program, uint32_t number, uint32_t position,
                     const char *name, const char *type, struct sprof_str *text)
{
    struct store_call_value row = {
        .run_id = program->run->id,
        .call_number = number,
        .position = position,
        .name = name,
        .type = type,
    };
    row.value = text->failed
                    ? NULL
                    : sprof_arena_text(recording_batch_arena(program->recording), text->text);
    sprof_str_release(text);
    return !row.value || sprof_vec_push(&recording_batch(program->recording)->call_values, row)
               ? SPROF_ENOMEM
               : 0;
}

static int put_words(struct calls_program *program, uint32_t number,
                     const struct probe_kept_values *kept)
{
    static const char *const names[PROBE_WORDS] = {"arg1", "arg2", "arg3", "arg4", "arg5", "arg6"};
    int result = 0;
    for (uint32_t i = 0; i < PROBE_WORDS && kept->has_words && !result; i++) {
        struct sprof_str text = {0};
        sprof_str_appendf(&text, "0x%llx", (unsigned long long)kept->words[i]);
        result = put_value(program, number, i + 1, names[i], NULL, &text);
    }
    return result;
}

static int put_changed(struct calls_program *program, const struct calls_call_values *call,
                       uint32_t number)
{
    uint32_t position = STORE_AFTER;
    int result = 0;
    for (uint32_t i = 0; i < call->noted->signature.count && !result; i++)
        for (uint32_t part = 0; part < calls_values_parts(call, i) && !result; part++) {
            struct sprof_str name = {0}, text = {0};
            if (calls_values_changed(call, i, part, &name, &text)) {
                const char *kept = name.failed
                                       ? NULL
                                       : sprof_arena_text(recording_batch_arena(program->recording),
                                                          name.text ? name.text : "");
                text.failed |= !kept;
                result = put_value(program, number, position++, kept, NULL, &text);
            }
            sprof_str_release(&name);
        }
    return result;
}

static int put_captured(struct calls_program *program, const struct calls_call_values *call,
                        uint32_t number)
{
    int result = 0;
    for (uint32_t i = 0; i < call->noted->captured_count && !result; i++) {
        const struct calls_captured *captured = &call->noted->captured[i];
        struct sprof_str text = {0};
        if (captured->is_half)
            continue;
        if (captured->is_second) {
            calls_values_captured(call, i - 1, &text);
            sprof_str_append(&text, " → ");
        }
        calls_values_captured(call, i, &text);
        result = put_value(program, number, STORE_CAPTURED + i, captured->name,
                           captured->located->type->name, &text);
    }
    return result;
}

static int put_known(struct calls_program *program, const struct calls_noted *noted,
                     uint32_t number, const struct calls_taken_values *taken)
{
    struct calls_call_values call = {.noted = noted, .kept = &taken->kept};
    int result = 0;
    calls_values_cut(&call, taken->pieces, taken->bytes);
    call.is_early = noted->has_both;
    for (uint32_t i = 0; i < noted->signature.count && noted->has_arguments && !result; i++) {
        const struct symbolize_value *value = &noted->signature.parameters[i];
        struct sprof_str text = {0};
        if (calls_values_text(&call, i, &text))
            result = put_value(program, number, i + 1, value->name ? value->name : "",
                               value->type->name, &text);
    }
    call.is_early = false;
    if (!result && noted->has_both)
        result = put_changed(program, &call, number);
    if (!result)
        result = put_captured(program, &call, number);
    struct sprof_str text = {0};
    if (!result && (noted->has_arguments || noted->has_result) &&
        calls_values_text(&call, CALLS_RESULT, &text))
        return put_value(program, number, 0, "", noted->signature.result.type->name, &text);
    sprof_str_release(&text);
    return result;
}

/* Writes errno only for failed calls or tests; otherwise it is an older one. */
static int put_error(struct calls_program *program, const struct calls_noted *noted,
                     uint32_t number, const struct probe_kept_values *kept)
{
    struct sprof_str text = {0};
    if (!kept->error || kept->error == PROBE_NO_ERROR ||
        !(tests_error(noted) || has_failed(noted, kept)))
        return 0;
    const char *name = strerrorname_np(kept->error);
    if (name)
        sprof_str_append(&text, name);
    else
        sprof_str_appendf(&text, "%u", (unsigned)kept->error);
    return put_value(program, number, STORE_ERRNO, "errno", "int", &text);
}

int calls_values_take(struct calls_program *program, uint32_t function, uint32_t number,
                      const struct calls_taken_values *taken)
{
    const struct calls_noted *noted = calls_values_noted(&program->values, function, taken->place);
    struct sprof_str text = {0};
    int result = !noted || noted->is_hidden ? 0
                 : noted->is_known          ? put_known(program, noted, number, taken)
                                            : put_words(program, number, &taken->kept);
    if (!result && noted && !noted->is_hidden)
        result = put_error(program, noted, number, &taken->kept);
    if (!result && calls_values_thrown(taken, &text))
        return put_value(program, number, STORE_EXCEPTION, "exception", NULL, &text);
    sprof_str_release(&text);
    return result;
}
