/* Times without a CPU: their parts, which are kept, and what those weigh; and kinds of waits. */
#include "sampler/bpf/off_cpu_weight.h"
#include "sampler/off_cpu/kinds.h"
#include "sampler/off_cpu/off_cpu_source.h"
#include "sampler/off_cpu/programs.h"

#include <CUnit/CUnit.h>
#include <string.h>
#include <sys/syscall.h>

static struct off_cpu_parts split(__u64 begun_ns, __u64 woken_ns, __u64 ended_ns, bool blocks)
{
    const struct off_cpu_wait wait = {begun_ns, woken_ns, ended_ns, blocks};
    return off_cpu_split(&wait);
}

static void test_a_wait_is_blocked_until_it_is_woken(void)
{
    struct off_cpu_parts parts = split(100, 170, 200, true);
    CU_ASSERT_EQUAL(parts.blocked_ns, 70);
    CU_ASSERT_EQUAL(parts.ready_ns, 30);
    parts = split(100, 170, 200, false); /* driven from its CPU */
    CU_ASSERT_EQUAL(parts.blocked_ns, 0);
    CU_ASSERT_EQUAL(parts.ready_ns, 100);
}

/* A thread may be woken while it still leaves its CPU, or have been woken long ago. */
static void test_a_wake_outside_the_wait(void)
{
    struct off_cpu_parts parts = split(100, 99, 200, true);
    CU_ASSERT_EQUAL(parts.blocked_ns, 0);
    CU_ASSERT_EQUAL(parts.ready_ns, 100);
    parts = split(100, 250, 200, true);
    CU_ASSERT_EQUAL(parts.blocked_ns, 100);
    CU_ASSERT_EQUAL(parts.ready_ns, 0);
    parts = split(200, 150, 200, true); /* a pause ended with the wait */
    CU_ASSERT_EQUAL(parts.blocked_ns + parts.ready_ns, 0);
    parts = split(300, 150, 200, true);
    CU_ASSERT_EQUAL(parts.blocked_ns + parts.ready_ns, 0);
}

/* What is kept of all random numbers there are, in steps: as much as was waited, but for a step. */
static void test_weights_have_no_bias(void)
{
    static const __u64 thresholds_ns[] = {0, 1000, 1000000, OFF_CPU_THRESHOLD_MAX_NS},
                       waits_ns[] = {1, 999, 1000, 123456, 999999, 1000001, 3999999999, 1ULL << 40};
    enum { STEPS = 1 << 16 };
    for (size_t i = 0; i < sizeof thresholds_ns / sizeof *thresholds_ns; i++)
        for (size_t j = 0; j < sizeof waits_ns / sizeof *waits_ns; j++) {
            const __u64 threshold_ns = thresholds_ns[i], waited_ns = waits_ns[j];
            const __u64 weight_ns = off_cpu_weigh(waited_ns, waited_ns, threshold_ns);
            double sum_ns = 0;
            for (__u64 step = 0; step < STEPS; step++)
                if (off_cpu_keep(waited_ns, threshold_ns, (__u32)(step << 16)))
                    sum_ns += (double)weight_ns;
            CU_ASSERT_EQUAL(weight_ns, waited_ns < threshold_ns ? threshold_ns : waited_ns);
            CU_ASSERT_DOUBLE_EQUAL(sum_ns / STEPS, (double)waited_ns,
                                   (double)weight_ns / STEPS + 1e-9 * (double)waited_ns);
        }
    CU_ASSERT_FALSE(off_cpu_keep(0, 1000, 0));
}

static void test_parts_weigh_in_proportion(void)
{
    CU_ASSERT_EQUAL(off_cpu_weigh(300, 1000, 10000), 3000);
    CU_ASSERT_EQUAL(off_cpu_weigh(700, 1000, 10000), 7000);
    CU_ASSERT_EQUAL(off_cpu_weigh(300, 1000, 1000), 300);
    /* The largest that is multiplied. */
    const __u64 most_ns = OFF_CPU_THRESHOLD_MAX_NS;
    CU_ASSERT_EQUAL(off_cpu_weigh(most_ns - 1, most_ns - 1, most_ns), most_ns);
}

/* A record has what parts weigh, and how long they took together. */
static void lasts(__u64 blocked_ns, __u64 ready_ns, __u64 threshold_ns)
{
    const __u64 lasted_ns = blocked_ns + ready_ns;
    const struct off_cpu_parts parts =
        off_cpu_lasted(off_cpu_weigh(blocked_ns, lasted_ns, threshold_ns),
                       off_cpu_weigh(ready_ns, lasted_ns, threshold_ns), lasted_ns);
    CU_ASSERT_EQUAL(parts.blocked_ns + parts.ready_ns, lasted_ns);
    CU_ASSERT_TRUE(parts.ready_ns <= ready_ns && parts.ready_ns + 2 > ready_ns);
}

static void test_how_long_parts_took(void)
{
    lasts(300, 700, 1000);
    lasts(300, 700, 10000);
    lasts(0, 700, 10000);
    lasts(700, 0, 10000);
    lasts(1, 2, 1000000);
    lasts(600ULL * 1000000000, 3, OFF_CPU_THRESHOLD_MAX_NS);
    lasts(OFF_CPU_THRESHOLD_MAX_NS / 2, OFF_CPU_THRESHOLD_MAX_NS / 2 - 1, OFF_CPU_THRESHOLD_MAX_NS);
}

static const char *word_of(int entry, unsigned is)
{
    return off_cpu_kind_word(off_cpu_kind_of(entry, is));
}

static void test_kinds_of_waits(void)
{
    CU_ASSERT_STRING_EQUAL(word_of(SYS_futex, 0), "futex");
    CU_ASSERT_STRING_EQUAL(word_of(SYS_clock_nanosleep, 0), "sleep");
    CU_ASSERT_STRING_EQUAL(word_of(SYS_epoll_pwait, 0), "epoll_wait");
    CU_ASSERT_STRING_EQUAL(word_of(SYS_read, 0), "read");
    CU_ASSERT_STRING_EQUAL(word_of(SYS_read, OFF_CPU_DISK), "block-io");
    CU_ASSERT_STRING_EQUAL(word_of(SYS_io_uring_enter, OFF_CPU_DISK), "io_uring");
    CU_ASSERT_STRING_EQUAL(word_of(SYS_read, OFF_CPU_STOPPED), "stopped");
    CU_ASSERT_STRING_EQUAL(word_of(SYS_futex, OFF_CPU_READY), "ready");
    CU_ASSERT_STRING_EQUAL(word_of(100000, 0), "system-call");
    CU_ASSERT_STRING_EQUAL(word_of(OFF_CPU_ENTRY_FAULT, 0), "page-fault");
    CU_ASSERT_STRING_EQUAL(word_of(OFF_CPU_ENTRY_OTHER, 0), "other");
    CU_ASSERT_STRING_EQUAL(off_cpu_kind_word(OFF_CPU_KIND_READY), "ready");
    for (size_t i = 0; i < off_cpu_kind_count(); i++)
        for (size_t j = 0; j < i; j++)
            CU_ASSERT_STRING_NOT_EQUAL(off_cpu_kind_word(i), off_cpu_kind_word(j));
}

/* Records come from shared memory. */
static void test_records_that_are_not_whole(void)
{
    struct off_cpu_record record = {.stack_bytes = 16};
    CU_ASSERT_TRUE(off_cpu_record_is_whole(&record, sizeof record + 16));
    CU_ASSERT_FALSE(off_cpu_record_is_whole(&record, sizeof record + 15));
    CU_ASSERT_FALSE(off_cpu_record_is_whole(&record, sizeof record - 1));
    record.stack_bytes = 12;
    CU_ASSERT_FALSE(off_cpu_record_is_whole(&record, sizeof record + 16));
    record.stack_bytes = OFF_CPU_STACK_MAX + 8;
    CU_ASSERT_FALSE(off_cpu_record_is_whole(&record, SIZE_MAX));
    record = (struct off_cpu_record){.chain_count = OFF_CPU_CHAIN_MAX + 1};
    CU_ASSERT_FALSE(off_cpu_record_is_whole(&record, sizeof record));
}

/* Where BPF is refused, switches give the times of the target's threads, and no more. */
static void test_what_switches_replace(void)
{
    struct sampler_options options = {.off_cpu = {.wanted = true}};
    CU_ASSERT_PTR_NOT_NULL(sampler_off_cpu_kind.do_without(&options));
    CU_ASSERT_TRUE(options.off_cpu.by_switches);
    const struct sampler_options more[] = {{.off_cpu = {.wanted = true, .stacks = true}},
                                           {.off_cpu = {.wanted = true, .wakers = true}},
                                           {.off_cpu = {.wanted = true}, .all_cpus = true}};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        options = more[i];
        CU_ASSERT_PTR_NULL(sampler_off_cpu_kind.do_without(&options));
        CU_ASSERT_FALSE(options.off_cpu.by_switches);
    }
}

void sprof_suite_sampler_off_cpu_weight(void);
void sprof_suite_sampler_off_cpu_weight(void)
{
    CU_pSuite suite = CU_add_suite("sampler/off_cpu_weight", NULL, NULL);
    CU_add_test(suite, "a wait is blocked until it is woken",
                test_a_wait_is_blocked_until_it_is_woken);
    CU_add_test(suite, "a wake outside the wait", test_a_wake_outside_the_wait);
    CU_add_test(suite, "weights have no bias", test_weights_have_no_bias);
    CU_add_test(suite, "parts weigh in proportion", test_parts_weigh_in_proportion);
    CU_add_test(suite, "how long parts took", test_how_long_parts_took);
    CU_add_test(suite, "kinds of waits", test_kinds_of_waits);
    CU_add_test(suite, "records that are not whole", test_records_that_are_not_whole);
    CU_add_test(suite, "what switches replace", test_what_switches_replace);
}
