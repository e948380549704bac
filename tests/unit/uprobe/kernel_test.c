/* The kernel counts and times calls of functions of this program. */
#include "tests/unit/uprobe/probed.h"
#include "uprobe/own_cost.h"

#include <linux/bpf.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMED = 7, COUNTED = 9, CALLS = 25 };

struct subject {
    const struct arch_uprobe_subject *code;
    uint64_t entry, end; /* offsets in the file */
};

/* A function that returns, and the end of its only way. */
static struct subject find_subject(void)
{
    for (size_t i = 0; i < ARCH_UPROBE_SUBJECTS; i++) {
        const struct arch_uprobe_subject *code = &arch_uprobe_subjects[i];
        if (code->end && !code->jumps)
            return (struct subject){code, probed_offset((const void *)(uintptr_t)code->function),
                                    probed_offset(code->end)};
    }
    CU_FAIL_FATAL("no subject returns");
    return (struct subject){0};
}

static void attach(struct uprobe_kernel *kernel, const struct subject *subject, uint32_t function)
{
    const uint32_t entry = probed_entry((const void *)(uintptr_t)subject->code->function);
    const struct uprobe_site sites[] = {
        {subject->entry, UPROBE_COOKIE(function, entry, UPROBE_EXIT_NOT, 0), function},
        {subject->end, UPROBE_COOKIE(0, UPROBE_ENTRY_NOT, UPROBE_EXIT_RETURN, 0), function}};
    probed_place(kernel, sites, 2, getpid());
}

static void call(const struct subject *subject)
{
    for (int i = 0; i < CALLS; i++)
        subject->code->function();
}

/* What is on is counted or timed, what is off is not; probes that are gone count nothing. */
static void test_tiers(void)
{
    struct uprobe_kernel kernel;
    struct uprobe_figures figures = {0};
    if (!probed_open(&kernel))
        return;
    const struct subject subject = find_subject();
    attach(&kernel, &subject, TIMED);
    call(&subject);
    CU_ASSERT_PTR_NULL(probed_stat(&kernel, &figures, TIMED));

    kernel.control->tiers[TIMED] = UPROBE_COUNT;
    call(&subject);
    const struct uprobe_stat *stat = probed_stat(&kernel, &figures, TIMED);
    CU_ASSERT_PTR_NOT_NULL_FATAL(stat);
    CU_ASSERT_EQUAL(stat->counted, CALLS);
    CU_ASSERT_EQUAL(stat->calls, 0);

    kernel.control->tiers[TIMED] = UPROBE_TIME;
    call(&subject);
    CU_ASSERT_PTR_NOT_NULL_FATAL(stat = probed_stat(&kernel, &figures, TIMED));
    CU_ASSERT_EQUAL(stat->counted, CALLS);
    CU_ASSERT_EQUAL(stat->calls, CALLS);
    CU_ASSERT_EQUAL(stat->ends[UPROBE_RETURNS], CALLS);
    CU_ASSERT_EQUAL(stat->ends[UPROBE_IS_LEFT], 0);
    CU_ASSERT(stat->total > 0 && stat->self <= stat->total);
    uint64_t buckets = 0;
    for (int i = 0; i < UPROBE_BUCKETS; i++)
        buckets += stat->buckets[i];
    CU_ASSERT_EQUAL(buckets, CALLS);

    uprobe_kernel_detach(&kernel);
    call(&subject);
    CU_ASSERT_PTR_NOT_NULL_FATAL(stat = probed_stat(&kernel, &figures, TIMED));
    CU_ASSERT_EQUAL(stat->calls + stat->counted, 2 * CALLS);
    uprobe_figures_release(&figures);
    uprobe_kernel_close(&kernel);
}

/* Figures that were forgotten begin anew, and those of other functions stay. */
static void test_forget(void)
{
    struct uprobe_kernel kernel;
    struct uprobe_figures figures = {0};
    if (!probed_open(&kernel))
        return;
    const struct subject subject = find_subject();
    const struct uprobe_key key = {(uint32_t)syscall(SYS_gettid), TIMED};
    kernel.control->tiers[TIMED] = kernel.control->tiers[COUNTED] = UPROBE_COUNT;
    attach(&kernel, &subject, TIMED);
    call(&subject);
    uprobe_kernel_detach(&kernel);
    attach(&kernel, &subject, COUNTED);
    call(&subject);
    uprobe_kernel_detach(&kernel);
    uprobe_kernel_forget(&kernel, &key);
    uprobe_kernel_forget_thread(&kernel, key.tid);
    CU_ASSERT_PTR_NULL(probed_stat(&kernel, &figures, TIMED));
    CU_ASSERT_PTR_NOT_NULL_FATAL(probed_stat(&kernel, &figures, COUNTED));
    CU_ASSERT_EQUAL(probed_stat(&kernel, &figures, COUNTED)->counted, CALLS);
    attach(&kernel, &subject, TIMED);
    subject.code->function();
    CU_ASSERT_PTR_NOT_NULL_FATAL(probed_stat(&kernel, &figures, TIMED));
    CU_ASSERT_EQUAL(probed_stat(&kernel, &figures, TIMED)->counted, 1);
    uprobe_figures_release(&figures);
    uprobe_kernel_close(&kernel);
}

/* Each pair of a thread and a function is read once, also where one call of the kernel does not
 * return them all. */
static void test_many_figures(void)
{
    enum { PAIRS = 5000 };
    static bool is_read[PAIRS];
    struct uprobe_kernel kernel;
    struct uprobe_figures figures = {0};
    if (!probed_open(&kernel))
        return;
    for (uint32_t i = 0; i < PAIRS; i++) {
        const struct uprobe_key key = {i / 100, i};
        const struct uprobe_stat stat = {.counted = i};
        union bpf_attr attributes = {0};
        attributes.map_fd = (uint32_t)kernel.maps[UPROBE_MAP_STATS];
        attributes.key = (uint64_t)(uintptr_t)&key;
        attributes.value = (uint64_t)(uintptr_t)&stat;
        CU_ASSERT_EQUAL(syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attributes, sizeof attributes), 0);
    }
    CU_ASSERT_EQUAL(uprobe_kernel_read(&kernel, &figures), 0);
    CU_ASSERT_EQUAL_FATAL(figures.keys.count, PAIRS);
    CU_ASSERT_EQUAL_FATAL(figures.stats.count, PAIRS);
    for (size_t i = 0; i < PAIRS; i++) {
        const struct uprobe_key key = figures.keys.items[i];
        CU_ASSERT_TRUE_FATAL(key.function < PAIRS && !is_read[key.function]);
        CU_ASSERT_EQUAL(key.tid, key.function / 100);
        CU_ASSERT_EQUAL(figures.stats.items[i].counted, key.function);
        is_read[key.function] = true;
    }
    uprobe_figures_release(&figures);
    uprobe_kernel_close(&kernel);
}

/* One site that the kernel refuses takes none of the others with it. */
static void test_refused(void)
{
    struct uprobe_kernel kernel;
    struct uprobe_figures figures = {0};
    struct sprof_error error = {0};
    int refused = 0;
    if (!probed_open(&kernel))
        return;
    const struct subject subject = find_subject();
    const uint64_t cookie = UPROBE_COOKIE(COUNTED, UPROBE_ENTRY_STEP, UPROBE_EXIT_NOT, 0);
    const struct uprobe_site sites[] = {
        {UINT64_C(1) << 40, 0, 1}, {subject.entry, cookie, COUNTED}, {UINT64_C(3) << 40, 0, 2}};
    kernel.control->tiers[COUNTED] = UPROBE_COUNT;
    CU_ASSERT_EQUAL(uprobe_kernel_attach(&kernel, "/proc/self/exe", sites, 0, getpid(),
                                         probed_refuse, &refused, &error),
                    0);
    CU_ASSERT_EQUAL(uprobe_kernel_attach(&kernel, "/proc/self/exe", sites, 3, getpid(),
                                         probed_refuse, &refused, &error),
                    0);
    CU_ASSERT_EQUAL(refused, 2);
    call(&subject);
    CU_ASSERT_PTR_NOT_NULL_FATAL(probed_stat(&kernel, &figures, COUNTED));
    CU_ASSERT_EQUAL(probed_stat(&kernel, &figures, COUNTED)->counted, CALLS);
    uprobe_figures_release(&figures);
    uprobe_kernel_close(&kernel);
}

static void test_nothing_there(void)
{
    struct uprobe_kernel kernel;
    struct sprof_error error = {0};
    int refused = 0;
    if (!probed_open(&kernel))
        return;
    const struct uprobe_site site = {0x1000, 0, 1};
    const pid_t ended = fork();
    if (!ended)
        _exit(0);
    waitpid(ended, NULL, 0);
    CU_ASSERT_EQUAL(uprobe_kernel_attach(&kernel, "/proc/self/exe", &site, 1, ended, probed_refuse,
                                         &refused, &error),
                    SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "has ended"));
    CU_ASSERT(uprobe_kernel_attach(&kernel, "/no/such/file", &site, 1, getpid(), probed_refuse,
                                   &refused, &error) < 0);
    CU_ASSERT_EQUAL(refused, 0);
    CU_ASSERT_EQUAL(kernel.links.count, 0);
    uprobe_kernel_close(&kernel);
    uprobe_kernel_close(&kernel); /* again */
}

/* The cost is measured, and leaves no figures and no probes. */
static void test_own_cost(void)
{
    struct uprobe_kernel kernel;
    struct uprobe_figures figures = {0};
    struct sprof_error error = {0};
    if (!probed_open(&kernel))
        return;
    const int result = uprobe_own_cost_measure(&kernel, &error);
    if (result == SPROF_EUNSUPPORTED) {
        sprof_test_skip("%s", error.message);
    } else {
        CU_ASSERT_EQUAL(result, 0);
        CU_ASSERT(kernel.control->outside[UPROBE_RETURNS] > 0);
        for (int entry = UPROBE_ENTRY_PUSH; entry < UPROBE_ENTRIES; entry++) {
            CU_ASSERT(kernel.control->inside[entry] > 0);
            CU_ASSERT(kernel.control->count[entry] > 0);
        }
    }
    CU_ASSERT_EQUAL(uprobe_kernel_read(&kernel, &figures), 0);
    CU_ASSERT_EQUAL(figures.keys.count, 0);
    CU_ASSERT_EQUAL(kernel.links.count, 0);
    for (size_t i = 0; i < ARCH_UPROBE_SUBJECTS; i++)
        CU_ASSERT_EQUAL(kernel.control->tiers[i], UPROBE_OFF);
    uprobe_figures_release(&figures);
    uprobe_kernel_close(&kernel);
}

void sprof_suite_uprobe_kernel(void);

void sprof_suite_uprobe_kernel(void)
{
    CU_pSuite suite = CU_add_suite("uprobe/kernel", NULL, NULL);
    CU_add_test(suite, "counted, timed and off", test_tiers);
    CU_add_test(suite, "forgotten figures", test_forget);
    CU_add_test(suite, "many figures", test_many_figures);
    CU_add_test(suite, "sites that are refused", test_refused);
    CU_add_test(suite, "no process, no file", test_nothing_there);
    CU_add_test(suite, "their own cost", test_own_cost);
}
