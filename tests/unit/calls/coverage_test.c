/* First calls are looked for until there is one, whatever else is done meanwhile. */
#include "tests/unit/calls/made.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <sys/mman.h>

/* An agent whose memory the test writes. */
static const struct made_way in_memory = {.has_agent = true};

/* A session in mode coverage of one function. */
struct coverage {
    struct calls_program session;
    struct calls_trace trace;
    struct plan_function function;
    struct probing_probe *probe;
    uint8_t holds;
};

static void make(struct coverage *coverage)
{
    struct calls_program *session = &coverage->session;
    const struct recording_options options = {.view = {.mode = MODEL_MODE_FULL}, .no_cache = true};
    const struct probing_file file = {.path = "", .module = 1};
    *coverage = (struct coverage){.function = {.name = "one"}, .holds = 1};
    session->all = &coverage->trace;
    session->group = &coverage->trace.probing;
    session->way = &in_memory.way;
    session->reader = &in_memory.reader;
    session->mode = TRACE_COVERAGE;
    session->capacity = 1;
    session->times.ns_per_tick = 1;
    session->process.shared_bytes = probe_shared_bytes(1, probe_slab_bytes(1));
    session->process.shared = mmap(NULL, session->process.shared_bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(session->process.shared, MAP_FAILED);
    CU_ASSERT_EQUAL_FATAL(recording_open(&session->recording, &options, NULL), 0);
    session->run = recording_run(session->recording);
    const struct probing_probe probe = {.function = &coverage->function,
                                        .tier = PROBE_FULL,
                                        .is_chosen = true,
                                        .is_placed = true,
                                        .has_coverage_row = true};
    const struct probing_range all = {
        .number = 1, .is_on = true, .text = "+.", .holds = &coverage->holds, .sites = 1};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&session->probes, probe), 0);
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&session->files, file), 0);
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&session->ranges, all), 0);
    coverage->probe = session->probes.items;
    probing_switch(&session->probing);
}

static void release(struct coverage *coverage)
{
    struct calls_program *session = &coverage->session;
    sprof_vec_release(&session->probes);
    sprof_vec_release(&session->files);
    sprof_vec_release(&session->ranges);
    sprof_map_release(&session->all->covered.nodes);
    sprof_arena_release(&session->arena);
    recording_free(session->recording);
    munmap(session->process.shared, session->process.shared_bytes);
}

static bool is_looking(const struct coverage *coverage)
{
    return atomic_load(&coverage->session.process.shared->tiers[0]) & PROBE_COVER;
}

/* The agent takes the flag off, and notes when; that is cleared between the two. */
static void test_call_in_a_clear(void)
{
    struct coverage coverage;
    make(&coverage);
    CU_ASSERT_TRUE(is_looking(&coverage));
    atomic_store(&coverage.session.process.shared->tiers[0], PROBE_OFF);
    CU_ASSERT_EQUAL(calls_coverage_collect(&coverage.session), 0);
    CU_ASSERT_TRUE(is_looking(&coverage));
    CU_ASSERT_EQUAL(coverage.probe->first_ns, 0);
    release(&coverage);
}

/* Nor is it put on again where there is one, in a pause, or where the probe is switched off. */
static void test_flag_that_stays_off(void)
{
    struct coverage coverage;
    make(&coverage);
    atomic_store(&coverage.session.process.shared->tiers[0], PROBE_OFF);
    coverage.session.paused = true;
    CU_ASSERT_EQUAL(calls_coverage_collect(&coverage.session), 0);
    CU_ASSERT_FALSE(is_looking(&coverage));
    coverage.session.paused = false;
    coverage.session.ranges.items[0].is_on = false;
    probing_switch(&coverage.session.probing);
    CU_ASSERT_EQUAL(calls_coverage_collect(&coverage.session), 0);
    CU_ASSERT_FALSE(is_looking(&coverage));
    coverage.session.ranges.items[0].is_on = true;
    probing_switch(&coverage.session.probing);
    CU_ASSERT_TRUE(is_looking(&coverage));
    atomic_store(&coverage.session.process.shared->tiers[0], PROBE_OFF);
    atomic_store(&coverage.session.process.shared->hits[0].first, 5);
    coverage.session.times.now_ns = coverage.session.times.start.ns + 10;
    CU_ASSERT_EQUAL(calls_coverage_collect(&coverage.session), 0);
    CU_ASSERT_FALSE(is_looking(&coverage));
    CU_ASSERT_NOT_EQUAL(coverage.probe->first_ns, 0);
    release(&coverage);
}

void sprof_suite_calls_coverage(void);

void sprof_suite_calls_coverage(void)
{
    CU_pSuite suite = CU_add_suite("calls/coverage", NULL, NULL);
    CU_add_test(suite, "a call in a clear", test_call_in_a_clear);
    CU_add_test(suite, "a flag that stays off", test_flag_that_stays_off);
}
