/* Reads what calls of functions have used beside time, and writes it by function. */
#include "trace/figures/use.h"
#include "trace/tracing.h"

/* The command can write anything there. No stack is larger than the half of all addresses. */
static uint64_t stack_of(const struct trace_session *session, size_t function)
{
    const uint64_t bytes = atomic_load(&session->process.shared->uses[function].stack);
    return bytes < UINT64_C(1) << 47 ? bytes : 0;
}

static int put_stack(struct trace_session *session, uint32_t function)
{
    struct trace_probe *probe = &session->probes.items[function];
    struct store_call_stack row = {.run_id = session->run->id,
                                   .pid = session->process.pid,
                                   .stack_bytes = stack_of(session, function)};
    if (row.stack_bytes <= probe->written_stack)
        return 0;
    const int result = trace_node_of(session, function, 0, &row.node_id);
    if (result)
        return result == SPROF_ENOTFOUND ? 0 : result;
    probe->written_stack = row.stack_bytes;
    return sprof_vec_push(&recording_batch(session->recording)->call_stacks, row) ? SPROF_ENOMEM
                                                                                  : 0;
}

int trace_use_write(struct trace_session *session)
{
    int result = 0;
    if (!session->options.stack || !session->backend->has_agent)
        return 0;
    for (size_t i = 0; i < session->probes.count && !result; i++)
        if (session->probes.items[i].is_chosen)
            result = put_stack(session, (uint32_t)i);
    return result;
}

void trace_use_clear(struct trace_session *session)
{
    for (size_t i = 0; session->options.stack && i < session->probes.count; i++) {
        atomic_store(&session->process.shared->uses[i].stack, 0);
        session->probes.items[i].written_stack = 0;
    }
}
