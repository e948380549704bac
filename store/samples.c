/* Samples in time order, and those of a range of time, without an index on time: within a run the
 * times of rows ascend but for a disorder that is stored (struct store_sample_summary). A range is
 * found by binary search over row ids, and rows are put in order as they are read. */
#include "store/samples.h"

#include "store/statement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What stands beside a sample. */
struct thread_names {
    int32_t pid, tid;
    const char *process, *thread;
    bool chosen;
};

struct reading {
    struct store *store;
    const struct store_filter *filter;
    int (*row)(void *, const struct store_sample_row *);
    void *context;
    struct sprof_error *error;
    struct sprof_arena arena;
    SPROF_VEC(struct thread_names) threads;
    SPROF_VEC(const char *) texts;
    struct sprof_map thread_index, process_index, event_index; /* id → position */
    SPROF_VEC(struct store_process) processes;
    SPROF_VEC(struct store_sample) heap; /* read and not yet handed out; the earliest first */
    const struct store_time_range *ranges;
    size_t range_count;
    int (*sample)(void *, const struct store_sample *); /* of a range */
};

/* == Names == */

static int note_process(void *context, const struct store_process *process)
{
    struct reading *reading = context;
    struct store_process row = *process;
    row.name = sprof_arena_text(&reading->arena, process->name ? process->name : "");
    if (!row.name || sprof_map_put(&reading->process_index, row.id, reading->processes.count))
        return SPROF_ENOMEM;
    return sprof_vec_push(&reading->processes, row);
}

/* Names match exactly; a number as text matches, too. */
static bool matches(const char *wanted, const char *name, int32_t number)
{
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    return !wanted || !strcmp(wanted, name) || !strcmp(wanted, text);
}

static int note_thread(void *context, const struct store_thread *thread)
{
    struct reading *reading = context;
    const uint64_t *at = sprof_map_get(&reading->process_index, thread->process_id);
    if (!at)
        return SPROF_EFORMAT;
    const struct store_process *process = &reading->processes.items[*at];
    struct thread_names names = {
        .pid = process->pid,
        .tid = thread->tid,
        .process = process->name,
        .thread = sprof_arena_text(&reading->arena, thread->name ? thread->name : ""),
    };
    if (!names.thread || sprof_map_put(&reading->thread_index, thread->id, reading->threads.count))
        return SPROF_ENOMEM;
    names.chosen = matches(reading->filter->thread, names.thread, names.tid) &&
                   matches(reading->filter->process, names.process, names.pid);
    return sprof_vec_push(&reading->threads, names);
}

static int note_event(void *context, const struct store_event *event)
{
    struct reading *reading = context;
    const char *name = sprof_arena_text(&reading->arena, event->name);
    if (!name || sprof_map_put(&reading->event_index, event->id, reading->texts.count))
        return SPROF_ENOMEM;
    return sprof_vec_push(&reading->texts, name);
}

/* == Order == */

static bool comes_before(const struct store_sample *a, const struct store_sample *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->id < b->id;
}

static int heap_push(struct reading *reading, const struct store_sample *sample)
{
    if (sprof_vec_push(&reading->heap, *sample))
        return sprof_error_memory(reading->error);
    struct store_sample *heap = reading->heap.items;
    size_t at = reading->heap.count - 1;
    for (; at && comes_before(sample, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = *sample;
    return 0;
}

static struct store_sample heap_pop(struct reading *reading)
{
    struct store_sample *heap = reading->heap.items;
    const struct store_sample first = heap[0], last = heap[--reading->heap.count];
    const size_t count = reading->heap.count;
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && comes_before(&heap[child + 1], &heap[child]))
            child++;
        if (!comes_before(&heap[child], &last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return first;
}

static int hand_out(struct reading *reading, const struct store_sample *sample)
{
    const uint64_t *thread = sprof_map_get(&reading->thread_index, sample->thread_id);
    const uint64_t *event = sprof_map_get(&reading->event_index, sample->event_id);
    if (!thread || !event)
        return store_fail_damaged(reading->store, "a sample refers to rows that are missing",
                                  reading->error);
    const struct thread_names *names = &reading->threads.items[*thread];
    const struct store_sample_row row = {.sample = *sample,
                                         .pid = names->pid,
                                         .tid = names->tid,
                                         .process = names->process,
                                         .thread = names->thread,
                                         .event = reading->texts.items[*event]};
    return names->chosen ? reading->row(reading->context, &row) : 0;
}

/* Hands out what no row to come can precede. */
static int hand_out_before(struct reading *reading, uint64_t time_ns)
{
    int result = 0;
    while (!result && reading->heap.count && reading->heap.items[0].time_ns < time_ns) {
        const struct store_sample sample = heap_pop(reading);
        result = hand_out(reading, &sample);
    }
    return result;
}

/* == Ranges == */

static bool is_in_range(const struct store_filter *filter, uint64_t time_ns)
{
    return time_ns >= filter->from_ns && (!filter->to_ns || time_ns < filter->to_ns);
}

/* The time of the first row from an id on, and its id. */
static int time_at(sqlite3_stmt *statement, struct store *store, uint64_t id, uint64_t *found,
                   uint64_t *time_ns, struct sprof_error *error)
{
    sqlite3_reset(statement);
    if (sqlite3_bind_int64(statement, 1, (sqlite3_int64)id) != SQLITE_OK)
        return store_fail(store, error);
    const int stepped = sqlite3_step(statement);
    if (stepped == SQLITE_DONE)
        return store_fail_damaged(store, "samples are missing", error);
    if (stepped != SQLITE_ROW)
        return store_fail(store, error);
    *found = (uint64_t)sqlite3_column_int64(statement, 0);
    *time_ns = (uint64_t)sqlite3_column_int64(statement, 1);
    return 0;
}

/* Narrows [*first, *last] to rows that can be in the range: a row more than the disorder before its
 * beginning, or behind its end, has none of them before, or behind, itself. */
static int narrow(struct reading *reading, const struct store_sample_summary *run, uint64_t *first,
                  uint64_t *last)
{
    const struct store_filter *filter = reading->filter;
    sqlite3_stmt *statement = NULL;
    int status = store_prepare(reading->store,
                               "SELECT id, time_ns FROM sample WHERE id >= ?1 AND count > 0"
                               " ORDER BY id LIMIT 1",
                               &statement, reading->error);
    uint64_t low = *first, high = *last, id, time_ns;
    while (!status && filter->from_ns > run->disorder_ns && low < high) {
        const uint64_t middle = low + (high - low) / 2;
        status = time_at(statement, reading->store, middle, &id, &time_ns, reading->error);
        if (!status && time_ns < filter->from_ns - run->disorder_ns)
            low = id + 1;
        else
            high = middle;
    }
    *first = low;
    high = *last;
    while (!status && filter->to_ns && low < high) {
        const uint64_t middle = low + (high - low) / 2;
        status = time_at(statement, reading->store, middle, &id, &time_ns, reading->error);
        if (!status && time_ns >= run->disorder_ns && time_ns - run->disorder_ns >= filter->to_ns)
            high = middle;
        else
            low = id + 1;
    }
    *last = high;
    sqlite3_finalize(statement);
    return status;
}

/* Reads rows of a run by id, until another run begins. */
static int each_between(struct reading *reading, uint32_t run_id, uint64_t first, uint64_t last,
                        int (*take)(struct reading *, const struct store_sample *, uint64_t),
                        uint64_t disorder_ns)
{
    struct store_cursor cursor;
    struct store_sample sample;
    int taken = 0,
        status = store_cursor_open(&cursor, reading->store, STORE_SAMPLE_RANGE, 0, reading->error);
    if (!status && (sqlite3_bind_int64(cursor.statement, 1, (sqlite3_int64)first) != SQLITE_OK ||
                    sqlite3_bind_int64(cursor.statement, 2, (sqlite3_int64)last) != SQLITE_OK))
        status = store_fail(reading->store, reading->error);
    while (!status && !taken && !(status = store_cursor_next(&cursor, &sample)) &&
           sample.run_id == run_id)
        if (is_in_range(reading->filter, sample.time_ns))
            taken = take(reading, &sample, disorder_ns);
    store_cursor_close(&cursor);
    return status < 0 ? status : taken;
}

static int keep(struct reading *reading, const struct store_sample *sample, uint64_t disorder_ns)
{
    (void)disorder_ns;
    return heap_push(reading, sample);
}

static int keep_and_hand_out(struct reading *reading, const struct store_sample *sample,
                             uint64_t disorder_ns)
{
    const uint64_t settled = sample->time_ns > disorder_ns ? sample->time_ns - disorder_ns : 0;
    const int result = heap_push(reading, sample);
    return result ? result : hand_out_before(reading, settled);
}

/* Rows of CPU time that was not sampled are few and follow the samples: they come first here. */
static int read_run(void *context, const struct store_sample_summary *run)
{
    struct reading *reading = context;
    uint64_t first = run->first_sample, last = run->last_sample;
    reading->heap.count = 0;
    int result = each_between(reading, run->run_id, last + 1, INT64_MAX, keep, 0);
    if (!result && first)
        result = narrow(reading, run, &first, &last);
    if (!result && first)
        result =
            each_between(reading, run->run_id, first, last, keep_and_hand_out, run->disorder_ns);
    return result ? result : hand_out_before(reading, UINT64_MAX);
}

/* == All == */

/* Whether all runs asked for are complete; else nothing is known of the order of their samples. */
static int are_complete(struct store *store, uint32_t run_id, int64_t *complete,
                        struct sprof_error *error)
{
    char sql[192];
    snprintf(sql, sizeof sql,
             "SELECT NOT EXISTS (SELECT 1 FROM run WHERE (%u = 0 OR id = %u)"
             " AND id NOT IN (SELECT run_id FROM sample_summary WHERE last_sample > 0))",
             run_id, run_id);
    return store_scalar(store, sql, complete, error);
}

int store_each_sample(struct store *store, const struct store_filter *filter,
                      int (*row)(void *, const struct store_sample_row *), void *context,
                      struct sprof_error *error)
{
    static const struct store_filter all = {0};
    struct reading reading = {.store = store,
                              .filter = filter ? filter : &all,
                              .row = row,
                              .context = context,
                              .error = error};
    const uint32_t run_id = reading.filter->run_id;
    int64_t complete = 0;
    int status = are_complete(store, run_id, &complete, error);
    if (!status && !complete)
        return store_each_sorted_sample(store, filter, row, context, error);
    if (!status)
        status = store_each_process(store, run_id, note_process, &reading, error);
    if (!status)
        status = store_each_thread(store, run_id, note_thread, &reading, error);
    if (!status)
        status = store_each_event(store, run_id, note_event, &reading, error);
    if (status == SPROF_EFORMAT && error && !error->code)
        store_fail_damaged(store, "a thread refers to a process that is missing", error);
    if (!status)
        status = store_each_sample_summary(store, run_id, read_run, &reading, error);
    sprof_vec_release(&reading.threads);
    sprof_vec_release(&reading.texts);
    sprof_vec_release(&reading.processes);
    sprof_vec_release(&reading.heap);
    sprof_map_release(&reading.thread_index);
    sprof_map_release(&reading.process_index);
    sprof_map_release(&reading.event_index);
    sprof_arena_release(&reading.arena);
    return status;
}

/* == Of many ranges == */

static int compare_ranges(const void *left, const void *right)
{
    const struct store_time_range *wanted = left, *range = right;
    return wanted->from_ns < range->from_ns ? -1 : wanted->from_ns >= range->to_ns;
}

static int take_in_ranges(struct reading *reading, const struct store_sample *sample,
                          uint64_t disorder_ns)
{
    const struct store_time_range wanted = {.from_ns = sample->time_ns};
    (void)disorder_ns;
    return bsearch(&wanted, reading->ranges, reading->range_count, sizeof wanted, compare_ranges)
               ? reading->sample(reading->context, sample)
               : 0;
}

static int take_raw(void *context, const struct store_sample *sample)
{
    return take_in_ranges(context, sample, 0);
}

/* Rows are read once at most, also where ranges of rows overlap: each is looked up in all ranges.
 */
static int read_by_range(struct reading *reading, const struct store_sample_summary *run)
{
    const struct store_filter *all = reading->filter;
    uint64_t next = run->first_sample;
    int result = 0;
    for (size_t i = 0; i < reading->range_count && next <= run->last_sample && !result; i++) {
        const struct store_filter range = {.from_ns = reading->ranges[i].from_ns,
                                           .to_ns = reading->ranges[i].to_ns};
        uint64_t first = next, last = run->last_sample;
        reading->filter = &range;
        result = narrow(reading, run, &first, &last);
        reading->filter = all;
        if (!result && first <= last) {
            result = each_between(reading, run->run_id, first, last, take_in_ranges, 0);
            next = last + 1;
        }
    }
    return result;
}

/* To find a range takes about as long as to read 64 rows. */
static int read_ranges(void *context, const struct store_sample_summary *run)
{
    struct reading *reading = context;
    const uint64_t first = run->first_sample, last = run->last_sample;
    const int result = each_between(reading, run->run_id, last + 1, INT64_MAX, take_in_ranges, 0);
    if (result || !first || last < first)
        return result;
    return reading->range_count >= (last - first) / 64
               ? each_between(reading, run->run_id, first, last, take_in_ranges, 0)
               : read_by_range(reading, run);
}

int store_each_sample_in_ranges(struct store *store, uint32_t run_id,
                                const struct store_time_range *ranges, size_t count,
                                int (*row)(void *, const struct store_sample *), void *context,
                                struct sprof_error *error)
{
    static const struct store_filter all = {0};
    struct reading reading = {.store = store,
                              .filter = &all,
                              .context = context,
                              .error = error,
                              .ranges = ranges,
                              .range_count = count,
                              .sample = row};
    int64_t complete = 0;
    const int status = count ? are_complete(store, run_id, &complete, error) : 0;
    if (status || !count)
        return status;
    return complete ? store_each_sample_summary(store, run_id, read_ranges, &reading, error)
                    : store_each_raw_sample(store, run_id, take_raw, &reading, error);
}
