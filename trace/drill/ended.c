/* Reads ended threads' calls for drill-downs. */
#include "trace/drill/drilling.h"

/* Figures are lost without memory. */
void trace_drilling_thread_ends(struct trace_session *program, uint32_t slab)
{
    struct trace_drilling *drilling = program->trace->drilling;
    if (drilling && program->below && program->below->on.count)
        trace_below_read(&drilling->reader, program, slab);
}

void trace_drilling_slab_empty(struct trace_session *program, uint32_t slab)
{
    if (program->below && program->below->slabs[slab])
        trace_below_forget(program->below->slabs[slab]);
}
