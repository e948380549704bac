#include "tests/unit/sampler/live.h"

#include <CUnit/CUnit.h>
#include <unistd.h>

/* Rings nobody reads: what did not fit is told, to the last sample. */
static void check_losses(enum sampler_scope scope)
{
    const pid_t pid = live_spin("1", "100000", NULL);
    const struct sampler_options options = {.capture = SAMPLER_CAPTURE_USER,
                                            .event = "cpu-clock",
                                            .period = 1000000000 / 9973,
                                            .pids = &pid,
                                            .pid_count = 1,
                                            .minimum_scope = scope,
                                            .ring_budget_bytes = 1};
    struct sampler *sampler;
    CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, NULL), 0);
    CU_ASSERT_EQUAL(sampler_start(sampler, NULL), 0);
    for (int i = 0; i < 3000 && (i < 15 || sampler_target_cpu_ns(sampler) < 60000000); i++)
        usleep(20000);
    sampler_stop(sampler);
    uint64_t samples = 0, lost = 0;
    for (const struct model_record *record; !sampler_next(sampler, &record);) {
        samples += record->type == MODEL_RECORD_SAMPLE;
        lost += record->type == MODEL_RECORD_LOST ? record->lost.count : 0;
    }
    CU_ASSERT_TRUE(lost > 0);
    CU_ASSERT_EQUAL(lost, sampler_counters(sampler).lost);
    /* Ten ticks each millisecond: on a busy machine several come as one. */
    const double expected = 9973 * (double)sampler_target_cpu_ns(sampler) / 1e9;
    CU_ASSERT_TRUE((double)(samples + lost) <= 1.1 * expected + 5 * sqrt(expected));
    CU_ASSERT_TRUE((double)(samples + lost) >= 0.2 * expected && samples < lost);
    sampler_free(sampler);
    live_end(pid);
}

static void test_losses_at_the_end_are_told(void)
{
    check_losses(SAMPLER_SCOPE_CPU_FILTERED);
    check_losses(SAMPLER_SCOPE_TASK);
}

/* Threads that go on get their CPU time, those born during the recording, too. */
static void test_cpu_time_of_the_living(void)
{
    char *const command[] = {SAMPLER_SPIN, "3", "100000", NULL};
    const struct sampler_options options = {.event = "cpu-clock", .command = command};
    struct live live;
    const struct live_work work = {.seconds = 0.4, .cpu_ns = 600000000};
    CU_ASSERT_EQUAL(live_record_work(&options, &work, 0, &live, NULL), 0);
    CU_ASSERT_EQUAL(live.records[MODEL_RECORD_EXIT], 0);
    CU_ASSERT_EQUAL(live.records[MODEL_RECORD_CPU_TIME], 3);
    CU_ASSERT_TRUE(live_is_nearly(live.cpu_time_ns, live.target_ns));
    live_end(live.facts.command_pid);
}

void sprof_suite_sampler_end_records(void);
void sprof_suite_sampler_end_records(void)
{
    CU_pSuite suite = CU_add_suite("sampler/end_records", NULL, NULL);
    CU_add_test(suite, "losses at the end are told", test_losses_at_the_end_are_told);
    CU_add_test(suite, "CPU time of the living", test_cpu_time_of_the_living);
}
