/* The list of tables. A new table is a line here, a struct in store/rows.h, and its columns in
 * store/tables.c: from these come CREATE TABLE, the member of the batch and what writes and frees
 * it, and the function that reads it.
 *
 * X(ID, name, row, rows): STORE_ID is the table's number, `store_each_name` reads it as `struct
 * row`, `rows` is the vector in struct store_batch or store_derived. */
#ifndef SPROF_STORE_TABLE_LIST_H
#define SPROF_STORE_TABLE_LIST_H

/* What producers record, in the order in which it is written (struct store_batch). Rows OF_RUN
 * belong to one run, those OF_ALL to the whole database. */
#define STORE_BATCH_OF_RUN(X)                                                                      \
    X(PROCESS, process, store_process, processes)                                                  \
    STORE_BATCH_BEHIND_PROCESS(X)
#define STORE_BATCH_BEHIND_PROCESS(X)                                                              \
    X(EVENT, event, store_event, events)                                                           \
    X(PHASE, phase, store_phase, phases)                                                           \
    X(THREAD, thread, store_thread, threads)                                                       \
    X(MAPPING, mapping, store_mapping, mappings)                                                   \
    X(LEDGER, ledger, store_ledger, ledger)                                                        \
    X(COUNTER, counter, store_counter, counters)                                                   \
    X(FAILED, failed, store_failed, failed)                                                        \
    X(CALL_COST, call_cost, store_call_cost, call_costs)                                           \
    X(ENTRY_COVERAGE, entry_coverage, store_entry_coverage, entry_coverages)                       \
    X(PHASE_OPTION, phase_option, store_phase_option, phase_options)                               \
    X(SELECTION, selection, store_selection, selections)                                           \
    X(PROBE_EVENT, probe_event, store_probe_event, probe_events)                                   \
    X(PROBE, probe, store_probe, probes)                                                           \
    X(CALL_UNTIMED, call_untimed, store_call_untimed, call_untimeds)                               \
    X(CALL_TAIL_CUT, call_tail_cut, store_call_tail_cut, call_tail_cuts)                           \
    X(CALL_OUTSIDE, call_outside, store_call_outside, call_outsides)                               \
    X(OUTSIDE_COST, outside_cost, store_outside_cost, outside_costs)                               \
    X(CALL_STACK, call_stack, store_call_stack, call_stacks)                                       \
    X(CALL_HEAP, call_heap, store_call_heap, call_heaps)                                           \
    X(CALL_BLOCK, call_block, store_call_block, call_blocks)                                       \
    X(CALL_FUNCTION, call_function, store_call_function, call_functions)                           \
    X(PROBE_LEDGER, probe_ledger, store_probe_ledger, probe_ledger)                                \
    X(KEEP_RULE, keep_rule, store_keep_rule, keep_rules)                                           \
    X(KEEP_SPAN, keep_span, store_keep_span, keep_spans)                                           \
    X(KEPT_CALL, kept_call, store_kept_call, kept_calls)                                           \
    X(REQUEST_PART, request_part, store_request_part, request_parts)                               \
    X(CALL_VALUE, call_value, store_call_value, call_values)                                       \
    X(WARNING, warning, store_warning, warnings)                                                   \
    X(WAKE, wake, store_wake, wakes)                                                               \
    X(EVENT_FIELD, event_field, store_event_field, event_fields)                                   \
    X(SAMPLE_FIELDS, sample_fields, store_sample_fields, sample_fields)                            \
    X(SAMPLED_USER, sampled_user, store_sampled_user, sampled_users)                               \
    X(PROCESS_ORIGIN, process_origin, store_process_origin, process_origins)
#define STORE_BATCH_OF_ALL(X)                                                                      \
    X(MODULE, module, store_module, modules)                                                       \
    X(FRAME, frame, store_frame, frames)                                                           \
    X(NODE, node, store_node, nodes)

/* What is derived of it (struct store_derived). Those OF_RUN are replaced when their run is derived
 * again. */
#define STORE_DERIVED_OF_RUN(X)                                                                    \
    X(SAMPLE_SUMMARY, sample_summary, store_sample_summary, sample_summaries)                      \
    X(EVENT_COST, event_cost, store_event_cost, event_costs)                                       \
    X(THREAD_COST, thread_cost, store_thread_cost, thread_costs)                                   \
    X(PATH_COST, path_cost, store_cost, path_costs)                                                \
    X(FUNCTION_COST, function_cost, store_cost, function_costs)                                    \
    X(MODULE_COST, module_cost, store_cost, module_costs)                                          \
    X(LINE_COST, line_cost, store_cost, line_costs)                                                \
    X(EDGE_COST, edge_cost, store_edge_cost, edge_costs)                                           \
    X(THREAD_NODE_COST, thread_node_cost, store_thread_node_cost, thread_node_costs)               \
    X(SLOT_COST, slot_cost, store_slot_cost, slot_costs)                                           \
    X(PLACE_COST, place_cost, store_place_cost, place_costs)                                       \
    X(PLACE_BLOCK, place_block, store_place_block, place_blocks)                                   \
    X(CALL_LATENCY, call_latency, store_call_latency, call_latencies)                              \
    X(LOCK_NAME, lock_name, store_lock_name, lock_names)                                           \
    X(COVERAGE, coverage, store_coverage, coverages)
#define STORE_DERIVED_OF_ALL(X)                                                                    \
    X(FUNCTION, function, store_function, functions)                                               \
    X(PATH, path, model_path, paths)                                                               \
    X(NODE_PATH, node_path, store_node_path, node_paths)

#endif
