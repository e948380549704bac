/* Selects the agent's features. */
#include "calls/keep_rules.h"
#include "calls/log.h"
#include "calls/program.h"
#include "calls/warn.h"
#include "probing/probing.h"

void calls_set_extras(struct calls_program *program)
{
    const struct trace_options *options = &program->options;
    uint32_t extras = options->paths ? PROBE_PATHS : options->callers ? PROBE_CALLERS : 0;
    if (program->mode == TRACE_LOG)
        extras |= PROBE_LOG;
    if (calls_warns(options))
        extras |= PROBE_WARN;
    if (program->memory.is_spare)
        extras |= PROBE_SPARE;
    if (calls_keeps(program))
        extras |= PROBE_KEEP | (calls_values_are_wanted(program) ? PROBE_ARGUMENTS_TOO : 0);
    extras |= options->stack ? PROBE_STACKS : 0;
    extras |= options->heap ? PROBE_HEAP_BYTES : 0;
    if (options->heap && probing_heap_measures_allocators(&program->probing))
        extras |= PROBE_WARN;
    program->log.has_rings |= program->mode == TRACE_LOG || calls_keeps(program);
    atomic_store(&program->process.shared->extras, extras);
}
