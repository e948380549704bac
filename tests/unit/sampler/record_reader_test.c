#include "sampler/perf/perf_source.h"
#include "target/target.h"
#include "tests/unit/sampler/fake_ring.h"
#include "tests/unit/sampler/live.h"

#include <CUnit/CUnit.h>
#include <string.h>
#include <unistd.h>

enum { TOP_BYTES = 512 };

/* The highest bytes of a thread's first stack (names, environment) never change: whatever a sample
 * says of them must be what is in memory. Returns whether there was something to compare. */
static bool stack_top_is_true(pid_t pid, const struct model_sample *sample, bool *compared)
{
    uint8_t memory[TOP_BYTES];
    *compared = false;
    if (!sample->register_count || sample->stack_size < TOP_BYTES || sample->stack_full)
        return true;
    const uint64_t top = sample->registers[7] + sample->stack_size - TOP_BYTES;
    if (target_read_memory(pid, top, memory, TOP_BYTES) != TOP_BYTES)
        return true;
    *compared = true;
    return !memcmp(memory, sample->stack + sample->stack_size - TOP_BYTES, TOP_BYTES);
}

/* Rings so small that many samples wrap. */
static void test_samples_that_wrap_are_whole(void)
{
    const pid_t pid = live_spin("1", "100000", NULL);
    const struct sampler_options options = {.capture = SAMPLER_CAPTURE_FULL,
                                            .event = "cpu-clock",
                                            .pids = &pid,
                                            .pid_count = 1,
                                            .ring_budget_bytes = 2 << 20};
    struct sampler *sampler;
    CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, NULL), 0);
    CU_ASSERT_EQUAL(sampler_start(sampler, NULL), 0);
    const uint64_t end_ns = sprof_clock_monotonic_ns() + 60000000000;
    unsigned compared = 0, wrong = 0;
    while ((compared < 800 || !sampler_counters(sampler).copied_records) &&
           sprof_clock_monotonic_ns() < end_ns) {
        sampler_wait(sampler, 100, -1);
        for (const struct model_record *record; !sampler_next(sampler, &record);) {
            bool could = false;
            if (record->type == MODEL_RECORD_SAMPLE)
                wrong += !stack_top_is_true(pid, &record->sample, &could);
            compared += could;
        }
    }
    CU_ASSERT_TRUE(compared > 100);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_TRUE(sampler_counters(sampler).copied_records > 0);
    sampler_free(sampler);
    live_end(pid);
}

/* What lay in the rings when the sampler was stopped is handed out all the same. */
static void test_stop_drains_all(void)
{
    char *const command[] = {SAMPLER_SPIN, "1", "40", NULL};
    const struct sampler_options options = {.event = "cpu-clock", .command = command};
    struct sampler *sampler;
    CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, NULL), 0);
    CU_ASSERT_EQUAL(sampler_start(sampler, NULL), 0);
    while (!sampler_targets_ended(sampler, NULL))
        usleep(1000);
    sampler_stop(sampler);
    uint64_t samples = 0, exits = 0;
    for (const struct model_record *record; !sampler_next(sampler, &record);) {
        samples += record->type == MODEL_RECORD_SAMPLE;
        exits += record->type == MODEL_RECORD_EXIT;
    }
    CU_ASSERT_TRUE(live_count_fits(samples, 997, sampler_target_cpu_ns(sampler)));
    CU_ASSERT_EQUAL(exits, 1);
    sampler_free(sampler);
}

/* Whatever began by a fork is heard of before it does anything, and ends after it. */
static void test_life_is_told_in_order(void)
{
    char *const command[] = {"/bin/sh", "-c",
                             "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done", NULL};
    const struct sampler_options options = {
        .capture = SAMPLER_CAPTURE_PC, .event = "cpu-clock", .command = command};
    struct sampler *sampler;
    CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, NULL), 0);
    struct sprof_map lives = {0}; /* pid → 1 alive, 2 its program runs, 3 ended */
    sprof_map_put(&lives, (uint64_t)sampler_facts(sampler)->command_pid, 1);
    CU_ASSERT_EQUAL(sampler_start(sampler, NULL), 0);
    unsigned wrong = 0, execs = 0;
    for (bool stopped = false;;) {
        for (const struct model_record *record; !sampler_next(sampler, &record);) {
            if (record->before_start || record->pid < 0)
                continue;
            const uint64_t *life = sprof_map_get(&lives, (uint64_t)record->pid);
            const uint64_t state = life ? *life : 0;
            if (record->type == MODEL_RECORD_FORK) {
                wrong += state != 0;
                sprof_map_put(&lives, (uint64_t)record->pid, 1);
            } else if (record->type == MODEL_RECORD_COMM && record->comm.exec) {
                wrong += state != 1;
                execs++;
                sprof_map_put(&lives, (uint64_t)record->pid, 2);
            } else if (record->type == MODEL_RECORD_EXIT) {
                wrong += state != 2;
                sprof_map_put(&lives, (uint64_t)record->pid, 3);
            } else if (record->type == MODEL_RECORD_MMAP) {
                wrong += state != 2;
            } else if (record->type == MODEL_RECORD_SAMPLE) {
                wrong += state == 0;
            }
        }
        if (stopped)
            break;
        sampler_wait(sampler, 100, -1);
        stopped = sampler_targets_ended(sampler, NULL);
        if (stopped)
            sampler_stop(sampler);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(execs, 101);
    sprof_map_release(&lives);
    sampler_free(sampler);
}

/* Bytes that only look like records: their times are not believed, nor do they hold up the others.
 */
static void test_records_from_the_future(void)
{
    static const uint64_t now_ns = 5000000000, year_ns = 31536000000000000;
    static _Alignas(8) uint8_t buffer[SAMPLER_RING_RECORD_MAX];
    struct perf_source source = {
        .buffer = buffer, .progress.seen_ns = now_ns, .progress.horizon_ns = now_ns};
    const struct sampler_ring ring = fake_ring();
    CU_ASSERT_EQUAL_FATAL(sampler_merge_add(&source.rings.merge, &ring), 0);
    struct sampler_ring *written = &source.rings.merge.rings.items[0];
    fake_record(written, PERF_RECORD_THROTTLE, now_ns - 2000);
    fake_record(written, PERF_RECORD_THROTTLE, now_ns + year_ns);
    fake_record(written, PERF_RECORD_UNTHROTTLE, now_ns - 1000);
    sampler_merge_refresh(&source.rings.merge);
    static const struct {
        enum model_record_type type;
        uint64_t time_ns;
    } expected[] = {{MODEL_RECORD_THROTTLE, now_ns - 2000},
                    {MODEL_RECORD_LOST, now_ns - 2000},
                    {MODEL_RECORD_THROTTLE, now_ns - 1000}};
    struct model_record *record;
    for (size_t i = 0; i < 3; i++) {
        const struct source_next next = perf_record_next_time(&source.source);
        CU_ASSERT_EQUAL(next.state, SOURCE_RECORD);
        CU_ASSERT_TRUE(next.time_ns <= expected[i].time_ns);
        CU_ASSERT_EQUAL_FATAL(perf_record_take(&source.source, &record), 0);
        CU_ASSERT_EQUAL(record->type, expected[i].type);
        CU_ASSERT_EQUAL(record->time_ns, expected[i].time_ns);
    }
    const struct source_next next = perf_record_next_time(&source.source);
    CU_ASSERT_EQUAL(next.state, SOURCE_NOTHING_BEFORE);
    CU_ASSERT_EQUAL(next.time_ns, now_ns);
    CU_ASSERT_EQUAL(source.counts.lost, 1);
    sampler_merge_release(&source.rings.merge);
}

void sprof_suite_sampler_record_reader(void);
void sprof_suite_sampler_record_reader(void)
{
    CU_pSuite suite = CU_add_suite("sampler/record_reader", NULL, NULL);
    CU_add_test(suite, "samples that wrap are whole", test_samples_that_wrap_are_whole);
    CU_add_test(suite, "stop drains all", test_stop_drains_all);
    CU_add_test(suite, "life is told in order", test_life_is_told_in_order);
    CU_add_test(suite, "records from the future", test_records_from_the_future);
}
