/* New calls below roots of drill-downs, from call paths that the test writes as the agent does. */
#include "tests/unit/scarce_memory.h"
#include "tests/unit/trace/made.h"
#include "trace/drill/drilling.h"

#include <math.h>

static const struct probe_backend in_memory = {.source = "in memory", .has_agent = true};

enum { ROOT, MIDDLE, LEAF, ASIDE, FUNCTIONS };

static struct made made;
static struct plan_function functions[FUNCTIONS];
static struct trace_below_reader reader;

/* Numbers in the drill-down are other ones than those of probes. */
static uint32_t number_of(uint32_t function)
{
    return 10 + function;
}

static struct trace_below *begin(void)
{
    made_begin(&made, &in_memory, FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS; i++)
        functions[i] = (struct plan_function){.name = "f", .start = 0x100 * (i + 1)};
    made_file(&made, "/app/program", 0, functions, FUNCTIONS);
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        made_probe(&made, (struct probing_probe){.function = &functions[i],
                                                 .is_chosen = true,
                                                 .drill_number = number_of(i) + 1});
    made.session.below = calloc(1, sizeof *made.session.below);
    CU_ASSERT_PTR_NOT_NULL_FATAL(made.session.below);
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&made.session.below->on, i), 0);
    made.session.times.ns_per_tick = 2;
    reader = (struct trace_below_reader){.root_count = 1};
    reader.below[0].root = number_of(ROOT);
    return &reader.below[0];
}

static void end(void)
{
    trace_below_release(&reader.below[0]);
    trace_below_release(&reader.below[1]);
    trace_below_program_free(made.session.below);
    made.session.below = NULL;
    made_end(&made);
}

static void read_window(void)
{
    CU_ASSERT_EQUAL(trace_below_read(&reader, &made.session, 0), 0);
}

static const struct rules_drill_figures *figures_of(const struct trace_below *below,
                                                    uint32_t function)
{
    for (size_t i = 0; i < below->figures.count; i++)
        if (below->figures.items[i].function == number_of(function))
            return &below->figures.items[i];
    return NULL;
}

static const struct rules_drill_flow *flow_of(const struct trace_below *below, uint32_t caller,
                                              uint32_t callee)
{
    for (size_t i = 0; i < below->flows.count; i++)
        if (below->flows.items[i].caller == number_of(caller) &&
            below->flows.items[i].callee == number_of(callee))
            return &below->flows.items[i];
    return NULL;
}

/* Time counts for each function of a path, calls for the last one; what is beside the root does
 * not. */
static void test_paths(void)
{
    struct trace_below *below = begin();
    made_path(&made, 1, 0, ROOT, 2, 100);
    made_path(&made, 2, 1, MIDDLE, 3, 40);
    made_path(&made, 3, 2, LEAF, 5, 30);
    made_path(&made, 4, 1, LEAF, 1, 7);
    made_path(&made, 5, 0, ASIDE, 9, 900);
    made_path(&made, 6, 5, LEAF, 9, 900); /* not below the root */
    read_window();
    CU_ASSERT_EQUAL_FATAL(below->figures.count, 3);
    CU_ASSERT_EQUAL(figures_of(below, ROOT)->calls, 2);
    CU_ASSERT_EQUAL(figures_of(below, ROOT)->ns, 2 * (100 + 40 + 30 + 7));
    CU_ASSERT_EQUAL(figures_of(below, ROOT)->self_ns, 200);
    CU_ASSERT_EQUAL(figures_of(below, MIDDLE)->ns, 2 * (40 + 30));
    CU_ASSERT_EQUAL(figures_of(below, LEAF)->calls, 6);
    CU_ASSERT_EQUAL(figures_of(below, LEAF)->ns, 2 * (30 + 7));
    CU_ASSERT_EQUAL_FATAL(below->flows.count, 3);
    CU_ASSERT_EQUAL(flow_of(below, ROOT, MIDDLE)->calls, 3);
    CU_ASSERT_EQUAL(flow_of(below, ROOT, MIDDLE)->ns, 2 * (40 + 30));
    CU_ASSERT_EQUAL(flow_of(below, MIDDLE, LEAF)->calls, 5);
    CU_ASSERT_EQUAL(flow_of(below, ROOT, LEAF)->ns, 2 * 7);
    end();
}

/* A second reading adds what is new alone, and a new window begins with nothing. */
static void test_windows(void)
{
    struct trace_below *below = begin();
    made_path(&made, 1, 0, ROOT, 2, 100);
    made_path(&made, 2, 1, LEAF, 4, 40);
    read_window();
    read_window();
    CU_ASSERT_EQUAL(figures_of(below, LEAF)->calls, 4);
    made_path(&made, 2, 1, LEAF, 5, 50);
    read_window();
    CU_ASSERT_EQUAL(figures_of(below, LEAF)->calls, 5);
    CU_ASSERT_EQUAL(figures_of(below, LEAF)->ns, 100);
    trace_below_clear(below);
    CU_ASSERT_TRUE(below->has_calls);
    CU_ASSERT_EQUAL(below->figures.count, 0);
    read_window();
    CU_ASSERT_PTR_NULL(figures_of(below, LEAF));
    made_path(&made, 2, 1, LEAF, 7, 51);
    read_window();
    CU_ASSERT_EQUAL(figures_of(below, LEAF)->calls, 2);
    CU_ASSERT_EQUAL(figures_of(below, LEAF)->ns, 2);
    /* another thread has taken the slab: all of it is new */
    trace_below_forget(made.session.below->slabs[0]);
    made_path(&made, 2, 1, LEAF, 3, 10);
    read_window();
    CU_ASSERT_EQUAL(figures_of(below, LEAF)->calls, 2 + 3);
    end();
}

/* In recursion, time counts once for each function and each pair. */
static void test_recursion(void)
{
    struct trace_below *below = begin();
    made_path(&made, 1, 0, ROOT, 1, 10);
    made_path(&made, 2, 1, MIDDLE, 1, 10);
    made_path(&made, 3, 2, MIDDLE, 1, 10);
    made_path(&made, 4, 3, ROOT, 1, 10);
    made_path(&made, 5, 4, MIDDLE, 1, 10);
    read_window();
    CU_ASSERT_EQUAL(figures_of(below, ROOT)->ns, 2 * 50);
    CU_ASSERT_EQUAL(figures_of(below, ROOT)->calls, 2);
    CU_ASSERT_EQUAL(figures_of(below, MIDDLE)->ns, 2 * 40);
    CU_ASSERT_EQUAL(flow_of(below, ROOT, MIDDLE)->ns, 2 * 40);
    CU_ASSERT_EQUAL(flow_of(below, MIDDLE, MIDDLE)->ns, 2 * 30);
    end();
}

/* Each root has its own sums. */
static void test_two_roots(void)
{
    begin();
    reader.root_count = 2;
    reader.below[1].root = number_of(MIDDLE);
    made_path(&made, 1, 0, ROOT, 1, 10);
    made_path(&made, 2, 1, MIDDLE, 2, 20);
    made_path(&made, 3, 0, MIDDLE, 4, 40);
    read_window();
    CU_ASSERT_EQUAL(figures_of(&reader.below[0], MIDDLE)->calls, 2);
    CU_ASSERT_EQUAL(figures_of(&reader.below[1], MIDDLE)->calls, 6);
    CU_ASSERT_PTR_NULL(figures_of(&reader.below[1], ROOT));
    end();
}

/* The root's figures, of all its calls on this thread; ends without a return by function. */
static void test_root(void)
{
    struct trace_below *below = begin();
    made_path(&made, 1, 0, ROOT, 20, 100);
    made_path(&made, 2, 1, LEAF, 4, 40);
    *made_stat(&made, ROOT) =
        (struct probe_stat){.calls = 21, .ended = 20, .total = 4000, .self = 1000, .abnormal = 3};
    *made_stat(&made, LEAF) = (struct probe_stat){.calls = 9, .ended = 9, .abnormal = 5};
    *made_stat(&made, ASIDE) = (struct probe_stat){.calls = 9, .ended = 9, .abnormal = 7};
    read_window();
    CU_ASSERT_EQUAL(below->calls, 20);
    CU_ASSERT_EQUAL(below->total_ns, 8000);
    CU_ASSERT_EQUAL(below->self_ns, 2000);
    CU_ASSERT_EQUAL(below->failed, 3);
    CU_ASSERT_EQUAL(figures_of(below, LEAF)->failed, 5);
    CU_ASSERT_PTR_NULL(figures_of(below, ASIDE));
    made_stat(&made, ROOT)->ended = 21;
    made_stat(&made, ROOT)->total = 4100;
    read_window();
    CU_ASSERT_EQUAL(below->calls, 21);
    CU_ASSERT_EQUAL(below->total_ns, 8200);
    CU_ASSERT_EQUAL(below->failed, 3);
    end();
}

/* The program can write anything: circles end, functions without a probe are none. */
static void test_hostile(void)
{
    struct trace_below *below = begin();
    made_path(&made, 1, 2, ROOT, 1, 10);
    made_path(&made, 2, 1, LEAF, 1, 10);
    made_path(&made, 3, 0, 77, 1, 10);
    made_path(&made, 4, 3, LEAF, 1, 10);
    made_path(&made, 5, 60000, LEAF, 1, 10);
    read_window();
    CU_ASSERT(below->figures.count <= 2);
    made_path(&made, 1, 0, ROOT, 0, 5); /* counts that fall */
    made_path(&made, 2, 1, LEAF, 0, 5);
    read_window();
    for (size_t i = 0; i < below->figures.count; i++)
        CU_ASSERT(below->figures.items[i].calls < 10000 && isfinite(below->figures.items[i].ns));
    end();
}

/* A program that begins and ends within one window: no reading has listed its probes. */
static void test_ended(void)
{
    struct trace_drilling *drilling = calloc(1, sizeof *drilling);
    CU_ASSERT_PTR_NOT_NULL_FATAL(drilling);
    begin();
    made.session.below->on.count = 0;
    made.trace.drilling = drilling;
    made.session.probes.items[ROOT].is_on = made.session.probes.items[LEAF].is_on = true;
    drilling->reader.root_count = 1;
    struct trace_below *below = &drilling->reader.below[0];
    below->root = number_of(ROOT);
    made_path(&made, 1, 0, ROOT, 20, 100);
    made_path(&made, 2, 1, LEAF, 4, 40);
    *made_stat(&made, ROOT) = (struct probe_stat){.calls = 20, .ended = 20, .abnormal = 3};
    trace_drilling_thread_ends(&made.session.calls, 0);
    CU_ASSERT_EQUAL(below->calls, 20);
    CU_ASSERT_EQUAL(below->failed, 3);
    CU_ASSERT_EQUAL(figures_of(below, LEAF)->calls, 4);
    made.session.probes.items[ROOT].bad_results = 2;
    made.session.probes.items[LEAF].bad_results = 1;
    trace_drilling_program_ends(&made.session);
    CU_ASSERT_EQUAL(below->failed, 5);
    CU_ASSERT_EQUAL(figures_of(below, LEAF)->failed, 1);
    trace_below_release(below);
    free(drilling);
    end();
}

/* What conditions compare: averages, the usual one of earlier windows, and those of threads. */
static void test_calls(void)
{
    struct trace_below below = {0};
    const struct rules_condition condition = {.kind = RULES_TIMES, .quantile = 0.5};
    struct rules_window_calls calls;
    for (int window = 0; window < 50; window++) {
        below.calls = 1000;
        below.total_ns = 1000.0 * (window < 40 ? 100 : 900);
        CU_ASSERT_EQUAL(trace_below_calls(&below, &condition, 1, &calls), 0);
        CU_ASSERT_EQUAL(calls.total_ns, below.total_ns);
        if (!window)
            CU_ASSERT_EQUAL(calls.usual_ns, 0);
        trace_below_clear(&below);
    }
    CU_ASSERT_EQUAL(calls.usual_ns, 100); /* the median, of which a few windows are no part */
    CU_ASSERT_EQUAL(below.usual.count, TRACE_USUAL_WINDOWS);
    const double times[] = {50, 10, 30};
    below.calls = 1; /* too few for the usual average */
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(sprof_vec_push(&below.threads, times[i]), 0);
    const double last = below.usual.items[below.usual.count - 1];
    CU_ASSERT_EQUAL(trace_below_calls(&below, &condition, 1, &calls), 0);
    CU_ASSERT_EQUAL(calls.thread_ns, 50);
    CU_ASSERT_EQUAL(calls.threads_ns, 30);
    CU_ASSERT_EQUAL(below.usual.items[below.usual.count - 1], last);
    below.threads.count = 1;
    CU_ASSERT_EQUAL(trace_below_calls(&below, &condition, 1, &calls), 0);
    CU_ASSERT_EQUAL(calls.threads_ns, 0); /* one thread has no siblings */
    trace_below_release(&below);
}

/* Another root's calls are none of this one's. */
static void test_uncalled_root(void)
{
    struct trace_below *below = begin();
    reader.root_count = 2;
    reader.below[1].root = number_of(MIDDLE);
    made_path(&made, 1, 0, ROOT, 20, 100);
    *made_stat(&made, ROOT) = (struct probe_stat){.calls = 20, .ended = 20};
    read_window();
    CU_ASSERT_PTR_NOT_NULL(figures_of(below, ROOT));
    CU_ASSERT_EQUAL(reader.below[1].figures.count, 0);
    made_stat(&made, MIDDLE)->calls = 1; /* and is open */
    read_window();
    CU_ASSERT_PTR_NOT_NULL(figures_of(&reader.below[1], MIDDLE));
    CU_ASSERT_EQUAL(reader.below[1].calls, 0);
    end();
}

/* A reading that ran out of memory leaves nothing half made. The next one reads the rest. */
static int read_again(void)
{
    struct trace_below *below = &reader.below[0];
    const int result = trace_below_read(&reader, &made.session, 0);
    CU_ASSERT_FATAL(below->figure_stamps.count >= below->figures.count);
    CU_ASSERT_FATAL(below->flow_stamps.count >= below->flows.count);
    return result;
}

static void test_without_memory(void)
{
    struct trace_below *below = begin();
    made_path(&made, 1, 0, ROOT, 20, 100);
    made_path(&made, 2, 1, LEAF, 4, 40);
    made_path(&made, 3, 1, MIDDLE, 3, 30);
    *made_stat(&made, ROOT) = (struct probe_stat){.calls = 20, .ended = 20};
    scarce_memory_fail_each(read_again, 3);
    trace_below_clear(below); /* some of what was new is lost */
    made_path(&made, 2, 1, LEAF, 6, 60);
    read_window();
    CU_ASSERT_EQUAL(figures_of(below, LEAF)->ns, 2 * 20);
    CU_ASSERT_EQUAL(flow_of(below, ROOT, LEAF)->ns, 2 * 20);
    CU_ASSERT_EQUAL(flow_of(below, ROOT, LEAF)->calls, 2);
    end();
}

void sprof_suite_trace_below(void);

void sprof_suite_trace_below(void)
{
    CU_pSuite suite = CU_add_suite("trace/below", NULL, NULL);
    CU_add_test(suite, "paths", test_paths);
    CU_add_test(suite, "windows", test_windows);
    CU_add_test(suite, "recursion", test_recursion);
    CU_add_test(suite, "two roots", test_two_roots);
    CU_add_test(suite, "the root", test_root);
    CU_add_test(suite, "a program that has ended", test_ended);
    CU_add_test(suite, "nodes that cannot be", test_hostile);
    CU_add_test(suite, "what conditions compare", test_calls);
    CU_add_test(suite, "a root without calls", test_uncalled_root);
    CU_add_test(suite, "without memory", test_without_memory);
}
