/* Writes rows of probes, their changes, and options of phases. */
#include "calls/history.h"
#include "calls/program.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_EVENTS = 1 << 18 }; /* so that a command in a loop does not fill the disk */

uint64_t calls_history_time(const struct calls_program *program, uint64_t now_ns)
{
    const uint64_t start_ns = program->run->start_monotonic_ns;
    return now_ns > start_ns ? now_ns - start_ns : 0;
}

static int put_event(struct calls_program *program, const struct store_probe_event *event)
{
    struct calls_history *history = &program->all->history;
    struct store_probe_event row = *event;
    if (history->events >= MOST_EVENTS)
        return 0;
    row.run_id = program->run->id;
    row.number = ++history->events;
    return sprof_vec_push(&recording_batch(program->recording)->probe_events, row) ? SPROF_ENOMEM
                                                                                   : 0;
}

int calls_history_put(struct calls_program *program, uint32_t number, uint64_t now_ns,
                      const struct store_probe_event *event)
{
    struct store_probe_event row = *event;
    const int result = calls_node_of(program, number, 0, &row.node_id);
    row.time_ns = calls_history_time(program, now_ns);
    return result == SPROF_ENOTFOUND ? 0 : result ? result : put_event(program, &row);
}

int calls_history_probe(struct calls_program *program, uint32_t number, const char *what,
                        const char *cause, double share)
{
    const struct store_probe_event row = {
        .what = what, .cause = cause, .share = share < 1 ? share : 1};
    return calls_history_put(program, number, program->times.now_ns, &row);
}

int calls_history_all(struct calls_program *program, const char *what, const char *cause)
{
    struct store_probe_event row = {.what = what,
                                    .cause = cause,
                                    .time_ns =
                                        calls_history_time(program, sprof_clock_monotonic_ns())};
    for (size_t i = 0; i < program->all->programs.count; i++)
        row.in_flight += probing_calls_sum(&calls_program_at(program->all, i)->probing).in_flight;
    return put_event(program, &row);
}

static int by_start(const void *address, const void *function)
{
    const uint64_t at = *(const uint64_t *)address;
    const uint64_t start = ((const struct plan_function *)function)->start;
    return at < start ? -1 : at > start;
}

static const struct plan_function *function_at(const struct plan *plan, uint64_t start)
{
    return plan->function_count ? bsearch(&start, plan->functions, plan->function_count,
                                          sizeof *plan->functions, by_start)
                                : NULL;
}

/* Counts direct callers of each function of the file. Calls through the PLT are not included. */
static void count_callers(struct calls_program *program, struct probing_file *file)
{
    const struct plan *plan = &file->plan;
    file->callers =
        sprof_arena_alloc(&program->arena, (plan->function_count + 1) * sizeof *file->callers);
    for (size_t i = 0; file->callers && i < plan->function_count; i++)
        for (uint32_t k = 0; k < plan->functions[i].callees; k++) {
            const struct plan_callee *callee = &plan->callees[plan->functions[i].first_callee + k];
            const struct plan_function *found =
                callee->is_slot ? NULL : function_at(plan, callee->address);
            if (found && found != &plan->functions[i])
                file->callers[found - plan->functions]++;
        }
}

/* 0: none or unknown. */
static uint32_t callers_of(struct calls_program *program, struct probing_file *file, uint64_t start)
{
    if (!file->callers)
        count_callers(program, file);
    const struct plan_function *found = function_at(&file->plan, start);
    return found && file->callers ? file->callers[found - file->plan.functions] : 0;
}

int calls_history_describe(struct calls_program *program, uint32_t number)
{
    struct probing_probe *probe = &program->probes.items[number];
    uint32_t node;
    const int result = probe->is_described ? 1 : calls_node_of(program, number, 0, &node);
    if (result)
        return result == SPROF_ENOMEM ? result : 0;
    const struct store_probe row = {
        program->run->id, node,
        program->reader->mechanism ? program->reader->mechanism
                                   : plan_mechanism_text(probe->function->mechanism),
        probe->function->site ? probe->function->site : probe->function->start,
        callers_of(program, &program->files.items[probe->file], probe->function->start)};
    probe->is_described = true;
    return sprof_vec_push(&recording_batch(program->recording)->probes, row) ? SPROF_ENOMEM : 0;
}

/* == Options == */

static int put_number(struct calls_program *program, const char *name, double value, bool is_given)
{
    char text[48];
    snprintf(text, sizeof text, "%.10g", value);
    return is_given ? recording_add_phase_option(program->recording, name, text) : 0;
}

static int put_flag(struct calls_program *program, const char *name, bool is_given)
{
    return is_given ? recording_add_phase_option(program->recording, name, "") : 0;
}

int calls_history_phase(struct calls_program *program, const char *mode)
{
    const struct trace_options *options = &program->options;
    int result = recording_add_phase_option(program->recording, "mode", mode);
    const struct {
        const char *name;
        bool is_given;
    } flags[] = {
        {"callers", options->callers},
        {"paths", options->paths},
        {"children", options->children},
        {"all-points", options->all_points},
        {"adaptive", options->drill.adaptive},
        {"observe", options->drill.observe},
        {"uncalled", options->drill.uncalled},
        {"args", options->kept.arguments},
        {"stack", options->stack},
        {"heap", options->heap},
    };
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"max-overhead", options->max_overhead > 0 ? options->max_overhead : 0},
        {"memory", (double)options->memory},
        {"depth", options->depth},
        {"max-size", (double)options->max_size},
        {"stack-check", options->warn.stack_percent},
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags && !result; i++)
        result = put_flag(program, flags[i].name, flags[i].is_given);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !result; i++)
        result = put_number(program, numbers[i].name, numbers[i].value, numbers[i].value != 0);
    return result;
}
