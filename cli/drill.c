/* Reads the options of `sprof trace` for drill-downs, and prints what came of one. */
#include "cli/drill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_add_condition(void *field, const char *text, struct sprof_error *error)
{
    struct cli_conditions *conditions = field;
    struct rules_condition condition;
    const int result = rules_condition_parse(&condition, text, error);
    if (result)
        return result;
    return sprof_vec_push(&conditions->list, condition) ? sprof_error_memory(error) : 0;
}

int cli_set_uncalled(void *field, const char *text, struct sprof_error *error)
{
    *(bool *)field = !strcmp(text, "add");
    return !strcmp(text, "add") || !strcmp(text, "skip")
               ? 0
               : sprof_error_set(error, SPROF_EUSAGE, 0, "`%.100s` is neither add nor skip", text);
}

/* What cannot go with --adaptive, and why. */
static int check_adaptive(const struct trace_options *trace, struct sprof_error *error)
{
    const struct {
        bool given;
        const char *option, *reason;
    } excluded[] = {
        {trace->mode != TRACE_STATS, "mode", "it goes with mode stats"},
        {trace->backend == TRACE_UPROBE, "backend uprobe",
         "probes cannot be added while it runs, and the kernel counts no call paths"},
        {trace->function_count, "function",
         "it begins with the functions of --root; `sprof ctl probe +RE` adds others"},
        {trace->children_of_count, "children-of",
         "it begins with the functions of --root; `sprof ctl probe +children:RE` adds others"},
        {trace->callers, "callers", "it counts calls by their whole path"},
        {trace->all_points, "all-points", "probes cannot be added then"},
        {trace->rest_ns == TRACE_NEVER, "rest off", "its probes rest until they are wanted"},
        {trace->max_overhead > 0, "max-overhead",
         "functions that are only counted have no time, and their callers would seem slow"},
    };
    for (size_t i = 0; i < sizeof excluded / sizeof *excluded; i++)
        if (excluded[i].given)
            return sprof_error_set(error, SPROF_EUSAGE, 0, "--adaptive does not go with --%s: %s",
                                   excluded[i].option, excluded[i].reason);
    return 0;
}

/* Has each root measured with what it calls directly. */
static int add_children(struct cli_drill *drill, struct cli_texts *children_of,
                        struct sprof_error *error)
{
    for (size_t i = 0; i < drill->roots.list.count; i++) {
        struct sprof_str text = {0};
        sprof_str_appendf(&text, "%s:1", drill->roots.list.items[i]);
        if (text.failed || sprof_vec_push(&drill->owned, text.text)) {
            sprof_str_release(&text);
            return sprof_error_memory(error);
        }
        if (sprof_vec_push(&children_of->list, text.text))
            return sprof_error_memory(error);
    }
    return 0;
}

int cli_drill_apply(struct cli_drill *drill, struct cli_texts *children_of,
                    struct trace_options *trace, struct sprof_error *error)
{
    const char *belongs = drill->observe           ? "observe"
                          : drill->uncalled        ? "uncalled"
                          : drill->over.list.count ? "over"
                                                   : NULL;
    if (!drill->adaptive && belongs)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--%s belongs to a drill-down: give --adaptive and --root RE, too",
                               belongs);
    if (!drill->adaptive) {
        const int result = add_children(drill, children_of, error);
        trace->children_of = children_of->list.items;
        trace->children_of_count = children_of->list.count;
        return result;
    }
    if (!drill->roots.list.count)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--adaptive looks for what is slow below functions: name them with "
                               "--root RE");
    const int result = check_adaptive(trace, error);
    trace->drill.adaptive = trace->paths = true;
    trace->drill.observe = drill->observe;
    trace->drill.uncalled = drill->uncalled;
    trace->drill.step_ns = drill->step_ns;
    trace->functions = drill->roots.list.items;
    trace->function_count = drill->roots.list.count;
    trace->drill.conditions = drill->over.list.items;
    trace->drill.condition_count = drill->over.list.count;
    return result;
}

/* == --observe == */

static void print_each(const char *option, const struct cli_texts *texts)
{
    for (size_t i = 0; i < texts->list.count; i++)
        printf("%s = %s\n", option, texts->list.items[i]);
}

static void print_comment(const char *lines)
{
    while (lines && *lines) {
        const size_t length = strcspn(lines, "\n");
        printf("# %.*s\n", (int)length, lines);
        lines += length + (lines[length] == '\n');
    }
}

/* A section's name is a pattern. */
static void print_section(const char *name)
{
    fputs("[program ", stdout);
    for (; *name; name++)
        printf("%s%c", strchr("*?[\\", *name) ? "\\" : "", *name);
    puts("]");
}

int cli_print_drill_config(const struct cli_drill *drill, const struct cli_texts *modules,
                           const char *program, const char *answer, struct sprof_error *error)
{
    const char *slash = strrchr(program, '/');
    puts("# Options for `sprof trace --config FILE`. Without `observe` it adds probes.");
    print_section(slash ? slash + 1 : program);
    puts("adaptive\nobserve");
    print_each("root", &drill->roots);
    for (size_t i = 0; i < drill->over.list.count; i++)
        printf("over = %s\n", drill->over.list.items[i].text);
    if (drill->step_ns)
        printf("step = %lluns\n", (unsigned long long)drill->step_ns);
    if (drill->uncalled)
        puts("uncalled = add");
    print_each("module", modules);
    print_comment(answer);
    return cli_finish_output(error);
}

void cli_drill_release(struct cli_drill *drill)
{
    for (size_t i = 0; i < drill->owned.count; i++)
        free(drill->owned.items[i]);
    sprof_vec_release(&drill->owned);
    sprof_vec_release(&drill->roots.list);
    sprof_vec_release(&drill->over.list);
}

void cli_say_drilled(struct cli_terminal *terminal, const char *answer)
{
    while (answer && *answer) {
        const size_t length = strcspn(answer, "\n");
        cli_say(terminal, "%.*s", (int)length, answer);
        answer += length + (answer[length] == '\n');
    }
}
