#include "sampler/perf/perf_source.h"

#include <CUnit/CUnit.h>

/* How long records may gather where a clock is sampled at a rate, in milliseconds. */
static unsigned interval_ms(uint64_t hz, bool is_machine, bool captures)
{
    enum { RING_BYTES = 8 << 20 };
    const struct sampler_ring ring = {.size = RING_BYTES};
    const struct perf_event event = {.is_clock = true, .frequency_hz = hz};
    struct perf_source source = {
        .machine.is_wanted = is_machine,
        .tails.bpf.wake_fd = captures ? 0 : -1,
        .config = {.capture = SAMPLER_CAPTURE_USER, .frequency_hz = hz, .stack_bytes = 8192}};
    CU_ASSERT_EQUAL(sprof_vec_push(&source.config.events, event), 0);
    CU_ASSERT_EQUAL(sprof_vec_push(&source.rings.merge.rings, ring), 0);
    const uint64_t interval_ns = perf_source_batch_interval_ns(&source);
    perf_config_release(&source.config);
    sprof_vec_release(&source.rings.merge.rings);
    return (unsigned)(interval_ns / 1000000);
}

/* On a machine that is sampled seldom, a wake-up is for more than a sample. */
static void test_records_of_a_machine_gather_longer(void)
{
    CU_ASSERT_EQUAL(interval_ms(97, true, true), 40);
    CU_ASSERT_EQUAL(interval_ms(19, true, true), 40);
    CU_ASSERT_EQUAL(interval_ms(200, true, true), 20);
    CU_ASSERT_EQUAL(interval_ms(997, true, true), 10);
    CU_ASSERT_EQUAL(interval_ms(97, false, true), 10);
    CU_ASSERT_EQUAL(interval_ms(97, true, false), 4); /* what follows a slice is read from memory */
}

void sprof_suite_sampler_facts(void);
void sprof_suite_sampler_facts(void)
{
    CU_pSuite suite = CU_add_suite("sampler/facts", NULL, NULL);
    CU_add_test(suite, "records of a machine gather longer",
                test_records_of_a_machine_gather_longer);
}
