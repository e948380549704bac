/* The table of policies: what a trace does beside counting. */
#include "trace/policies.h"
#include "trace/drill/drilling.h"
#include "trace/figures/keep_requests.h"
#include "trace/figures/keep_rules.h"
#include "trace/figures/states.h"
#include "trace/figures/warn.h"
#include "trace/probes/heap.h"
#include "trace/probes/outside.h"
#include "trace/probes/probes.h"

static int collect_ended(struct trace_session *program)
{
    return trace_collect(program, TRACE_COLLECT_ENDED);
}

static int govern_by_backend(struct trace_session *program)
{
    return program->backend->govern ? program->backend->govern(program) : 0;
}

/* The order matters: figures come before what decides by them. */
static const struct trace_policy policies[] = {
    {.often = trace_states_begin},
    {.often = trace_states_read},
    {.often = trace_collect_log},
    {.refresh = trace_executed_refresh},
    {.refresh = trace_processes_refresh},
    {.serve = collect_ended},
    {.serve = trace_coverage_serve},
    {.refresh = trace_passed_refresh},
    {.refresh = trace_gone_jumps_refresh},
    {.serve = trace_outside_serve},
    {.refresh = trace_rest_refresh},
    {.refresh = trace_slabs_empty},
    {.refresh = trace_compiled_refresh},
    {.serve = govern_by_backend},
    {.serve = trace_memory_serve},
    {.probes_added = trace_warnings_begin},
    {.probes_added = trace_heap_begin},
    {.probes_added = trace_keep_begin},
    {.probes_added = trace_requests_begin},
    {.probes_added = trace_drilling_probes, .serve = trace_drilling_serve},
    {.probes_added = trace_values_begin, .serve = trace_values_serve},
    {.often = trace_govern},
    {.serve = trace_history_serve},
};
enum { POLICIES = sizeof policies / sizeof *policies };

int trace_policies_serve(struct trace_session *program, bool is_round)
{
    int result = 0;
    for (size_t i = 0; i < POLICIES && !result; i++) {
        const struct trace_policy *policy = &policies[i];
        if (policy->often)
            result = policy->often(program);
        if (is_round && policy->serve && !result)
            result = policy->serve(program);
        if (is_round && policy->refresh && !result)
            policy->refresh(program);
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
