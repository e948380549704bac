/* Writes for the agent what is done with calls, by options and mode. */
#include "trace/figures/log.h"
#include "trace/figures/warn.h"

void trace_set_extras(struct trace_session *session)
{
    const struct trace_options *options = &session->options;
    uint32_t extras = options->paths ? PROBE_PATHS : options->callers ? PROBE_CALLERS : 0;
    if (session->mode == TRACE_LOG)
        extras = PROBE_LOG;
    if (trace_warns(options))
        extras |= PROBE_WARN;
    if (session->memory.is_spare)
        extras |= PROBE_SPARE;
    if (options->keep_count)
        extras |= PROBE_KEEP | (trace_values_are_wanted(options) ? PROBE_ARGUMENTS_TOO : 0);
    session->log.has_rings |= session->mode == TRACE_LOG || options->keep_count;
    atomic_store(&session->process.shared->extras, extras);
}
