#include "sampler/perf/event_config.h"

#include <CUnit/CUnit.h>
#include <string.h>

static SPROF_VEC(struct perf_config) made; /* what config_of gave */

static struct perf_config config_of(struct sampler_options options)
{
    struct perf_config config;
    options.event = options.event ? options.event : "cpu-clock";
    CU_ASSERT_EQUAL_FATAL(perf_config_make(&config, &options, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&made, config), 0);
    return config;
}

static int release_made(void)
{
    for (size_t i = 0; i < made.count; i++)
        perf_config_release(&made.items[i]);
    sprof_vec_release(&made);
    return 0;
}

static void test_defaults(void)
{
    const struct perf_config config =
        config_of((struct sampler_options){.capture = SAMPLER_CAPTURE_FULL});
    CU_ASSERT_EQUAL(config.frequency_hz, 997);
    CU_ASSERT_EQUAL(config.stack_bytes, 65528);
    CU_ASSERT_EQUAL(config_of((struct sampler_options){0}).stack_bytes, 0);
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
        struct perf_config config;
        struct sprof_error error = {0};
        CU_ASSERT_EQUAL(perf_config_make(&config, &cases[i].options, &error), SPROF_EUSAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, cases[i].word));
    }
}

static void test_stack_is_rounded_down(void)
{
    const struct sampler_options options = {.capture = SAMPLER_CAPTURE_USER, .stack_bytes = 8191};
    CU_ASSERT_EQUAL(config_of(options).stack_bytes, 8184);
}

static void test_rings_follow_rate_and_limit(void)
{
    const struct perf_config full =
        config_of((struct sampler_options){.capture = SAMPLER_CAPTURE_FULL});
    CU_ASSERT_EQUAL(perf_config_ring_bytes(&full, 32 << 20), 8 << 20);
    CU_ASSERT_EQUAL(perf_config_ring_bytes(&full, 5 << 20), 4 << 20);
    const struct perf_config small = config_of(
        (struct sampler_options){.capture = SAMPLER_CAPTURE_FULL, .stack_bytes = 8 << 10});
    CU_ASSERT_EQUAL(perf_config_ring_bytes(&small, 32 << 20), 8 << 20); /* for a second */
    const struct perf_config fast =
        config_of((struct sampler_options){.capture = SAMPLER_CAPTURE_FULL, .frequency_hz = 10000});
    CU_ASSERT_EQUAL(perf_config_ring_bytes(&fast, 32 << 20), 32 << 20);
    const struct perf_config pc =
        config_of((struct sampler_options){.capture = SAMPLER_CAPTURE_PC});
    CU_ASSERT_TRUE(perf_config_ring_bytes(&pc, 32 << 20) <= 1 << 20);
    CU_ASSERT_EQUAL(perf_config_ring_bytes(&full, 0), perf_config_ring_least(&full));
}

static void test_slices_leave_room_for_64_samples(void)
{
    for (size_t size = 128 << 10; size <= 32 << 20; size *= 2) {
        struct perf_config config =
            config_of((struct sampler_options){.capture = SAMPLER_CAPTURE_FULL});
        perf_config_fit_stack(&config, size);
        CU_ASSERT_TRUE(perf_config_sample_bytes(&config, config.stack_bytes) * 64 <= size);
        CU_ASSERT_EQUAL(config.stack_bytes % 8, 0);
        CU_ASSERT_TRUE(config.stack_bytes >= 64);
    }
}

/* Only the limit on memory makes a slice smaller, never a low rate. */
static void test_low_rates_keep_the_slice(void)
{
    static const uint64_t rates_hz[] = {1, 19, 99, 499, 997, 10000};
    for (size_t i = 0; i < sizeof rates_hz / sizeof *rates_hz; i++) {
        struct perf_config config = config_of(
            (struct sampler_options){.capture = SAMPLER_CAPTURE_FULL, .frequency_hz = rates_hz[i]});
        perf_config_fit_stack(&config, perf_config_ring_bytes(&config, 32 << 20));
        CU_ASSERT_EQUAL(config.stack_bytes, 65528);
        perf_config_fit_stack(&config, perf_config_ring_bytes(&config, 1 << 20));
        CU_ASSERT_TRUE(config.stack_bytes < 65528);
    }
}

static void test_capture_asks_for_no_more(void)
{
    struct perf_config config = config_of((struct sampler_options){.capture = SAMPLER_CAPTURE_PC});
    struct perf_event_attr attr;
    perf_config_sampling_event(&config, 0, &attr, true, false);
    CU_ASSERT_FALSE(attr.sample_type & (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER));
    CU_ASSERT_TRUE(attr.exclude_idle);
    config.layout = (struct sampler_layout){.has_chain = true, .has_stack = true};
    config.stack_bytes = 4096;
    perf_config_sampling_event(&config, 0, &attr, false, true);
    CU_ASSERT_TRUE(attr.sample_type & PERF_SAMPLE_CALLCHAIN);
    CU_ASSERT_EQUAL(attr.sample_stack_user, 4096);
    CU_ASSERT_TRUE(attr.mmap2 && attr.comm && attr.task);
}

/* Each event of a list has its own rate, or the recording's, and its own modes; and the program in
 * the kernel weighs one clock. */
static void test_each_event_of_a_list_is_opened_by_itself(void)
{
    static const struct {
        uint64_t config, period, frequency_hz, exclude_user, exclude_kernel, weighed;
    } wanted[] = {
        {PERF_COUNT_SW_PAGE_FAULTS, 3, 0, 0, 0, 0},
        {PERF_COUNT_SW_CPU_CLOCK, 10000000, 0, 0, 1, 0},
        {PERF_COUNT_SW_CPU_CLOCK, 2500000, 0, 0, 0, 1},
        {PERF_COUNT_SW_CPU_CLOCK, 10000000, 0, 1, 0, 0},
        {PERF_COUNT_SW_CPU_CLOCK, 10000000, 0, 0, 0, 0}, /* task-clock, on a whole CPU */
        {PERF_COUNT_SW_CPU_MIGRATIONS, 0, 100, 0, 0, 0},
    };
    const struct perf_config config = config_of((struct sampler_options){
        .event = "page-faults/period=3/,cpu-clock:u,cpu-clock/freq=400/,cpu-clock:k,task-clock,"
                 "cpu-migrations",
        .frequency_hz = 100});
    CU_ASSERT_EQUAL_FATAL(config.events.count, sizeof wanted / sizeof *wanted);
    for (size_t i = 0; i < config.events.count; i++) {
        struct perf_event_attr attr;
        perf_config_sampling_event(&config, i, &attr, true, false);
        CU_ASSERT_EQUAL(attr.config, wanted[i].config);
        CU_ASSERT_EQUAL(attr.freq, !wanted[i].period);
        CU_ASSERT_EQUAL(attr.sample_period,
                        wanted[i].period ? wanted[i].period : wanted[i].frequency_hz);
        CU_ASSERT_EQUAL(attr.exclude_user, wanted[i].exclude_user);
        CU_ASSERT_EQUAL(attr.exclude_kernel, wanted[i].exclude_kernel);
        CU_ASSERT_EQUAL(attr.config2, wanted[i].weighed);
    }
    CU_ASSERT_EQUAL(perf_config_samples_per_second(&config), 4000 + 100 + 400 + 100 + 100 + 100);
}

/* Counters that this machine may lack: what the kernel is asked for. */
static void test_counters_are_asked_for_as_modifiers_say(void)
{
    static const struct {
        uint32_t type;
        uint64_t config, precise, exclude_hv, exclude_user, exclude_kernel;
    } wanted[] = {
        {PERF_TYPE_RAW, 0x1a8, 2, 1, 0, 0},
        {PERF_TYPE_HW_CACHE, 0x10003, 0, 1, 0, 1},
        {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0, 0, 1, 0},
    };
    struct perf_config config = {.frequency_hz = 100};
    CU_ASSERT_EQUAL_FATAL(
        perf_event_list_parse(&config.events, "r1a8:pp,dTLB-load-misses:u,instructions:hk", NULL),
        0);
    CU_ASSERT_EQUAL_FATAL(config.events.count, 3);
    for (size_t i = 0; i < config.events.count; i++) {
        struct perf_event_attr attr;
        perf_config_sampling_event(&config, i, &attr, true, false);
        CU_ASSERT_TRUE(attr.type == wanted[i].type && attr.config == wanted[i].config);
        CU_ASSERT_EQUAL(attr.precise_ip, wanted[i].precise);
        CU_ASSERT_EQUAL(attr.exclude_hv, wanted[i].exclude_hv);
        CU_ASSERT_EQUAL(attr.exclude_user, wanted[i].exclude_user);
        CU_ASSERT_EQUAL(attr.exclude_kernel, wanted[i].exclude_kernel);
    }
    perf_config_release(&config);
}

/* What has a rate of its own keeps it. */
static void test_a_new_rate_is_of_those_without_one(void)
{
    struct perf_config config = config_of(
        (struct sampler_options){.event = "page-faults/period=3/,cpu-clock", .frequency_hz = 100});
    CU_ASSERT_EQUAL(perf_config_set_rate(&config, 50, NULL), 0);
    CU_ASSERT_EQUAL(perf_config_period(&config, &config.events.items[0]), 3);
    CU_ASSERT_EQUAL(perf_config_period(&config, &config.events.items[1]), 20000000);
    struct perf_config fixed = config_of((struct sampler_options){.event = "page-faults/freq=3/"});
    CU_ASSERT_EQUAL(perf_config_set_rate(&fixed, 50, NULL), SPROF_EUSAGE);
    CU_ASSERT_EQUAL(perf_config_frequency(&fixed, &fixed.events.items[0]), 3);
}

/* Without the kernel nothing that happens there alone is sampled, and nothing is weighed there. */
static void test_events_of_the_kernel_need_it(void)
{
    static const char *const lists[] = {"cpu-clock,context-switches", "cpu-clock:k"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct perf_config config;
        struct sprof_error error = {0};
        const struct sampler_options options = {.event = lists[i], .user_only = true};
        CU_ASSERT_EQUAL(perf_config_make(&config, &options, &error), SPROF_EUSAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "perf_event_paranoid"));
    }
    const struct perf_config config =
        config_of((struct sampler_options){.event = "cpu-clock,page-faults", .user_only = true});
    CU_ASSERT_FALSE(config.events.items[0].is_weighed);
}

void sprof_suite_sampler_event_config(void);
void sprof_suite_sampler_event_config(void)
{
    CU_pSuite suite = CU_add_suite("sampler/event_config", NULL, release_made);
    CU_add_test(suite, "defaults", test_defaults);
    CU_add_test(suite, "impossible options are refused", test_impossible_options_are_refused);
    CU_add_test(suite, "the stack is rounded down", test_stack_is_rounded_down);
    CU_add_test(suite, "rings follow rate and limit", test_rings_follow_rate_and_limit);
    CU_add_test(suite, "slices leave room for 64 samples", test_slices_leave_room_for_64_samples);
    CU_add_test(suite, "low rates keep the slice", test_low_rates_keep_the_slice);
    CU_add_test(suite, "a capture asks for no more", test_capture_asks_for_no_more);
    CU_add_test(suite, "each event of a list is opened by itself",
                test_each_event_of_a_list_is_opened_by_itself);
    CU_add_test(suite, "counters are asked for as modifiers say",
                test_counters_are_asked_for_as_modifiers_say);
    CU_add_test(suite, "a new rate is of those without one",
                test_a_new_rate_is_of_those_without_one);
    CU_add_test(suite, "events of the kernel need it", test_events_of_the_kernel_need_it);
}
