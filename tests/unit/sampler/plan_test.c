#include "sampler/plan.h"

#include <CUnit/CUnit.h>
#include <string.h>

static struct plan plan_of(struct sampler_options options)
{
    struct plan plan;
    options.event = options.event ? options.event : "cpu-clock";
    CU_ASSERT_EQUAL_FATAL(plan_make(&plan, &options, NULL), 0);
    return plan;
}

static void test_defaults(void)
{
    const struct plan plan = plan_of((struct sampler_options){.capture = SAMPLER_CAPTURE_FULL});
    CU_ASSERT_EQUAL(plan.frequency_hz, 997);
    CU_ASSERT_EQUAL(plan.stack_bytes, 65528);
    CU_ASSERT_EQUAL(plan_of((struct sampler_options){0}).stack_bytes, 0);
}

static void test_impossible_options_are_refused(void)
{
    static const struct {
        struct sampler_options options;
        const char *word; /* in the message */
    } cases[] = {
        {{.event = "cpu-clok"}, "cpu-clock"},
        {{.event = "cpu-clock", .frequency_hz = 99, .period = 99}, "exclude"},
        {{.event = "cpu-clock", .frequency_hz = 4000000000}, "perf_event_max_sample_rate"},
        {{.event = "cpu-clock", .period = 9999}, "nanoseconds"},
        {{.event = "page-faults", .period = UINT64_MAX}, "too large"},
        {{.event = "cpu-clock", .capture = SAMPLER_CAPTURE_USER, .stack_bytes = 65536}, "65528"},
        {{.event = "cpu-clock", .capture = SAMPLER_CAPTURE_USER, .stack_bytes = 8}, "64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan plan;
        struct sprof_error error = {0};
        CU_ASSERT_EQUAL(plan_make(&plan, &cases[i].options, &error), SPROF_EUSAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, cases[i].word));
    }
}

static void test_stack_is_rounded_down(void)
{
    const struct sampler_options options = {.capture = SAMPLER_CAPTURE_USER, .stack_bytes = 8191};
    CU_ASSERT_EQUAL(plan_of(options).stack_bytes, 8184);
}

static void test_rings_follow_rate_and_limit(void)
{
    const struct plan full = plan_of((struct sampler_options){.capture = SAMPLER_CAPTURE_FULL});
    CU_ASSERT_EQUAL(plan_ring_bytes(&full, 32 << 20), 8 << 20);
    CU_ASSERT_EQUAL(plan_ring_bytes(&full, 5 << 20), 4 << 20);
    const struct plan fast =
        plan_of((struct sampler_options){.capture = SAMPLER_CAPTURE_FULL, .frequency_hz = 10000});
    CU_ASSERT_EQUAL(plan_ring_bytes(&fast, 32 << 20), 32 << 20);
    const struct plan pc = plan_of((struct sampler_options){.capture = SAMPLER_CAPTURE_PC});
    CU_ASSERT_TRUE(plan_ring_bytes(&pc, 32 << 20) <= 1 << 20);
    CU_ASSERT_EQUAL(plan_ring_bytes(&full, 0), plan_ring_least(&full));
}

static void test_slices_leave_room_for_64_samples(void)
{
    for (size_t size = 128 << 10; size <= 32 << 20; size *= 2) {
        struct plan plan = plan_of((struct sampler_options){.capture = SAMPLER_CAPTURE_FULL});
        plan_fit_stack(&plan, size);
        CU_ASSERT_TRUE(plan_sample_bytes(&plan, plan.stack_bytes) * 64 <= size);
        CU_ASSERT_EQUAL(plan.stack_bytes % 8, 0);
        CU_ASSERT_TRUE(plan.stack_bytes >= 64);
    }
}

/* Only the limit on memory makes a slice smaller, never a low rate. */
static void test_low_rates_keep_the_slice(void)
{
    static const uint64_t rates_hz[] = {1, 19, 99, 499, 997, 10000};
    for (size_t i = 0; i < sizeof rates_hz / sizeof *rates_hz; i++) {
        struct plan plan = plan_of(
            (struct sampler_options){.capture = SAMPLER_CAPTURE_FULL, .frequency_hz = rates_hz[i]});
        plan_fit_stack(&plan, plan_ring_bytes(&plan, 32 << 20));
        CU_ASSERT_EQUAL(plan.stack_bytes, 65528);
        plan_fit_stack(&plan, plan_ring_bytes(&plan, 1 << 20));
        CU_ASSERT_TRUE(plan.stack_bytes < 65528);
    }
}

static void test_capture_asks_for_no_more(void)
{
    struct plan plan = plan_of((struct sampler_options){.capture = SAMPLER_CAPTURE_PC});
    struct perf_event_attr attr;
    plan_sampling_event(&plan, &attr, true, false);
    CU_ASSERT_FALSE(attr.sample_type & (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER));
    CU_ASSERT_TRUE(attr.exclude_idle);
    plan.layout = (struct decode_layout){.has_chain = true, .has_stack = true};
    plan.stack_bytes = 4096;
    plan_sampling_event(&plan, &attr, false, true);
    CU_ASSERT_TRUE(attr.sample_type & PERF_SAMPLE_CALLCHAIN);
    CU_ASSERT_EQUAL(attr.sample_stack_user, 4096);
    CU_ASSERT_TRUE(attr.mmap2 && attr.comm && attr.task);
}

void sprof_suite_sampler_plan(void);
void sprof_suite_sampler_plan(void)
{
    CU_pSuite suite = CU_add_suite("sampler/plan", NULL, NULL);
    CU_add_test(suite, "defaults", test_defaults);
    CU_add_test(suite, "impossible options are refused", test_impossible_options_are_refused);
    CU_add_test(suite, "the stack is rounded down", test_stack_is_rounded_down);
    CU_add_test(suite, "rings follow rate and limit", test_rings_follow_rate_and_limit);
    CU_add_test(suite, "slices leave room for 64 samples", test_slices_leave_room_for_64_samples);
    CU_add_test(suite, "low rates keep the slice", test_low_rates_keep_the_slice);
    CU_add_test(suite, "a capture asks for no more", test_capture_asks_for_no_more);
}
