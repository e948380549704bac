/* Reads threads' figures from shared memory. The command can overwrite them, so numbers are checked
 * before use. */

#include "calls/log.h"
#include "calls/outside.h"
#include "calls/program.h"
#include "calls/remarks.h"
#include "calls/use.h"
#include "calls/warn.h"
#include "probing/probing.h"

#include <stdio.h>
#include <unistd.h>

#define CROWDED_NS UINT64_C(2000000000)

/* After an execve, the new program's threads may have the same ids. */
static bool has_ended(const struct calls_program *session, const struct calls_thread *thread)
{
    char path[64];
    const struct calls_process *process = calls_process_find(session, thread->pid);
    if (session->reader->has_ended)
        return session->reader->has_ended(session, (uint32_t)thread->tid);
    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)thread->pid, (int)thread->tid);
    return (process && process->is_over) || access(path, F_OK) != 0;
}

/* == Threads == */

static void free_thread(struct calls_thread *thread)
{
    for (size_t i = 0; thread && i < thread->cells.count; i++)
        free(thread->cells.items[i].base);
    if (thread) {
        sprof_vec_release(&thread->cells);
        sprof_vec_release(&thread->paths);
        sprof_map_release(&thread->path_index);
        sprof_vec_release(&thread->open);
        sprof_vec_release(&thread->callers);
        calls_remarks_release(&thread->remarks);
        store_call_packer_release(&thread->packer);
        sprof_map_release(&thread->index);
    }
}

/* Whether the next thread can use the slab unchanged, to save new pages. */
static bool is_reusable(const struct calls_program *session, uint32_t slab)
{
    const struct calls_thread *thread = session->threads.of_slab[slab];
    const struct counters_pages pages = calls_pages(session);
    const struct probe_stat *stats = counters_slab_stats(&pages, slab);
    bool is = thread->shares && session->times.now_ns < session->threads.crowded_ns &&
              session->way->has_agent && !session->log.has_rings && !session->points &&
              !session->memory.no_histograms;
    for (size_t i = 0; i < thread->cells.count && is; i++)
        is = stats[thread->cells.items[i].function].calls ==
             stats[thread->cells.items[i].function].ended;
    return is;
}

static void empty_slab(struct calls_program *session, const struct counters_pages *pages,
                       uint32_t slab)
{
    counters_slab_empty(pages, slab);
    counters_ring_empty(pages, slab);
    if (session->all->events.slab_is_empty)
        session->all->events.slab_is_empty(session, slab);
    if (session->memory.is_spare)
        counters_slab_forget_pages(pages, slab);
    free_thread(session->threads.of_slab[slab]);
    free(session->threads.of_slab[slab]);
    session->threads.of_slab[slab] = NULL;
}

void calls_slabs_empty(struct calls_program *session)
{
    enum { AT_ONCE = 64 };
    const struct counters_pages pages = calls_pages(session);
    const uint32_t count = counters_slab_count(&pages);
    size_t emptied = 0;
    for (uint32_t i = 0;
         i < count && emptied < AT_ONCE && session->times.now_ns >= session->threads.crowded_ns;
         i++) {
        uint32_t state = PROBE_SLAB_FREE;
        if (!session->threads.of_slab[i] || !session->threads.of_slab[i]->is_idle ||
            !atomic_compare_exchange_strong(&session->process.shared->slabs[i].state, &state,
                                            PROBE_SLAB_TAKEN))
            continue;
        empty_slab(session, &pages, i);
        counters_slab_free(&pages, i);
        emptied++;
    }
}

static int end_thread(struct calls_program *session, uint32_t slab)
{
    struct calls_thread *thread = session->threads.of_slab[slab];
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
    const struct counters_pages pages = calls_pages(session);
    probing_points_collect(&session->probing, counters_slab_stats(&pages, slab));
    if (session->all->events.thread_ends)
        session->all->events.thread_ends(session, slab);
    if (is_reusable(session, slab)) {
        counters_slab_settle(&pages, slab);
        thread->is_idle = true;
    } else {
        empty_slab(session, &pages, slab);
    }
    counters_slab_free(&pages, slab);
    return result;
}

void calls_figures_release(struct calls_program *session)
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
    counters_clocks_release(&session->log.clocks);
}

/* == Reading == */

static int add_to_shared_row(struct calls_program *session, struct calls_cell *cell,
                             const struct counters_figures *figures)
{
    struct counters_figures fresh = *figures;
    if (!cell->base && !(cell->base = calloc(1, sizeof *cell->base)))
        return SPROF_ENOMEM;
    counters_figures_subtract(&fresh, cell->base);
    counters_figures_limit(&fresh, calls_most_ticks(session));
    counters_figures_add(&session->threads.others_figures[cell->function], &fresh);
    *cell->base = *figures;
    session->threads.others_changed = true;
    return 0;
}

static struct counters_figures read_figures(const struct calls_program *session, uint32_t function,
                                            const struct probe_stat *from)
{
    const struct counters_pages pages = calls_pages(session);
    return counters_figures_read(&pages, from - function, function, !session->memory.no_histograms);
}

static bool is_unchanged(const struct calls_cell *cell, const struct probe_stat *stat, int64_t self)
{
    return cell->calls == stat->calls + stat->counted && cell->ended == stat->ended &&
           cell->self == self && cell->untimed == stat->child_counted;
}

/* Includes time outside. */
static int64_t self_of(const struct calls_program *session, const struct probe_stat *from,
                       uint32_t function)
{
    const struct counters_pages pages = calls_pages(session);
    return (int64_t)((uint64_t)from->self +
                     (uint64_t)counters_outside(&pages, from - function, function));
}

/* Reads a function's sums before its paths: see paths.c. */
static int note_stat(struct calls_program *session, struct calls_thread *thread, uint32_t function,
                     struct probe_stat *from)
{
    const struct counters_sum sum = {from->calls, from->ended,
                                     from->calls ? self_of(session, from, function) : 0};
    struct calls_cell *cell = sum.calls ? calls_cell_of(thread, function) : NULL;
    if (cell)
        cell->seen = sum;
    return cell || !sum.calls ? 0 : SPROF_ENOMEM;
}

static int read_stat(struct calls_program *session, struct calls_thread *thread, uint32_t function,
                     struct probe_stat *from)
{
    const uint64_t calls = from->calls + from->counted;
    struct calls_cell *cell = calls ? calls_cell_of(thread, function) : NULL;
    if (!calls)
        return 0;
    if (!cell)
        return SPROF_ENOMEM;
    const bool has_paths = calls_has_paths(session, thread);
    /* the usual case; a copy takes much longer */
    if (!has_paths && is_unchanged(cell, from, self_of(session, from, function)))
        return 0;
    struct counters_figures figures = read_figures(session, function, from);
    struct probe_stat *stat = &figures.stat;
    if (has_paths)
        counters_sum_replace(stat, &cell->in_paths, &cell->alone);
    if (is_unchanged(cell, stat, stat->self))
        return 0;
    cell->calls = stat->calls + stat->counted;
    cell->ended = stat->ended;
    cell->self = stat->self;
    cell->untimed = stat->child_counted;
    if (thread->shares)
        return add_to_shared_row(session, cell, &figures);
    if (cell->base)
        counters_figures_subtract(&figures, cell->base);
    counters_figures_limit(&figures, calls_most_ticks(session));
    if (!stat->calls && !stat->counted && !cell->written_calls)
        return 0;
    return calls_put_row(session, thread->row, cell, &figures);
}

static void look(struct calls_program *session, uint64_t functions_read)
{
    enum { BETWEEN_LOOKS = 512 };
    if (functions_read % BETWEEN_LOOKS == 0 && session->all->events.look)
        session->all->events.look(session);
}

static int each_stat(struct calls_program *session, uint32_t slab,
                     int (*take)(struct calls_program *, struct calls_thread *, uint32_t,
                                 struct probe_stat *))
{
    const struct counters_pages pages = calls_pages(session);
    struct counters_walk walk = counters_walk_stats(&pages, slab, session->probes.count);
    int result = 0;
    while (!result && counters_walk_next(&walk)) {
        look(session, walk.index);
        if (session->probes.items[walk.index].is_chosen)
            result = take(session, session->threads.of_slab[slab], walk.index, walk.entry);
    }
    return result;
}

static int write_shared_row(struct calls_program *session)
{
    int result = 0;
    for (size_t i = 0; session->threads.others_changed && i < session->probes.count && !result;
         i++) {
        struct calls_cell *cell = &session->threads.others.cells.items[i];
        const struct counters_figures *figures = &session->threads.others_figures[i];
        const struct probe_stat *stat = &figures->stat;
        const uint64_t calls = stat->calls + stat->counted;
        if (!calls || (cell->calls == calls && cell->ended == stat->ended &&
                       cell->untimed == stat->child_counted))
            continue;
        cell->calls = calls;
        cell->ended = stat->ended;
        cell->untimed = stat->child_counted;
        result = calls_put_row(session, session->threads.others.row, cell, figures);
    }
    session->threads.others_changed = false;
    return result;
}

static void begin_anew(struct calls_cell *cell)
{
    const struct calls_cell anew = {.function = cell->function,
                                    .base = cell->base,
                                    .seen = cell->seen,
                                    .in_paths = cell->in_paths,
                                    .alone = cell->alone};
    *cell = anew;
}

static int clear_stat(struct calls_program *session, struct calls_thread *thread, uint32_t function,
                      struct probe_stat *stat)
{
    const bool is_called = stat->calls || stat->counted;
    struct calls_cell *cell = is_called ? calls_cell_of(thread, function) : NULL;
    if (!is_called)
        return 0;
    if (!cell || (!cell->base && !(cell->base = calloc(1, sizeof *cell->base))))
        return SPROF_ENOMEM;
    const uint64_t ticks = probe_ticks();
    struct counters_figures copy = read_figures(session, function, stat);
    if (calls_has_paths(session, thread))
        counters_sum_replace(&copy.stat, &cell->in_paths, &cell->alone);
    begin_anew(cell);
    cell->cleared_ticks = ticks;
    *cell->base = counters_figures_cleared(&copy);
    stat->min_mask = stat->max = 0;
    return 0;
}

int calls_collect_log(struct calls_program *session)
{
    const struct counters_pages pages = calls_pages(session);
    const uint32_t count = session->log.has_rings ? counters_slab_count(&pages) : 0;
    int result = 0;
    for (uint32_t i = 0; i < count && !result; i++) {
        const uint32_t tid = counters_slab_holder(&pages, i);
        if (!tid)
            continue;
        result = calls_thread_see(session, i, tid);
        if (!result)
            result = calls_log_read(session, session->threads.of_slab[i], i);
    }
    return result;
}

/* If an eighth of all slabs is new, reads more often for some time. */
static int begin_threads(struct calls_program *session, uint32_t count)
{
    const struct counters_pages pages = calls_pages(session);
    int result = 0;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < count && !result; i++) {
        const uint32_t tid = counters_slab_holder(&pages, i);
        if (!tid)
            continue;
        taken += !session->threads.of_slab[i] || session->threads.of_slab[i]->is_idle;
        result = calls_thread_see(session, i, tid);
    }
    if (taken > session->slab_count / 8)
        session->threads.crowded_ns = session->times.now_ns + CROWDED_NS;
    return result;
}

static int add_spent(struct calls_program *session, struct calls_thread *thread, uint32_t function,
                     struct probe_stat *stat)
{
    const struct probe_cost cost = calls_cost_of(session);
    (void)thread;
    (void)function;
    session->threads.spent_ticks +=
        (double)stat->calls * cost.whole + (double)stat->counted * cost.count;
    return 0;
}

double calls_spent_ticks(struct calls_program *session)
{
    const struct counters_pages pages = calls_pages(session);
    const uint32_t count = counters_slab_count(&pages);
    session->threads.spent_ticks = 0;
    for (uint32_t i = 0; i < count; i++)
        each_stat(session, i, add_spent);
    return session->threads.spent_ticks + calls_outside_spent(session);
}

static int read_paths(struct calls_program *session, uint32_t slab,
                      int (*read)(struct calls_program *, struct calls_thread *, uint32_t))
{
    if (!calls_has_paths(session, session->threads.of_slab[slab]))
        return 0;
    const int result = each_stat(session, slab, note_stat);
    return result ? result : read(session, session->threads.of_slab[slab], slab);
}

int calls_collect(struct calls_program *session, enum calls_collecting what)
{
    const struct calls_reader *reader = session->reader;
    int result = reader->read ? reader->read(session, what != CALLS_COLLECT_ENDED) : 0;
    const struct counters_pages pages = calls_pages(session);
    const uint32_t count = counters_slab_count(&pages);
    if (!result)
        result = begin_threads(session, count);
    if (!result)
        result = calls_warnings_collect(session);
    for (uint32_t i = 0; i < count && !result; i++) {
        if (!session->threads.of_slab[i] || session->threads.of_slab[i]->is_idle)
            continue;
        result = calls_thread_rename(session, i);
        const bool ended = what == CALLS_COLLECT_LAST ||
                           (!result && has_ended(session, session->threads.of_slab[i]));
        if (!result && (ended || what != CALLS_COLLECT_ENDED))
            result = read_paths(session, i, calls_read_paths);
        if (!result && (ended || what != CALLS_COLLECT_ENDED))
            result = each_stat(session, i, read_stat);
        if (!result && (ended || what != CALLS_COLLECT_ENDED))
            result = calls_outside_read(session, i, ended);
        if (!result && session->log.has_rings)
            result = calls_log_read(session, session->threads.of_slab[i], i);
        if (!result && (ended || (what == CALLS_COLLECT_END && session->log.has_rings)))
            result =
                calls_log_end(session, session->threads.of_slab[i], i, what >= CALLS_COLLECT_END);
        if (!result && ended) /* before another thread gets the slab */
            result = calls_warnings_read(session);
        if (!result && ended)
            result = end_thread(session, i);
    }
    if (!result && what != CALLS_COLLECT_ENDED)
        result = calls_beyond_collect(session);
    if (!result && what != CALLS_COLLECT_ENDED)
        result = calls_outside_write(session);
    if (!result && what != CALLS_COLLECT_ENDED)
        result = calls_use_write(session);
    return result || what == CALLS_COLLECT_ENDED ? result : write_shared_row(session);
}

int calls_clear_figures(struct calls_program *session, uint64_t ticks)
{
    int result = session->reader->clear ? session->reader->clear(session) : 0;
    if (!result)
        result = calls_collect(session, CALLS_COLLECT_ENDED);
    atomic_store(&session->process.shared->cleared, ticks);
    session->times.cleared.ticks = ticks;
    const struct counters_pages pages = calls_pages(session);
    const uint32_t count = counters_slab_count(&pages);
    for (uint32_t i = 0; i < count && !result; i++) {
        if (!session->threads.of_slab[i])
            continue;
        result = read_paths(session, i, calls_clear_paths);
        if (!result)
            result = each_stat(session, i, clear_stat);
        calls_log_note_clear(session, session->threads.of_slab[i], i);
    }
    if (!result)
        result = calls_outside_clear(session);
    calls_beyond_clear(session);
    calls_use_clear(session);
    for (size_t i = 0; i < session->threads.others.cells.count; i++) {
        begin_anew(&session->threads.others.cells.items[i]);
        session->threads.others_figures[i] = (struct counters_figures){0};
    }
    calls_log_clear(session, session->times.now_ns);
    for (size_t i = 0; i < session->probes.count; i++)
        session->probes.items[i].calls = session->probes.items[i].governed_calls = 0;
    session->counts.calls = session->counts.in_flight = session->counts.abnormal =
        session->counts.unplaced_calls = 0;
    return result;
}
