/* Columns of the tables of traced calls, probes and rules: see tables.c, which alone includes this.
 */
#ifndef SPROF_STORE_COLUMNS_CALLS_H
#define SPROF_STORE_COLUMNS_CALLS_H

#include "store/columns.h"
#include "store/words.h"

static const struct store_column call_cost_columns[] = {
    OF_EVENT(store_call_cost),
    OF(store_call_cost, thread_id, "thread"),
    OF(store_call_cost, node_id, "stack_node"),
    COLUMN(store_call_cost, timed, BOOL),
    COLUMN(store_call_cost, calls, NUMBER),
    COLUMN(store_call_cost, counted, NUMBER),
    COLUMN(store_call_cost, in_flight, NUMBER),
    COLUMN(store_call_cost, total_ns, NUMBER),
    COLUMN(store_call_cost, self_ns, NUMBER),
    COLUMN(store_call_cost, raw_total_ns, NUMBER),
    COLUMN(store_call_cost, raw_self_ns, NUMBER),
    NULLED(store_call_cost, min_ns, NUMBER),
    NULLED(store_call_cost, max_ns, NUMBER),
    COLUMN(store_call_cost, child_calls, NUMBER),
    COLUMN(store_call_cost, tails, NUMBER),
    COLUMN(store_call_cost, abnormal, NUMBER),
    COLUMN(store_call_cost, recursive, NUMBER),
    COLUMN(store_call_cost, uncertain, NUMBER),
    COLUMN(store_call_cost, bucket_ns, REAL),
    NULLED(store_call_cost, buckets, BLOB),
    NULLED(store_call_cost, outermost, NUMBER),
};

static const struct store_column call_latency_columns[] = {
    OF_EVENT(store_call_latency),
    OF(store_call_latency, function_id, "function"),
    COLUMN(store_call_latency, p50_ns, NUMBER),
    COLUMN(store_call_latency, p90_ns, NUMBER),
    COLUMN(store_call_latency, p99_ns, NUMBER),
    COLUMN(store_call_latency, p999_ns, NUMBER),
};

static const struct store_column entry_coverage_columns[] = {
    OF(store_entry_coverage, run_id, "run"),
    OF(store_entry_coverage, node_id, "stack_node"),
    NULLED(store_entry_coverage, first_ns, NUMBER),
    NULLED_OF(store_entry_coverage, thread_id, "thread"),
};

static const struct store_column phase_option_columns[] = {
    OF(store_phase_option, run_id, "run"),
    OF(store_phase_option, phase_id, "phase"),
    COLUMN(store_phase_option, name, TEXT),
    COLUMN(store_phase_option, value, TEXT),
};

static const struct store_column selection_columns[] = {
    OF(store_selection, run_id, "run"),
    COLUMN(store_selection, number, NUMBER),
    COLUMN(store_selection, start_ns, NUMBER),
    NULLED(store_selection, end_ns, NUMBER),
    COLUMN(store_selection, text, TEXT),
    COLUMN(store_selection, functions, NUMBER),
    NAME(store_selection, cause, store_cause_words),
};

static const struct store_column probe_event_columns[] = {
    OF(store_probe_event, run_id, "run"),
    COLUMN(store_probe_event, number, NUMBER),
    NULLED_OF(store_probe_event, node_id, "stack_node"),
    COLUMN(store_probe_event, time_ns, NUMBER),
    NAME(store_probe_event, what, store_probe_event_words),
    NAME(store_probe_event, cause, store_cause_words),
    COLUMN(store_probe_event, share, REAL),
    COLUMN(store_probe_event, in_flight, NUMBER),
};

static const struct store_column probe_columns[] = {
    OF(store_probe, run_id, "run"),
    OF(store_probe, node_id, "stack_node"),
    NAME(store_probe, mechanism, store_mechanism_words),
    COLUMN(store_probe, address, BITS),
    NULLED(store_probe, callers, NUMBER),
};

static const struct store_column call_untimed_columns[] = {
    OF(store_call_untimed, run_id, "run"),
    OF(store_call_untimed, thread_id, "thread"),
    OF(store_call_untimed, node_id, "stack_node"),
    COLUMN(store_call_untimed, calls, NUMBER),
};

static const struct store_column call_tail_cut_columns[] = {
    OF(store_call_tail_cut, run_id, "run"),
    OF(store_call_tail_cut, thread_id, "thread"),
    OF(store_call_tail_cut, node_id, "stack_node"),
    COLUMN(store_call_tail_cut, calls, NUMBER),
};

static const struct store_column call_outside_columns[] = {
    OF(store_call_outside, run_id, "run"),
    OF(store_call_outside, thread_id, "thread"),
    OF(store_call_outside, node_id, "stack_node"),
    COLUMN(store_call_outside, outside_ns, NUMBER),
};

static const struct store_column outside_cost_columns[] = {
    OF(store_outside_cost, run_id, "run"),       OF(store_outside_cost, node_id, "stack_node"),
    COLUMN(store_outside_cost, calls, NUMBER),   COLUMN(store_outside_cost, total_ns, NUMBER),
    COLUMN(store_outside_cost, self_ns, NUMBER), COLUMN(store_outside_cost, max_ns, NUMBER),
};

static const struct store_column call_stack_columns[] = {
    OF(store_call_stack, run_id, "run"),
    OF(store_call_stack, node_id, "stack_node"),
    COLUMN(store_call_stack, pid, NUMBER),
    COLUMN(store_call_stack, stack_bytes, NUMBER),
};

static const struct store_column call_heap_columns[] = {
    OF(store_call_heap, run_id, "run"),          OF(store_call_heap, node_id, "stack_node"),
    COLUMN(store_call_heap, pid, NUMBER),        COLUMN(store_call_heap, blocks, NUMBER),
    COLUMN(store_call_heap, self_bytes, NUMBER), COLUMN(store_call_heap, total_bytes, NUMBER),
};

static const struct store_column call_block_columns[] = {
    NULLED(store_call_block, id, NUMBER),       OF(store_call_block, run_id, "run"),
    OF(store_call_block, thread_id, "thread"),  COLUMN(store_call_block, calls, NUMBER),
    COLUMN(store_call_block, first_ns, NUMBER), COLUMN(store_call_block, bytes, BLOB),
};

static const struct store_column call_function_columns[] = {
    OF(store_call_function, run_id, "run"),
    COLUMN(store_call_function, number, NUMBER),
    OF(store_call_function, node_id, "stack_node"),
};

static const struct store_column probe_ledger_columns[] = {
    OF(store_probe_ledger, run_id, "run"),
    COLUMN(store_probe_ledger, second, NUMBER),
    OF(store_probe_ledger, node_id, "stack_node"),
    COLUMN(store_probe_ledger, not_logged, NUMBER),
};

static const struct store_column keep_rule_columns[] = {
    OF(store_keep_rule, run_id, "run"),     COLUMN(store_keep_rule, number, NUMBER),
    COLUMN(store_keep_rule, text, TEXT),    NULLED(store_keep_rule, function, TEXT),
    COLUMN(store_keep_rule, fired, NUMBER), COLUMN(store_keep_rule, dropped, NUMBER),
};

static const struct store_column keep_span_columns[] = {
    OF(store_keep_span, run_id, "run"),       COLUMN(store_keep_span, number, NUMBER),
    COLUMN(store_keep_span, from_ns, NUMBER), NULLED(store_keep_span, to_ns, NUMBER),
    COLUMN(store_keep_span, tested, NUMBER),
};

static const struct store_column kept_call_columns[] = {
    OF(store_kept_call, run_id, "run"),
    COLUMN(store_kept_call, number, NUMBER),
    NULLED(store_kept_call, caller, NUMBER),
    OF(store_kept_call, thread_id, "thread"),
    OF(store_kept_call, node_id, "stack_node"),
    COLUMN(store_kept_call, start_ns, NUMBER),
    NULLED(store_kept_call, duration_ns, NUMBER),
    COLUMN(store_kept_call, self_ns, NUMBER),
    WORD(store_kept_call, exit, store_exit_words),
    COLUMN(store_kept_call, rules, BITS),
    COLUMN(store_kept_call, is_apart, BOOL),
    NULLED(store_kept_call, request, BITS),
    NULLED(store_kept_call, asked_id, BITS),
    NULLED(store_kept_call, running_ns, NUMBER),
    NULLED(store_kept_call, waiting_ns, NUMBER),
    NULLED(store_kept_call, ready_ns, NUMBER),
};

static const struct store_column request_part_columns[] = {
    OF(store_request_part, run_id, "run"),           COLUMN(store_request_part, number, NUMBER),
    OF(store_request_part, thread_id, "thread"),     COLUMN(store_request_part, request, BITS),
    NULLED(store_request_part, label, TEXT),         COLUMN(store_request_part, start_ns, NUMBER),
    NULLED(store_request_part, duration_ns, NUMBER), COLUMN(store_request_part, is_end, BOOL),
};

static const struct store_column call_value_columns[] = {
    OF(store_call_value, run_id, "run"),        COLUMN(store_call_value, call_number, NUMBER),
    COLUMN(store_call_value, position, NUMBER), COLUMN(store_call_value, name, TEXT),
    NULLED(store_call_value, type, TEXT),       COLUMN(store_call_value, value, TEXT),
};

#endif
