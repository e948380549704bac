/* Reads calls of threads and programs that end within a window, for drill-downs. */
#include "trace/drill/drilling.h"

int trace_drilling_list_on(struct trace_drilling *drilling, struct trace_session *program)
{
    program->below->on.count = 0;
    for (size_t i = 0; i < program->probes.count; i++)
        if (program->probes.items[i].is_chosen && program->probes.items[i].is_on &&
            (!trace_drilling_number(drilling, program, i) ||
             sprof_vec_push(&program->below->on, (uint32_t)i)))
            return SPROF_ENOMEM;
    return 0;
}

/* Figures are lost without memory. A program that began in this window has no list yet. */
void trace_drilling_thread_ends(struct calls_program *calls, uint32_t slab)
{
    struct trace_session *program = trace_session_of(&calls->probing);
    struct trace_drilling *drilling = program->trace->drilling;
    if (drilling && program->below &&
        (program->below->on.count || !trace_drilling_list_on(drilling, program)))
        trace_below_read(&drilling->reader, program, slab);
}

void trace_drilling_program_ends(struct trace_session *program)
{
    struct trace_drilling *drilling = program->trace->drilling;
    if (drilling && program->below)
        trace_below_read_results(&drilling->reader, program);
}

void trace_drilling_slab_empty(struct calls_program *calls, uint32_t slab)
{
    const struct trace_session *program = trace_session_of(&calls->probing);
    if (program->below && program->below->slabs[slab])
        trace_below_forget(program->below->slabs[slab]);
}
