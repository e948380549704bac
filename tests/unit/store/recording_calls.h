/* What a trace adds to the example: part of recording.c. */
#ifndef SPROF_TESTS_UNIT_STORE_RECORDING_CALLS_H
#define SPROF_TESTS_UNIT_STORE_RECORDING_CALLS_H

#include "store/store.h"

static const uint8_t buckets[8] = {0, 0, 0, 0, 9, 0, 0, 0};
static struct store_call_cost call_costs[] = {
    {.run_id = 1,
     .event_id = 1,
     .thread_id = 1,
     .node_id = 1,
     .timed = true,
     .calls = 10,
     .counted = 3,
     .in_flight = 1,
     .total_ns = 900,
     .self_ns = 700,
     .raw_total_ns = 960,
     .raw_self_ns = 740,
     .min_ns = 90,
     .max_ns = 110,
     .child_calls = 2,
     .bucket_ns = 71,
     .buckets = {buckets, sizeof buckets},
     .outermost = 6},
};
static struct store_call_stack call_stacks[] = {
    {.run_id = 1, .node_id = 1, .pid = 1000, .stack_bytes = 4096},
};
static struct store_call_heap call_heaps[] = {
    {.run_id = 1, .node_id = 1, .pid = 1000, .blocks = 3, .self_bytes = 96, .total_bytes = 4096},
};
static struct store_call_latency call_latencies[] = {
    {.run_id = 1,
     .event_id = 1,
     .function_id = 1,
     .p50_ns = 100,
     .p90_ns = 100,
     .p99_ns = 100,
     .p999_ns = 100},
};
static struct store_entry_coverage entry_coverages[] = {
    {.run_id = 1, .node_id = 1, .first_ns = 500, .thread_id = 1},
    {.run_id = 1, .node_id = 2},
};
static struct store_probe_event probe_events[] = {
    {.run_id = 1, .number = 1, .time_ns = 600, .what = "clear", .cause = "command", .in_flight = 2},
    {.run_id = 1,
     .number = 2,
     .node_id = 1,
     .time_ns = 700,
     .what = "counted",
     .cause = "governor",
     .share = 0.25},
};
static struct store_selection selections[] = {
    {.run_id = 1, .number = 1, .text = "+.*", .functions = 3, .cause = "start"},
    {.run_id = 1,
     .number = 2,
     .start_ns = 400,
     .end_ns = 500,
     .text = "-^A3$",
     .functions = 1,
     .cause = "command"},
};
static struct store_phase_option phase_options[] = {
    {.run_id = 1, .phase_id = 1, .name = "mode", .value = "stats"},
    {.run_id = 1, .phase_id = 1, .name = "paths", .value = ""},
};
static struct store_probe probes[] = {
    {.run_id = 1, .node_id = 1, .mechanism = "prologue", .address = 0x1004},
};
static struct store_call_untimed call_untimeds[] = {
    {.run_id = 1, .thread_id = 1, .node_id = 1, .calls = 3},
};
static struct store_call_tail_cut call_tail_cuts[] = {
    {.run_id = 1, .thread_id = 1, .node_id = 1, .calls = 2},
};
static struct store_call_outside call_outsides[] = {
    {.run_id = 1, .thread_id = 1, .node_id = 1, .outside_ns = 700},
};
static struct store_outside_cost outside_costs[] = {
    {.run_id = 1, .node_id = 2, .calls = 4, .total_ns = 800, .self_ns = 700, .max_ns = 300},
};
static struct store_sampled_user sampled_users[] = {
    {.run_id = 1, .uid = 1000, .gid = 100, .groups = "4 27"},
    {.run_id = 1, .uid = UINT32_MAX, .gid = UINT32_MAX, .groups = ""},
};
static struct store_process_origin process_origins[] = {
    {.process_id = 1, .uid = 1000, .user = "anna", .cgroup = "/system.slice/shop.service"},
    {.process_id = 2, .uid = 0, .cgroup = "/docker/0f1e", .container = "0f1e"},
};
static struct store_coverage coverages[] = {
    {.run_id = 1, .function_id = 1, .first_ns = 500, .thread_id = 1},
    {.run_id = 1, .function_id = 2},
};
/* One call: function 3, left by a longjmp, at depth 2, from 700 for 90, of which 80 itself; its
 * first words are 5 and 256. */
static const uint8_t call_bytes[] = {0x1b, 4, 0xf8, 0x0a, 91, 20, 3, 10, 0x80, 4};
static struct store_call_block call_blocks[] = {
    {.id = 1,
     .run_id = 1,
     .thread_id = 1,
     .calls = 1,
     .first_ns = 700,
     .bytes = {call_bytes, sizeof call_bytes}},
};
static struct store_call_function call_functions[] = {
    {.run_id = 1, .number = 3, .node_id = 1},
};
static struct store_keep_rule keep_rules[] = {
    {.run_id = 1, .number = 1, .text = "over 10ns: a", .function = "a", .fired = 2, .dropped = 1},
};
static struct store_keep_span keep_spans[] = {
    {.run_id = 1, .number = 1, .from_ns = 100, .to_ns = 900, .tested = 5},
};
static struct store_call_value call_values[] = {
    {.run_id = 1, .call_number = 2, .position = 0, .name = "", .type = "int", .value = "-1"},
    {.run_id = 1, .call_number = 2, .position = 1, .name = "n", .type = "int", .value = "7"},
};
static struct store_kept_call kept_calls[] = {
    {.run_id = 1, .number = 1, .thread_id = 1, .node_id = 1, .start_ns = 700, .exit = 6},
    {.run_id = 1,
     .number = 2,
     .caller = 1,
     .thread_id = 1,
     .node_id = 1,
     .start_ns = 710,
     .duration_ns = 20,
     .self_ns = 15,
     .rules = 1,
     .request = 7,
     .asked_id = UINT64_MAX},
};
static struct store_request_part request_parts[] = {
    {.run_id = 1, .number = 1, .thread_id = 1, .request = 7, .label = "GET", .start_ns = 705},
    {.run_id = 1,
     .number = 2,
     .thread_id = 1,
     .request = UINT64_MAX,
     .start_ns = 700,
     .duration_ns = 5,
     .is_end = true},
};
static struct store_wake wakes[] = {
    {.run_id = 1,
     .thread_id = 1,
     .time_ns = 800,
     .woken_ns = 795,
     .waker_tid = 101,
     .waker_thread_id = 2},
};
static struct store_event_field event_fields[] = {
    {.run_id = 1, .event_id = 1, .name = "count", .offset = 8, .bytes = 4},
};
static struct store_sample_fields sample_fields[] = {
    {.run_id = 1,
     .event_id = 1,
     .thread_id = 1,
     .time_ns = 800,
     .bytes = {(const uint8_t *)"\1\0\0\0\0\0\0\0\7", 9}},
};
static struct store_lock_name lock_names[] = {
    {.run_id = 1, .process_id = 1, .address = 0x4000, .name = "shop::ledger.mutex"},
};
static struct store_warning warnings[] = {
    {.run_id = 1,
     .thread_id = 1,
     .node_id = 1,
     .time_ns = 790,
     .kind = "slow",
     .value = 90,
     .bound = 50},
};
static struct store_probe_ledger probe_ledger[] = {
    {.run_id = 1, .second = 1, .node_id = 1, .not_logged = 4},
};

#endif
