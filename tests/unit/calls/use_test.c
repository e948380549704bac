/* What calls use beside time: sums of the agent's stripes, as rows, and what a clear drops. */
#include "calls/calls.h"
#include "tests/unit/calls/made.h"

static const struct made_way with_agent = {.has_agent = true}, without_agent = {.has_agent = false};

/* Two functions, the first of which is chosen and has a node. */
static void begin(struct made *made, const struct made_way *backend, bool stack, bool heap)
{
    static struct plan_function functions[] = {{.name = "chosen", .start = 0x100},
                                               {.name = "other", .start = 0x200}};
    made_begin(made, backend, 2);
    made_file(made, "/app/program", 0, functions, 2);
    for (size_t i = 0; i < 2; i++)
        made_probe(made,
                   (struct probing_probe){
                       .function = &functions[i], .is_chosen = !i, .sums.calls = 1, .node = 7});
    made->session.options.stack = stack;
    made->session.options.heap = heap;
}

static void allocate(struct made *made, int stripe, size_t function, uint64_t blocks, uint64_t self,
                     uint64_t total)
{
    struct probe_heap_use *use = &made->session.process.shared->uses.heap[stripe][function];
    atomic_fetch_add(&use->blocks, blocks);
    atomic_fetch_add(&use->self_bytes, self);
    atomic_fetch_add(&use->total_bytes, total);
}

static const struct store_batch *written(const struct made *made)
{
    return recording_batch(made->session.recording);
}

static void test_stripes(void)
{
    struct made made;
    begin(&made, &with_agent, false, true);
    for (int i = 0; i < PROBE_HEAP_STRIPES; i++)
        allocate(&made, i, 0, 1, 100, 1000);
    allocate(&made, 0, 1, 9, 9, 9); /* it is not chosen */
    CU_ASSERT_EQUAL(calls_use_write(&made.session), 0);
    CU_ASSERT_EQUAL_FATAL(written(&made)->call_heaps.count, 1);
    CU_ASSERT_EQUAL(written(&made)->call_stacks.count, 0);
    const struct store_call_heap *row = written(&made)->call_heaps.items;
    CU_ASSERT_EQUAL(row->blocks, PROBE_HEAP_STRIPES);
    CU_ASSERT_EQUAL(row->self_bytes, 100 * PROBE_HEAP_STRIPES);
    CU_ASSERT_EQUAL(row->total_bytes, 1000 * PROBE_HEAP_STRIPES);
    CU_ASSERT_EQUAL(row->node_id, 7);
    CU_ASSERT_EQUAL(row->pid, getpid());
    /* A row again only where more was allocated. */
    CU_ASSERT_EQUAL(calls_use_write(&made.session), 0);
    CU_ASSERT_EQUAL(written(&made)->call_heaps.count, 1);
    allocate(&made, 1, 0, 0, 0, 5);
    CU_ASSERT_EQUAL(calls_use_write(&made.session), 0);
    CU_ASSERT_EQUAL_FATAL(written(&made)->call_heaps.count, 2);
    CU_ASSERT_EQUAL(written(&made)->call_heaps.items[1].total_bytes, 1000 * PROBE_HEAP_STRIPES + 5);
    made_end(&made);
}

/* A function that allocates nothing has zeros, one that was not called has no row. */
static void test_nothing(void)
{
    struct made made;
    begin(&made, &with_agent, true, true);
    CU_ASSERT_EQUAL(calls_use_write(&made.session), 0);
    CU_ASSERT_EQUAL_FATAL(written(&made)->call_heaps.count, 1);
    CU_ASSERT_EQUAL(written(&made)->call_heaps.items->total_bytes, 0);
    CU_ASSERT_EQUAL(written(&made)->call_stacks.count, 0);
    made_end(&made);
    begin(&made, &with_agent, true, true);
    made.session.probes.items[0].sums.calls = 0;
    CU_ASSERT_EQUAL(calls_use_write(&made.session), 0);
    CU_ASSERT_EQUAL(written(&made)->call_heaps.count, 0);
    made_end(&made);
    begin(&made, &without_agent, true, true);
    allocate(&made, 0, 0, 1, 1, 1);
    CU_ASSERT_EQUAL(calls_use_write(&made.session), 0);
    CU_ASSERT_EQUAL(written(&made)->call_heaps.count, 0);
    made_end(&made);
}

/* The program may write anything: what it cannot have used is 0, so that sums of processes fit. */
static void test_hostile(void)
{
    struct made made;
    begin(&made, &with_agent, true, true);
    allocate(&made, 0, 0, UINT64_MAX, INT64_MAX, UINT64_C(1) << 50);
    atomic_store(&made.session.process.shared->uses.of[0].stack, UINT64_MAX);
    CU_ASSERT_EQUAL(calls_use_write(&made.session), 0);
    CU_ASSERT_EQUAL_FATAL(written(&made)->call_heaps.count, 1);
    CU_ASSERT_EQUAL(written(&made)->call_heaps.items->blocks, 0);
    CU_ASSERT_EQUAL(written(&made)->call_heaps.items->self_bytes, 0);
    CU_ASSERT_EQUAL(written(&made)->call_heaps.items->total_bytes, 0);
    CU_ASSERT_EQUAL(written(&made)->call_stacks.count, 0);
    made_end(&made);
}

static void test_clear(void)
{
    struct made made;
    begin(&made, &with_agent, true, true);
    allocate(&made, 2, 0, 1, 10, 10);
    atomic_store(&made.session.process.shared->uses.of[0].stack, 500);
    CU_ASSERT_EQUAL(calls_use_write(&made.session), 0);
    CU_ASSERT_EQUAL_FATAL(written(&made)->call_stacks.count, 1);
    CU_ASSERT_EQUAL(written(&made)->call_stacks.items->stack_bytes, 500);
    calls_use_clear(&made.session);
    allocate(&made, 3, 0, 1, 4, 4);
    atomic_store(&made.session.process.shared->uses.of[0].stack, 300); /* less than before */
    CU_ASSERT_EQUAL(calls_use_write(&made.session), 0);
    CU_ASSERT_EQUAL_FATAL(written(&made)->call_heaps.count, 2);
    CU_ASSERT_EQUAL(written(&made)->call_heaps.items[1].self_bytes, 4);
    CU_ASSERT_EQUAL_FATAL(written(&made)->call_stacks.count, 2);
    CU_ASSERT_EQUAL(written(&made)->call_stacks.items[1].stack_bytes, 300);
    made_end(&made);
}

void sprof_suite_calls_use(void);
void sprof_suite_calls_use(void)
{
    CU_pSuite suite = CU_add_suite("calls/use", NULL, NULL);
    CU_add_test(suite, "stripes", test_stripes);
    CU_add_test(suite, "nothing", test_nothing);
    CU_add_test(suite, "hostile numbers", test_hostile);
    CU_add_test(suite, "clear", test_clear);
}
