/* Explains why ranges hold no function. */
#include "probing/empty_range.h"
#include "base/command.h"
#include "names/names.h"
#include "plan/plan.h"
#include "probing/callees.h"
#include "probing/program.h"
#include "probing/range_text.h"

#include <string.h>

struct missed {
    const char *expression;
    size_t without;   /* matches without a probe */
    size_t refused;   /* of these: no probe is possible */
    const char *name; /* of the first match */
    struct sprof_suggestions near, near_without;
};

static int find_missed(struct missed *missed, const struct probing_program *program,
                       struct plan_expressions *expressions, struct sprof_error *error)
{
    for (size_t i = 0; i < program->probes.count; i++)
        if (program->probes.items[i].is_chosen || program->probes.items[i].is_spare)
            sprof_suggest_offer(&missed->near, missed->expression,
                                program->probes.items[i].function->name);
    for (size_t f = 0; f < program->files.count; f++) {
        const struct plan *plan = &program->files.items[f].plan;
        for (size_t i = 0; i < plan->function_count && program->files.items[f].is_chosen; i++) {
            const struct plan_function *function = &plan->functions[i];
            if (!plan_is_true_start(function))
                continue;
            const int found = plan_expressions_match(expressions, function, error);
            if (found < 0)
                return found;
            if (!found) {
                sprof_suggest_offer(&missed->near_without, missed->expression, function->name);
                continue;
            }
            missed->without++;
            missed->refused += function->mechanism == PLAN_NOT;
            missed->name = missed->name ? missed->name : function->name;
        }
    }
    return 0;
}

static void append_missed(const struct missed *missed, struct sprof_str *out)
{
    if (missed->without == 1) {
        sprof_str_appendf(out, ": %.100s has none", missed->name);
    } else if (missed->without) {
        sprof_str_appendf(out, ": %zu functions have none, such as %.100s",
                          missed->without, missed->name);
    } else if (missed->near.count) {
        sprof_suggest_append(out, &missed->near);
    } else if (missed->near_without.count) {
        sprof_suggest_append(out, &missed->near_without);
        sprof_str_append(out, " (without a probe)");
    }
}
static const char *guess_meaning(const char *expression)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    const size_t first = strspn(expression, digits);
    if (first && expression[first] == '-' && strspn(expression + first + 1, digits))
        return "\naddresses begin with 0x: +0xA-0xB";
    if (*expression && strchr(expression + 1, '!'))
        return "\nof one file only addresses can be chosen, +FILE!0xA-0xB; an expression is for "
               "all files";
    if (strchr(expression, ' '))
        return "\neach change begins with + or -";
    return "";
}

static const char *why_none(const struct probing_program *program)
{
    const struct trace_options *options = &program->options;
    const struct probing_program *any =
        program->group->programs.count ? program->group->programs.items[0] : program;
    if (any->way->only_embedded)
        return "a process that listens has only the probes in its files, and a trace uses those that "
               "were chosen when it began";
    if (!any->way->has_agent || options->children || options->all_points)
        return "by uprobes, with --children and with --all-points, probes are placed when the "
               "trace begins: choose more with --function or --module, and switch them off until "
               "they are wanted";
    if (options->rest_ns == TRACE_NEVER)
        return "with --rest off probes are placed when the trace begins: leave it out, or "
               "choose more with --function or --module";
    if (!any->has_all_spares)
        return "the program has too many functions for all to be prepared: choose them with "
               "--function when the trace begins";
    return "functions of modules that --module did not choose can have no probe, and some only "
           "where --function chooses them when the trace begins";
}

static int refuse_expression(struct probing_program *program, const char *text,
                             struct sprof_error *error)
{
    const char *roots = probing_children_text(text);
    if (roots && !(text = probing_callees_expression(program, roots)))
        return sprof_error_memory(error);
    struct plan_expressions *expressions = NULL;
    struct missed missed = {.expression = text};
    struct sprof_str names = {0}, none = {0};
    int result = plan_expressions_make(&expressions, &text, 1, error);
    for (size_t i = 0; i < program->group->programs.count && !result; i++)
        result = find_missed(&missed, program->group->programs.items[i], expressions, error);
    plan_expressions_free(expressions);
    if (result)
        return result;
    append_missed(&missed, &names);
    if (missed.without && missed.refused == missed.without) {
        sprof_str_append(&none, "none can be placed there: `sprof probes --refused ");
        sprof_command_append_target(&none, program->options.pid, program->options.command);
        sprof_str_append(&none, "` says why");
    }
    result = sprof_error_set(error, SPROF_EUSAGE, 0,
                             "`%.100s` finds no function that has a probe%.400s%s\n%s", text,
                             names.text ? names.text : "", guess_meaning(text),
                             none.text && !none.failed ? none.text : why_none(program));
    sprof_str_release(&names);
    sprof_str_release(&none);
    return result;
}

static int refuse_module(const struct probing_program *program,
                         const struct probing_addresses *addresses, struct sprof_error *error)
{
    struct sprof_str names = {0};
    for (size_t f = 0; f < program->files.count; f++) {
        const struct probing_file *file = &program->files.items[f];
        const char *slash = strrchr(file->path, '/');
        if (file->is_chosen && file->count)
            sprof_str_appendf(&names, "%s%s", names.length ? ", " : "",
                              slash ? slash + 1 : file->path);
    }
    const int result = sprof_error_set(
        error, SPROF_EUSAGE, 0, "there are no probes in a file `%.*s`: there are in %.300s",
        (int)(addresses->module_length < 100 ? addresses->module_length : 100), addresses->module,
        names.text ? names.text : "none");
    sprof_str_release(&names);
    return result;
}

static uint64_t distance(const struct probing_program *program,
                         const struct probing_addresses *addresses,
                         const struct probing_probe *probe)
{
    const struct probing_file *file = &program->files.items[probe->file];
    const uint64_t at = probe->function->start + (addresses->module ? 0 : file->bias);
    return at > addresses->from ? at - addresses->from : addresses->from - at;
}

static int refuse_addresses(const struct probing_program *program, const char *text,
                            struct sprof_error *error)
{
    struct probing_addresses addresses;
    const struct probing_probe *nearest = NULL;
    const int result = probing_read_addresses(text, &addresses, error);
    if (result)
        return result;
    for (size_t i = 0; i < program->probes.count; i++) {
        const struct probing_probe *probe = &program->probes.items[i];
        if (probe->is_chosen &&
            probing_is_of_module(&program->files.items[probe->file], &addresses) &&
            (!nearest ||
             distance(program, &addresses, probe) < distance(program, &addresses, nearest)))
            nearest = probe;
    }
    if (!nearest)
        return refuse_module(program, &addresses, error);
    const struct probing_file *file = &program->files.items[nearest->file];
    const char *slash = strrchr(file->path, '/');
    const uint64_t start = nearest->function->start;
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "the range %.100s covers the entry of no function that has a probe\n"
                           "the nearest is %.100s, at 0x%llx in the process, %.100s!0x%llx in its "
                           "file: `sprof stats --wide` shows addresses",
                           text, names_screen_show(program->options.names, nearest->function->name),
                           (unsigned long long)(start + file->bias), slash ? slash + 1 : file->path,
                           (unsigned long long)start);
}
int probing_refuse_empty_range(struct probing_program *program, const char *text,
                               struct sprof_error *error)
{
    const struct probing_program *any =
        program->group->programs.count ? program->group->programs.items[0] : program;
    return probing_are_addresses(text) ? refuse_addresses(any, text, error)
                                       : refuse_expression(program, text, error);
}

/* Reports them, which is no error: later programs may have the functions. */
static int append_empty(const struct probing_program *program, const struct probing_range *range,
                        struct sprof_str *answer, struct sprof_error *error)
{
    struct plan_expressions *expressions = NULL;
    struct missed missed = {.expression = range->text + 1};
    int result = plan_expressions_make(&expressions, &missed.expression, 1, error);
    for (size_t i = 0; i < program->group->programs.count && !result; i++)
        result = find_missed(&missed, program->group->programs.items[i], expressions, error);
    plan_expressions_free(expressions);
    if (result)
        return result;
    sprof_str_appendf(answer, "\n`%.100s` finds no function that has a probe", range->text + 1);
    append_missed(&missed, answer);
    sprof_str_append(answer, "; it holds for programs that are executed from now on");
    return 0;
}

int probing_ranges_append_empty(const struct probing_program *program, uint64_t since_ns,
                                struct sprof_str *answer, struct sprof_error *error)
{
    int result = 0;
    for (size_t r = 0; r < program->ranges.count && !result; r++) {
        size_t sites = program->ranges.items[r].since_ns < since_ns;
        for (size_t i = 0; i < program->group->programs.count; i++)
            sites += program->group->programs.items[i]->ranges.items[r].sites;
        if (!sites)
            result = append_empty(program, &program->ranges.items[r], answer, error);
    }
    return result;
}
