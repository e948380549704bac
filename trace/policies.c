/* The table of policies, and loops over it. */
#include "trace/policies.h"
#include "trace/drill/drilling.h"
#include "trace/figures/keep_rules.h"
#include "trace/figures/warn.h"
#include "trace/probes/outside.h"
#include "trace/probes/probes.h"

static int collect_ended(struct trace_session *program)
{
    return trace_collect(program, TRACE_COLLECT_ENDED);
}

/* Uprobes hold max_overhead in their own way. */
static int govern_by_backend(struct trace_session *program)
{
    return program->backend->govern ? program->backend->govern(program) : 0;
}

/* In the order in which they work. Figures come before what decides by them. */
static const struct trace_policy policies[] = {
    {.often = trace_collect_log},
    {.look = trace_executed_look},
    {.look = trace_processes_look},
    {.tick = collect_ended},
    {.tick = trace_coverage_tick},
    {.look = trace_passed_look},
    {.look = trace_gone_jumps_look},
    {.tick = trace_outside_tick},
    {.look = trace_rest_look},
    {.look = trace_slabs_empty},
    {.look = trace_compiled_look},
    {.tick = govern_by_backend},
    {.tick = trace_memory_look},
    {.probes_added = trace_warnings_begin},
    {.probes_added = trace_keep_begin},
    {.probes_added = trace_drilling_probes, .tick = trace_drilling_tick},
    {.probes_added = trace_values_begin},
    {.often = trace_govern},
    {.tick = trace_history_look},
};
enum { POLICIES = sizeof policies / sizeof *policies };

int trace_policies_serve(struct trace_session *program, bool is_look)
{
    int result = 0;
    for (size_t i = 0; i < POLICIES && !result; i++) {
        const struct trace_policy *policy = &policies[i];
        if (policy->often)
            result = policy->often(program);
        if (is_look && policy->tick && !result)
            result = policy->tick(program);
        if (is_look && policy->look && !result)
            policy->look(program);
    }
    return result;
}

int trace_policies_probes_added(struct trace_session *program, size_t first,
                                struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < POLICIES && !result; i++)
        if (policies[i].probes_added)
            result = policies[i].probes_added(program, first, error);
    return result;
}
