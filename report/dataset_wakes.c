/* Reads which waits were ended by what. */
#include "report/dataset_parts.h"

#include <stdlib.h>

/* The columns of the query. */
enum {
    EVENT,
    NODE,
    THREAD,
    WEIGHT,
    TIME,
    CPU,
    WOKEN,
    WAKER_TID,
    WAKER_THREAD,
    WAKER_NODE,
    COLUMNS
};

struct reading {
    struct report_dataset *dataset;
    size_t run;
    bool (*takes)(const struct report_dataset *, size_t, const struct store_sample *);
};

static uint64_t number_in(char *const *values, int column)
{
    return values[column] ? strtoull(values[column], NULL, 10) : 0;
}

static uint32_t number_of(const struct report_row_numbers *numbers, char *const *values, int column)
{
    return report_dataset_number(numbers, (uint32_t)number_in(values, column));
}

static int take_wake(void *context, int columns, char *const *values, char *const *names)
{
    const struct reading *reading = context;
    struct report_dataset *dataset = reading->dataset;
    (void)names;
    if (columns != COLUMNS)
        return SPROF_EFORMAT;
    const struct report_wake wake = {
        .event = number_of(&dataset->numbers.events, values, EVENT),
        .node = number_of(&dataset->numbers.nodes, values, NODE),
        .thread = number_of(&dataset->numbers.threads, values, THREAD),
        .waker_node = number_of(&dataset->numbers.nodes, values, WAKER_NODE),
        .waker_thread = number_of(&dataset->numbers.threads, values, WAKER_THREAD),
        .waker_tid = (int32_t)number_in(values, WAKER_TID),
        .weight = number_in(values, WEIGHT),
        .woken_ns = number_in(values, WOKEN),
    };
    const struct store_sample sample = {
        .run_id = dataset->runs.items[reading->run].id,
        .time_ns = number_in(values, TIME),
        .cpu = values[CPU] ? atoi(values[CPU]) : -1,
    };
    if (!wake.event || !wake.node || !wake.thread ||
        !dataset->threads.items[wake.thread - 1].selected ||
        !reading->takes(dataset, reading->run, &sample))
        return 0;
    return sprof_vec_push(&dataset->wakes, wake);
}

/* A thread that is ready has the time of the wait before it, too. */
int report_dataset_load_wakes(struct report_dataset *dataset, struct store *store,
                              bool (*takes)(const struct report_dataset *, size_t,
                                            const struct store_sample *),
                              struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < dataset->runs.count && !result; i++) {
        struct reading reading = {dataset, i, takes};
        struct sprof_str sql = {0};
        sprof_str_appendf(
            &sql,
            "SELECT s.event_id, s.node_id, s.thread_id, s.weight, s.time_ns, s.cpu, w.woken_ns,"
            " w.waker_tid, w.waker_thread_id, b.node_id"
            " FROM wake w JOIN sample s ON s.run_id = w.run_id AND s.thread_id = w.thread_id"
            " AND s.time_ns = w.time_ns AND s.event_id NOT IN"
            " (SELECT id FROM event WHERE name IN ('" MODEL_EVENT_OFF_CPU_PREFIX MODEL_WAIT_READY
            "', '" MODEL_EVENT_WAKEUP "'))"
            " LEFT JOIN sample b ON b.run_id = w.run_id AND b.thread_id = w.waker_thread_id"
            " AND b.time_ns = w.woken_ns AND b.event_id IN"
            " (SELECT id FROM event WHERE name = '" MODEL_EVENT_WAKEUP "')"
            " WHERE w.run_id = %u ORDER BY w.woken_ns",
            dataset->runs.items[i].id);
        result =
            sql.failed ? SPROF_ENOMEM : store_query(store, sql.text, take_wake, &reading, error);
        sprof_str_release(&sql);
    }
    return result;
}
