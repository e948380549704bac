/* Calls out of the traced modules: sums, rows, and which of them cost too much. */
#include "calls/calls.h"
#include "tests/unit/calls/made.h"

static const struct made_way in_memory = {.has_agent = true};

enum { CAPACITY = 16, TARGETS = 3, SHARED = 0x5000, OTHER = 0x6000 };

struct outside {
    struct made made;
    struct probing_outside *list;
};

static void make(struct outside *outside)
{
    made_begin(&outside->made, &in_memory, CAPACITY);
    struct calls_program *session = &outside->made.session;
    session->times.start.ticks = UINT64_MAX / 2;
    session->process.shared->cost.whole = 50;
    probing_outside_number(&session->probing);
    outside->list = session->outside;
    CU_ASSERT_PTR_NOT_NULL_FATAL(outside->list);
    /* two slots of one function, and one of another */
    static const uint64_t addresses[TARGETS] = {SHARED, OTHER, SHARED};
    for (size_t i = 0; i < TARGETS; i++) {
        const struct probing_outside_target target = {.address = addresses[i],
                                                      .node = addresses[i] == SHARED ? 7 : 9};
        CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&outside->list->targets, target), 0);
    }
    probing_outside_switch(&session->probing, true);
}

static void call(struct outside *outside, uint32_t index, uint64_t calls, int64_t each)
{
    struct probe_stat *stat = made_stat(&outside->made, outside->list->first + index);
    stat->calls = stat->ended += calls;
    stat->self += (int64_t)calls * each;
    stat->total += (int64_t)calls * each * 2;
    if (stat->max < (uint64_t)each)
        stat->max = (uint64_t)each;
}

static void end(struct outside *outside)
{
    probing_outside_free(&outside->made.session.probing);
    made_end(&outside->made);
}

/* Numbers behind those of functions, half of what is free. */
static void test_numbers(void)
{
    static struct outside outside;
    make(&outside);
    CU_ASSERT_EQUAL(probing_outside_room(&outside.made.session.probing), CAPACITY / 2);
    CU_ASSERT_EQUAL(outside.list->first, CAPACITY / 2);
    CU_ASSERT_EQUAL(outside.made.session.process.shared->first_outside, CAPACITY / 2);
    end(&outside);
}

static void test_impossible(void)
{
    struct made made;
    made_begin(&made, &in_memory, CAPACITY);
    made.session.options.no_outside = true;
    probing_outside_number(&made.session.probing);
    CU_ASSERT_EQUAL(probing_outside_room(&made.session.probing), 0);
    made.session.options.no_outside = false;
    made.session.untimed.runtime = "V8";
    probing_outside_number(&made.session.probing);
    CU_ASSERT_EQUAL(probing_outside_room(&made.session.probing), 0);
    probing_outside_switch(&made.session.probing, true); /* without any, nothing happens */
    CU_ASSERT_EQUAL(calls_outside_write(&made.session), 0);
    CU_ASSERT(calls_outside_spent(&made.session) == 0);
    made_end(&made);
}

/* A row for each function, however many slots lead to it, written again when it grows. */
static void test_rows(void)
{
    static struct outside outside;
    make(&outside);
    struct calls_program *session = &outside.made.session;
    const struct store_batch *batch = recording_batch(session->recording);
    call(&outside, 0, 3, 10);
    call(&outside, 2, 2, 100);
    CU_ASSERT_EQUAL(calls_outside_read(session, 0, false), 0);
    CU_ASSERT_EQUAL(calls_outside_write(session), 0);
    CU_ASSERT_EQUAL_FATAL(batch->outside_costs.count, 1);
    CU_ASSERT_EQUAL(batch->outside_costs.items[0].node_id, 7);
    CU_ASSERT_EQUAL(batch->outside_costs.items[0].calls, 5);
    CU_ASSERT_EQUAL(batch->outside_costs.items[0].self_ns, 230);
    CU_ASSERT_EQUAL(batch->outside_costs.items[0].total_ns, 460);
    CU_ASSERT_EQUAL(batch->outside_costs.items[0].max_ns, 100);
    CU_ASSERT_EQUAL(calls_outside_write(session), 0);
    CU_ASSERT_EQUAL(batch->outside_costs.count, 1); /* nothing is new */
    call(&outside, 1, 1, 10);
    CU_ASSERT_EQUAL(calls_outside_read(session, 0, true), 0);
    CU_ASSERT_EQUAL(calls_outside_write(session), 0);
    CU_ASSERT_EQUAL_FATAL(batch->outside_costs.count, 2);
    CU_ASSERT_EQUAL(batch->outside_costs.items[1].node_id, 9);
    CU_ASSERT_PTR_NULL(outside.list->read[0]); /* the thread has ended */
    end(&outside);
}

/* Calls of a function in no recorded module are counted where they have no row. */
static void test_unplaced(void)
{
    static struct outside outside;
    make(&outside);
    struct calls_program *session = &outside.made.session;
    struct calls_sums sums = {0};
    outside.list->targets.items[1].node = 0;
    call(&outside, 1, 4, 10);
    CU_ASSERT_EQUAL(calls_outside_read(session, 0, false), 0);
    CU_ASSERT_EQUAL(calls_outside_write(session), 0);
    CU_ASSERT_EQUAL(calls_outside_write(session), 0);
    CU_ASSERT_EQUAL(recording_batch(session->recording)->outside_costs.count, 0);
    calls_program_add_up(session, &sums);
    CU_ASSERT_EQUAL(sums.unplaced, 1);
    CU_ASSERT_EQUAL(sums.unplaced_calls, 4);
    end(&outside);
}

static void test_clear(void)
{
    static struct outside outside;
    make(&outside);
    struct calls_program *session = &outside.made.session;
    const struct store_batch *batch = recording_batch(session->recording);
    call(&outside, 0, 3, 10);
    CU_ASSERT_EQUAL(calls_outside_clear(session), 0);
    CU_ASSERT_EQUAL(calls_outside_write(session), 0);
    CU_ASSERT_EQUAL(batch->outside_costs.count, 0);
    call(&outside, 0, 1, 10);
    CU_ASSERT_EQUAL(calls_outside_read(session, 0, false), 0);
    CU_ASSERT_EQUAL(calls_outside_write(session), 0);
    CU_ASSERT_EQUAL_FATAL(batch->outside_costs.count, 1);
    CU_ASSERT_EQUAL(batch->outside_costs.items[0].calls, 1);
    CU_ASSERT_EQUAL(batch->outside_costs.items[0].self_ns, 10);
    end(&outside);
}

/* What the command writes there can be anything. */
static void test_impossible_times(void)
{
    static struct outside outside;
    make(&outside);
    struct calls_program *session = &outside.made.session;
    struct probe_stat *stat = made_stat(&outside.made, outside.list->first);
    memset(stat, 0x7f, sizeof *stat);
    CU_ASSERT_EQUAL(calls_outside_read(session, 0, false), 0);
    const struct probing_outside_sum *sum = &outside.list->targets.items[0].sum;
    const uint64_t most = calls_most_ticks(session);
    CU_ASSERT(sum->calls <= most && (uint64_t)sum->self <= most && (uint64_t)sum->total <= most &&
              sum->max <= most);
    end(&outside);
}

/* Those with the shortest calls go first, until the rest holds the limit. */
static void test_lowered(void)
{
    static struct outside outside;
    size_t lowered;
    make(&outside);
    struct calls_program *session = &outside.made.session;
    const size_t first = outside.list->first;
    call(&outside, 0, 100, 10);
    call(&outside, 1, 100, 5000);
    call(&outside, 2, 100, 500);
    CU_ASSERT_EQUAL(calls_outside_read(session, 0, false), 0);
    CU_ASSERT_DOUBLE_EQUAL(calls_outside_spent(session), 300 * 50, 1);
    double ns = calls_outside_lower(session, 1e9, &lowered);
    CU_ASSERT_EQUAL(lowered, 0);
    CU_ASSERT_DOUBLE_EQUAL(ns, 300 * 50, 1);
    call(&outside, 0, 100, 10);
    call(&outside, 1, 100, 5000);
    call(&outside, 2, 100, 500);
    CU_ASSERT_EQUAL(calls_outside_read(session, 0, false), 0);
    ns = calls_outside_lower(session, 6000, &lowered); /* of the last 100 calls each: 15 000 */
    CU_ASSERT_EQUAL(lowered, 2);
    CU_ASSERT_DOUBLE_EQUAL(ns, 5000, 1);
    CU_ASSERT_EQUAL(made_tier(&outside.made, first), PROBE_OFF);
    CU_ASSERT_EQUAL(made_tier(&outside.made, first + 1), PROBE_FULL);
    CU_ASSERT_EQUAL(made_tier(&outside.made, first + 2), PROBE_OFF);
    probing_outside_switch(&session->probing, false);
    CU_ASSERT_EQUAL(made_tier(&outside.made, first + 1), PROBE_OFF);
    probing_outside_switch(&session->probing, true); /* a pause lets none come back */
    CU_ASSERT_EQUAL(made_tier(&outside.made, first), PROBE_OFF);
    CU_ASSERT_EQUAL(made_tier(&outside.made, first + 1), PROBE_FULL);
    end(&outside);
}

void sprof_suite_calls_outside(void);

void sprof_suite_calls_outside(void)
{
    CU_pSuite suite = CU_add_suite("calls/outside", NULL, NULL);
    CU_add_test(suite, "numbers", test_numbers);
    CU_add_test(suite, "where it is not measured", test_impossible);
    CU_add_test(suite, "rows", test_rows);
    CU_add_test(suite, "no module", test_unplaced);
    CU_add_test(suite, "a clear", test_clear);
    CU_add_test(suite, "times that cannot be", test_impossible_times);
    CU_add_test(suite, "too expensive", test_lowered);
}
