/* Call paths, of the nodes that the agent counts. */
#include "calls/calls.h"
#include "calls/outside.h"
#include "probing/outside.h"
#include "tests/unit/calls/made.h"

static const struct made_way in_memory = {.has_agent = true};

enum { OUTER, INNER, NOT_CHOSEN, FUNCTIONS, CAPACITY = 16 };

static struct made made;
static struct plan_function functions[FUNCTIONS];

static void make_counted(void)
{
    static const char *const names[] = {"outer", "inner", "not chosen"};
    made_begin(&made, &in_memory, CAPACITY);
    for (size_t i = 0; i < FUNCTIONS; i++)
        functions[i] = (struct plan_function){.name = names[i], .start = 0x100 * (i + 1)};
    made_file(&made, "/app/program", 0, functions, FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS; i++)
        made_probe(&made, (struct probing_probe){.function = &functions[i],
                                                 .tier = PROBE_FULL,
                                                 .is_chosen = i != NOT_CHOSEN});
    made.session.options.paths = true;
    calls_take_time(&made.session);
    made.session.times.ns_per_tick = 1;
}

static struct calls_thread *thread_of(void)
{
    return made.session.threads.of_slab[0];
}

/* Reads paths as calls_collect does, and returns the number of rows that were written. */
static size_t read_paths(void)
{
    const size_t before = recording_batch(made.session.recording)->samples.count;
    CU_ASSERT_EQUAL(calls_read_paths(&made.session, thread_of(), 0), 0);
    return recording_batch(made.session.recording)->samples.count - before;
}

/* The path of a function below another one, 0: of a root. */
static const struct calls_path *path_below(uint32_t function, const struct calls_path *parent)
{
    uint32_t stack;
    CU_ASSERT_EQUAL_FATAL(
        calls_node_of(&made.session, function, parent ? parent->stack : 0, &stack), 0);
    for (size_t i = 0; i < thread_of()->paths.count; i++)
        if (thread_of()->paths.items[i].stack == stack)
            return &thread_of()->paths.items[i];
    return NULL;
}

static const struct store_sample *sample_of(const struct calls_path *path)
{
    const struct store_batch *batch = recording_batch(made.session.recording);
    for (size_t i = batch->samples.count; i; i--)
        if (batch->samples.items[i - 1].node_id == path->stack)
            return &batch->samples.items[i - 1];
    return NULL;
}

static struct probe_node *nodes_of(void)
{
    const struct counters_pages pages = calls_pages(&made.session);
    return (struct probe_node *)((uint8_t *)pages.shared + counters_nodes_offset(&pages, 0));
}

static void set_node(uint32_t index, uint32_t parent, uint32_t function, uint64_t calls,
                     uint64_t ended, int64_t self)
{
    const uint64_t depth = parent ? PROBE_NODE_DEPTH(nodes_of()[parent].key) + 1 : 0;
    nodes_of()[index] = (struct probe_node){depth << 48 | (uint64_t)parent << 32 | (function + 1),
                                            calls, ended, self};
}

static void test_nodes(void)
{
    make_counted();
    set_node(7, 0, OUTER, 2, 1, 50);
    set_node(5, 7, INNER, 3, 3, 30); /* made later, and read earlier */
    set_node(9, 5, OUTER, 0, 0, 0);  /* made, and not called yet */
    CU_ASSERT_EQUAL(read_paths(), 2);
    const struct calls_path *outer = path_below(OUTER, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(outer);
    CU_ASSERT_EQUAL(sample_of(outer)->count, 2);
    CU_ASSERT_EQUAL(sample_of(path_below(INNER, outer))->count, 3);
    CU_ASSERT_EQUAL(calls_cell_of(thread_of(), INNER)->path_calls, 3);
    CU_ASSERT_EQUAL(calls_cell_of(thread_of(), INNER)->path_self, 30);
    CU_ASSERT_EQUAL(read_paths(), 0);
    nodes_of()[7].ended = 2;
    nodes_of()[7].self = 90;
    CU_ASSERT_EQUAL(read_paths(), 1);
    CU_ASSERT_EQUAL(calls_cell_of(thread_of(), OUTER)->path_self, 90);
    nodes_of()[5].self = 35; /* the number of calls came before their time, or without it */
    CU_ASSERT_EQUAL(read_paths(), 1);
    CU_ASSERT_EQUAL(calls_cell_of(thread_of(), INNER)->path_self, 35);
    CU_ASSERT_EQUAL(read_paths(), 0);
    CU_ASSERT_EQUAL(calls_clear_paths(&made.session, thread_of(), 0), 0);
    CU_ASSERT_EQUAL(read_paths(), 0);
    nodes_of()[5].calls = nodes_of()[5].ended = 4;
    CU_ASSERT_EQUAL(read_paths(), 1);
    CU_ASSERT_EQUAL(sample_of(path_below(INNER, path_below(OUTER, NULL)))->count, 1);
    made_end(&made);
}

/* Calls that leave the modules are paths below their caller's. Their time is their caller's, their
 * number is not. */
static void test_outside(void)
{
    make_counted();
    probing_outside_number(&made.session.probing);
    const uint32_t leaving = made.session.outside->first + 1, unknown = leaving + 6;
    for (size_t i = 0; i < 2; i++) {
        const struct probing_outside_target target = {.module = 1, .offset = 0x1000 * (i + 1)};
        CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&made.session.outside->targets, target), 0);
    }
    set_node(7, 0, OUTER, 2, 2, 50);
    set_node(5, 7, leaving, 9, 9, 400);
    set_node(6, 0, leaving, 1, 1, 1); /* without a caller */
    set_node(8, 5, leaving, 1, 1, 1); /* below another one */
    set_node(9, 7, unknown, 1, 1, 1);
    CU_ASSERT_EQUAL(read_paths(), 2);
    CU_ASSERT_EQUAL_FATAL(thread_of()->paths.count, 2);
    uint32_t stack;
    CU_ASSERT_EQUAL(
        calls_outside_node(&made.session, leaving, path_below(OUTER, NULL)->stack, &stack), 0);
    CU_ASSERT_EQUAL(thread_of()->paths.items[1].stack, stack);
    CU_ASSERT_EQUAL(sample_of(&thread_of()->paths.items[1])->count, 9);
    CU_ASSERT_EQUAL(sample_of(&thread_of()->paths.items[1])->weight, 400);
    const struct calls_cell *cell = calls_cell_of(thread_of(), OUTER);
    CU_ASSERT_EQUAL(cell->path_calls, 2);
    CU_ASSERT_EQUAL(cell->path_self, 450);
    CU_ASSERT_EQUAL(cell->in_paths.calls, 2);
    CU_ASSERT_EQUAL(cell->in_paths.self, 450);
    probing_outside_free(&made.session.probing);
    made_end(&made);
}

/* Where the callee's module is not known, its time is still the caller's, and no call of it. */
static void test_unplaced(void)
{
    make_counted();
    probing_outside_number(&made.session.probing);
    const struct probing_outside_target target = {.address = 8};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&made.session.outside->targets, target), 0);
    set_node(7, 0, OUTER, 2, 2, 50);
    set_node(9, 7, made.session.outside->first, 9, 9, 400);
    CU_ASSERT_EQUAL(read_paths(), 2);
    CU_ASSERT_EQUAL_FATAL(thread_of()->paths.count, 2);
    const struct calls_path *path = &thread_of()->paths.items[1];
    CU_ASSERT_EQUAL(path->stack, path_below(OUTER, NULL)->stack);
    CU_ASSERT_EQUAL(sample_of(path)->count, 0);
    CU_ASSERT_EQUAL(sample_of(path)->weight, 400);
    CU_ASSERT_EQUAL(calls_cell_of(thread_of(), OUTER)->path_calls, 2);
    CU_ASSERT_EQUAL(calls_cell_of(thread_of(), OUTER)->path_self, 450);
    CU_ASSERT_EQUAL(read_paths(), 0);
    probing_outside_free(&made.session.probing);
    made_end(&made);
}

/* The program can write anything into its nodes: circles, functions without a probe, parents that
 * are not there. */
static void test_hostile_nodes(void)
{
    make_counted();
    set_node(2, 0, OUTER, 1, 1, 1);
    nodes_of()[3] = (struct probe_node){(uint64_t)4 << 32 | (INNER + 1), 1, 1, 1};
    nodes_of()[4] = (struct probe_node){(uint64_t)3 << 32 | (OUTER + 1), 1, 1, 1};
    nodes_of()[6] = (struct probe_node){UINT32_MAX, 1, 1, 1};
    nodes_of()[8] = (struct probe_node){(uint64_t)60000 << 32 | (OUTER + 1), 5, 9, INT64_MAX};
    nodes_of()[10] = (struct probe_node){NOT_CHOSEN + 1, 1, 1, 1};
    CU_ASSERT(read_paths() >= 2);
    for (size_t i = 0; i < thread_of()->paths.count; i++)
        CU_ASSERT(thread_of()->paths.items[i].cell.function < NOT_CHOSEN);
    const struct calls_path *outer = path_below(OUTER, NULL);
    CU_ASSERT_PTR_NOT_NULL(outer);
    made_end(&made);
}

/* A path that is deeper than any that the agent makes is cut, and read in a bounded time. */
static void test_deep(void)
{
    make_counted();
    set_node(1, 0, OUTER, 1, 1, 1);
    for (uint32_t i = 2; i < 1500; i++)
        set_node(i, i - 1, INNER, 1, 1, 1);
    CU_ASSERT(read_paths() >= PROBE_PATH_DEPTH - 1);
    CU_ASSERT(thread_of()->paths.count < 1500);
    CU_ASSERT(calls_cell_of(thread_of(), INNER)->path_calls >= PROBE_PATH_DEPTH - 1);
    made_end(&made);
}

/* Calls that were in the function before its paths were read, and in none of them, stay alone. */
static void test_alone(void)
{
    make_counted();
    set_node(7, 0, OUTER, 4, 4, 40);
    struct calls_cell *cell = calls_cell_of(thread_of(), OUTER);
    CU_ASSERT_PTR_NOT_NULL_FATAL(cell);
    cell->seen = (struct counters_sum){6, 5, 70};
    read_paths();
    cell = calls_cell_of(thread_of(), OUTER);
    CU_ASSERT_EQUAL(cell->in_paths.calls, 4);
    CU_ASSERT_EQUAL(cell->alone.calls, 2);
    CU_ASSERT_EQUAL(cell->alone.ended, 1);
    CU_ASSERT_EQUAL(cell->alone.self, 30);
    nodes_of()[7] = (struct probe_node){nodes_of()[7].key, 9, 9, 90}; /* newer than `seen` */
    read_paths();
    cell = calls_cell_of(thread_of(), OUTER);
    CU_ASSERT_EQUAL(cell->in_paths.calls, 9);
    CU_ASSERT_EQUAL(cell->alone.calls, 2);
    made_end(&made);
}

/* Each phase has a sample of its own, with what came in that phase. */
static void test_phases(void)
{
    make_counted();
    set_node(7, 0, OUTER, 4, 4, 40);
    CU_ASSERT_EQUAL(read_paths(), 1);
    const struct calls_path *path = path_below(OUTER, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(path);
    const struct store_sample first = *sample_of(path);
    nodes_of()[7] = (struct probe_node){nodes_of()[7].key, 6, 6, 45};
    CU_ASSERT_EQUAL(read_paths(), 1);
    CU_ASSERT_EQUAL(sample_of(path)->id, first.id);
    CU_ASSERT_EQUAL(sample_of(path)->count, 6);
    made.trace.phase++;
    made.session.times.now_ns += 1000000;
    nodes_of()[7] = (struct probe_node){nodes_of()[7].key, 7, 7, 60};
    CU_ASSERT_EQUAL(read_paths(), 1);
    CU_ASSERT_NOT_EQUAL(sample_of(path)->id, first.id);
    CU_ASSERT_EQUAL(sample_of(path)->count, 1);
    CU_ASSERT_EQUAL(sample_of(path)->weight, 15);
    CU_ASSERT(sample_of(path)->time_ns > first.time_ns);
    made_end(&made);
}

/* The agent's part: which modes have paths, and that a log has them, too. */
static void test_extras(void)
{
    make_counted();
    struct calls_program *session = &made.session;
    const _Atomic uint32_t *extras = &session->process.shared->extras;
    CU_ASSERT_TRUE(calls_has_paths(session, thread_of()));
    calls_set_extras(session);
    CU_ASSERT_EQUAL(atomic_load(extras) & (PROBE_PATHS | PROBE_CALLERS | PROBE_LOG), PROBE_PATHS);
    session->mode = TRACE_LOG;
    calls_set_extras(session);
    CU_ASSERT_EQUAL(atomic_load(extras) & (PROBE_PATHS | PROBE_CALLERS | PROBE_LOG),
                    PROBE_PATHS | PROBE_LOG);
    CU_ASSERT_TRUE(session->log.has_rings);
    session->options.paths = false;
    session->options.callers = true;
    calls_set_extras(session);
    CU_ASSERT_EQUAL(atomic_load(extras) & (PROBE_PATHS | PROBE_CALLERS | PROBE_LOG),
                    PROBE_CALLERS | PROBE_LOG);
    CU_ASSERT_TRUE(calls_has_paths(session, thread_of()));
    thread_of()->shares = true; /* it has no row of its own */
    CU_ASSERT_FALSE(calls_has_paths(session, thread_of()));
    session->options.callers = false;
    thread_of()->shares = false;
    CU_ASSERT_FALSE(calls_has_paths(session, thread_of()));
    made_end(&made);
}

void sprof_suite_calls_paths(void);

void sprof_suite_calls_paths(void)
{
    CU_pSuite suite = CU_add_suite("calls/paths", NULL, NULL);
    CU_add_test(suite, "nodes", test_nodes);
    CU_add_test(suite, "calls that leave the modules", test_outside);
    CU_add_test(suite, "calls that leave to an unknown place", test_unplaced);
    CU_add_test(suite, "nodes that cannot be", test_hostile_nodes);
    CU_add_test(suite, "a deep path", test_deep);
    CU_add_test(suite, "calls in no path", test_alone);
    CU_add_test(suite, "phases", test_phases);
    CU_add_test(suite, "what is asked of the agent", test_extras);
}
