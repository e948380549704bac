/* Reads what the agent measured. The command can write anything there, so each number is checked
 * where it matters. */
#include "trace/tracing.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct probe_stat *stats_of(const struct trace_session *session, uint32_t slab)
{
    const uint8_t *slabs = (const uint8_t *)session->shared + PROBE_SHARED_BYTES;
    return (const struct probe_stat *)(slabs +
                                       slab * probe_slab_bytes((uint32_t)session->probes.count));
}

static bool has_thread(const struct trace_session *session, uint32_t tid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%u", (int)target_command(session->target), tid);
    return access(path, F_OK) == 0;
}

static void add_stat(struct probe_stat *to, const struct probe_stat *stat)
{
    to->calls += stat->calls;
    to->self += stat->self;
    to->total += stat->total;
    to->depth += stat->depth;
    if (stat->min && (stat->min < to->min || !to->min))
        to->min = stat->min;
    to->max = stat->max > to->max ? stat->max : to->max;
    to->ended += stat->ended;
    to->child_calls += stat->child_calls;
    to->tails += stat->tails;
    to->abnormal += stat->abnormal;
    to->recursive += stat->recursive;
    to->uncertain += stat->uncertain;
    for (size_t i = 0; i < PROBE_BUCKETS; i++)
        to->buckets[i] += stat->buckets[i];
}

static int add_function(struct trace_figures *figures, uint32_t function,
                        const struct probe_stat *stat)
{
    if (figures->tid < 0) {
        add_stat(&figures->stats.items[function], stat);
        return 0;
    }
    return sprof_vec_push(&figures->functions, function) || sprof_vec_push(&figures->stats, *stat)
               ? SPROF_ENOMEM
               : 0;
}

/* All functions, in their order: for what many threads share. */
static int fill(struct trace_figures *figures, size_t count)
{
    const struct probe_stat none = {0};
    for (size_t i = 0; i < count; i++)
        if (sprof_vec_push(&figures->functions, (uint32_t)i) ||
            sprof_vec_push(&figures->stats, none))
            return SPROF_ENOMEM;
    return 0;
}

/* The row of a thread; beyond so many all share the last, whose number is -1. */
static struct trace_figures *new_figures(struct trace_session *session, uint32_t slab)
{
    struct trace_figures figures = {0};
    const size_t count = session->threads.count;
    if (count > TRACE_THREADS)
        return &session->threads.items[TRACE_THREADS];
    figures.tid = count == TRACE_THREADS ? -1 : (int32_t)session->shared->slabs[slab].tid;
    snprintf(figures.name, sizeof figures.name, "%s",
             figures.tid < 0 ? "[more threads]" : session->names[slab]);
    if (figures.tid < 0 && fill(&figures, session->probes.count))
        return NULL;
    return sprof_vec_push(&session->threads, figures) ? NULL : &session->threads.items[count];
}

static int take_slab(struct trace_session *session, uint32_t slab)
{
    const struct probe_stat *stats = stats_of(session, slab);
    struct trace_figures *figures = new_figures(session, slab);
    if (!figures)
        return SPROF_ENOMEM;
    for (uint32_t i = 0; i < session->probes.count; i++) {
        const struct probe_stat stat = stats[i];
        if (stat.calls && session->probes.items[i].is_chosen && add_function(figures, i, &stat))
            return SPROF_ENOMEM;
    }
    return 0;
}

/* Gives a slab back, empty. */
static void free_slab(struct trace_session *session, uint32_t slab)
{
    const uint64_t bytes = probe_slab_bytes((uint32_t)session->probes.count);
    fallocate(session->memory_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              (off_t)(PROBE_SHARED_BYTES + slab * bytes), (off_t)bytes);
    session->names[slab][0] = '\0';
    atomic_store(&session->shared->slabs[slab].tid, 0);
    atomic_store(&session->shared->slabs[slab].state, PROBE_SLAB_FREE);
}

static void note_name(struct trace_session *session, uint32_t slab, uint32_t tid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%u/comm", (int)target_command(session->target), tid);
    FILE *file = fopen(path, "re");
    if (file && fgets(session->names[slab], sizeof session->names[slab], file))
        session->names[slab][strcspn(session->names[slab], "\n")] = '\0';
    if (file)
        fclose(file);
}

int trace_collect(struct trace_session *session, bool all)
{
    uint32_t used = atomic_load(&session->shared->slabs_used);
    const uint32_t count = (uint32_t)((session->shared_bytes - PROBE_SHARED_BYTES) /
                                      probe_slab_bytes((uint32_t)session->probes.count));
    if (used > count)
        used = count;
    for (uint32_t i = 0; i < used; i++) {
        const uint32_t tid = atomic_load(&session->shared->slabs[i].tid);
        if (atomic_load(&session->shared->slabs[i].state) != PROBE_SLAB_TAKEN || !tid)
            continue;
        if (!all && has_thread(session, tid)) {
            if (!session->names[i][0])
                note_name(session, i, tid);
            continue;
        }
        if (take_slab(session, i))
            return SPROF_ENOMEM;
        free_slab(session, i);
    }
    return 0;
}
