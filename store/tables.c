#include "store/tables.h"

#include "store/store.h"

static const char *const state_words[] = {"recording", "recorded", "complete", NULL};

#define FIELD(row, field, name_, type_)                                                            \
    .name = name_, .offset = offsetof(struct row, field),                                          \
    .size = sizeof(((struct row *)NULL)->field), .type = STORE_##type_
/* A column named like its field; NULLED ones are SQL NULL for 0, NULL and empty. */
#define COLUMN(row, field, type_)                                                                  \
    {                                                                                              \
        FIELD(row, field, #field, type_)                                                           \
    }
#define NULLED(row, field, type_)                                                                  \
    {                                                                                              \
        FIELD(row, field, #field, type_), .or_null = true                                          \
    }
#define WORD(row, field, words_)                                                                   \
    {                                                                                              \
        FIELD(row, field, #field, WORD), .words = words_                                           \
    }
#define NAMED(row, field, name_, type_)                                                            \
    {                                                                                              \
        FIELD(row, field, name_, type_)                                                            \
    }
#define NAMED_NULLED(row, field, name_, type_)                                                     \
    {                                                                                              \
        FIELD(row, field, name_, type_), .or_null = true                                           \
    }

static const struct store_column run_columns[] = {
    COLUMN(store_run, id, NUMBER),
    COLUMN(store_run, key, BITS),
    WORD(store_run, state, state_words),
    COLUMN(store_run, sprof_version, TEXT),
    NULLED(store_run, host, TEXT),
    NULLED(store_run, kernel, TEXT),
    NULLED(store_run, architecture, TEXT),
    COLUMN(store_run, cpus, NUMBER),
    NULLED(store_run, command, TEXT),
    NULLED(store_run, targets, TEXT),
    NULLED(store_run, working_directory, TEXT),
    COLUMN(store_run, mode, TEXT),
    NULLED(store_run, frame, TEXT),
    COLUMN(store_run, app_interior, TEXT),
    NULLED(store_run, module_rules, TEXT),
    COLUMN(store_run, source, TEXT),
    NULLED(store_run, kernel_excluded, TEXT),
    NULLED(store_run, frequency_hz, NUMBER),
    COLUMN(store_run, stack_bytes, NUMBER),
    COLUMN(store_run, stack_bytes_wanted, NUMBER),
    COLUMN(store_run, ring_bytes, NUMBER),
    COLUMN(store_run, start_realtime_ns, NUMBER),
    NULLED(store_run, start_monotonic_ns, NUMBER),
    COLUMN(store_run, duration_ns, NUMBER),
    COLUMN(store_run, own_cpu_ns, NUMBER),
    COLUMN(store_run, target_cpu_ns, NUMBER),
    COLUMN(store_run, recorder_pid, SIGNED),
    COLUMN(store_run, recorder_start, NUMBER),
    NULLED(store_run, boot_id, TEXT),
    COLUMN(store_run, wait_status, SIGNED),
};

static const struct store_column run_state_columns[] = {
    COLUMN(store_run, id, NUMBER),
    WORD(store_run, state, state_words),
};

static const struct store_column event_columns[] = {
    COLUMN(store_event, id, NUMBER),    COLUMN(store_event, run_id, NUMBER),
    COLUMN(store_event, name, TEXT),    COLUMN(store_event, is_clock, BOOL),
    COLUMN(store_event, varying, BOOL), NULLED(store_event, period, NUMBER),
};

static const struct store_column process_columns[] = {
    COLUMN(store_process, id, NUMBER),        COLUMN(store_process, run_id, NUMBER),
    NULLED(store_process, parent_id, NUMBER), COLUMN(store_process, pid, SIGNED),
    COLUMN(store_process, start_ns, NUMBER),  NULLED(store_process, end_ns, NUMBER),
    NULLED(store_process, name, TEXT),        NULLED(store_process, command, TEXT),
};

static const struct store_column thread_columns[] = {
    COLUMN(store_thread, id, NUMBER),           COLUMN(store_thread, process_id, NUMBER),
    COLUMN(store_thread, tid, SIGNED),          COLUMN(store_thread, start_ns, NUMBER),
    NULLED(store_thread, end_ns, NUMBER),       NULLED(store_thread, name, TEXT),
    COLUMN(store_thread, cpu_time_ns, NUMBER),  COLUMN(store_thread, samples, NUMBER),
    COLUMN(store_thread, cpu_time_known, BOOL),
};

static const struct store_column module_columns[] = {
    COLUMN(store_module, id, NUMBER),
    NULLED(store_module, key, BITS),
    COLUMN(store_module, path, TEXT),
    COLUMN(store_module, name, TEXT),
    NULLED(store_module, build_id, HEX),
    WORD(store_module, kind, model_kind_words),
    COLUMN(store_module, main_executable, BOOL),
    NULLED(store_module, process_id, NUMBER),
    NULLED(store_module, problem, TEXT),
};

static const struct store_column mapping_columns[] = {
    COLUMN(store_mapping, id, NUMBER),        NULLED(store_mapping, process_id, NUMBER),
    COLUMN(store_mapping, module_id, NUMBER), COLUMN(store_mapping, start, BITS),
    COLUMN(store_mapping, end, BITS),         COLUMN(store_mapping, file_offset, BITS),
    COLUMN(store_mapping, start_ns, NUMBER),  NULLED(store_mapping, end_ns, NUMBER),
};

static const struct store_column function_columns[] = {
    COLUMN(store_function, id, NUMBER),         COLUMN(store_function, module_id, NUMBER),
    COLUMN(store_function, key, BITS),          COLUMN(store_function, name, TEXT),
    NULLED(store_function, linkage_name, TEXT), COLUMN(store_function, start, BITS),
    COLUMN(store_function, size, NUMBER),       NULLED(store_function, file, TEXT),
    NULLED(store_function, line, NUMBER),       COLUMN(store_function, named, BOOL),
    COLUMN(store_function, startup, BOOL),
};

static const struct store_column frame_columns[] = {
    COLUMN(store_frame, id, NUMBER),
    COLUMN(store_frame, module_id, NUMBER),
    COLUMN(store_frame, key, BITS),
    COLUMN(store_frame, file_offset, BITS),
    NULLED(store_frame, function_id, NUMBER),
    NULLED(store_frame, file, TEXT),
    NULLED(store_frame, line, NUMBER),
    COLUMN(store_frame, inline_depth, NUMBER),
    NULLED(store_frame, inline_parent_id, NUMBER),
};

static const struct store_column node_columns[] = {
    COLUMN(store_node, id, NUMBER),       NULLED(store_node, parent_id, NUMBER),
    COLUMN(store_node, frame_id, NUMBER), COLUMN(store_node, depth, NUMBER),
    NULLED(store_node, key, BITS),        WORD(store_node, found_by, model_found_by_words),
    COLUMN(store_node, guessed, NUMBER),  COLUMN(store_node, named, NUMBER),
    NULLED(store_node, path_id, NUMBER),
};

static const struct store_column node_finish_columns[] = {
    COLUMN(store_node, id, NUMBER),
    NULLED(store_node, key, BITS),
    COLUMN(store_node, named, NUMBER),
    NULLED(store_node, path_id, NUMBER),
};

static const struct store_column sample_columns[] = {
    NULLED(store_sample, id, NUMBER),       COLUMN(store_sample, run_id, NUMBER),
    COLUMN(store_sample, event_id, NUMBER), COLUMN(store_sample, thread_id, NUMBER),
    COLUMN(store_sample, node_id, NUMBER),  COLUMN(store_sample, time_ns, NUMBER),
    COLUMN(store_sample, weight, NUMBER),   COLUMN(store_sample, count, NUMBER),
    COLUMN(store_sample, cpu, SIGNED),      WORD(store_sample, end_reason, model_end_words),
    COLUMN(store_sample, stitched, BOOL),   COLUMN(store_sample, user_stack, BOOL),
};

static const struct store_column path_columns[] = {
    COLUMN(model_path, id, NUMBER),
    NAMED_NULLED(model_path, parent, "parent_id", NUMBER),
    NAMED(model_path, function, "function_id", NUMBER),
    COLUMN(model_path, depth, NUMBER),
};

#define COST_COLUMNS(id_name)                                                                      \
    {                                                                                              \
        COLUMN(store_path_cost, run_id, NUMBER), COLUMN(store_path_cost, event_id, NUMBER),        \
            NAMED(store_path_cost, id, id_name, NUMBER),                                           \
            NAMED(store_path_cost, costs.exclusive.samples, "exclusive_samples", NUMBER),          \
            NAMED(store_path_cost, costs.exclusive.weight, "exclusive_weight", NUMBER),            \
            NAMED(store_path_cost, costs.inclusive.samples, "inclusive_samples", NUMBER),          \
            NAMED(store_path_cost, costs.inclusive.weight, "inclusive_weight", NUMBER),            \
    }
static const struct store_column path_cost_columns[] = COST_COLUMNS("path_id");
static const struct store_column function_cost_columns[] = COST_COLUMNS("function_id");
static const struct store_column module_cost_columns[] = COST_COLUMNS("module_id");

static const struct store_column edge_cost_columns[] = {
    COLUMN(store_edge_cost, run_id, NUMBER),
    COLUMN(store_edge_cost, event_id, NUMBER),
    NAMED(store_edge_cost, edge.caller, "caller_function_id", NUMBER),
    NAMED(store_edge_cost, edge.callee, "callee_function_id", NUMBER),
    NAMED(store_edge_cost, edge.cost.samples, "samples", NUMBER),
    NAMED(store_edge_cost, edge.cost.weight, "weight", NUMBER),
};

static const struct store_column ledger_columns[] = {
    COLUMN(store_ledger, run_id, NUMBER),        COLUMN(store_ledger, event_id, NUMBER),
    COLUMN(store_ledger, second, NUMBER),        COLUMN(store_ledger, expected_cpu_ns, NUMBER),
    COLUMN(store_ledger, delivered, NUMBER),     COLUMN(store_ledger, lost, NUMBER),
    COLUMN(store_ledger, throttled, NUMBER),     COLUMN(store_ledger, excluded, NUMBER),
    COLUMN(store_ledger, timer_overrun, NUMBER), COLUMN(store_ledger, unexplained, SIGNED),
};

static const struct store_column counter_columns[] = {
    COLUMN(store_counter, run_id, NUMBER),
    COLUMN(store_counter, name, TEXT),
    COLUMN(store_counter, value, NUMBER),
};

static const struct store_column failed_columns[] = {
    NULLED(store_failed, id, NUMBER),
    COLUMN(store_failed, run_id, NUMBER),
    COLUMN(store_failed, thread_id, NUMBER),
    COLUMN(store_failed, time_ns, NUMBER),
    WORD(store_failed, end_reason, model_end_words),
    COLUMN(store_failed, registers, BLOB),
    COLUMN(store_failed, stack, BLOB),
};

static const struct store_column node_cost_columns[] = {
    COLUMN(store_node_cost, node_id, NUMBER),      NULLED(store_node_cost, path_id, NUMBER),
    COLUMN(store_node_cost, event_id, NUMBER),     COLUMN(store_node_cost, thread_id, NUMBER),
    COLUMN(store_node_cost, cost.samples, NUMBER), COLUMN(store_node_cost, cost.weight, NUMBER),
    COLUMN(store_node_cost, sum_squares, REAL),
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
    COLUMN(store_quality, has_user_stacks, BOOL),
};

static const struct store_column last_ids_columns[] = {
    COLUMN(store_ids, run, NUMBER),      COLUMN(store_ids, event, NUMBER),
    COLUMN(store_ids, process, NUMBER),  COLUMN(store_ids, thread, NUMBER),
    COLUMN(store_ids, module, NUMBER),   COLUMN(store_ids, mapping, NUMBER),
    COLUMN(store_ids, frame, NUMBER),    COLUMN(store_ids, node, NUMBER),
    COLUMN(store_ids, function, NUMBER), COLUMN(store_ids, path, NUMBER),
    COLUMN(store_ids, sample, NUMBER),
};

/* Readers index by id and follow parents: a tree must be one. */
static bool node_is_possible(const void *row)
{
    const struct store_node *node = row;
    return node->parent_id < node->id && node->frame_id && node->depth;
}

static bool path_is_possible(const void *row)
{
    const struct model_path *path = row;
    return path->parent < path->id && path->function && path->depth;
}

#define OF_RUN "?1 = 0 OR run_id = ?1"
#define OF_PROCESS_OF_RUN "?1 = 0 OR process_id IN (SELECT id FROM process WHERE run_id = ?1)"

/* ?1 run or 0, ?2 thread or NULL, ?3 process or NULL, as struct store_filter tells. */
#define FILTERED                                                                                   \
    " FROM sample s CROSS JOIN thread t ON t.id = s.thread_id"                                     \
    " CROSS JOIN process p ON p.id = t.process_id"                                                 \
    " CROSS JOIN event e ON e.id = s.event_id CROSS JOIN stack_node n ON n.id = s.node_id"         \
    " WHERE (?1 = 0 OR s.run_id = ?1)"                                                             \
    " AND (?2 IS NULL OR t.name = ?2 OR CAST(t.tid AS TEXT) = ?2)"                                 \
    " AND (?3 IS NULL OR p.name = ?3 OR CAST(p.pid AS TEXT) = ?3)"

#define COLUMNS(list, row)                                                                         \
    .columns = (list), .count = sizeof(list) / sizeof *(list), .row_size = sizeof(struct row)

static const struct store_table tables[STORE_TABLES] = {
    [STORE_RUN] = {"run", COLUMNS(run_columns, store_run), .key = "id", .order = "id"},
    [STORE_EVENT] = {"event", COLUMNS(event_columns, store_event), .key = "id", .of_run = OF_RUN,
                     .order = "id"},
    [STORE_PROCESS] = {"process", COLUMNS(process_columns, store_process), .key = "id",
                       .of_run = OF_RUN, .order = "id"},
    [STORE_THREAD] = {"thread", COLUMNS(thread_columns, store_thread), .key = "id",
                      .of_run = OF_PROCESS_OF_RUN, .order = "id"},
    [STORE_MODULE] = {"module", COLUMNS(module_columns, store_module), .key = "id", .order = "id"},
    [STORE_MAPPING] = {"mapping", COLUMNS(mapping_columns, store_mapping), .key = "id",
                       .of_run = "process_id IS NULL OR " OF_PROCESS_OF_RUN, .order = "id"},
    [STORE_FUNCTION] = {"function", COLUMNS(function_columns, store_function), .key = "id",
                        .order = "id"},
    [STORE_FRAME] = {"frame", COLUMNS(frame_columns, store_frame), .key = "id", .order = "id"},
    [STORE_NODE] = {"stack_node", COLUMNS(node_columns, store_node), .key = "id", .order = "id",
                    .possible = node_is_possible},
    [STORE_SAMPLE] = {"sample", COLUMNS(sample_columns, store_sample), .key = "id"},
    [STORE_PATH] = {"call_path", COLUMNS(path_columns, model_path), .key = "id", .order = "id",
                    .possible = path_is_possible},
    [STORE_PATH_COST] = {"path_cost", COLUMNS(path_cost_columns, store_path_cost),
                         .key = "run_id, event_id, path_id", .of_run = OF_RUN,
                         .order = "event_id, path_id"},
    [STORE_FUNCTION_COST] = {"function_cost", COLUMNS(function_cost_columns, store_path_cost),
                             .key = "run_id, event_id, function_id"},
    [STORE_MODULE_COST] = {"module_cost", COLUMNS(module_cost_columns, store_path_cost),
                           .key = "run_id, event_id, module_id"},
    [STORE_EDGE_COST] = {"edge_cost", COLUMNS(edge_cost_columns, store_edge_cost),
                         .key = "run_id, event_id, caller_function_id, callee_function_id"},
    [STORE_LEDGER] = {"ledger", COLUMNS(ledger_columns, store_ledger),
                      .key = "run_id, event_id, second", .of_run = OF_RUN,
                      .order = "run_id, event_id, second"},
    [STORE_COUNTER] = {"counter", COLUMNS(counter_columns, store_counter), .key = "run_id, name",
                       .of_run = OF_RUN, .order = "run_id, name"},
    [STORE_FAILED] = {"failed_sample", COLUMNS(failed_columns, store_failed), .key = "id",
                      .of_run = OF_RUN, .order = "id"},
    [STORE_RUN_STATE] = {"run", COLUMNS(run_state_columns, store_run),
                         .write = "UPDATE run SET state = ?2 WHERE id = ?1"},
    [STORE_NODE_FINISH] =
        {"stack_node", COLUMNS(node_finish_columns, store_node),
         .write = "UPDATE stack_node SET key = ?2, named = ?3, path_id = ?4 WHERE id = ?1"},
    [STORE_NODE_COST] =
        {"sample", COLUMNS(node_cost_columns, store_node_cost),
         .read = "SELECT s.node_id, n.path_id, s.event_id, s.thread_id, sum(s.count),"
                 " sum(s.weight), sum(1.0 * s.weight * s.weight / max(s.count, 1))" FILTERED
                 " GROUP BY s.node_id, s.event_id, s.thread_id ORDER BY s.node_id"},
    [STORE_SAMPLE_ROW] = {"sample", COLUMNS(sample_row_columns, store_sample_row),
                          .read = "SELECT s.id, s.run_id, s.event_id, s.thread_id, s.node_id,"
                                  " s.time_ns, s.weight, s.count, s.cpu, s.end_reason, s.stitched,"
                                  " s.user_stack, p.pid, t.tid, coalesce(p.name, ''),"
                                  " coalesce(t.name, ''), e.name" FILTERED
                                  " ORDER BY s.run_id, s.time_ns, s.id"},
    [STORE_QUALITY] = {"v_quality", COLUMNS(quality_columns, store_quality),
                       .read = "SELECT samples, lost, user_stacks, whole_stacks, stitched,"
                               " guessed_frames, frames, named_frames, requested_hz, reached_hz,"
                               " own_cpu_ns, target_cpu_ns, user_stacks IS NOT NULL"
                               " FROM v_quality WHERE run_id = ?1"},
    [STORE_LAST_IDS] = {"run", COLUMNS(last_ids_columns, store_ids),
                        .read = "SELECT coalesce((SELECT max(id) FROM run), 0),"
                                " coalesce((SELECT max(id) FROM event), 0),"
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

const struct store_table *store_table(enum store_table_id id)
{
    return &tables[id];
}
