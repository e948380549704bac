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
static bool has_ended(const struct calls_program *program, const struct calls_thread *thread)
{
    char path[64];
    const struct calls_process *process = calls_process_find(program, thread->pid);
    if (program->reader->has_ended)
        return program->reader->has_ended(program, (uint32_t)thread->tid);
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
static bool is_reusable(const struct calls_program *program, uint32_t slab)
{
    const struct calls_thread *thread = program->threads.of_slab[slab];
    const struct counters_pages pages = calls_pages(program);
    const struct probe_stat *stats = counters_slab_stats(&pages, slab);
    bool is = thread->shares && program->times.now_ns < program->threads.crowded_ns &&
              program->way->has_agent && !program->log.has_rings && !program->points &&
              !program->memory.no_histograms;
    for (size_t i = 0; i < thread->cells.count && is; i++)
        is = stats[thread->cells.items[i].function].calls ==
             stats[thread->cells.items[i].function].ended;
    return is;
}

static void empty_slab(struct calls_program *program, const struct counters_pages *pages,
                       uint32_t slab)
{
    counters_slab_empty(pages, slab);
    counters_ring_empty(pages, slab);
    if (program->all->events.slab_is_empty)
        program->all->events.slab_is_empty(program, slab);
    if (program->memory.is_spare)
        counters_slab_forget_pages(pages, slab);
    free_thread(program->threads.of_slab[slab]);
    free(program->threads.of_slab[slab]);
    program->threads.of_slab[slab] = NULL;
}

void calls_slabs_empty(struct calls_program *program)
{
    enum { AT_ONCE = 64 };
    const struct counters_pages pages = calls_pages(program);
    const uint32_t count = counters_slab_count(&pages);
    size_t emptied = 0;
    for (uint32_t i = 0;
         i < count && emptied < AT_ONCE && program->times.now_ns >= program->threads.crowded_ns;
         i++) {
        uint32_t state = PROBE_SLAB_FREE;
        if (!program->threads.of_slab[i] || !program->threads.of_slab[i]->is_idle ||
            !atomic_compare_exchange_strong(&program->process.shared->slabs[i].state, &state,
                                            PROBE_SLAB_TAKEN))
            continue;
        empty_slab(program, &pages, i);
        counters_slab_free(&pages, i);
        emptied++;
    }
}

static int end_thread(struct calls_program *program, uint32_t slab)
{
    struct calls_thread *thread = program->threads.of_slab[slab];
    const struct model_record exit = {.type = MODEL_RECORD_EXIT,
                                      .time_ns = sprof_clock_monotonic_ns(),
                                      .pid = thread->pid,
                                      .tid = thread->tid};
    const bool is_main =
        thread->tid == program->process.pid && !program->process.shared->follows_forks;
    const int result =
        !thread->shares && !is_main &&
                (sprof_map_put(&program->threads.ended_tids, (uint32_t)thread->tid, 1) ||
                 recording_event(program->recording, &exit))
            ? SPROF_ENOMEM
            : 0;
    const struct counters_pages pages = calls_pages(program);
    probing_points_collect(&program->probing, counters_slab_stats(&pages, slab));
    if (program->all->events.thread_ends)
        program->all->events.thread_ends(program, slab);
    if (is_reusable(program, slab)) {
        counters_slab_settle(&pages, slab);
        thread->is_idle = true;
    } else {
        empty_slab(program, &pages, slab);
    }
    counters_slab_free(&pages, slab);
    return result;
}

void calls_figures_release(struct calls_program *program)
{
    for (size_t i = 0; i < PROBE_SLABS; i++) {
        free_thread(program->threads.of_slab[i]);
        free(program->threads.of_slab[i]);
        program->threads.of_slab[i] = NULL;
    }
    free_thread(&program->threads.others);
    free(program->threads.others_figures);
    program->threads.others_figures = NULL;
    free(program->memory.beyond);
    program->memory.beyond = NULL;
    sprof_map_release(&program->threads.ended_tids);
    counters_clocks_release(&program->log.clocks);
}

/* == Reading == */

static int add_to_shared_row(struct calls_program *program, struct calls_cell *cell,
                             const struct counters_figures *figures)
{
    struct counters_figures fresh = *figures;
    if (!cell->base && !(cell->base = calloc(1, sizeof *cell->base)))
        return SPROF_ENOMEM;
    counters_figures_subtract(&fresh, cell->base);
    counters_figures_limit(&fresh, calls_most_ticks(program));
    counters_figures_add(&program->threads.others_figures[cell->function], &fresh);
    *cell->base = *figures;
    program->threads.others_changed = true;
    return 0;
}

static struct counters_figures read_figures(const struct calls_program *program, uint32_t function,
                                            const struct probe_stat *from)
{
    const struct counters_pages pages = calls_pages(program);
    return counters_figures_read(&pages, from - function, function, !program->memory.no_histograms);
}

static bool is_unchanged(const struct calls_cell *cell, const struct probe_stat *stat, int64_t self)
{
    return cell->calls == stat->calls + stat->counted && cell->ended == stat->ended &&
           cell->self == self && cell->untimed == stat->child_counted;
}

/* Includes time outside. */
static int64_t self_of(const struct calls_program *program, const struct probe_stat *from,
                       uint32_t function)
{
    const struct counters_pages pages = calls_pages(program);
    return (int64_t)((uint64_t)from->self +
                     (uint64_t)counters_outside(&pages, from - function, function));
}

/* Reads a function's sums before its paths: see paths.c. */
static int note_stat(struct calls_program *program, struct calls_thread *thread, uint32_t function,
                     struct probe_stat *from)
{
    const struct counters_sum sum = {from->calls, from->ended,
                                     from->calls ? self_of(program, from, function) : 0};
    struct calls_cell *cell = sum.calls ? calls_cell_of(thread, function) : NULL;
    if (cell)
        cell->seen = sum;
    return cell || !sum.calls ? 0 : SPROF_ENOMEM;
}

static int read_stat(struct calls_program *program, struct calls_thread *thread, uint32_t function,
                     struct probe_stat *from)
{
    const uint64_t calls = from->calls + from->counted;
    struct calls_cell *cell = calls ? calls_cell_of(thread, function) : NULL;
    if (!calls)
        return 0;
    if (!cell)
        return SPROF_ENOMEM;
    const bool has_paths = calls_has_paths(program, thread);
    /* the usual case; a copy takes much longer */
    if (!has_paths && is_unchanged(cell, from, self_of(program, from, function)))
        return 0;
    struct counters_figures figures = read_figures(program, function, from);
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
        return add_to_shared_row(program, cell, &figures);
    if (cell->base)
        counters_figures_subtract(&figures, cell->base);
    counters_figures_limit(&figures, calls_most_ticks(program));
    if (!stat->calls && !stat->counted && !cell->written.calls)
        return 0;
    return calls_put_row(program, thread->row, cell, &figures);
}

static void look(struct calls_program *program, uint64_t functions_read)
{
    enum { BETWEEN_LOOKS = 512 };
    if (functions_read % BETWEEN_LOOKS == 0 && program->all->events.look)
        program->all->events.look(program);
}

static int each_stat(struct calls_program *program, uint32_t slab,
                     int (*take)(struct calls_program *, struct calls_thread *, uint32_t,
                                 struct probe_stat *))
{
    const struct counters_pages pages = calls_pages(program);
    struct counters_walk walk = counters_walk_stats(&pages, slab, program->probes.count);
    int result = 0;
    while (!result && counters_walk_next(&walk)) {
        look(program, walk.index);
        if (program->probes.items[walk.index].is_chosen)
            result = take(program, program->threads.of_slab[slab], walk.index, walk.entry);
    }
    return result;
}

static int write_shared_row(struct calls_program *program)
{
    int result = 0;
    for (size_t i = 0; program->threads.others_changed && i < program->probes.count && !result;
         i++) {
        struct calls_cell *cell = &program->threads.others.cells.items[i];
        const struct counters_figures *figures = &program->threads.others_figures[i];
        const struct probe_stat *stat = &figures->stat;
        const uint64_t calls = stat->calls + stat->counted;
        if (!calls || (cell->calls == calls && cell->ended == stat->ended &&
                       cell->untimed == stat->child_counted))
            continue;
        cell->calls = calls;
        cell->ended = stat->ended;
        cell->untimed = stat->child_counted;
        result = calls_put_row(program, program->threads.others.row, cell, figures);
    }
    program->threads.others_changed = false;
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

static int clear_stat(struct calls_program *program, struct calls_thread *thread, uint32_t function,
                      struct probe_stat *stat)
{
    const bool is_called = stat->calls || stat->counted;
    struct calls_cell *cell = is_called ? calls_cell_of(thread, function) : NULL;
    if (!is_called)
        return 0;
    if (!cell || (!cell->base && !(cell->base = calloc(1, sizeof *cell->base))))
        return SPROF_ENOMEM;
    const uint64_t ticks = probe_ticks();
    struct counters_figures copy = read_figures(program, function, stat);
    if (calls_has_paths(program, thread))
        counters_sum_replace(&copy.stat, &cell->in_paths, &cell->alone);
    begin_anew(cell);
    cell->cleared_ticks = ticks;
    *cell->base = counters_figures_cleared(&copy);
    stat->min_mask = stat->max = 0;
    return 0;
}

int calls_collect_log(struct calls_program *program)
{
    const struct counters_pages pages = calls_pages(program);
    const uint32_t count = program->log.has_rings ? counters_slab_count(&pages) : 0;
    const uint64_t rested = atomic_load(&program->process.shared->keep.resting);
    int result = 0;
    for (uint32_t i = 0; i < count && !result; i++) {
        const uint32_t tid = counters_slab_holder(&pages, i);
        if (!tid)
            continue;
        result = calls_thread_see(program, i, tid);
        if (!result)
            result = calls_log_read(program, program->threads.of_slab[i], i);
    }
    program->kept.rested = rested;
    return result;
}

/* If an eighth of all slabs is new, reads more often for some time. */
static int begin_threads(struct calls_program *program, uint32_t count)
{
    const struct counters_pages pages = calls_pages(program);
    int result = 0;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < count && !result; i++) {
        const uint32_t tid = counters_slab_holder(&pages, i);
        if (!tid)
            continue;
        taken += !program->threads.of_slab[i] || program->threads.of_slab[i]->is_idle;
        result = calls_thread_see(program, i, tid);
    }
    if (taken > program->slab_count / 8)
        program->threads.crowded_ns = program->times.now_ns + CROWDED_NS;
    return result;
}

static int add_spent(struct calls_program *program, struct calls_thread *thread, uint32_t function,
                     struct probe_stat *stat)
{
    const struct probe_cost cost = calls_cost_of(program);
    (void)thread;
    (void)function;
    program->threads.spent_ticks +=
        (double)stat->calls * cost.whole + (double)stat->counted * cost.count;
    return 0;
}

double calls_spent_ticks(struct calls_program *program)
{
    const struct counters_pages pages = calls_pages(program);
    const uint32_t count = counters_slab_count(&pages);
    program->threads.spent_ticks = 0;
    for (uint32_t i = 0; i < count; i++)
        each_stat(program, i, add_spent);
    return program->threads.spent_ticks + calls_outside_spent(program);
}

static int read_paths(struct calls_program *program, uint32_t slab,
                      int (*read)(struct calls_program *, struct calls_thread *, uint32_t))
{
    if (!calls_has_paths(program, program->threads.of_slab[slab]))
        return 0;
    const int result = each_stat(program, slab, note_stat);
    return result ? result : read(program, program->threads.of_slab[slab], slab);
}

int calls_collect(struct calls_program *program, enum calls_collecting what)
{
    const struct calls_reader *reader = program->reader;
    int result = reader->read ? reader->read(program, what != CALLS_COLLECT_ENDED) : 0;
    const struct counters_pages pages = calls_pages(program);
    const uint32_t count = counters_slab_count(&pages);
    if (!result)
        result = begin_threads(program, count);
    if (!result)
        result = calls_warnings_collect(program);
    for (uint32_t i = 0; i < count && !result; i++) {
        if (!program->threads.of_slab[i] || program->threads.of_slab[i]->is_idle)
            continue;
        result = calls_thread_rename(program, i);
        const bool ended = what == CALLS_COLLECT_LAST ||
                           (!result && has_ended(program, program->threads.of_slab[i]));
        if (!result && (ended || what != CALLS_COLLECT_ENDED))
            result = read_paths(program, i, calls_read_paths);
        if (!result && (ended || what != CALLS_COLLECT_ENDED))
            result = each_stat(program, i, read_stat);
        if (!result && (ended || what != CALLS_COLLECT_ENDED))
            result = calls_outside_read(program, i, ended);
        if (!result && program->log.has_rings)
            result = calls_log_read(program, program->threads.of_slab[i], i);
        if (!result && (ended || (what == CALLS_COLLECT_END && program->log.has_rings)))
            result =
                calls_log_end(program, program->threads.of_slab[i], i, what >= CALLS_COLLECT_END);
        if (!result && ended) /* before another thread gets the slab */
            result = calls_warnings_read(program);
        if (!result && ended)
            result = end_thread(program, i);
    }
    if (!result && what != CALLS_COLLECT_ENDED)
        result = calls_beyond_collect(program);
    if (!result && what != CALLS_COLLECT_ENDED)
        result = calls_outside_write(program);
    if (!result && what != CALLS_COLLECT_ENDED)
        result = calls_use_write(program);
    return result || what == CALLS_COLLECT_ENDED ? result : write_shared_row(program);
}

int calls_clear_figures(struct calls_program *program, uint64_t ticks)
{
    int result = program->reader->clear ? program->reader->clear(program) : 0;
    if (!result)
        result = calls_collect(program, CALLS_COLLECT_ENDED);
    atomic_store(&program->process.shared->cleared, ticks);
    program->times.cleared.ticks = ticks;
    const struct counters_pages pages = calls_pages(program);
    const uint32_t count = counters_slab_count(&pages);
    for (uint32_t i = 0; i < count && !result; i++) {
        if (!program->threads.of_slab[i])
            continue;
        result = read_paths(program, i, calls_clear_paths);
        if (!result)
            result = each_stat(program, i, clear_stat);
        calls_log_note_clear(program, program->threads.of_slab[i], i);
    }
    if (!result)
        result = calls_outside_clear(program);
    calls_beyond_clear(program);
    calls_use_clear(program);
    for (size_t i = 0; i < program->threads.others.cells.count; i++) {
        begin_anew(&program->threads.others.cells.items[i]);
        program->threads.others_figures[i] = (struct counters_figures){0};
    }
    calls_log_clear(program, program->times.now_ns);
    for (size_t i = 0; i < program->probes.count; i++)
        probing_probe_forget_calls(&program->probes.items[i]);
    program->counts.unplaced_calls = 0;
    return result;
}
