/* Describes the queries whose rows have a struct of their own. */
#include "store/columns.h"

static const struct store_column node_cost_columns[] = {
    COLUMN(store_node_cost, node_id, NUMBER),      NULLED(store_node_cost, path_id, NUMBER),
    COLUMN(store_node_cost, event_id, NUMBER),     COLUMN(store_node_cost, thread_id, NUMBER),
    COLUMN(store_node_cost, cost.samples, NUMBER), COLUMN(store_node_cost, cost.weight, NUMBER),
    COLUMN(store_node_cost, sum_squares, REAL),
};

static const struct store_column call_total_columns[] = {
    COLUMN(store_call_total, event_id, NUMBER),
    COLUMN(store_call_total, function_id, NUMBER),
    COLUMN(store_call_total, total_ns, NUMBER),
};

static const struct store_column probed_node_columns[] = {
    COLUMN(store_probed_node, node_id, NUMBER),
};

static const struct store_column sample_row_columns[] = {
    COLUMN(store_sample_row, sample.id, NUMBER),
    COLUMN(store_sample_row, sample.run_id, NUMBER),
    COLUMN(store_sample_row, sample.event_id, NUMBER),
    COLUMN(store_sample_row, sample.thread_id, NUMBER),
    COLUMN(store_sample_row, sample.node_id, NUMBER),
    COLUMN(store_sample_row, sample.time_ns, NUMBER),
    COLUMN(store_sample_row, sample.weight, NUMBER),
    COLUMN(store_sample_row, sample.count, NUMBER),
    COLUMN(store_sample_row, sample.cpu, SIGNED),
    WORD(store_sample_row, sample.end_reason, model_end_words),
    COLUMN(store_sample_row, sample.stitched, BOOL),
    COLUMN(store_sample_row, sample.user_stack, BOOL),
    COLUMN(store_sample_row, pid, SIGNED),
    COLUMN(store_sample_row, tid, SIGNED),
    COLUMN(store_sample_row, process, TEXT),
    COLUMN(store_sample_row, thread, TEXT),
    COLUMN(store_sample_row, event, TEXT),
};

static const struct store_column quality_columns[] = {
    COLUMN(store_quality, samples, NUMBER),       COLUMN(store_quality, lost, NUMBER),
    NULLED(store_quality, user_stacks, NUMBER),   NULLED(store_quality, whole_stacks, NUMBER),
    COLUMN(store_quality, stitched, NUMBER),      COLUMN(store_quality, guessed_frames, NUMBER),
    COLUMN(store_quality, frames, NUMBER),        COLUMN(store_quality, named_frames, NUMBER),
    NULLED(store_quality, requested_hz, REAL),    NULLED(store_quality, reached_hz, REAL),
    COLUMN(store_quality, own_cpu_ns, NUMBER),    COLUMN(store_quality, target_cpu_ns, NUMBER),
    COLUMN(store_quality, has_user_stacks, BOOL), COLUMN(store_quality, tails_dropped, NUMBER),
    COLUMN(store_quality, killed, BOOL),
};

static const struct store_column event_quality_columns[] = {
    COLUMN(store_event_quality, seconds, NUMBER),
    COLUMN(store_event_quality, samples, NUMBER),
    COLUMN(store_event_quality, lost, NUMBER),
};

static const struct store_column last_ids_columns[] = {
    COLUMN(store_ids, run, NUMBER),     COLUMN(store_ids, event, NUMBER),
    COLUMN(store_ids, phase, NUMBER),   COLUMN(store_ids, process, NUMBER),
    COLUMN(store_ids, thread, NUMBER),  COLUMN(store_ids, module, NUMBER),
    COLUMN(store_ids, mapping, NUMBER), COLUMN(store_ids, frame, NUMBER),
    COLUMN(store_ids, node, NUMBER),    COLUMN(store_ids, function, NUMBER),
    COLUMN(store_ids, path, NUMBER),    COLUMN(store_ids, sample, NUMBER),
};

/* ?1 run or 0, ?2 thread or NULL, ?3 process or NULL, ?4 and ?5 times: struct store_filter. */
#define CHOSEN                                                                                     \
    " AND (?2 IS NULL OR t.name = ?2 OR CAST(t.tid AS TEXT) = ?2)"                                 \
    " AND (?3 IS NULL OR p.name = ?3 OR CAST(p.pid AS TEXT) = ?3)"
/* Samples of a run stand together: those of others are not even looked at. */
#define BETWEEN_OTHER_RUNS                                                                         \
    " AND s.id > (SELECT coalesce(max(last_sample), 0) FROM sample_summary WHERE run_id < ?1)"     \
    " AND s.id < (SELECT coalesce(min(first_sample), 9223372036854775807) FROM sample_summary"     \
    "             WHERE ?1 > 0 AND run_id > ?1 AND first_sample > 0)"
#define FILTERED                                                                                   \
    " FROM sample s CROSS JOIN thread t ON t.id = s.thread_id"                                     \
    " CROSS JOIN process p ON p.id = t.process_id"                                                 \
    " CROSS JOIN event e ON e.id = s.event_id CROSS JOIN stack_node n ON n.id = s.node_id"         \
    " LEFT JOIN node_path q ON q.node_id = s.node_id"                                              \
    " WHERE (?1 = 0 OR s.run_id = ?1)" BETWEEN_OTHER_RUNS                                          \
    " AND s.time_ns >= ?4 AND s.time_ns < ?5" CHOSEN

static const struct store_table queries[STORE_TABLES - STORE_FIRST_QUERY] = {
    [STORE_NODE_COST - STORE_FIRST_QUERY] =
        {"sample", COLUMNS(node_cost_columns, store_node_cost),
         .read = "SELECT s.node_id, q.path_id, s.event_id, s.thread_id, sum(s.count),"
                 " sum(s.weight), sum(1.0 * s.weight * s.weight / max(s.count, 1))" FILTERED
                 " GROUP BY s.node_id, s.event_id, s.thread_id ORDER BY s.node_id"},
    [STORE_NODE_COST_STORED - STORE_FIRST_QUERY] =
        {"node_cost", COLUMNS(node_cost_columns, store_node_cost),
         .read = "SELECT c.node_id, q.path_id, c.event_id, c.thread_id, c.samples, c.weight,"
                 " coalesce(c.squares, 1.0 * c.weight * c.weight / max(c.samples, 1))"
                 " FROM run r CROSS JOIN node_cost c ON c.run_id = r.id"
                 " CROSS JOIN stack_node n ON n.id = c.node_id"
                 " CROSS JOIN thread t ON t.id = c.thread_id"
                 " CROSS JOIN process p ON p.id = t.process_id"
                 " LEFT JOIN node_path q ON q.node_id = c.node_id"
                 " WHERE (?1 = 0 OR r.id = ?1)" CHOSEN},
    [STORE_CALL_TOTAL -
        STORE_FIRST_QUERY] = {"call_cost", COLUMNS(call_total_columns, store_call_total),
                              .read = "SELECT c.event_id, q.function_id, sum(c.total_ns)"
                                      " FROM run r CROSS JOIN call_cost c ON c.run_id = r.id"
                                      " CROSS JOIN thread t ON t.id = c.thread_id"
                                      " CROSS JOIN process p ON p.id = t.process_id"
                                      " CROSS JOIN node_path n ON n.node_id = c.node_id"
                                      " CROSS JOIN call_path q ON q.id = n.path_id"
                                      " WHERE (?1 = 0 OR r.id = ?1)" CHOSEN
                                      " GROUP BY c.event_id, q.function_id"},
    [STORE_PROBED_NODE -
        STORE_FIRST_QUERY] = {"probe", COLUMNS(probed_node_columns, store_probed_node),
                              .read = "SELECT node_id FROM probe WHERE run_id = ?1"
                                      " UNION SELECT node_id FROM probe_event WHERE run_id = ?1"
                                      " AND node_id IS NOT NULL"
                                      " UNION SELECT node_id FROM probe_ledger WHERE run_id = ?1"
                                      " UNION SELECT node_id FROM call_function WHERE run_id = ?1"
                                      " UNION SELECT node_id FROM kept_call WHERE run_id = ?1"
                                      " UNION SELECT node_id FROM call_untimed WHERE run_id = ?1"
                                      " UNION SELECT node_id FROM call_tail_cut WHERE run_id = ?1"
                                      " UNION SELECT node_id FROM call_outside WHERE run_id = ?1"
                                      " UNION SELECT node_id FROM outside_cost WHERE run_id = ?1"
                                      " UNION SELECT node_id FROM call_stack WHERE run_id = ?1"
                                      " UNION SELECT node_id FROM call_heap WHERE run_id = ?1"
                                      " UNION SELECT node_id FROM warning WHERE run_id = ?1"},
    [STORE_SAMPLE_ROW -
        STORE_FIRST_QUERY] = {"sample", COLUMNS(sample_row_columns, store_sample_row),
                              .read =
                                  "SELECT s.id, s.run_id, s.event_id, s.thread_id, s.node_id,"
                                  " s.time_ns, s.weight, s.count, s.cpu, s.end_reason, s.stitched,"
                                  " s.user_stack, p.pid, t.tid, coalesce(p.name, ''),"
                                  " coalesce(t.name, ''), e.name" FILTERED
                                  " ORDER BY s.run_id, s.time_ns, s.id"},
    [STORE_QUALITY -
        STORE_FIRST_QUERY] = {"v_quality", COLUMNS(quality_columns, store_quality),
                              .read =
                                  "SELECT samples, lost, user_stacks, whole_stacks, stitched,"
                                  " guessed_frames, frames, named_frames, requested_hz, reached_hz,"
                                  " own_cpu_ns, target_cpu_ns, user_stacks IS NOT NULL,"
                                  " (SELECT coalesce(sum(value), 0) FROM counter WHERE run_id = ?1"
                                  "  AND name IN ('sampler.tails_dropped',"
                                  "               'samples.waited_tails_dropped')),"
                                  " EXISTS (SELECT 1 FROM counter WHERE run_id = ?1"
                                  "  AND name = '" STORE_RECORDER_KILLED "')"
                                  " FROM v_quality WHERE run_id = ?1"},
    [STORE_EVENT_QUALITY -
        STORE_FIRST_QUERY] = {"ledger", COLUMNS(event_quality_columns, store_event_quality),
                              .read = "SELECT count(*), coalesce(sum(delivered), 0),"
                                      " coalesce(sum(lost), 0) FROM ledger"
                                      " WHERE run_id = (SELECT run_id FROM event WHERE id = ?1)"
                                      " AND event_id = ?1"},
    [STORE_LAST_IDS - STORE_FIRST_QUERY] = {"run", COLUMNS(last_ids_columns, store_ids),
                                            .read =
                                                "SELECT coalesce((SELECT max(id) FROM run), 0),"
                                                " coalesce((SELECT max(id) FROM event), 0),"
                                                " coalesce((SELECT max(id) FROM phase), 0),"
                                                " coalesce((SELECT max(id) FROM process), 0),"
                                                " coalesce((SELECT max(id) FROM thread), 0),"
                                                " coalesce((SELECT max(id) FROM module), 0),"
                                                " coalesce((SELECT max(id) FROM mapping), 0),"
                                                " coalesce((SELECT max(id) FROM frame), 0),"
                                                " coalesce((SELECT max(id) FROM stack_node), 0),"
                                                " coalesce((SELECT max(id) FROM function), 0),"
                                                " coalesce((SELECT max(id) FROM call_path), 0),"
                                                " coalesce((SELECT max(id) FROM sample), 0)"},
};

const struct store_table *store_query_table(enum store_table_id id)
{
    return &queries[id - STORE_FIRST_QUERY];
}
