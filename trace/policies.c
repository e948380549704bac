/* The table of policies: what a trace does beside counting. */
#include "trace/policies.h"
#include "calls/calls.h"
#include "probing/probing.h"
#include "trace/drill/drilling.h"

static int collect_ended(struct calls_program *program)
{
    return calls_collect(program, CALLS_COLLECT_ENDED);
}

static int govern_by_backend(struct trace_session *program)
{
    return program->backend->govern ? program->backend->govern(program) : 0;
}

/* The order matters: figures come before what decides by them. */
static const struct trace_policy policies[] = {
    {.calls.often = calls_states_begin},
    {.calls.often = calls_states_read},
    {.calls.often = calls_collect_log},
    {.session.refresh = trace_executed_refresh},
    {.calls.refresh = calls_processes_refresh},
    {.calls.serve = collect_ended},
    {.calls.serve = calls_coverage_serve},
    {.probing.refresh = probing_passed_refresh},
    {.probing.refresh = probing_gone_jumps_refresh},
    {.probing.serve = probing_outside_serve, .calls.serve = calls_outside_note_modules},
    {.probing.refresh = probing_rest_refresh},
    {.calls.refresh = calls_slabs_empty},
    {.session.refresh = trace_compiled_refresh},
    {.session.serve = govern_by_backend},
    {.calls.serve = calls_memory_serve},
    {.calls.probes_added = calls_warnings_begin},
    {.probing.probes_added = probing_heap_begin},
    {.calls.probes_added = calls_keep_begin},
    {.calls.probes_added = calls_requests_begin},
    {.session.probes_added = trace_drilling_probes, .session.serve = trace_drilling_serve},
    {.calls.probes_added = calls_values_begin, .calls.serve = calls_values_serve},
    {.session.often = trace_govern},
    {.calls.serve = calls_history_serve},
};
enum { POLICIES = sizeof policies / sizeof *policies };

int trace_policies_serve(struct trace_session *program, bool is_round)
{
    int result = 0;
    for (size_t i = 0; i < POLICIES && !result; i++) {
        const struct trace_policy *policy = &policies[i];
        if (policy->calls.often)
            result = policy->calls.often(&program->calls);
        if (policy->session.often && !result)
            result = policy->session.often(program);
        if (is_round && policy->probing.serve && !result)
            result = policy->probing.serve(&program->probing);
        if (is_round && policy->calls.serve && !result)
            result = policy->calls.serve(&program->calls);
        if (is_round && policy->session.serve && !result)
            result = policy->session.serve(program);
        if (is_round && policy->probing.refresh && !result)
            policy->probing.refresh(&program->probing);
        if (is_round && policy->calls.refresh && !result)
            policy->calls.refresh(&program->calls);
        if (is_round && policy->session.refresh && !result)
            policy->session.refresh(program);
    }
    return result;
}

int trace_policies_probes_added(struct trace_session *program, size_t first,
                                struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < POLICIES && !result; i++) {
        const struct trace_policy *policy = &policies[i];
        if (policy->probing.probes_added)
            result = policy->probing.probes_added(&program->probing, first, error);
        if (policy->calls.probes_added && !result)
            result = policy->calls.probes_added(&program->calls, first, error);
        if (policy->session.probes_added && !result)
            result = policy->session.probes_added(program, first, error);
    }
    return result;
}
