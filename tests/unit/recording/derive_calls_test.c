/* Percentiles of calls, from buckets of their durations. */
#include "tests/unit/recording/handmade.h"

enum { BUCKETS = 4, DURATIONS = 4 };

/* Two buckets an octave: the first holds 1000 to 1500 ns. */
#define FIRST_BUCKET_NS 1414.2135623730951

/* Calls of a thread, as many of each duration as that: each stands in a bucket of its own. */
static void add_calls(struct handmade *made, uint32_t thread, uint32_t node,
                      uint32_t counts[BUCKETS], uint64_t max_ns)
{
    const struct store_call_cost row = {.run_id = 1,
                                        .event_id = 1,
                                        .thread_id = thread,
                                        .node_id = node,
                                        .timed = true,
                                        .calls = counts[0] + counts[1] + counts[2] + counts[3],
                                        .max_ns = max_ns,
                                        .bucket_ns = FIRST_BUCKET_NS,
                                        .buckets = {(const uint8_t *)counts, 4 * BUCKETS}};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&made->batch.call_costs, row), 0);
}

/* Never too small, at most half too large, and none exceeds the longest call. */
static void test_percentiles(void)
{
    static const uint64_t durations_ns[DURATIONS] = {1000, 1999, 2500, 3500};
    static uint32_t first[BUCKETS] = {20, 40, 8, 0}, second[BUCKETS] = {30, 0, 1, 1};
    struct handmade made;
    unsigned long long found[DURATIONS];
    handmade_make(&made, "full", STORE_RECORDED);
    const uint32_t node = handmade_node(&made, 0, HAND_A1, 1);
    const struct store_thread other = {.id = 2, .process_id = 1, .tid = (1 << 29) + 1};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&made.batch.threads, other), 0);
    add_calls(&made, 1, node, first, 2500);
    add_calls(&made, 2, node, second, 3500);
    handmade_write(&made);
    handmade_must_derive(&made);
    const char *row =
        handmade_query(&made, "SELECT p50_ns, p90_ns, p99_ns, p999_ns FROM v_call_stats");
    CU_ASSERT_EQUAL_FATAL(
        sscanf(row, "%llu|%llu|%llu|%llu", &found[0], &found[1], &found[2], &found[3]), DURATIONS);
    for (size_t i = 0; i < DURATIONS; i++)
        CU_ASSERT(found[i] >= durations_ns[i] && 2 * found[i] <= 3 * durations_ns[i]);
    /* of 100 calls 50, 90, 99 and 100 are in buckets up to these */
    assert_text(row, "1500|2000|3000|3500");
    handmade_close(&made);
}

/* Processes that execute the same program have nodes of their own for its functions. */
static void test_processes(void)
{
    static uint32_t many[BUCKETS] = {60, 39, 0, 0}, one[BUCKETS] = {0, 0, 0, 1};
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    const uint32_t node = handmade_node(&made, 0, HAND_A1, 1);
    const uint32_t outer = handmade_node(&made, 0, HAND_A2, 1);
    add_calls(&made, 1, node, many, 1999);
    add_calls(&made, 1, handmade_node(&made, outer, HAND_A1, 1), one, 3500);
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, "SELECT count(*) FROM call_latency", "1");
    ASSERT_HANDMADE(&made, "SELECT p50_ns, p90_ns, p99_ns, p999_ns FROM call_latency",
                    "1500|2000|2000|3500");
    handmade_close(&made);
}

/* Of a function with calls that have no buckets nothing is said. */
static void test_gaps(void)
{
    static uint32_t some[BUCKETS] = {1, 1, 0, 0};
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    const uint32_t node = handmade_node(&made, 0, HAND_A1, 1);
    add_calls(&made, 1, node, some, 1600);
    made.batch.call_costs.items[0].buckets.size = 0;
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, "SELECT count(*) FROM call_latency", "0");
    handmade_close(&made);
}

void sprof_suite_recording_derive_calls(void);
void sprof_suite_recording_derive_calls(void)
{
    CU_pSuite suite = CU_add_suite("recording/derive_calls", handmade_compile, handmade_remove);
    CU_add_test(suite, "percentiles", test_percentiles);
    CU_add_test(suite, "processes of one program", test_processes);
    CU_add_test(suite, "calls without buckets", test_gaps);
}
