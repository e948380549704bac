/* Runs the drill-downs of a trace. */
#include "trace/drill/drilling.h"
#include "calls/calls.h"
#include "names/names.h"
#include "probing/probing.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW_NS UINT64_C(1000000000)
#define UNCALLED_NS UINT64_C(3000000000) /* before uncalled roots are reported */
enum {
    PROBES_MOST = 200,
    STOP_SHARE = 100 /* threads stand still at most 1/STOP_SHARE of the time */
};

/* == Beginning == */

int trace_drilling_begin(struct trace_session *common, struct sprof_error *error)
{
    if (!common->options.drill.adaptive)
        return 0;
    struct trace_drilling *drilling = calloc(1, sizeof *drilling);
    if (!drilling)
        return sprof_error_memory(error);
    drilling->common = common;
    common->trace->drilling = drilling;
    common->trace->events.thread_ends = trace_drilling_thread_ends;
    common->trace->events.slab_is_empty = trace_drilling_slab_empty;
    return 0;
}

void trace_drilling_free(struct trace_drilling *drilling)
{
    for (size_t i = 0; drilling && i < TRACE_DRILL_ROOTS; i++) {
        rules_drill_release(&drilling->drills[i]);
        trace_below_release(&drilling->reader.below[i]);
    }
    if (drilling) {
        sprof_vec_release(&drilling->functions);
        sprof_map_release(&drilling->numbers);
        sprof_str_release(&drilling->answer);
        sprof_arena_release(&drilling->arena);
    }
    free(drilling);
}

/* The last condition for this root, or for all, applies. */
static int condition_of(const struct trace_session *program, const struct plan_function *function,
                        struct rules_condition *condition, struct sprof_error *error)
{
    const struct trace_options *options = &program->options;
    *condition = (struct rules_condition){.kind = RULES_ALWAYS};
    for (size_t i = 0; i < options->drill.condition_count; i++) {
        struct plan_expressions *expressions = NULL;
        const char *text = options->drill.conditions[i].function;
        int found = text ? plan_expressions_make(&expressions, &text, 1, error) : 1;
        if (!found)
            found = plan_expressions_match(expressions, function, error);
        plan_expressions_free(expressions);
        if (found < 0)
            return found;
        if (found)
            *condition = options->drill.conditions[i];
    }
    return 0;
}

static int add_root(struct trace_drilling *drilling, struct trace_session *program, size_t probe,
                    struct sprof_error *error)
{
    struct trace_below_reader *reader = &drilling->reader;
    const uint32_t number = trace_drilling_number(drilling, program, probe);
    if (!number)
        return sprof_error_memory(error);
    for (size_t r = 0; r < reader->root_count; r++)
        if (drilling->drills[r].root == number - 1)
            return 0;
    if (reader->root_count == TRACE_DRILL_ROOTS)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--root finds more than %d functions: name fewer, a drill-down "
                               "begins at few",
                               TRACE_DRILL_ROOTS);
    struct rules_drill *drill = &drilling->drills[reader->root_count];
    drill->root = number - 1;
    drill->most = PROBES_MOST;
    drill->keeps_uncalled = program->options.drill.uncalled;
    drill->observes = program->options.drill.observe;
    reader->below[reader->root_count++].root = number - 1;
    return condition_of(program, program->probes.items[probe].function, &drill->condition, error);
}

/* A program that comes later gets the probes that the others have. */
static void join(const struct trace_drilling *drilling, struct trace_session *program,
                 const struct rules_drill *drill)
{
    for (size_t i = 0; i < drill->nodes.count; i++) {
        const struct rules_drill_node *node = &drill->nodes.items[i];
        const size_t probe = node->is_probed && node->function != drill->root
                                 ? trace_drilling_probe(drilling, program, node->function)
                                 : SIZE_MAX;
        if (probe != SIZE_MAX)
            program->probes.items[probe].is_drilled = true;
    }
}

int trace_drilling_probes(struct trace_session *program, size_t first, struct sprof_error *error)
{
    struct trace_drilling *drilling = program->trace->drilling;
    int result = 0;
    if (!drilling)
        return 0;
    if (!program->below && !(program->below = calloc(1, sizeof *program->below)))
        return sprof_error_memory(error);
    for (size_t i = first; i < program->probes.count && !result; i++)
        if (program->probes.items[i].is_chosen)
            result = add_root(drilling, program, i, error);
    for (size_t r = 0; r < drilling->reader.root_count && !result; r++)
        join(drilling, program, &drilling->drills[r]);
    return result;
}

/* == Windows == */

static int read_programs(struct trace_drilling *drilling)
{
    const struct trace *trace = drilling->common->trace;
    int result = 0;
    for (size_t i = 0; i < trace->programs.count && !result; i++) {
        struct trace_session *program = trace_program_at(trace, i);
        const struct counters_pages pages = calls_pages(&program->calls);
        const uint32_t slabs = counters_slab_count(&pages);
        result = trace_drilling_list_on(drilling, program);
        for (uint32_t slab = 0; slab < slabs && !result; slab++)
            if (counters_slab_holder(&pages, slab))
                result = trace_below_read(&drilling->reader, program, slab);
        if (!result)
            result = trace_below_read_results(&drilling->reader, program);
    }
    return result;
}

static int decide(struct trace_drilling *drilling, size_t root, uint64_t now_ns, double cpu_ns)
{
    struct rules_drill *drill = &drilling->drills[root];
    struct trace_below *below = &drilling->reader.below[root];
    const struct rules_drill_source source = {drilling, trace_drilling_callees};
    struct rules_drill_window window = {.figures = below->figures.items,
                                        .figure_count = below->figures.count,
                                        .flows = below->flows.items,
                                        .flow_count = below->flows.count};
    int result = trace_below_calls(below, &drill->condition, drilling->common->times.ns_per_tick,
                                   &window.root);
    window.root.seconds = (double)(now_ns - drilling->window_ns) / 1e9;
    window.root.cpu_ns = cpu_ns;
    if (!result)
        result = rules_drill_take(drill, &window, &source);
    trace_below_clear(below);
    return result;
}

/* == Doing what was decided == */

static bool is_wanted(const struct trace_drilling *drilling, uint32_t function)
{
    for (size_t r = 0; r < drilling->reader.root_count; r++) {
        const struct rules_drill_node *node = rules_drill_node_of(&drilling->drills[r], function);
        if (node && node->is_probed)
            return true;
    }
    return false;
}

static bool switch_program(struct trace_drilling *drilling, struct trace_session *program,
                           const struct rules_drill *drill)
{
    bool is_any = false;
    for (size_t i = 0; i < drill->steps.count; i++) {
        const uint32_t function = drill->steps.items[i].function;
        const size_t probe = trace_drilling_probe(drilling, program, function);
        const bool is = is_wanted(drilling, function);
        if (probe == SIZE_MAX || program->probes.items[probe].is_drilled == is)
            continue;
        program->probes.items[probe].is_drilled = is;
        is_any = true;
    }
    return is_any;
}

static uint64_t switch_all(struct trace_drilling *drilling)
{
    const struct trace *trace = drilling->common->trace;
    const uint64_t begin_ns = sprof_clock_monotonic_ns();
    for (size_t i = 0; i < trace->programs.count; i++) {
        bool is_any = false;
        for (size_t r = 0; r < drilling->reader.root_count; r++)
            is_any |= switch_program(drilling, trace_program_at(trace, i), &drilling->drills[r]);
        if (is_any)
            probing_switch(&trace_program_at(trace, i)->probing);
    }
    return probing_woken_ns(&drilling->common->probing, begin_ns);
}

/* Calls during switching do not count, nor do those before values were found for rules. */
static int begin_window(struct trace_drilling *drilling, uint64_t stopped_ns)
{
    const struct trace *trace = drilling->common->trace;
    int result = 0;
    for (size_t i = 0; i < trace->programs.count && !result; i++)
        result = calls_values_serve(&trace_program_at(trace, i)->calls);
    if (!result)
        result = read_programs(drilling);
    for (size_t r = 0; r < drilling->reader.root_count; r++)
        trace_below_clear(&drilling->reader.below[r]);
    drilling->window_ns = sprof_clock_monotonic_ns();
    drilling->begun_ns = drilling->begun_ns ? drilling->begun_ns : drilling->window_ns;
    drilling->cpu_ns = calls_command_cpu_ns(&drilling->common->trace->calls);
    const uint64_t rest_ns = stopped_ns * STOP_SHARE;
    const uint64_t given_ns = drilling->common->options.drill.step_ns,
                   window_ns = given_ns ? given_ns : WINDOW_NS;
    drilling->next_ns = drilling->window_ns + (rest_ns > window_ns ? rest_ns : window_ns);
    return result;
}

static void report_uncalled(struct trace_drilling *drilling)
{
    if (drilling->is_uncalled_told ||
        drilling->window_ns - drilling->begun_ns < UNCALLED_NS - WINDOW_NS)
        return;
    drilling->is_uncalled_told = true;
    for (size_t r = 0; r < drilling->reader.root_count; r++) {
        const struct trace_below *below = &drilling->reader.below[r];
        if (drilling->drills[r].state == RULES_DRILL_WAITS && !below->usual.count &&
            !below->calls && !below->flows.count)
            sprof_log_message(
                drilling->common->options.log, SPROF_LOG_WARNING,
                "%s has not been called yet: a drill-down begins with its calls",
                names_screen_show(drilling->common->options.names,
                                  drilling->functions.items[drilling->drills[r].root].name));
    }
}

static bool are_over(const struct trace_drilling *drilling)
{
    bool are = drilling->reader.root_count > 0;
    for (size_t r = 0; r < drilling->reader.root_count; r++)
        are &= drilling->drills[r].state > RULES_DRILL_LOOKS;
    return are;
}

static int end_window(struct trace_drilling *drilling, uint64_t now_ns)
{
    struct trace_session *common = drilling->common;
    const double cpu_ns = (double)(calls_command_cpu_ns(&common->trace->calls) - drilling->cpu_ns);
    int result = read_programs(drilling);
    drilling->step_cpu_ns += cpu_ns;
    report_uncalled(drilling);
    for (size_t r = 0; r < drilling->reader.root_count && !result; r++)
        result = decide(drilling, r, now_ns, cpu_ns);
    const uint64_t stopped_ns = result ? 0 : switch_all(drilling);
    for (size_t r = 0; r < drilling->reader.root_count && !result; r++) {
        if (drilling->drills[r].steps.count)
            trace_drilling_report_step(drilling, r, stopped_ns);
        drilling->is_new[r] =
            drilling->drills[r].state > RULES_DRILL_LOOKS && !drilling->is_reported[r];
        if (drilling->is_new[r])
            result = trace_drilling_conclude(drilling, r);
    }
    for (size_t r = 0; r < drilling->reader.root_count; r++)
        drilling->step_cpu_ns = drilling->drills[r].has_widened ? 0 : drilling->step_cpu_ns;
    for (size_t r = 0; r < drilling->reader.root_count; r++)
        drilling->has_phases |= drilling->is_new[r] || drilling->drills[r].has_widened;
    if (common->options.pid && !common->options.duration_ns && are_over(drilling))
        common->trace->ends = true;
    return result ? result : begin_window(drilling, stopped_ns);
}

/* Works with the first program, for all. */
int trace_drilling_serve(struct trace_session *program)
{
    struct trace_drilling *drilling = program->trace->drilling;
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    if (!drilling || program != trace_program_at(program->trace, 0) || program->common->paused)
        return 0;
    if (!drilling->window_ns)
        return begin_window(drilling, 0);
    return now_ns < drilling->next_ns ? 0 : end_window(drilling, now_ns);
}

/* == By hand == */

int trace_drilling_widen(struct trace_session *common, const char *expression,
                         struct sprof_str *answer, struct sprof_error *error)
{
    struct trace_drilling *drilling = common->trace->drilling;
    struct plan_expressions *expressions = NULL;
    size_t found = 0;
    if (!drilling)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`widen` is for a trace with --adaptive: `probe +children:RE` adds "
                               "what functions call to any trace");
    int result = plan_expressions_make(&expressions, &expression, 1, error);
    for (size_t r = 0; r < drilling->reader.root_count && !result; r++) {
        struct rules_drill *drill = &drilling->drills[r];
        const struct plan_function function = {.name = drilling->functions.items[drill->root].name};
        const int matches = plan_expressions_match(expressions, &function, error);
        if (matches < 0)
            result = matches;
        if (matches <= 0)
            continue;
        found++;
        drill->is_forced = true;
        if (drill->state > RULES_DRILL_LOOKS) {
            drill->state = RULES_DRILL_WAITS;
            drilling->is_reported[r] = false;
        }
    }
    plan_expressions_free(expressions);
    if (!result && !found)
        return sprof_error_set(
            error, SPROF_EUSAGE, 0, "`%.100s` finds none of the %zu root%s of the drill-down",
            expression, drilling->reader.root_count, sprof_plural(drilling->reader.root_count));
    sprof_str_appendf(answer, "the drill-down of %zu root%s begins with the next second", found,
                      sprof_plural(found));
    return result;
}

/* Applies new options. */
static int renew(struct trace_drilling *drilling, size_t root, struct sprof_error *error)
{
    struct trace_session *common = drilling->common;
    struct rules_drill *drill = &drilling->drills[root];
    drill->keeps_uncalled = common->options.drill.uncalled;
    for (size_t i = 0; i < common->trace->programs.count; i++) {
        const struct trace_session *program = trace_program_at(common->trace, i);
        const size_t probe = trace_drilling_probe(drilling, program, drill->root);
        if (probe != SIZE_MAX)
            return condition_of(common, program->probes.items[probe].function, &drill->condition,
                                error);
    }
    return 0;
}

int trace_drilling_reload(struct trace_session *common, struct sprof_str *answer,
                          struct sprof_error *error)
{
    struct trace_drilling *drilling = common->trace->drilling;
    struct trace_options *options = &common->options;
    if (!options->drill.reload || !drilling)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`reload` is for a drill-down that has a file of options: `sprof "
                               "trace --config FILE`");
    int result = options->drill.reload(options->drill.reload_context, options, error);
    for (size_t r = 0; r < drilling->reader.root_count && !result; r++)
        result = renew(drilling, r, error);
    sprof_str_appendf(
        answer,
        "the conditions of %zu root%s are as in the file; all else holds from the next "
        "trace on",
        drilling->reader.root_count, sprof_plural(drilling->reader.root_count));
    return result;
}
