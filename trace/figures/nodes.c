/* Names functions for rows: by the stack node of their entry. */
#include "trace/tracing.h"

int trace_node_of(struct trace_session *session, uint32_t function, uint32_t caller, uint32_t *node)
{
    struct trace_probe *probe = &session->probes.items[function];
    *node = probe->node;
    if (!caller && probe->node)
        return 0;
    const struct trace_file *file = &session->files.items[probe->file];
    const int result =
        file->module
            ? recording_child_in(session->recording, caller, file->module,
                                 probe->function->start + file->offset + probe->further, node)
            : recording_child_at(session->recording, caller, session->process.pid,
                                 file->bias + probe->function->start, session->start_ns, node);
    if (!result && !caller)
        probe->node = *node;
    probe->is_unplaced |= result == SPROF_ENOTFOUND;
    return result;
}
