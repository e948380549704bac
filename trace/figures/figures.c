/* Reads the figures of threads from the shared memory. The command can write anything there, so
 * each number is checked where it matters. */
#include "trace/drill/drilling.h"
#include "trace/figures/log.h"
#include "trace/figures/warn.h"
#include "trace/probes/points.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define CROWDED_NS UINT64_C(2000000000)

/* A process that executed another program has threads of the same numbers. */
static bool has_ended(const struct trace_session *session, const struct trace_thread *thread)
{
    char path[64];
    const struct trace_process *process = trace_process_find(session, thread->pid);
    if (session->backend->has_ended)
        return session->backend->has_ended(session, (uint32_t)thread->tid);
    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)thread->pid, (int)thread->tid);
    return (process && process->is_over) || access(path, F_OK) != 0;
}

/* == Threads == */

static void free_thread(struct trace_thread *thread)
{
    for (size_t i = 0; thread && i < thread->cells.count; i++)
        free(thread->cells.items[i].base);
    if (thread) {
        sprof_vec_release(&thread->cells);
        sprof_vec_release(&thread->paths);
        sprof_map_release(&thread->path_index);
        sprof_vec_release(&thread->open);
        sprof_vec_release(&thread->callers);
        store_call_packer_release(&thread->packer);
        sprof_map_release(&thread->index);
    }
}

/* Whether the next thread can have a slab as it is, which spares both sides new pages: for threads
 * in the shared row, whose calls have all ended. */
static bool is_reusable(const struct trace_session *session, uint32_t slab)
{
    const struct trace_thread *thread = session->threads.of_slab[slab];
    const struct probe_stat *stats = trace_slab_stats(session, slab);
    bool is = thread->shares && session->now_ns < session->threads.crowded_ns &&
              session->backend->has_agent && !session->log.has_rings && !session->points &&
              !session->memory.no_histograms;
    for (size_t i = 0; i < thread->cells.count && is; i++)
        is = stats[thread->cells.items[i].function].calls ==
             stats[thread->cells.items[i].function].ended;
    return is;
}

/* Puts the call that ended last into its bucket. */
static void settle(struct trace_session *session, uint32_t slab)
{
    struct probe_stat *stats = trace_slab_stats(session, slab);
    const uint64_t all = probe_stats_bytes(session->capacity);
    const uint64_t pending = stats[session->capacity].pending;
    if (pending >= all + sizeof(struct probe_histogram) && pending % sizeof(uint32_t) == 0 &&
        pending < all + probe_histograms_bytes(session->capacity))
        ++*(uint32_t *)((uint8_t *)stats + pending);
    stats[session->capacity].pending = all;
}

static void give_back(struct trace_session *session, uint32_t slab)
{
    atomic_store(&session->process.shared->names[slab][0], 0);
    atomic_store(&session->process.shared->names[slab][1], 0);
    atomic_store(&session->process.shared->slabs[slab].tid, 0);
    atomic_store(&session->process.shared->slabs[slab].state, PROBE_SLAB_FREE);
}

static void empty_slab(struct trace_session *session, uint32_t slab)
{
    fallocate(session->process.memory_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              (off_t)trace_slab_offset(session, slab), (off_t)probe_slab_bytes(session->capacity));
    trace_log_empty(session, slab);
    trace_drilling_slab_empty(session, slab);
    if (session->memory.is_spare)
        trace_slab_forget_pages(session, slab);
    free_thread(session->threads.of_slab[slab]);
    free(session->threads.of_slab[slab]);
    session->threads.of_slab[slab] = NULL;
}

void trace_slabs_empty(struct trace_session *session)
{
    enum { AT_ONCE = 64 };
    const uint32_t count = trace_slab_count(session);
    size_t emptied = 0;
    for (uint32_t i = 0;
         i < count && emptied < AT_ONCE && session->now_ns >= session->threads.crowded_ns; i++) {
        uint32_t state = PROBE_SLAB_FREE;
        if (!session->threads.of_slab[i] || !session->threads.of_slab[i]->is_idle ||
            !atomic_compare_exchange_strong(&session->process.shared->slabs[i].state, &state,
                                            PROBE_SLAB_TAKEN))
            continue;
        empty_slab(session, i);
        give_back(session, i);
        emptied++;
    }
}

/* Gives a slab back. */
static int end_thread(struct trace_session *session, uint32_t slab)
{
    struct trace_thread *thread = session->threads.of_slab[slab];
    const struct model_record exit = {.type = MODEL_RECORD_EXIT,
                                      .time_ns = sprof_clock_monotonic_ns(),
                                      .pid = thread->pid,
                                      .tid = thread->tid};
    const bool is_main =
        thread->tid == session->process.pid && !session->process.shared->follows_forks;
    const int result =
        !thread->shares && !is_main &&
                (sprof_map_put(&session->threads.ended_tids, (uint32_t)thread->tid, 1) ||
                 recording_event(session->recording, &exit))
            ? SPROF_ENOMEM
            : 0;
    trace_points_collect(session, trace_slab_stats(session, slab));
    trace_drilling_thread_ends(session, slab);
    if (is_reusable(session, slab)) {
        settle(session, slab);
        thread->is_idle = true;
    } else {
        empty_slab(session, slab);
    }
    give_back(session, slab);
    return result;
}

void trace_figures_release(struct trace_session *session)
{
    for (size_t i = 0; i < PROBE_SLABS; i++) {
        free_thread(session->threads.of_slab[i]);
        free(session->threads.of_slab[i]);
        session->threads.of_slab[i] = NULL;
    }
    free_thread(&session->threads.others);
    free(session->threads.others_figures);
    session->threads.others_figures = NULL;
    free(session->memory.beyond);
    session->memory.beyond = NULL;
    sprof_map_release(&session->threads.ended_tids);
    sprof_vec_release(&session->log.clocks);
}

/* == Reading == */

/* Adds what is new to the row that many threads share. */
static int add_to_shared_row(struct trace_session *session, struct trace_cell *cell,
                             const struct trace_figures *figures)
{
    struct trace_figures fresh = *figures;
    if (!cell->base && !(cell->base = calloc(1, sizeof *cell->base)))
        return SPROF_ENOMEM;
    trace_figures_subtract(&fresh, cell->base);
    trace_figures_limit(&fresh, trace_most_ticks(session));
    trace_figures_add(&session->threads.others_figures[cell->function], &fresh);
    *cell->base = *figures;
    session->threads.others_changed = true;
    return 0;
}

/* The call that ended last is not in its bucket yet. Where histograms are given up, reading them
 * would make pages. */
static struct trace_figures copy_of(const struct trace_session *session, uint32_t function,
                                    const struct probe_stat *from)
{
    struct trace_figures figures = {.stat = *from};
    const struct probe_stat *stats = from - function;
    const uint64_t all = probe_stats_bytes(session->capacity);
    const uint64_t first = all + (function + 1) * sizeof figures.histogram;
    const uint64_t pending = stats[session->capacity].pending;
    if (session->memory.no_histograms)
        return figures;
    figures.histogram = *(const struct probe_histogram *)((const uint8_t *)stats + first);
    if (pending >= first && pending - first < sizeof figures.histogram)
        figures.histogram.buckets[(pending - first) / sizeof *figures.histogram.buckets]++;
    return figures;
}

static bool is_unchanged(const struct trace_cell *cell, const struct probe_stat *stat)
{
    return cell->calls == stat->calls + stat->counted && cell->ended == stat->ended &&
           cell->self == stat->self && cell->untimed == stat->child_counted;
}

/* Before paths are read: see paths.c. */
static int note_stat(struct trace_session *session, struct trace_thread *thread, uint32_t function,
                     struct probe_stat *from)
{
    (void)session;
    const struct trace_sum sum = {from->calls, from->ended, from->self};
    struct trace_cell *cell = sum.calls ? trace_cell_of(thread, function) : NULL;
    if (cell)
        cell->seen = sum;
    return cell || !sum.calls ? 0 : SPROF_ENOMEM;
}

/* Timed calls are as the paths have them, when those have been read. */
static void take_paths(const struct trace_cell *cell, struct probe_stat *stat)
{
    const uint64_t ended = cell->in_paths.ended + cell->alone.ended;
    stat->calls = cell->in_paths.calls + cell->alone.calls;
    stat->ended = ended < stat->calls ? ended : stat->calls;
    stat->self = (int64_t)((uint64_t)cell->in_paths.self + (uint64_t)cell->alone.self);
}

/* Reads one function of one thread, where something has happened since the last time. */
static int read_stat(struct trace_session *session, struct trace_thread *thread, uint32_t function,
                     struct probe_stat *from)
{
    const uint64_t calls = from->calls + from->counted;
    struct trace_cell *cell = calls ? trace_cell_of(thread, function) : NULL;
    if (!calls)
        return 0;
    if (!cell)
        return SPROF_ENOMEM;
    const bool has_paths = trace_has_paths(session, thread);
    if (!has_paths && is_unchanged(cell, from)) /* nearly all; a copy takes much longer */
        return 0;
    struct trace_figures figures = copy_of(session, function, from);
    struct probe_stat *stat = &figures.stat;
    if (has_paths)
        take_paths(cell, stat);
    if (is_unchanged(cell, stat))
        return 0;
    cell->calls = stat->calls + stat->counted;
    cell->ended = stat->ended;
    cell->self = stat->self;
    cell->untimed = stat->child_counted;
    if (thread->shares)
        return add_to_shared_row(session, cell, &figures);
    if (cell->base)
        trace_figures_subtract(&figures, cell->base);
    trace_figures_limit(&figures, trace_most_ticks(session));
    if (!stat->calls && !stat->counted && !cell->written_calls)
        return 0;
    return trace_put_row(session, thread->row, cell, &figures);
}

/* A command must not wait while all figures are read at the pace of one thread among many. */
static void hurry_if_asked(const struct trace_session *session, uint64_t functions_read)
{
    enum { BETWEEN_LOOKS = 512 };
    struct trace_session *common = session->common;
    if (functions_read % BETWEEN_LOOKS == 0 && !common->trace->urgency.is_raised &&
        control_server_is_asked(&common->trace->control))
        sprof_urgency_raise(&common->trace->urgency);
}

/* Calls `take` for the figures of each chosen function. */
static int each_stat(struct trace_session *session, uint32_t slab,
                     int (*take)(struct trace_session *, struct trace_thread *, uint32_t,
                                 struct probe_stat *))
{
    const uint64_t begin = trace_slab_offset(session, slab);
    const uint64_t end = begin + session->probes.count * sizeof(struct probe_stat);
    struct probe_stat *stats = trace_slab_stats(session, slab);
    uint64_t next = 0; /* function */
    int result = 0;
    uint64_t written, behind = begin;
    while (!result && trace_next_pages(session, behind, end, &written, &behind)) {
        const uint64_t first = (written - begin) / sizeof *stats;
        for (next = first > next ? first : next;
             begin + next * sizeof *stats < behind && next < session->probes.count && !result;
             next++) {
            hurry_if_asked(session, next);
            if (session->probes.items[next].is_chosen)
                result =
                    take(session, session->threads.of_slab[slab], (uint32_t)next, &stats[next]);
        }
    }
    return result;
}

static int write_shared_row(struct trace_session *session)
{
    int result = 0;
    for (size_t i = 0; session->threads.others_changed && i < session->probes.count && !result;
         i++) {
        struct trace_cell *cell = &session->threads.others.cells.items[i];
        const struct trace_figures *figures = &session->threads.others_figures[i];
        const struct probe_stat *stat = &figures->stat;
        const uint64_t calls = stat->calls + stat->counted;
        if (!calls || (cell->calls == calls && cell->ended == stat->ended &&
                       cell->untimed == stat->child_counted))
            continue;
        cell->calls = calls;
        cell->ended = stat->ended;
        cell->untimed = stat->child_counted;
        result = trace_put_row(session, session->threads.others.row, cell, figures);
    }
    session->threads.others_changed = false;
    return result;
}

/* Open calls belong to the new period. */
static struct trace_figures until_now(const struct trace_figures *figures)
{
    struct trace_figures base = *figures;
    const struct probe_stat *stat = &figures->stat;
    const uint64_t open = stat->calls > stat->ended ? stat->calls - stat->ended : 0;
    base.stat.calls -= open;
    base.stat.recursive -= open ? open - 1 : 0;
    return base;
}

static void begin_anew(struct trace_cell *cell)
{
    const struct trace_cell anew = {.function = cell->function,
                                    .base = cell->base,
                                    .seen = cell->seen,
                                    .in_paths = cell->in_paths,
                                    .alone = cell->alone};
    *cell = anew;
}

static int clear_stat(struct trace_session *session, struct trace_thread *thread, uint32_t function,
                      struct probe_stat *stat)
{
    const bool is_called = stat->calls || stat->counted;
    struct trace_cell *cell = is_called ? trace_cell_of(thread, function) : NULL;
    if (!is_called)
        return 0;
    if (!cell || (!cell->base && !(cell->base = calloc(1, sizeof *cell->base))))
        return SPROF_ENOMEM;
    const uint64_t ticks = probe_ticks();
    struct trace_figures copy = copy_of(session, function, stat);
    if (trace_has_paths(session, thread))
        take_paths(cell, &copy.stat);
    begin_anew(cell);
    cell->cleared_ticks = ticks;
    *cell->base = until_now(&copy);
    stat->min_mask = stat->max = 0;
    return 0;
}

int trace_collect_log(struct trace_session *session)
{
    const uint32_t count = session->log.has_rings ? trace_slab_count(session) : 0;
    int result = 0;
    for (uint32_t i = 0; i < count && !result; i++) {
        const uint32_t tid = trace_slab_holder(session, i);
        if (!tid)
            continue;
        result = trace_thread_see(session, i, tid);
        if (!result)
            result = trace_log_read(session, session->threads.of_slab[i], i);
    }
    return result;
}

/* Where an eighth of all slabs is taken between two looks, looks become more frequent. */
static int begin_threads(struct trace_session *session, uint32_t count)
{
    int result = 0;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < count && !result; i++) {
        const uint32_t tid = trace_slab_holder(session, i);
        if (!tid)
            continue;
        taken += !session->threads.of_slab[i] || session->threads.of_slab[i]->is_idle;
        result = trace_thread_see(session, i, tid);
    }
    if (taken > session->slab_count / 8)
        session->threads.crowded_ns = session->now_ns + CROWDED_NS;
    return result;
}

static int add_spent(struct trace_session *session, struct trace_thread *thread, uint32_t function,
                     struct probe_stat *stat)
{
    const struct probe_cost *cost = &session->process.shared->cost;
    (void)thread;
    (void)function;
    session->governor.seen_ticks +=
        (double)stat->calls * cost->whole + (double)stat->counted * cost->count;
    return 0;
}

double trace_spent_ticks(struct trace_session *session)
{
    const uint32_t count = trace_slab_count(session);
    session->governor.seen_ticks = 0;
    for (uint32_t i = 0; i < count; i++)
        each_stat(session, i, add_spent);
    return session->governor.seen_ticks;
}

/* Reads a thread's paths, where calls are counted by them. */
static int read_paths(struct trace_session *session, uint32_t slab,
                      int (*read)(struct trace_session *, struct trace_thread *, uint64_t))
{
    if (!trace_has_paths(session, session->threads.of_slab[slab]))
        return 0;
    const int result = each_stat(session, slab, note_stat);
    return result ? result
                  : read(session, session->threads.of_slab[slab],
                         trace_slab_nodes_offset(session, slab));
}

int trace_collect(struct trace_session *session, enum trace_collecting what)
{
    const struct probe_backend *backend = session->backend;
    int result = backend->read ? backend->read(session, what != TRACE_COLLECT_ENDED) : 0;
    const uint32_t count = trace_slab_count(session);
    if (!result)
        result = begin_threads(session, count);
    if (!result)
        result = trace_warnings_collect(session);
    for (uint32_t i = 0; i < count && !result; i++) {
        if (!session->threads.of_slab[i] || session->threads.of_slab[i]->is_idle)
            continue;
        result = trace_thread_rename(session, i);
        const bool ended = what == TRACE_COLLECT_LAST ||
                           (!result && has_ended(session, session->threads.of_slab[i]));
        if (!result && (ended || what != TRACE_COLLECT_ENDED))
            result = read_paths(session, i, trace_read_paths);
        if (!result && (ended || what != TRACE_COLLECT_ENDED))
            result = each_stat(session, i, read_stat);
        if (!result && session->log.has_rings)
            result = trace_log_read(session, session->threads.of_slab[i], i);
        if (!result && (ended || (what == TRACE_COLLECT_END && session->log.has_rings)))
            result =
                trace_log_end(session, session->threads.of_slab[i], i, what >= TRACE_COLLECT_END);
        if (!result && ended) /* its last warnings, before its slab is another's */
            result = trace_warnings_read(session);
        if (!result && ended)
            result = end_thread(session, i);
    }
    if (!result && what != TRACE_COLLECT_ENDED)
        result = trace_beyond_collect(session);
    return result || what == TRACE_COLLECT_ENDED ? result : write_shared_row(session);
}

int trace_clear_figures(struct trace_session *session, uint64_t ticks)
{
    int result = session->backend->clear ? session->backend->clear(session) : 0;
    if (!result)
        result = trace_collect(session, TRACE_COLLECT_ENDED);
    atomic_store(&session->process.shared->cleared, ticks);
    session->cleared.ticks = ticks;
    const uint32_t count = trace_slab_count(session);
    for (uint32_t i = 0; i < count && !result; i++) {
        if (!session->threads.of_slab[i])
            continue;
        result = read_paths(session, i, trace_clear_paths);
        if (!result)
            result = each_stat(session, i, clear_stat);
        trace_log_note_clear(session, session->threads.of_slab[i], i);
    }
    trace_beyond_clear(session);
    for (size_t i = 0; i < session->threads.others.cells.count; i++) {
        begin_anew(&session->threads.others.cells.items[i]);
        session->threads.others_figures[i] = (struct trace_figures){0};
    }
    trace_log_clear(session, session->now_ns);
    for (size_t i = 0; i < session->probes.count; i++)
        session->probes.items[i].calls = session->probes.items[i].governed_calls = 0;
    session->counts.calls = session->counts.in_flight = session->counts.abnormal =
        session->counts.unplaced_calls = 0;
    return result;
}
