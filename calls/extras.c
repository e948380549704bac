/* Selects the agent's features. */
#include "calls/keep_rules.h"
#include "calls/log.h"
#include "calls/program.h"
#include "calls/warn.h"
#include "probing/probing.h"

void calls_set_extras(struct calls_program *session)
{
    const struct trace_options *options = &session->options;
    uint32_t extras = options->paths ? PROBE_PATHS : options->callers ? PROBE_CALLERS : 0;
    if (session->mode == TRACE_LOG)
        extras |= PROBE_LOG;
    if (calls_warns(options))
        extras |= PROBE_WARN;
    if (session->memory.is_spare)
        extras |= PROBE_SPARE;
    if (calls_keeps(session))
        extras |= PROBE_KEEP | (calls_values_are_wanted(session) ? PROBE_ARGUMENTS_TOO : 0);
    extras |= options->stack ? PROBE_STACKS : 0;
    extras |= options->heap ? PROBE_HEAP_BYTES : 0;
    if (options->heap && probing_heap_measures_allocators(&session->probing))
        extras |= PROBE_WARN;
    session->log.has_rings |= session->mode == TRACE_LOG || calls_keeps(session);
    atomic_store(&session->process.shared->extras, extras);
}
