#include "sampler/perf/switches.h"

#include <CUnit/CUnit.h>

enum { PID = 100, TID = 101, MS = 1000000 };

/* All waits are kept; the recording starts at 10 ms. */
static struct perf_switches begin(void)
{
    const struct sampler_options options = {
        .off_cpu = {.wanted = true, .has_threshold = true, .by_switches = true}};
    struct perf_switches switches = {0};
    perf_switches_open(&switches, &options);
    CU_ASSERT_TRUE(switches.wanted);
    switches.start_ns = 10 * MS;
    return switches;
}

static struct model_record record_of(enum model_record_type type, uint64_t time_ms)
{
    return (struct model_record){.type = type, .time_ns = time_ms * MS, .pid = PID, .tid = TID};
}

static void leave(struct perf_switches *switches, uint64_t time_ms, bool is_ready)
{
    struct model_record record = record_of(MODEL_RECORD_SWITCH, time_ms);
    record.switches.leaves = true;
    record.switches.is_ready = is_ready;
    CU_ASSERT_EQUAL(perf_switches_note(switches, &record), 1);
}

/* The thread gets a CPU: a wait of so many milliseconds ends, or none where it is 0. */
static void arrive(struct perf_switches *switches, uint64_t time_ms, int event, uint64_t waited_ms)
{
    struct model_record record = record_of(MODEL_RECORD_SWITCH, time_ms);
    CU_ASSERT_EQUAL(perf_switches_note(switches, &record), waited_ms == 0);
    if (!waited_ms)
        return;
    CU_ASSERT_EQUAL(record.type, MODEL_RECORD_SAMPLE);
    CU_ASSERT_EQUAL(record.event, event);
    CU_ASSERT_EQUAL(record.tid, TID);
    CU_ASSERT_EQUAL(record.sample.weight, waited_ms * MS);
    CU_ASSERT_EQUAL(record.sample.lasted_ns, waited_ms * MS);
    CU_ASSERT_EQUAL(record.sample.ended_ns, time_ms * MS);
    CU_ASSERT_EQUAL(record.sample.pseudo,
                    event == PERF_SWITCHES_READY ? MODEL_PSEUDO_READY : MODEL_PSEUDO_WAITING);
    CU_ASSERT_EQUAL(record.sample.register_count, 0);
}

static void note(struct perf_switches *switches, enum model_record_type type, uint64_t time_ms)
{
    struct model_record record = record_of(type, time_ms);
    CU_ASSERT_EQUAL(perf_switches_note(switches, &record), 0);
    CU_ASSERT_EQUAL(record.type, type);
}

static void test_a_wait_is_a_pair_of_switches(void)
{
    struct perf_switches switches = begin();
    leave(&switches, 20, false);
    arrive(&switches, 27, PERF_SWITCHES_WAITING, 7);
    arrive(&switches, 28, 0, 0); /* seen by two events */
    leave(&switches, 30, true);
    leave(&switches, 30, true);
    arrive(&switches, 34, PERF_SWITCHES_READY, 4);
    CU_ASSERT_EQUAL(switches.kept, 2);
    perf_switches_release(&switches);
}

static void test_waits_begin_with_the_recording_and_with_threads(void)
{
    struct perf_switches switches = begin();
    arrive(&switches, 15, PERF_SWITCHES_WAITING, 5); /* a thread that was there before */
    leave(&switches, 16, false);
    note(&switches, MODEL_RECORD_EXIT, 17);
    note(&switches, MODEL_RECORD_FORK, 18); /* its number once more */
    arrive(&switches, 21, PERF_SWITCHES_READY, 3);
    perf_switches_release(&switches);
    switches = begin();
    switches.command = TID;
    arrive(&switches, 15, 0, 0);
    perf_switches_release(&switches);
}

static void test_nothing_of_a_pause_counts(void)
{
    struct perf_switches switches = begin();
    leave(&switches, 20, false);
    CU_ASSERT_EQUAL(perf_switches_pause(&switches, true, 22 * MS), 0);
    CU_ASSERT_EQUAL(perf_switches_pause(&switches, false, 25 * MS), 0);
    CU_ASSERT_EQUAL(perf_switches_pause(&switches, true, 30 * MS), 0);
    arrive(&switches, 40, PERF_SWITCHES_WAITING, 7);
    leave(&switches, 41, false);
    arrive(&switches, 49, 0, 0);
    perf_switches_release(&switches);
}

static void test_losses_end_no_wait(void)
{
    struct perf_switches switches = begin();
    leave(&switches, 20, false);
    note(&switches, MODEL_RECORD_LOST, 21);
    arrive(&switches, 40, 0, 0);
    leave(&switches, 41, false);
    arrive(&switches, 43, PERF_SWITCHES_WAITING, 2);
    perf_switches_release(&switches);
}

/* What goes on at the end; 0: nothing. */
static uint64_t end_ms(struct perf_switches *switches, uint64_t cpu_ns)
{
    struct model_record record = record_of(MODEL_RECORD_SWITCH, 50);
    const int result = perf_switches_end(switches, cpu_ns, &record);
    CU_ASSERT_TRUE(result >= 0);
    return result ? 0 : record.sample.weight / MS;
}

static void test_waits_last_to_the_end(void)
{
    struct perf_switches switches = begin();
    CU_ASSERT_EQUAL(end_ms(&switches, 5 * MS), 0); /* it had a CPU all along */
    CU_ASSERT_EQUAL(end_ms(&switches, 0), 40);
    perf_switches_release(&switches);
    switches = begin();
    leave(&switches, 20, false);
    CU_ASSERT_EQUAL(end_ms(&switches, 5 * MS), 30);
    perf_switches_release(&switches);
}

/* Short waits are kept by chance and weigh for those that are not. */
static void test_short_waits_have_no_bias(void)
{
    enum { WAITS = 20000, WAIT_NS = 50000, THRESHOLD_NS = 1000000 };
    struct perf_switches switches = begin();
    switches.threshold.ns = THRESHOLD_NS;
    switches.random = 1;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < WAITS; i++) {
        struct model_record record = record_of(MODEL_RECORD_SWITCH, 20 + i);
        record.switches.leaves = true;
        CU_ASSERT_EQUAL(perf_switches_note(&switches, &record), 1);
        record.switches.leaves = false;
        record.time_ns += WAIT_NS;
        if (!perf_switches_note(&switches, &record)) {
            CU_ASSERT_EQUAL(record.sample.weight, THRESHOLD_NS);
            sum += record.sample.weight;
        }
    }
    const double truth = (double)WAITS * WAIT_NS;
    CU_ASSERT_DOUBLE_EQUAL((double)sum, truth, 0.15 * truth); /* five standard errors */
    perf_switches_release(&switches);
}

void sprof_suite_sampler_switches(void);
void sprof_suite_sampler_switches(void)
{
    CU_pSuite suite = CU_add_suite("sampler/switches", NULL, NULL);
    CU_add_test(suite, "a wait is a pair of switches", test_a_wait_is_a_pair_of_switches);
    CU_add_test(suite, "waits begin with the recording and with threads",
                test_waits_begin_with_the_recording_and_with_threads);
    CU_add_test(suite, "nothing of a pause counts", test_nothing_of_a_pause_counts);
    CU_add_test(suite, "losses end no wait", test_losses_end_no_wait);
    CU_add_test(suite, "waits last to the end", test_waits_last_to_the_end);
    CU_add_test(suite, "short waits have no bias", test_short_waits_have_no_bias);
}
