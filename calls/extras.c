/* Selects the agent's features. */
#include "calls/keep_rules.h"
#include "calls/log.h"
#include "calls/program.h"
#include "calls/warn.h"
#include "probing/probing.h"

void trace_set_extras(struct calls_program *session)
{
    const struct trace_options *options = &session->options;
    uint32_t extras = options->paths ? PROBE_PATHS : options->callers ? PROBE_CALLERS : 0;
    if (session->mode == TRACE_LOG)
        extras |= PROBE_LOG;
    if (trace_warns(options))
        extras |= PROBE_WARN;
    if (session->memory.is_spare)
        extras |= PROBE_SPARE;
    if (trace_keeps(session))
        extras |= PROBE_KEEP | (trace_values_are_wanted(session) ? PROBE_ARGUMENTS_TOO : 0);
    extras |= options->stack ? PROBE_STACKS : 0;
    extras |= options->heap ? PROBE_HEAP_BYTES : 0;
    if (options->heap && trace_heap_measures_allocators(&session->probing))
        extras |= PROBE_WARN;
    session->log.has_rings |= session->mode == TRACE_LOG || trace_keeps(session);
    atomic_store(&session->process.shared->extras, extras);
}
