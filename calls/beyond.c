/* Adds calls without memory for their own figures to the shared row. */
#include "calls/program.h"

#include <stdlib.h>

int calls_beyond_begin(struct calls_program *program)
{
    struct calls_memory *memory = &program->memory;
    if (!memory->beyond)
        memory->beyond = calloc(program->capacity, sizeof *memory->beyond);
    return memory->beyond ? 0 : SPROF_ENOMEM;
}

static int add_beyond(struct calls_program *program, uint32_t function, uint64_t calls)
{
    struct calls_memory *memory = &program->memory;
    struct calls_memory_sums *sums = &program->all->memory;
    struct probe_stat *stat = &program->threads.others_figures[function].stat;
    struct probing_probe *probe = &program->probes.items[function];
    const bool is_first = !probe->is_beyond;
    probe->is_beyond = true;
    stat->counted += calls;
    if (program->mode == TRACE_LOG)
        stat->unlogged += calls;
    memory->beyond[function] += calls;
    program->threads.others_changed = true;
    sums->beyond_calls += calls;
    sums->beyond_functions += is_first;
    return is_first ? calls_history_probe(program, function, "counted", "room", 0) : 0;
}

static void report_shared(struct calls_program *program)
{
    if (program->memory.has_reported_shared ||
        !atomic_load(&program->process.shared->sharing.threads))
        return;
    program->memory.has_reported_shared = true;
    sprof_log_message(program->options.log, SPROF_LOG_WARNING,
                      "process %d has begun a process or a thread with the thread-local data of "
                      "the one that began it (clone with CLONE_VM alone): from then on calls of "
                      "both are only counted",
                      (int)program->process.pid);
}

int calls_beyond_collect(struct calls_program *program)
{
    const struct probe_shared *shared = program->process.shared;
    const bool has_some = atomic_load(&shared->untracked) || atomic_load(&shared->has_ends) ||
                          atomic_load(&shared->sharing.threads);
    report_shared(program);
    int result = has_some ? calls_beyond_begin(program) : 0;
    const uint64_t *known = program->memory.beyond, most = 64 * calls_most_ticks(program);
    if (!result && known)
        result = calls_shared_row_begin(program);
    for (uint32_t i = 0; known && i < program->probes.count && i < program->capacity && !result;
         i++) {
        const uint64_t calls = atomic_load(&program->process.shared->beyond[i]);
        if (calls - known[i] - 1 < most && program->probes.items[i].is_chosen)
            result = add_beyond(program, i, calls - known[i]);
    }
    return result;
}

void calls_beyond_clear(struct calls_program *program)
{
    program->all->memory.beyond_calls = 0;
    program->all->memory.beyond_functions = 0;
    for (uint32_t i = 0; program->memory.beyond && i < program->capacity; i++)
        program->memory.beyond[i] = atomic_load(&program->process.shared->beyond[i]);
    for (size_t i = 0; i < program->probes.count; i++)
        program->probes.items[i].is_beyond = false;
}
