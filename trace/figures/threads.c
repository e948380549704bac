/* Names traced threads, and gives them rows in the recording. */
#include "trace/figures/figures.h"
#include "trace/tracing.h"

#include <stdio.h>
#include <string.h>

uint32_t trace_slab_count(const struct trace_session *session)
{
    const uint32_t used = atomic_load(&session->process.shared->slabs_used);
    return used < session->slab_count ? used : session->slab_count;
}

void trace_thread_name(pid_t pid, int32_t tid, char name[16])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)pid, (int)tid);
    FILE *file = fopen(path, "re");
    *name = '\0';
    if (file && fgets(name, 16, file))
        name[strcspn(name, "\n")] = '\0';
    if (file)
        fclose(file);
}

void trace_slab_name(const struct trace_session *session, uint32_t slab, char name[16])
{
    const _Atomic uint64_t *from = session->process.shared->names[slab];
    const uint64_t words[] = {atomic_load(&from[0]), atomic_load(&from[1])};
    memcpy(name, words, sizeof words);
    name[15] = '\0';
}

void trace_thread_own_name(const struct trace_session *session, pid_t pid, int32_t tid,
                           char name[16])
{
    const uint32_t count = trace_slab_count(session);
    *name = '\0';
    for (uint32_t i = 0; i < count && !*name; i++)
        if (atomic_load(&session->process.shared->slabs[i].tid) == (uint32_t)tid &&
            atomic_load(&session->process.shared->slabs[i].pid) == (uint32_t)pid)
            trace_slab_name(session, i, name);
}

int trace_thread_rename(struct trace_session *session, uint32_t slab)
{
    struct trace_thread *thread = session->slabs[slab];
    char name[16];
    trace_slab_name(session, slab, name);
    if (!*name || !strcmp(name, thread->name) || thread->shares || thread->is_idle)
        return 0;
    memcpy(thread->name, name, sizeof name);
    const struct model_record named = {.type = MODEL_RECORD_COMM,
                                       .time_ns = sprof_clock_monotonic_ns(),
                                       .pid = thread->pid,
                                       .tid = thread->tid,
                                       .cpu = -1,
                                       .comm.name = sprof_arena_text(&session->arena, name)};
    return !named.comm.name || recording_event(session->recording, &named) ? SPROF_ENOMEM : 0;
}

/* A number that was used before is another thread's now. */
int trace_thread_add_row(struct trace_session *session, struct trace_thread *thread)
{
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    const struct model_record fork = {.type = MODEL_RECORD_FORK,
                                      .time_ns = now_ns,
                                      .pid = thread->pid,
                                      .tid = thread->tid,
                                      .fork = {thread->pid, thread->pid}};
    const uint64_t key = (uint32_t)thread->tid;
    const char *name = sprof_arena_text(&session->arena, thread->name);
    if (!name ||
        (sprof_map_get(&session->ended_tids, key) && recording_event(session->recording, &fork)))
        return SPROF_ENOMEM;
    const struct model_thread *row = recording_thread(
        session->recording, thread->pid, thread->tid, *name ? name : NULL,
        thread->tid == session->process.pid || !thread->tid ? session->start_ns : now_ns);
    thread->row = row ? row->id : 0;
    return row ? 0 : SPROF_ENOMEM;
}
