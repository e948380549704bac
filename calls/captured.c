/* Finds functions that have the values of --capture. */
#include "calls/keep_requests.h"
#include "calls/program.h"
#include "calls/values.h"
#include "names/names.h"
#include "plan/expressions.h"
#include "rules/rules.h"

#include <string.h>

int calls_captures_open(const struct trace_options *options,
                        struct calls_capture_expressions *expressions, struct sprof_error *error)
{
    int result = 0;
    *expressions = (struct calls_capture_expressions){{NULL}};
    for (size_t i = 0; i < options->kept.capture_count && !result; i++) {
        const char *function = options->kept.captures[i].function;
        if (function)
            result = plan_expressions_make(&expressions->each[i], &function, 1, error);
    }
    return result;
}

void calls_captures_close(struct calls_capture_expressions *expressions)
{
    for (size_t i = 0; i < RULES_CAPTURES; i++)
        plan_expressions_free(expressions->each[i]);
}

int calls_captures_of(const struct calls_program *program,
                      const struct calls_capture_expressions *expressions,
                      const struct plan_function *function, uint32_t *captures,
                      struct sprof_error *error)
{
    *captures = 0;
    for (size_t i = 0; i < program->options.kept.capture_count; i++) {
        const int matches = expressions->each[i]
                                ? plan_expressions_match(expressions->each[i], function, error)
                                : 1;
        if (matches < 0)
            return matches;
        *captures |= (uint32_t)(matches > 0) << i;
    }
    return 0;
}

uint32_t calls_captures_paths(const struct calls_program *program, uint32_t captures,
                              const struct symbolize_path *paths[CALLS_CAPTURED_MOST])
{
    uint32_t count = 0;
    for (; captures; captures &= captures - 1) {
        const struct rules_capture *capture =
            &program->options.kept.captures[__builtin_ctz(captures)];
        for (uint32_t i = 0; i < capture->path_count && count < CALLS_CAPTURED_MOST; i++)
            paths[count++] = &capture->paths[i];
    }
    return count;
}

static const char *name_of(struct calls_program *program, const struct rules_capture *capture,
                           const struct symbolize_path *path)
{
    struct sprof_str text = {0};
    sprof_str_appendf(&text, "%s%.*s", capture->at_entry ? "entry " : "", (int)path->length,
                      path->text);
    const char *name = text.failed ? NULL : sprof_arena_text(&program->arena, text.text);
    sprof_str_release(&text);
    return name ? name : "";
}

void calls_captures_note(struct calls_program *program, uint32_t captures,
                         const struct plan_function *function,
                         const struct symbolize_signature *signature, struct calls_noted *noted)
{
    static const struct symbolize_located too_many = {
        .problem = "of each function at most 16 values are captured"};
    _Static_assert(CALLS_CAPTURED_MOST == 16, "as it is said");
    uint32_t at = 0;
    for (; captures; captures &= captures - 1) {
        const uint32_t number = (uint32_t)__builtin_ctz(captures);
        const struct rules_capture *capture = &program->options.kept.captures[number];
        for (uint32_t i = 0; i < capture->path_count; i++, at++) {
            const struct symbolize_located *located =
                at < signature->located_count ? &signature->located[at] : &too_many;
            if (located->problem) {
                program->values.unlocated[number][i].what = located->problem;
                program->values.unlocated[number][i].at =
                    located == &too_many ? capture->paths[i].text : located->problem_at;
                program->values.unlocated[number][i].function = function;
                continue;
            }
            program->values.located[number] |= UINT64_C(1) << i;
            noted->captured[noted->captured_count++] =
                (struct calls_captured){.name = name_of(program, capture, &capture->paths[i]),
                                        .located = located,
                                        .at_entry = capture->at_entry};
        }
    }
}

void calls_captures_note_request(struct calls_program *program, uint32_t at,
                                 const struct plan_function *function,
                                 const struct symbolize_signature *signature,
                                 struct calls_noted *noted)
{
    const struct rules_capture *request = program->options.kept.requests_of;
    const struct symbolize_located *located =
        at < signature->located_count ? &signature->located[at] : NULL;
    struct calls_unmet unmet = {NULL, request->paths[0].text, function};
    if (!located || noted->captured_count == CALLS_CAPTURED_MOST) {
        unmet.what = "it is one value more than the sixteen that are read of a call";
    } else if (located->problem) {
        unmet.what = located->problem;
        unmet.at = located->problem_at;
    } else if (!calls_captured_has_words(noted, located)) {
        unmet.what = "it is in none of the six words that are read of a call";
    } else {
        const struct symbolize_type *type = located->type;
        const bool is_reference = type->kind == SYMBOLIZE_REFERENCE && type->to;
        const enum probe_number number = calls_values_number(is_reference ? type->to : type);
        if (!calls_values_is_text(type) && number != PROBE_SIGNED && number != PROBE_UNSIGNED)
            unmet.what = "it is no text, and no integer of up to 8 bytes";
    }
    if (unmet.what) {
        program->values.request_unmet = unmet;
        return;
    }
    program->values.has_requests = true;
    noted->captured[noted->captured_count++] =
        (struct calls_captured){.name = name_of(program, request, &request->paths[0]),
                                .located = located,
                                .at_entry = request->at_entry};
    noted->request = (uint8_t)noted->captured_count;
}

static void warn_unlocated(const struct calls_program *program, size_t number, uint32_t path)
{
    const struct rules_capture *capture = &program->options.kept.captures[number];
    const char *what = program->values.unlocated[number][path].what,
               *at = program->values.unlocated[number][path].at;
    char before[256] = "--capture: ";
    struct sprof_error error = {0};
    if (what)
        snprintf(before, sizeof before, "--capture of %.150s: ",
                 names_screen_show(program->options.names,
                                   program->values.unlocated[number][path].function->name));
    rules_error_at(capture->text, (size_t)((what ? at : capture->paths[path].text) - capture->text),
                   before,
                   what ? what
                        : "no function that it finds has a probe and is described by debug "
                          "information",
                   &error);
    sprof_log_message(program->options.log, SPROF_LOG_WARNING, "%s", error.message);
}

static void warn_no_requests(const struct calls_program *program)
{
    const struct calls_unmet *unmet = &program->values.request_unmet;
    const struct rules_capture *request = program->options.kept.requests_of;
    char before[256] = "--request: ";
    struct sprof_error error = {0};
    if (unmet->what)
        snprintf(before, sizeof before, "--request of %.150s: ",
                 names_screen_show(program->options.names, unmet->function->name));
    rules_error_at(request->text,
                   (size_t)((unmet->what ? unmet->at : request->paths[0].text) - request->text),
                   before,
                   unmet->what ? unmet->what
                               : "no function that it finds has a probe and is described by debug "
                                 "information",
                   &error);
    sprof_log_message(program->options.log, SPROF_LOG_WARNING, "%s", error.message);
}

void calls_captures_report(const struct calls_program *program)
{
    if (calls_requests_by_value(&program->options) && !program->values.has_requests)
        warn_no_requests(program);
    for (size_t i = 0; i < program->options.kept.capture_count; i++)
        for (uint32_t k = 0; k < program->options.kept.captures[i].path_count; k++)
            if (!(program->values.located[i] >> k & 1))
                warn_unlocated(program, i, k);
}
