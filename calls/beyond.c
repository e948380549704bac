/* Adds calls without memory for their own figures to the shared row. */
#include "calls/program.h"

#include <stdlib.h>

int calls_beyond_begin(struct calls_program *session)
{
    struct calls_memory *memory = &session->memory;
    if (!memory->beyond)
        memory->beyond = calloc(session->capacity, sizeof *memory->beyond);
    return memory->beyond ? 0 : SPROF_ENOMEM;
}

static int add_beyond(struct calls_program *session, uint32_t function, uint64_t calls)
{
    struct calls_memory *memory = &session->memory;
    struct calls_memory_sums *sums = &session->all->memory;
    struct probe_stat *stat = &session->threads.others_figures[function].stat;
    struct probing_probe *probe = &session->probes.items[function];
    const bool is_first = !probe->is_beyond;
    probe->is_beyond = true;
    stat->counted += calls;
    if (session->mode == TRACE_LOG)
        stat->unlogged += calls;
    memory->beyond[function] += calls;
    session->threads.others_changed = true;
    sums->beyond_calls += calls;
    sums->beyond_functions += is_first;
    return is_first ? calls_history_probe(session, function, "counted", "room", 0) : 0;
}

static void report_shared(struct calls_program *session)
{
    if (session->memory.has_reported_shared ||
        !atomic_load(&session->process.shared->sharing.threads))
        return;
    session->memory.has_reported_shared = true;
    sprof_log_message(session->options.log, SPROF_LOG_WARNING,
                      "process %d has begun a process or a thread with the thread-local data of "
                      "the one that began it (clone with CLONE_VM alone): from then on calls of "
                      "both are only counted",
                      (int)session->process.pid);
}

int calls_beyond_collect(struct calls_program *session)
{
    const struct probe_shared *shared = session->process.shared;
    const bool has_some = atomic_load(&shared->untracked) || atomic_load(&shared->has_ends) ||
                          atomic_load(&shared->sharing.threads);
    report_shared(session);
    int result = has_some ? calls_beyond_begin(session) : 0;
    const uint64_t *known = session->memory.beyond, most = 64 * calls_most_ticks(session);
    if (!result && known)
        result = calls_shared_row_begin(session);
    for (uint32_t i = 0; known && i < session->probes.count && i < session->capacity && !result;
         i++) {
        const uint64_t calls = atomic_load(&session->process.shared->beyond[i]);
        if (calls - known[i] - 1 < most && session->probes.items[i].is_chosen)
            result = add_beyond(session, i, calls - known[i]);
    }
    return result;
}

void calls_beyond_clear(struct calls_program *session)
{
    session->all->memory.beyond_calls = 0;
    session->all->memory.beyond_functions = 0;
    for (uint32_t i = 0; session->memory.beyond && i < session->capacity; i++)
        session->memory.beyond[i] = atomic_load(&session->process.shared->beyond[i]);
    for (size_t i = 0; i < session->probes.count; i++)
        session->probes.items[i].is_beyond = false;
}
