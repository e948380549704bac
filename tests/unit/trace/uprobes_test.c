/* Figures of uprobes on their way into memory like the agent's. The test writes them into a map of
 * the kernel, as the BPF program does. */
#include "tests/unit/scarce_memory.h"
#include "tests/unit/skip.h"
#include "tests/unit/trace/made.h"
#include "trace/uprobe/sites.h"
#include "trace/uprobe/uprobes.h"
#include "trace/uprobe/uprobes_inside.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>

enum { HOT, COLD, QUIET, SPARE, FUNCTIONS };
enum { GONE = 1 /* a thread of another process: ours has none with this number */ };
#define SECOND_NS UINT64_C(1000000000)

static struct made made;
static struct plan_function functions[FUNCTIONS];

static int bpf(int command, union bpf_attr *attributes)
{
    return (int)syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

static void begin(void)
{
    made_begin_with(&made, &probe_backend_uprobe, functions, FUNCTIONS);
    struct trace_uprobes *uprobes = made.session.uprobes = calloc(1, sizeof *uprobes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(uprobes);
    uprobes->kernel.program = uprobes->kernel.exec_program = uprobes->kernel.exec_link = -1;
    for (size_t i = 0; i < UPROBE_MAPS; i++)
        uprobes->kernel.maps[i] = -1;
    uprobes->kernel.control = mmap(NULL, sizeof *uprobes->kernel.control, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(uprobes->kernel.control, MAP_FAILED);
    functions[HOT].name = "hot";
    functions[COLD].name = "cold";
    made.session.probes.items[QUIET].tier = PROBE_LEAVE;
    made.session.probes.items[SPARE].is_chosen = false;
}

/* False, and visibly skipped, where the kernel refuses. */
static bool make_map(void)
{
    union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_HASH,
                                 .key_size = sizeof(struct uprobe_key),
                                 .value_size = sizeof(struct uprobe_stat),
                                 .max_entries = 64};
    const int fd = bpf(BPF_MAP_CREATE, &attributes);
    made.session.uprobes->kernel.maps[UPROBE_MAP_STATS] = fd;
    if (fd < 0)
        sprof_test_skip("BPF maps: %s", strerror(errno));
    return fd >= 0;
}

static void set(uint32_t tid, uint32_t function, struct uprobe_stat stat)
{
    const struct uprobe_key key = {tid, function};
    union bpf_attr attributes = {0};
    attributes.map_fd = (uint32_t)made.session.uprobes->kernel.maps[UPROBE_MAP_STATS];
    attributes.key = (uint64_t)(uintptr_t)&key;
    attributes.value = (uint64_t)(uintptr_t)&stat;
    CU_ASSERT_EQUAL(bpf(BPF_MAP_UPDATE_ELEM, &attributes), 0);
}

static bool is_in_map(uint32_t tid, uint32_t function)
{
    const struct uprobe_key key = {tid, function};
    struct uprobe_stat stat;
    union bpf_attr attributes = {0};
    attributes.map_fd = (uint32_t)made.session.uprobes->kernel.maps[UPROBE_MAP_STATS];
    attributes.key = (uint64_t)(uintptr_t)&key;
    attributes.value = (uint64_t)(uintptr_t)&stat;
    return bpf(BPF_MAP_LOOKUP_ELEM, &attributes) == 0;
}

static void read_now(void)
{
    CU_ASSERT_EQUAL(trace_uprobes_read(&made.session, true), 0);
}

static void end(void)
{
    trace_uprobes_free(made.session.uprobes);
    made_end(&made);
}

/* == Options and costs == */

static void test_options(void)
{
    const struct trace_options stack = {.stack = true}, heap = {.heap = true};
    struct sprof_error error = {0};
    CU_ASSERT_STRING_EQUAL(trace_uprobes_excluded(&stack), "stack");
    CU_ASSERT_STRING_EQUAL(trace_uprobes_excluded(&heap), "heap");
    CU_ASSERT_EQUAL(trace_uprobes_check(&heap, &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "--heap needs the agent"));
}

/* Only the tiers that count are known to the kernel. */
static void test_switch(void)
{
    begin();
    const uint8_t *tiers = made.session.uprobes->kernel.control->tiers;
    _Atomic uint8_t *wanted = made.session.process.shared->tiers;
    for (size_t i = 0; i < FUNCTIONS; i++)
        atomic_store(&wanted[i], PROBE_FULL);
    atomic_store(&wanted[QUIET], PROBE_LEAVE | PROBE_QUIET);
    trace_uprobes_switch(&made.session);
    CU_ASSERT_EQUAL(tiers[HOT], UPROBE_TIME);
    CU_ASSERT_EQUAL(tiers[QUIET], UPROBE_OFF);
    CU_ASSERT_EQUAL(tiers[SPARE], UPROBE_OFF);
    atomic_store(&wanted[HOT], PROBE_COUNT);
    atomic_store(&wanted[COLD], PROBE_OFF);
    atomic_store(&wanted[QUIET], PROBE_LEAVE);
    trace_uprobes_switch(&made.session);
    CU_ASSERT_EQUAL(tiers[HOT], UPROBE_COUNT);
    CU_ASSERT_EQUAL(tiers[COLD], UPROBE_OFF);
    CU_ASSERT_EQUAL(tiers[QUIET], UPROBE_COUNT);
    end();
}

/* A call costs what its first instruction costs the kernel. */
static void test_cost(void)
{
    static const uint8_t push[] = {0x55, 0x48, 0x89, 0xe5, 0x90},
                         lea[] = {0x48, 0x8d, 0x47, 0x01, 0xc3};
    uint64_t least, most;
    begin();
    struct uprobe_control *control = made.session.uprobes->kernel.control;
    control->inside[UPROBE_ENTRY_PUSH] = 300;
    control->inside[UPROBE_ENTRY_STEP] = 900;
    control->outside[UPROBE_RETURNS] = 50;
    control->count[UPROBE_ENTRY_PUSH] = 200;
    control->count[UPROBE_ENTRY_STEP] = 700;
    memcpy(functions[HOT].original, push, sizeof push);
    memcpy(functions[COLD].original, lea, sizeof lea);
    for (size_t i = HOT; i <= COLD; i++)
        functions[i].site = functions[i].start, functions[i].displaced = sizeof push;
    const struct probe_cost of_push = trace_uprobes_cost(&made.session, HOT),
                            of_lea = trace_uprobes_cost(&made.session, COLD);
    CU_ASSERT_EQUAL(of_push.inside, 300);
    CU_ASSERT_EQUAL(of_push.whole, 350);
    CU_ASSERT_EQUAL(of_push.count, 200);
    CU_ASSERT_EQUAL(of_lea.whole, 950);
    CU_ASSERT_EQUAL(of_lea.count, 700);
    functions[HOT].site = 0; /* without a site its code is unknown: the most is assumed */
    CU_ASSERT_EQUAL(trace_uprobes_cost(&made.session, HOT).whole, 950);
    trace_uprobes_call_ns(made.session.uprobes, &least, &most);
    CU_ASSERT_EQUAL(least, 350);
    CU_ASSERT_EQUAL(most, 950);
    end();
}

/* == Figures == */

static void test_figures(void)
{
    begin();
    if (make_map()) {
        const uint32_t tid = (uint32_t)gettid();
        struct uprobe_stat stat = {
            .calls = 9,
            .ends = {[UPROBE_RETURNS] = 4, [UPROBE_TAILS] = 2, [UPROBE_IS_LEFT] = 1},
            .self = -5,
            .total = 70,
            .probe_ns = 11,
            .max = 40,
            .most_below = UPROBE_LONG - 3,
            .counted = 6,
            .recursive = 1,
            .buckets = {[5] = 7}};
        set(tid, COLD, stat);
        read_now();
        const struct probe_stat *read = made_stat(&made, COLD);
        CU_ASSERT_EQUAL(read->calls, 9);
        CU_ASSERT_EQUAL(read->ended, 7);
        CU_ASSERT_EQUAL(read->tails, 2);
        CU_ASSERT_EQUAL(read->abnormal, 1);
        CU_ASSERT_EQUAL(read->self, -5);
        CU_ASSERT_EQUAL(read->total, 70);
        CU_ASSERT_EQUAL(read->probe_ticks, 11);
        CU_ASSERT_EQUAL(read->counted, 6);
        CU_ASSERT_EQUAL(read->max, 40);
        CU_ASSERT_EQUAL(~read->min_mask, 3);
        CU_ASSERT_EQUAL(made_stat(&made, HOT)->calls, 0);
        const struct probe_histogram *histograms =
            (const struct probe_histogram *)((const uint8_t *)made_stat(&made, 0) +
                                             probe_stats_bytes(FUNCTIONS));
        CU_ASSERT_EQUAL(histograms[COLD + 1].buckets[5], 7);
        CU_ASSERT_EQUAL(histograms[COLD].buckets[5], 0);
        CU_ASSERT_EQUAL(made.session.process.shared->slabs[0].tid, tid);
        CU_ASSERT_FALSE(trace_uprobes_has_ended(&made.session, tid));
        made.session.times.now_ns = 77;
        CU_ASSERT_EQUAL(trace_uprobes_clear(&made.session),
                        0); /* extremes are of an older period */
        CU_ASSERT_EQUAL(made.session.uprobes->kernel.control->cleared_ns, 77);
        CU_ASSERT_EQUAL(made.session.uprobes->kernel.control->period, 1);
        CU_ASSERT_EQUAL(read->max, 0);
        CU_ASSERT_EQUAL(read->min_mask, 0);
        stat.period = 1;
        stat.most_below = 0; /* no call of this period has ended yet */
        set(tid, COLD, stat);
        read_now();
        CU_ASSERT_EQUAL(read->max, 0);
    }
    end();
}

/* Threads and functions without room are counted. */
static void test_left_over(void)
{
    begin();
    if (make_map()) {
        const uint32_t tid = (uint32_t)gettid();
        made.session.uprobes->kernel.control->lost = 1000;
        set(tid, HOT, (struct uprobe_stat){.calls = 1});
        read_now();
        set(tid, FUNCTIONS, (struct uprobe_stat){.calls = 10, .counted = 20});
        set(tid, UINT32_MAX, (struct uprobe_stat){.calls = 300});
        set(tid + 1, HOT, (struct uprobe_stat){.calls = 5}); /* there is one slab */
        read_now();
        CU_ASSERT_EQUAL(made_stat(&made, HOT)->calls, 1);
        CU_ASSERT_EQUAL(trace_uprobes_lost(&made.session), 1335);
        read_now(); /* the same calls are not counted twice */
        CU_ASSERT_EQUAL(trace_uprobes_lost(&made.session), 1335);
        CU_ASSERT_TRUE(trace_uprobes_has_ended(&made.session, tid + 1)); /* it has no slab */
    }
    end();
}

/* A thread's last figures stay in its slab, and its number may come again. */
static void test_thread_ends(void)
{
    begin();
    if (make_map()) {
        struct probe_slab *slab = &made.session.process.shared->slabs[0];
        set(GONE, HOT, (struct uprobe_stat){.calls = 2});
        read_now();
        CU_ASSERT_FALSE(trace_uprobes_has_ended(&made.session, GONE));
        set(GONE, HOT, (struct uprobe_stat){.calls = 3});
        read_now();
        CU_ASSERT_TRUE(trace_uprobes_has_ended(&made.session, GONE));
        CU_ASSERT_EQUAL(made_stat(&made, HOT)->calls, 3);
        CU_ASSERT_FALSE(is_in_map(GONE, HOT));
        CU_ASSERT_EQUAL(made.session.uprobes->tids.count, 0);
        CU_ASSERT_EQUAL(slab->state, PROBE_SLAB_TAKEN); /* until it is written */
        set(GONE, HOT, (struct uprobe_stat){.calls = 1});
        read_now();
        CU_ASSERT_EQUAL(made_stat(&made, HOT)->calls, 3);
        CU_ASSERT_EQUAL(trace_uprobes_lost(&made.session), 1);
        atomic_store(&slab->state, PROBE_SLAB_FREE);
        read_now();
        CU_ASSERT_EQUAL(made_stat(&made, HOT)->calls, 1);
        CU_ASSERT_FALSE(trace_uprobes_has_ended(&made.session, GONE));
        CU_ASSERT_EQUAL(trace_uprobes_lost(&made.session), 0);
    }
    end();
}

/* Reading takes a tenth of the time at most. */
static void test_now_and_then(void)
{
    begin();
    if (make_map()) {
        set((uint32_t)gettid(), HOT, (struct uprobe_stat){.calls = 1});
        made.session.uprobes->next_read_ns = UINT64_MAX;
        CU_ASSERT_EQUAL(trace_uprobes_read(&made.session, false), 0);
        CU_ASSERT_EQUAL(made_stat(&made, HOT)->calls, 0);
        read_now();
        CU_ASSERT_EQUAL(made_stat(&made, HOT)->calls, 1);
        CU_ASSERT(made.session.uprobes->next_read_ns > sprof_clock_monotonic_ns() - SECOND_NS);
        CU_ASSERT(made.session.uprobes->next_read_ns < UINT64_MAX);
    }
    end();
}

/* A thread whose slab could not be noted has none, and may end all the same. */
static void test_without_memory(void)
{
    begin();
    if (make_map()) {
        set(GONE, HOT, (struct uprobe_stat){.calls = 2});
        read_now(); /* lists have room */
        set(GONE, HOT, (struct uprobe_stat){.calls = 4});
        read_now();
        atomic_store(&made.session.process.shared->slabs[0].state, PROBE_SLAB_FREE);
        sprof_map_release(&made.session.uprobes->slabs);
        set(GONE, HOT, (struct uprobe_stat){.calls = 5});
        scarce_memory_set(1);
        read_now();
        scarce_memory_set(-1);
        CU_ASSERT_TRUE(scarce_memory_ran_out());
        CU_ASSERT_EQUAL(trace_uprobes_lost(&made.session), 5);
        CU_ASSERT_EQUAL(made.session.uprobes->tids.count, 0);
        CU_ASSERT_TRUE(trace_uprobes_has_ended(&made.session, GONE));
        read_now();
        CU_ASSERT_EQUAL(trace_uprobes_lost(&made.session), 0);
        CU_ASSERT_EQUAL(made_stat(&made, HOT)->calls, 5);
    }
    end();
}

/* == The limit == */

/* So much CPU time has passed, with so many calls of hot. */
static void look(uint64_t cpu_ns, uint64_t calls)
{
    set((uint32_t)gettid(), HOT, (struct uprobe_stat){.calls = calls});
    set((uint32_t)gettid(), COLD, (struct uprobe_stat){.calls = 1, .counted = 1});
    made.session.processes.list.items[0].cpu_ns = cpu_ns;
    made.session.uprobes->next_bound_ns = 0;
    CU_ASSERT_EQUAL(trace_uprobes_govern(&made.session), 0);
}

static void begin_governed(void)
{
    const struct calls_process process = {.pid = getpid(), .fd = -1, .is_over = true};
    struct uprobe_control *control = made.session.uprobes->kernel.control;
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&made.session.processes.list, process), 0);
    CU_ASSERT_EQUAL_FATAL(probing_ranges_begin(&made.session.probing, NULL), 0);
    probing_switch(&made.session.probing);
    control->inside[UPROBE_ENTRY_STEP] = 1000;
    control->count[UPROBE_ENTRY_STEP] = 500;
    made.session.options.max_overhead = 10;
}

static void test_limit(void)
{
    begin();
    if (make_map()) {
        begin_governed();
        const uint8_t *tiers = made.session.uprobes->kernel.control->tiers;
        look(10000000, 1000000); /* too little CPU time to judge */
        look(SECOND_NS, 50000);  /* 5 % */
        CU_ASSERT_EQUAL(made.session.probes.items[HOT].governed, PROBING_GOVERNED_NOT);
        CU_ASSERT_DOUBLE_EQUAL(made.session.trace->overhead.probes_ns, 50001500, 1);
        look(2 * SECOND_NS, 151000); /* 10.1 % of the second one */
        CU_ASSERT_EQUAL(made.session.probes.items[HOT].governed, PROBING_GOVERNED_OFF);
        CU_ASSERT_EQUAL(made.session.probes.items[COLD].governed, PROBING_GOVERNED_NOT);
        CU_ASSERT_EQUAL(tiers[HOT], UPROBE_OFF);
        CU_ASSERT_EQUAL(tiers[COLD], UPROBE_TIME);
        CU_ASSERT_TRUE(made_said(&made, "about 10 % of the CPU time, more than 10 % "
                                        "(--max-overhead): 1 function lost theirs: hot"));
        CU_ASSERT_DOUBLE_EQUAL(made.session.trace->overhead.looked_ns, 2e9, 1);
        look(3 * SECOND_NS, 20); /* sums that fall, as of threads that have ended, are none */
        CU_ASSERT_EQUAL(made.log.said.length, 0);
        CU_ASSERT_DOUBLE_EQUAL(made.session.trace->overhead.probes_ns, 151001500, 1);
    }
    end();
}

/* Uprobes leave the code only where the rest can be placed again. Else they are switched off. */
static void test_fixed(void)
{
    for (int is_fixed = 0; is_fixed <= 1; is_fixed++) {
        begin();
        if (make_map()) {
            struct trace_uprobes *uprobes = made.session.uprobes;
            const int link = memfd_create("link", MFD_CLOEXEC);
            CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&uprobes->kernel.links, link), 0);
            begin_governed();
            uprobes->is_fixed = is_fixed;
            look(SECOND_NS, 1000000);
            CU_ASSERT_EQUAL(uprobes->kernel.control->tiers[HOT], UPROBE_OFF);
            CU_ASSERT_EQUAL(uprobes->kernel.links.count, (size_t)is_fixed);
        }
        end();
    }
}

static void test_no_limit(void)
{
    begin();
    if (make_map()) {
        begin_governed();
        made.session.options.max_overhead = -1;
        look(SECOND_NS, 10000000);
        made.session.options.max_overhead = 10;
        made.session.is_out = true;
        look(SECOND_NS, 10000000);
        CU_ASSERT_EQUAL(made.session.probes.items[HOT].governed, PROBING_GOVERNED_NOT);
        CU_ASSERT_EQUAL(made.session.trace->overhead.looked_ns, 0);
    }
    end();
}

void sprof_suite_trace_uprobes(void);
void sprof_suite_trace_uprobes(void)
{
    CU_pSuite suite = CU_add_suite("trace/uprobes", NULL, NULL);
    CU_add_test(suite, "options", test_options);
    CU_add_test(suite, "switches", test_switch);
    CU_add_test(suite, "costs", test_cost);
    CU_add_test(suite, "figures", test_figures);
    CU_add_test(suite, "calls without room", test_left_over);
    CU_add_test(suite, "a thread ends", test_thread_ends);
    CU_add_test(suite, "now and then", test_now_and_then);
    CU_add_test(suite, "without memory", test_without_memory);
    CU_add_test(suite, "the limit", test_limit);
    CU_add_test(suite, "uprobes that stay", test_fixed);
    CU_add_test(suite, "no limit", test_no_limit);
}
