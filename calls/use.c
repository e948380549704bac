/* Writes stack and heap use by function. */
#include "calls/use.h"
#include "calls/program.h"

/* The command can write anything into shared memory: figures beyond these become 0. No stack is
 * larger than the half of all addresses. Figures of heap are added up over processes, in 63 bits.
 */
static const uint64_t most_stack = (UINT64_C(1) << 47) - 1, most_heap = (UINT64_C(1) << 50) - 1;

static uint64_t stack_of(const struct calls_program *program, size_t function)
{
    return counters_limit(atomic_load(&program->process.shared->uses.of[function].stack),
                          most_stack);
}

static int put_stack(struct calls_program *program, uint32_t function)
{
    struct probing_probe *probe = &program->probes.items[function];
    struct store_call_stack row = {.run_id = program->run->id,
                                   .pid = program->process.pid,
                                   .stack_bytes = stack_of(program, function)};
    if (row.stack_bytes <= probe->written_stack)
        return 0;
    const int result = calls_node_of(program, function, 0, &row.node_id);
    if (result)
        return result == SPROF_ENOTFOUND ? 0 : result;
    probe->written_stack = row.stack_bytes;
    return sprof_vec_push(&recording_batch(program->recording)->call_stacks, row) ? SPROF_ENOMEM
                                                                                  : 0;
}

static void add_up(const struct calls_program *program, size_t function,
                   struct store_call_heap *row)
{
    const struct probe_shared *shared = program->process.shared;
    for (int i = 0; i < PROBE_HEAP_STRIPES; i++) {
        row->blocks += atomic_load(&shared->uses.heap[i][function].blocks);
        row->self_bytes += atomic_load(&shared->uses.heap[i][function].self_bytes);
        row->total_bytes += atomic_load(&shared->uses.heap[i][function].total_bytes);
    }
    row->blocks = counters_limit(row->blocks, most_heap);
    row->self_bytes = counters_limit(row->self_bytes, most_heap);
    row->total_bytes = counters_limit(row->total_bytes, most_heap);
}

/* Called functions without allocations get zeros. */
static int put_heap(struct calls_program *program, uint32_t function)
{
    struct probing_probe *probe = &program->probes.items[function];
    struct store_call_heap row = {.run_id = program->run->id, .pid = program->process.pid};
    add_up(program, function, &row);
    const uint64_t sum = row.blocks + row.self_bytes + row.total_bytes + 1;
    if (!probe->sums.calls || sum == probe->written_heap)
        return 0;
    const int result = calls_node_of(program, function, 0, &row.node_id);
    if (result)
        return result == SPROF_ENOTFOUND ? 0 : result;
    probe->written_heap = sum;
    return sprof_vec_push(&recording_batch(program->recording)->call_heaps, row) ? SPROF_ENOMEM : 0;
}

int calls_use_write(struct calls_program *program)
{
    const struct trace_options *options = &program->options;
    int result = 0;
    if (!program->way->has_agent)
        return 0;
    for (uint32_t i = 0; i < program->probes.count && !result; i++) {
        const bool is_chosen = program->probes.items[i].is_chosen;
        if (is_chosen && options->stack)
            result = put_stack(program, i);
        if (is_chosen && options->heap && !result)
            result = put_heap(program, i);
    }
    return result;
}

void calls_use_clear(struct calls_program *program)
{
    const struct trace_options *options = &program->options;
    struct probe_shared *shared = program->process.shared;
    for (size_t i = 0; (options->stack || options->heap) && i < program->probes.count; i++) {
        struct probing_probe *probe = &program->probes.items[i];
        atomic_store(&shared->uses.of[i].stack, 0);
        probe->written_stack = probe->written_heap = 0;
        for (int stripe = 0; stripe < PROBE_HEAP_STRIPES && options->heap; stripe++) {
            atomic_store(&shared->uses.heap[stripe][i].blocks, 0);
            atomic_store(&shared->uses.heap[stripe][i].self_bytes, 0);
            atomic_store(&shared->uses.heap[stripe][i].total_bytes, 0);
        }
    }
}
