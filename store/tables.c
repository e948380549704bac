/* Describes the columns of every table, and the statements that read a range of one. */
#include "store/columns.h"
#include "store/columns_beside.h"
#include "store/columns_calls.h"
#include "store/moved.h"
#include "store/packing.h"
#include "store/words.h"

static const struct store_column run_columns[] = {
    COLUMN(store_run, id, NUMBER),
    COLUMN(store_run, key, BITS),
    WORD(store_run, state, store_state_words),
    COLUMN(store_run, sprof_version, TEXT),
    NULLED(store_run, host, TEXT),
    NULLED(store_run, kernel, TEXT),
    NULLED(store_run, architecture, TEXT),
    COLUMN(store_run, cpus, NUMBER),
    NULLED(store_run, command, TEXT),
    NULLED(store_run, targets, TEXT),
    NULLED(store_run, working_directory, TEXT),
    NAME(store_run, mode, model_mode_words),
    NULLED_NAME(store_run, frame, store_frame_words),
    NAME(store_run, app_interior, store_interior_words),
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
    NULLED(store_run, no_call_states, TEXT),
};

static const struct store_column run_state_columns[] = {
    COLUMN(store_run, id, NUMBER),
    WORD(store_run, state, store_state_words),
};

static const struct store_column event_columns[] = {
    COLUMN(store_event, id, NUMBER),           OF(store_event, run_id, "run"),
    COLUMN(store_event, name, TEXT),           COLUMN(store_event, is_clock, BOOL),
    COLUMN(store_event, varying, BOOL),        NULLED(store_event, period, NUMBER),
    WORD(store_event, unit, store_unit_words),
};

static const struct store_column process_columns[] = {
    COLUMN(store_process, id, NUMBER),
    OF(store_process, run_id, "run"),
    NULLED_OF(store_process, parent_id, "process"),
    COLUMN(store_process, pid, SIGNED),
    COLUMN(store_process, start_ns, NUMBER),
    NULLED(store_process, end_ns, NUMBER),
    NULLED(store_process, name, TEXT),
    NULLED(store_process, command, TEXT),
};

static const struct store_column thread_columns[] = {
    COLUMN(store_thread, id, NUMBER),           OF(store_thread, process_id, "process"),
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
    NULLED_OF(store_module, process_id, "process"),
    NULLED(store_module, problem, TEXT),
};

static const struct store_column mapping_columns[] = {
    COLUMN(store_mapping, id, NUMBER),       NULLED_OF(store_mapping, process_id, "process"),
    OF(store_mapping, module_id, "module"),  COLUMN(store_mapping, start, BITS),
    COLUMN(store_mapping, end, BITS),        COLUMN(store_mapping, file_offset, BITS),
    COLUMN(store_mapping, start_ns, NUMBER), NULLED(store_mapping, end_ns, NUMBER),
};

static const struct store_column function_columns[] = {
    COLUMN(store_function, id, NUMBER),         OF(store_function, module_id, "module"),
    NULLED(store_function, key, BITS),          COLUMN(store_function, name, TEXT),
    NULLED(store_function, linkage_name, TEXT), COLUMN(store_function, start, BITS),
    COLUMN(store_function, size, NUMBER),       NULLED(store_function, file, TEXT),
    NULLED(store_function, line, NUMBER),       COLUMN(store_function, named, BOOL),
    COLUMN(store_function, startup, BOOL),
};

static const struct store_column frame_columns[] = {
    COLUMN(store_frame, id, NUMBER),
    OF(store_frame, module_id, "module"),
    NULLED(store_frame, key, BITS),
    COLUMN(store_frame, file_offset, BITS),
    NULLED_OF(store_frame, function_id, "function"),
    NULLED(store_frame, file, TEXT),
    NULLED(store_frame, line, NUMBER),
    COLUMN(store_frame, inline_depth, NUMBER),
    NULLED_OF(store_frame, inline_parent_id, "frame"),
};

#define NODE_COMPUTED                                                                              \
    "\"parent_id\" INTEGER REFERENCES stack_node AS (nullif(id - parent_distance, id)),\n    "     \
    "\"found_by\" INTEGER AS (packed & 15),\n"                                                     \
    "    \"depth\" INTEGER AS (packed >> 4 & 4294967295),\n"                                       \
    "    \"guessed\" INTEGER AS (packed >> 36)"

static const struct store_column node_columns[] = {
    COLUMN(store_node, id, NUMBER),
    NAMED_PACKED(store_node, store_node_parent, "parent_distance"),
    OF(store_node, frame_id, "frame"),
    PACKED(store_node, store_node_packing),
};

static const struct store_column node_path_columns[] = {
    OF(store_node_path, node_id, "stack_node"),
    OF(store_node_path, path_id, "call_path"),
};

#define SAMPLE_COMPUTED                                                                            \
    "\"user_stack\" INTEGER AS (iif(packed < 0, ~packed, packed) & 1),\n"                          \
    "    \"stitched\" INTEGER AS (iif(packed < 0, ~packed, packed) >> 1 & 1),\n"                   \
    "    \"end_reason\" INTEGER AS (iif(packed < 0, ~packed, packed) >> 2 & 15),\n"                \
    "    \"cpu\" INTEGER AS (iif(packed < 0, -1, packed >> 6)),\n"                                 \
    "    \"count\" INTEGER AS (iif(packed < 0, ~packed >> 6, 1))"

static const struct store_column sample_columns[] = {
    NULLED(store_sample, id, NUMBER),        OF(store_sample, run_id, "run"),
    OF(store_sample, event_id, "event"),     OF(store_sample, thread_id, "thread"),
    OF(store_sample, node_id, "stack_node"), COLUMN(store_sample, time_ns, NUMBER),
    COLUMN(store_sample, weight, NUMBER),    PACKED(store_sample, store_sample_packing),
};

static const struct store_column sample_node_columns[] = {
    COLUMN(store_sample_node, id, NUMBER),
    COLUMN(store_sample_node, node_id, NUMBER),
};

static const struct store_column path_columns[] = {
    COLUMN(model_path, id, NUMBER),
    NAMED_NULLED_OF(model_path, parent, "parent_id", "call_path"),
    NAMED_OF(model_path, function, "function_id", "function"),
    COLUMN(model_path, depth, NUMBER),
};

static const struct store_column phase_columns[] = {
    COLUMN(store_phase, id, NUMBER),
    OF(store_phase, run_id, "run"),
    COLUMN(store_phase, start_ns, NUMBER),
    NULLED(store_phase, end_ns, NUMBER),
    NAME(store_phase, mode, model_mode_words),
    NULLED_NAME(store_phase, frame, store_frame_words),
    NAME(store_phase, app_interior, store_interior_words),
    NULLED(store_phase, frequency_hz, NUMBER),
    COLUMN(store_phase, stack_bytes, NUMBER),
    COLUMN(store_phase, paused, BOOL),
    NULLED(store_phase, mark, TEXT),
};

#define OF_COST(row)                                                                               \
    NAMED(row, cost.samples, "samples", NUMBER), NAMED(row, cost.weight, "weight", NUMBER)

#define COST_COLUMNS(id_name, table)                                                               \
    {                                                                                              \
        OF(store_cost, run_id, "run"), OF(store_cost, event_id, "event"),                          \
            NAMED_OF(store_cost, id, id_name, table),                                              \
            NAMED(store_cost, costs.exclusive.samples, "exclusive_samples", NUMBER),               \
            NAMED(store_cost, costs.exclusive.weight, "exclusive_weight", NUMBER),                 \
            NAMED(store_cost, costs.inclusive.samples, "inclusive_samples", NUMBER),               \
            NAMED(store_cost, costs.inclusive.weight, "inclusive_weight", NUMBER),                 \
    }
static const struct store_column path_cost_columns[] = COST_COLUMNS("path_id", "call_path");
static const struct store_column function_cost_columns[] = COST_COLUMNS("function_id", "function");
static const struct store_column module_cost_columns[] = COST_COLUMNS("module_id", "module");
static const struct store_column line_cost_columns[] = COST_COLUMNS("frame_id", "frame");

static const struct store_column sample_summary_columns[] = {
    OF(store_sample_summary, run_id, "run"),
    COLUMN(store_sample_summary, first_sample, NUMBER),
    COLUMN(store_sample_summary, last_sample, NUMBER),
    COLUMN(store_sample_summary, disorder_ns, NUMBER),
    COLUMN(store_sample_summary, samples, NUMBER),
    COLUMN(store_sample_summary, user_stacks, NUMBER),
    COLUMN(store_sample_summary, whole_stacks, NUMBER),
    COLUMN(store_sample_summary, stitched, NUMBER),
    COLUMN(store_sample_summary, guessed_frames, NUMBER),
    COLUMN(store_sample_summary, frames, NUMBER),
    COLUMN(store_sample_summary, named_frames, NUMBER),
};

static const struct store_column event_cost_columns[] = {
    OF_EVENT(store_event_cost),
    OF_COST(store_event_cost),
    COLUMN(store_event_cost, squares, REAL),
    COLUMN(store_event_cost, has_node_costs, BOOL),
    NULLED(store_event_cost, slot_ns, NUMBER),
};

static const struct store_column thread_cost_columns[] = {
    OF_EVENT(store_thread_cost),
    OF(store_thread_cost, thread_id, "thread"),
    OF_COST(store_thread_cost),
};

static const struct store_column edge_cost_columns[] = {
    OF_EVENT(store_edge_cost),
    NAMED_OF(store_edge_cost, edge.caller, "caller_function_id", "function"),
    NAMED_OF(store_edge_cost, edge.callee, "callee_function_id", "function"),
    NAMED(store_edge_cost, edge.cost.samples, "samples", NUMBER),
    NAMED(store_edge_cost, edge.cost.weight, "weight", NUMBER),
};

static const struct store_column thread_node_cost_columns[] = {
    OF_EVENT(store_thread_node_cost),
    OF(store_thread_node_cost, thread_id, "thread"),
    OF(store_thread_node_cost, node_id, "stack_node"),
    OF_COST(store_thread_node_cost),
    NULLED(store_thread_node_cost, squares, REAL),
};

static const struct store_column slot_cost_columns[] = {
    OF_EVENT(store_slot_cost),
    COLUMN(store_slot_cost, slot, NUMBER),
    OF(store_slot_cost, thread_id, "thread"),
    OF(store_slot_cost, node_id, "stack_node"),
    OF_COST(store_slot_cost),
};

static const struct store_column place_cost_columns[] = {
    OF_EVENT(store_place_cost),
    COLUMN(store_place_cost, phase, NUMBER),
    COLUMN(store_place_cost, cpu, SIGNED),
    OF(store_place_cost, thread_id, "thread"),
    OF_COST(store_place_cost),
    NULLED(store_place_cost, squares, REAL),
};

static const struct store_column place_block_columns[] = {
    OF_EVENT(store_place_block),
    COLUMN(store_place_block, phase, NUMBER),
    COLUMN(store_place_block, cpu, SIGNED),
    COLUMN(store_place_block, number, NUMBER),
    COLUMN(store_place_block, entries, NUMBER),
    COLUMN(store_place_block, bytes, BLOB),
};

static const struct store_column sampled_user_columns[] = {
    OF(store_sampled_user, run_id, "run"),
    COLUMN(store_sampled_user, uid, NUMBER),
    COLUMN(store_sampled_user, gid, NUMBER),
    COLUMN(store_sampled_user, groups, TEXT),
};

static const struct store_column process_origin_columns[] = {
    OF(store_process_origin, process_id, "process"), COLUMN(store_process_origin, uid, NUMBER),
    NULLED(store_process_origin, user, TEXT),        NULLED(store_process_origin, cgroup, TEXT),
    NULLED(store_process_origin, container, TEXT),
};

static const struct store_column coverage_columns[] = {
    OF(store_coverage, run_id, "run"),
    OF(store_coverage, function_id, "function"),
    NULLED(store_coverage, first_ns, NUMBER),
    NULLED_OF(store_coverage, thread_id, "thread"),
};

static const struct store_column word_columns[] = {
    COLUMN(store_word, list, TEXT),
    COLUMN(store_word, number, NUMBER),
    COLUMN(store_word, word, TEXT),
};

static const struct store_column ledger_columns[] = {
    OF(store_ledger, run_id, "run"),
    OF(store_ledger, event_id, "event"),
    COLUMN(store_ledger, second, NUMBER),
    COLUMN(store_ledger, expected_cpu_ns, NUMBER),
    COLUMN(store_ledger, delivered, NUMBER),
    COLUMN(store_ledger, lost, NUMBER),
    COLUMN(store_ledger, throttled, NUMBER),
    COLUMN(store_ledger, excluded, NUMBER),
    COLUMN(store_ledger, timer_overrun, NUMBER),
    COLUMN(store_ledger, unexplained, SIGNED),
};

static const struct store_column counter_columns[] = {
    OF(store_counter, run_id, "run"),
    COLUMN(store_counter, name, TEXT),
    COLUMN(store_counter, value, NUMBER),
};

static const struct store_column failed_columns[] = {
    NULLED(store_failed, id, NUMBER),
    OF(store_failed, run_id, "run"),
    OF(store_failed, thread_id, "thread"),
    COLUMN(store_failed, time_ns, NUMBER),
    WORD(store_failed, end_reason, model_end_words),
    COLUMN(store_failed, registers, BLOB),
    COLUMN(store_failed, stack, BLOB),
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

#define OF_RUN "run_id = ?1"
#define IN_RANGE "id BETWEEN ?1 AND ?2"
/* The samples of a run lie between those of the complete runs before and behind it. */
#define SAMPLES_OF_RUN                                                                             \
    "id > (SELECT coalesce(max(last_sample), 0) FROM sample_summary WHERE run_id < ?1)"            \
    " AND id < (SELECT coalesce(min(first_sample), 9223372036854775807) FROM sample_summary"       \
    "           WHERE run_id > ?1 AND first_sample > 0) AND run_id = ?1"
#define OF_PROCESS_OF_RUN "process_id IN (SELECT id FROM process WHERE run_id = ?1)"

/* A table whose rows belong to a run and are named by the columns of `key`. */
#define ROWS_OF_RUN(name_, list, row, key_)                                                        \
    {                                                                                              \
        .name = name_, COLUMNS(list, row), .key = key_, .order = key_, .of_run = OF_RUN            \
    }

static const struct store_table tables[STORE_FIRST_QUERY] = {
    [STORE_RUN] = {"run", COLUMNS(run_columns, store_run), .key = "id", .order = "id",
                   .unique = "key"},
    [STORE_WORD_LIST] = {"word", COLUMNS(word_columns, store_word), .key = "list, number"},
    [STORE_EVENT] = ROWS_OF_RUN("event", event_columns, store_event, "id"),
    [STORE_PHASE] = ROWS_OF_RUN("phase", phase_columns, store_phase, "id"),
    [STORE_PROCESS] = ROWS_OF_RUN("process", process_columns, store_process, "id"),
    [STORE_THREAD] = {"thread", COLUMNS(thread_columns, store_thread), .key = "id",
                      .of_run = OF_PROCESS_OF_RUN, .order = "id",
                      .indexes = {"thread_process ON thread (process_id)"}},
    [STORE_MODULE] = {"module", COLUMNS(module_columns, store_module), .key = "id", .order = "id",
                      .check = "build_id NOT GLOB '*[^0-9a-f]*'"},
    [STORE_MAPPING] = {"mapping", COLUMNS(mapping_columns, store_mapping), .key = "id",
                       .of_run = "process_id IS NULL OR " OF_PROCESS_OF_RUN, .order = "id",
                       .indexes = {"mapping_module ON mapping (module_id, process_id)"}},
    [STORE_FUNCTION] = {"function", COLUMNS(function_columns, store_function), .key = "id",
                        .order = "id"},
    [STORE_FRAME] = {"frame", COLUMNS(frame_columns, store_frame), .key = "id", .order = "id",
                     .check = "inline_parent_id <> id"},
    [STORE_NODE] = {"stack_node", COLUMNS(node_columns, store_node), .key = "id", .order = "id",
                    .computed = NODE_COMPUTED,
                    .check = "parent_distance >= 0 AND parent_distance < id",
                    .possible = node_is_possible},
    [STORE_SAMPLE] = {"sample", COLUMNS(sample_columns, store_sample), .key = "id",
                      .computed = SAMPLE_COMPUTED, .of_run = SAMPLES_OF_RUN, .order = "id",
                      .check = "weight >= 0"},
    [STORE_PATH] = {"call_path", COLUMNS(path_columns, model_path), .key = "id", .order = "id",
                    .check = "parent_id < id", .possible = path_is_possible},
    [STORE_NODE_PATH] = {"node_path", COLUMNS(node_path_columns, store_node_path), .key = "node_id",
                         .order = "node_id"},
    [STORE_SAMPLE_SUMMARY] =
        ROWS_OF_RUN("sample_summary", sample_summary_columns, store_sample_summary, "run_id"),
    [STORE_EVENT_COST] =
        ROWS_OF_RUN("event_cost", event_cost_columns, store_event_cost, "run_id, event_id"),
    [STORE_THREAD_COST] = ROWS_OF_RUN("thread_cost", thread_cost_columns, store_thread_cost,
                                      "run_id, event_id, thread_id"),
    [STORE_PATH_COST] =
        ROWS_OF_RUN("path_cost", path_cost_columns, store_cost, "run_id, event_id, path_id"),
    [STORE_FUNCTION_COST] = ROWS_OF_RUN("function_cost", function_cost_columns, store_cost,
                                        "run_id, event_id, function_id"),
    [STORE_MODULE_COST] =
        ROWS_OF_RUN("module_cost", module_cost_columns, store_cost, "run_id, event_id, module_id"),
    [STORE_LINE_COST] =
        ROWS_OF_RUN("line_cost", line_cost_columns, store_cost, "run_id, event_id, frame_id"),
    [STORE_EDGE_COST] = ROWS_OF_RUN("edge_cost", edge_cost_columns, store_edge_cost,
                                    "run_id, event_id, caller_function_id, callee_function_id"),
    [STORE_THREAD_NODE_COST] =
        ROWS_OF_RUN("node_cost", thread_node_cost_columns, store_thread_node_cost,
                    "run_id, event_id, thread_id, node_id"),
    [STORE_SLOT_COST] = ROWS_OF_RUN("slot_cost", slot_cost_columns, store_slot_cost,
                                    "run_id, event_id, slot, thread_id, node_id"),
    [STORE_PLACE_COST] = ROWS_OF_RUN("place_cost", place_cost_columns, store_place_cost,
                                     "run_id, event_id, phase, cpu, thread_id"),
    [STORE_PLACE_BLOCK] = ROWS_OF_RUN("place_block", place_block_columns, store_place_block,
                                      "run_id, event_id, phase, cpu, number"),
    [STORE_CALL_COST] = ROWS_OF_RUN("call_cost", call_cost_columns, store_call_cost,
                                    "run_id, event_id, thread_id, node_id"),
    [STORE_CALL_LATENCY] = ROWS_OF_RUN("call_latency", call_latency_columns, store_call_latency,
                                       "run_id, event_id, function_id"),
    [STORE_ENTRY_COVERAGE] = ROWS_OF_RUN("entry_coverage", entry_coverage_columns,
                                         store_entry_coverage, "run_id, node_id"),
    [STORE_PHASE_OPTION] = ROWS_OF_RUN("phase_option", phase_option_columns, store_phase_option,
                                       "run_id, phase_id, name"),
    [STORE_SELECTION] =
        ROWS_OF_RUN("selection", selection_columns, store_selection, "run_id, number, start_ns"),
    [STORE_PROBE_EVENT] =
        ROWS_OF_RUN("probe_event", probe_event_columns, store_probe_event, "run_id, number"),
    [STORE_PROBE] = ROWS_OF_RUN("probe", probe_columns, store_probe, "run_id, node_id"),
    [STORE_CALL_UNTIMED] = ROWS_OF_RUN("call_untimed", call_untimed_columns, store_call_untimed,
                                       "run_id, thread_id, node_id"),
    [STORE_CALL_TAIL_CUT] = ROWS_OF_RUN("call_tail_cut", call_tail_cut_columns, store_call_tail_cut,
                                        "run_id, thread_id, node_id"),
    [STORE_CALL_OUTSIDE] = ROWS_OF_RUN("call_outside", call_outside_columns, store_call_outside,
                                       "run_id, thread_id, node_id"),
    [STORE_OUTSIDE_COST] =
        ROWS_OF_RUN("outside_cost", outside_cost_columns, store_outside_cost, "run_id, node_id"),
    [STORE_CALL_STACK] =
        ROWS_OF_RUN("call_stack", call_stack_columns, store_call_stack, "run_id, pid, node_id"),
    [STORE_CALL_HEAP] =
        ROWS_OF_RUN("call_heap", call_heap_columns, store_call_heap, "run_id, pid, node_id"),
    [STORE_CALL_BLOCK] = ROWS_OF_RUN("call_block", call_block_columns, store_call_block, "id"),
    [STORE_CALL_FUNCTION] =
        ROWS_OF_RUN("call_function", call_function_columns, store_call_function, "run_id, number"),
    [STORE_PROBE_LEDGER] = ROWS_OF_RUN("probe_ledger", probe_ledger_columns, store_probe_ledger,
                                       "run_id, second, node_id"),
    [STORE_KEEP_RULE] =
        ROWS_OF_RUN("keep_rule", keep_rule_columns, store_keep_rule, "run_id, number"),
    [STORE_KEEP_SPAN] =
        ROWS_OF_RUN("keep_span", keep_span_columns, store_keep_span, "run_id, number"),
    [STORE_REQUEST_PART] =
        ROWS_OF_RUN("request_part", request_part_columns, store_request_part, "run_id, number"),
    [STORE_KEPT_CALL] =
        ROWS_OF_RUN("kept_call", kept_call_columns, store_kept_call, "run_id, number"),
    [STORE_CALL_VALUE] = ROWS_OF_RUN("call_value", call_value_columns, store_call_value,
                                     "run_id, call_number, position"),
    [STORE_WARNING] = ROWS_OF_RUN("warning", warning_columns, store_warning,
                                  "run_id, time_ns, thread_id, node_id, kind"),
    [STORE_WAKE] = ROWS_OF_RUN("wake", wake_columns, store_wake, "id"),
    [STORE_EVENT_FIELD] = ROWS_OF_RUN("event_field", event_field_columns, store_event_field,
                                      "run_id, event_id, number"),
    [STORE_SAMPLE_FIELDS] =
        ROWS_OF_RUN("sample_fields", sample_fields_columns, store_sample_fields, "id"),
    [STORE_LOCK_NAME] =
        ROWS_OF_RUN("lock_name", lock_name_columns, store_lock_name, "run_id, process_id, address"),
    [STORE_SAMPLED_USER] = ROWS_OF_RUN("sampled_user", sampled_user_columns, store_sampled_user,
                                       "run_id, uid, gid, groups"),
    [STORE_PROCESS_ORIGIN] = {"process_origin",
                              COLUMNS(process_origin_columns, store_process_origin),
                              .key = "process_id", .of_run = OF_PROCESS_OF_RUN,
                              .order = "process_id"},
    [STORE_COVERAGE] =
        ROWS_OF_RUN("coverage", coverage_columns, store_coverage, "run_id, function_id"),
    [STORE_LEDGER] =
        ROWS_OF_RUN("ledger", ledger_columns, store_ledger, "run_id, event_id, second"),
    [STORE_COUNTER] = ROWS_OF_RUN("counter", counter_columns, store_counter, "run_id, name"),
    [STORE_FAILED] = ROWS_OF_RUN("failed_sample", failed_columns, store_failed, "id"),
    [STORE_RUN_STATE] = {"run", COLUMNS(run_state_columns, store_run),
                         .write = "UPDATE run SET state = ?2 WHERE id = ?1"},
    [STORE_SAMPLE_NODE] = {"sample", COLUMNS(sample_node_columns, store_sample_node),
                           .write = "UPDATE sample SET node_id = ?2 WHERE id = ?1"},
    [STORE_SAMPLE_RANGE] =
        {"sample", COLUMNS(sample_columns, store_sample),
         .read = "SELECT id, run_id, event_id, thread_id, node_id, time_ns, weight, packed"
                 " FROM sample WHERE id BETWEEN ?1 AND ?2"
                 " ORDER BY id"},
    [STORE_NODE_RANGE] = {"stack_node", COLUMNS(node_columns, store_node), .of_run = IN_RANGE,
                          .order = "id", .possible = node_is_possible},
    [STORE_FRAME_RANGE] = {"frame", COLUMNS(frame_columns, store_frame), .of_run = IN_RANGE,
                           .order = "id"},
    [STORE_MAPPING_RANGE] = {"mapping", COLUMNS(mapping_columns, store_mapping), .of_run = IN_RANGE,
                             .order = "id"},
    [STORE_PATH_OF_RUN] = {"call_path", COLUMNS(path_columns, model_path),
                           .read = "SELECT p.id, p.parent_id, p.function_id, p.depth"
                                   " FROM path_cost c CROSS JOIN call_path p ON p.id = c.path_id"
                                   " WHERE c.run_id = ?1 ORDER BY c.event_id, c.path_id",
                           .possible = path_is_possible},
    [STORE_FUNCTION_OF_RUN] =
        {"function", COLUMNS(function_columns, store_function),
         .read = "SELECT id, module_id, key, name, linkage_name, start, size, file, line, named,"
                 " startup FROM function"
                 " WHERE id IN (SELECT function_id FROM function_cost WHERE run_id = ?1)"
                 " ORDER BY id"},
};

const struct store_table *store_table(enum store_table_id id)
{
    return id < STORE_FIRST_QUERY ? &tables[id] : store_query_table(id);
}
