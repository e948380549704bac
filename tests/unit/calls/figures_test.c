/* What is read of a thread's memory while it runs comes to add up. */
#include "tests/unit/calls/made.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NODE = 5 };

/* An agent whose memory the test writes. */
static const struct made_way in_memory = {.has_agent = true};

/* A session with --paths of one function, which the main thread calls. */
struct figures {
    struct calls_program session;
    struct calls_trace trace;
    struct plan_function function;
    struct probe_stat *stat;
    struct probe_node *node;      /* of the function, below nothing … */
    struct probe_node *recursion; /* … and below itself */
};

static void make(struct figures *figures)
{
    struct calls_program *session = &figures->session;
    const uint64_t slab_bytes = probe_slab_bytes(1), bytes = probe_shared_bytes(1, slab_bytes);
    const struct recording_options options = {.view = {.mode = MODEL_MODE_FULL}, .no_cache = true};
    *figures = (struct figures){.function = {.name = "one"}};
    session->all = &figures->trace;
    session->group = &figures->trace.probing;
    session->way = &in_memory.way;
    session->reader = &in_memory.reader;
    session->options.paths = true;
    session->capacity = session->slab_count = session->all->phase = 1;
    session->times.ns_per_tick = 1;
    session->process.memory_fd = memfd_create("figures", MFD_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(ftruncate(session->process.memory_fd, (off_t)bytes), 0);
    session->process.shared =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, session->process.memory_fd, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(session->process.shared, MAP_FAILED);
    session->process.shared_bytes = bytes;
    session->process.shared->slabs_used = 1;
    CU_ASSERT_EQUAL_FATAL(recording_open(&session->recording, &options, NULL), 0);
    session->run = recording_run(session->recording);
    const struct probing_probe probe = {
        .function = &figures->function, .tier = PROBE_FULL, .is_chosen = true};
    const struct probing_file file = {.path = "", .module = 1};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&session->probes, probe), 0);
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&session->files, file), 0);
    struct calls_thread *thread = session->threads.of_slab[0] = calloc(1, sizeof *thread);
    CU_ASSERT_PTR_NOT_NULL_FATAL(thread);
    thread->pid = thread->tid = getpid();
    const struct counters_pages pages = calls_pages(session);
    uint8_t *slab = (uint8_t *)counters_slab_stats(&pages, 0);
    figures->stat = (struct probe_stat *)slab;
    figures->node =
        (struct probe_node *)(slab + probe_stats_bytes(1) + probe_histograms_bytes(1)) + NODE;
    figures->node->key = 1;
    figures->recursion = figures->node + 1;
    figures->recursion->key = (uint64_t)1 << 48 | (uint64_t)NODE << 32 | 1;
}

static void release(struct figures *figures)
{
    struct calls_program *session = &figures->session;
    calls_figures_release(session);
    sprof_vec_release(&session->probes);
    sprof_vec_release(&session->files);
    recording_free(session->recording);
    sprof_arena_release(&session->arena);
    munmap(session->process.shared, session->process.shared_bytes);
    close(session->process.memory_fd);
}

/* Of all sample rows, as they were written last. */
static uint64_t sampled(const struct figures *figures)
{
    const struct store_batch *batch = recording_batch(figures->session.recording);
    uint64_t sum = 0;
    for (size_t i = 0; i < batch->samples.count; i++) {
        bool again = false;
        for (size_t k = i + 1; k < batch->samples.count && !again; k++)
            again = batch->samples.items[k].id == batch->samples.items[i].id;
        sum += again ? 0 : (uint64_t)batch->samples.items[i].count;
    }
    return sum;
}

static uint64_t calls_of(const struct figures *figures)
{
    return probing_calls_sum(&figures->session.probing).calls;
}

static void call(struct figures *figures, uint64_t in_path, uint64_t in_all)
{
    figures->node->calls = figures->node->ended = in_path;
    figures->node->self = (int64_t)in_path * 100;
    figures->stat->calls = figures->stat->ended = in_all;
    figures->stat->self = figures->stat->total = (int64_t)in_all * 100;
    CU_ASSERT_EQUAL(calls_collect(&figures->session, CALLS_COLLECT_ALL), 0);
}

/* The agent counts a call in its path first: what comes between the two looks is in paths alone,
 * and counts for the function, too. */
static void test_calls_between_two_looks(void)
{
    struct figures figures;
    make(&figures);
    call(&figures, 4, 4);
    CU_ASSERT_EQUAL(sampled(&figures), 4);
    CU_ASSERT_EQUAL(calls_of(&figures), 4);
    call(&figures, 10, 6);
    CU_ASSERT_EQUAL(sampled(&figures), 10);
    CU_ASSERT_EQUAL(calls_of(&figures), 10);
    call(&figures, 10, 10);
    CU_ASSERT_EQUAL(sampled(&figures), 10);
    CU_ASSERT_EQUAL(calls_of(&figures), 10);
    release(&figures);
}

/* What is in no path stays so, whatever comes in paths meanwhile: no phase gets less than nothing.
 */
static void test_calls_without_path(void)
{
    struct figures figures;
    make(&figures);
    call(&figures, 4, 7);
    CU_ASSERT_EQUAL(sampled(&figures), 7);
    figures.session.all->phase++;
    call(&figures, 12, 9);
    CU_ASSERT_EQUAL(sampled(&figures), 15);
    CU_ASSERT_EQUAL(calls_of(&figures), 15);
    figures.session.all->phase++;
    call(&figures, 12, 16);
    CU_ASSERT_EQUAL(sampled(&figures), 16);
    CU_ASSERT_EQUAL(calls_of(&figures), 16);
    release(&figures);
}

/* Figures are cleared at one moment, for paths and functions: a call that was counted in its path
 * alone until then is in neither afterwards. */
static void test_clear_between(void)
{
    struct figures figures;
    make(&figures);
    call(&figures, 4, 4);
    figures.node->calls = figures.node->ended = 10;
    CU_ASSERT_EQUAL(calls_clear_figures(&figures.session, 1), 0);
    recording_batch(figures.session.recording)->samples.count = 0;
    call(&figures, 13, 13);
    CU_ASSERT_EQUAL(sampled(&figures), 3);
    CU_ASSERT_EQUAL(calls_of(&figures), 3);
    release(&figures);
}

/* A path that was not read before figures were cleared counts from then on, too. */
static void test_clear_before_path(void)
{
    struct figures figures;
    make(&figures);
    figures.node->calls = figures.node->ended = 5;
    figures.stat->calls = figures.stat->ended = 5;
    CU_ASSERT_EQUAL(calls_clear_figures(&figures.session, 1), 0);
    call(&figures, 7, 7);
    CU_ASSERT_EQUAL(sampled(&figures), 2);
    CU_ASSERT_EQUAL(calls_of(&figures), 2);
    release(&figures);
}

/* A call that is in flight when figures are cleared is one of the new period, for paths and
 * functions; those before it are of neither. */
static void test_clear_in_flight(void)
{
    struct figures figures;
    make(&figures);
    call(&figures, 4, 4);
    figures.node->calls = figures.stat->calls = 5;
    CU_ASSERT_EQUAL(calls_clear_figures(&figures.session, 1), 0);
    recording_batch(figures.session.recording)->samples.count = 0;
    call(&figures, 5, 5);
    CU_ASSERT_EQUAL(sampled(&figures), 1);
    CU_ASSERT_EQUAL(calls_of(&figures), 1);
    CU_ASSERT_EQUAL(figures.session.threads.of_slab[0]->paths.items[0].cell.calls, 1);
    release(&figures);
}

/* A row that was written before any path was read is the one that later ones take the place of. */
static void test_row_before_paths(void)
{
    struct figures figures;
    make(&figures);
    call(&figures, 0, 3);
    figures.recursion->calls = figures.recursion->ended = 8;
    call(&figures, 0, 11);
    const struct store_batch *batch = recording_batch(figures.session.recording);
    CU_ASSERT_EQUAL_FATAL(batch->call_costs.count, 2);
    CU_ASSERT_EQUAL_FATAL(figures.session.threads.of_slab[0]->paths.count, 2);
    CU_ASSERT_NOT_EQUAL(figures.session.threads.of_slab[0]->paths.items[1].stack,
                        batch->call_costs.items[0].node_id);
    CU_ASSERT_EQUAL(batch->call_costs.items[0].node_id, batch->call_costs.items[1].node_id);
    CU_ASSERT_EQUAL(batch->call_costs.items[1].calls, 11);
    CU_ASSERT_EQUAL(batch->call_costs.items[1].outermost, 11);
    release(&figures);
}

/* The command has written what cannot be: rows of it can be added up, and what comes then counts.
 */
static void test_impossible(void)
{
    enum { ROWS = 4 };
    struct figures figures;
    make(&figures);
    struct calls_program *session = &figures.session;
    const struct store_batch *batch = recording_batch(session->recording);
    session->times.start.ns = 1;
    for (uint64_t i = 0; i < ROWS; i++) {
        const uint64_t huge = UINT64_C(0x7fffffffffffff00) + i;
        memset(figures.stat, 0x7f, sizeof *figures.stat);
        figures.stat->calls = figures.stat->counted = huge;
        figures.stat->self = i & 1 ? -(int64_t)huge : (int64_t)huge;
        figures.node->calls = figures.node->ended = huge;
        figures.node->self = i & 1 ? (int64_t)huge : -(int64_t)huge;
        figures.recursion->calls = figures.recursion->ended = ~huge;
        figures.recursion->self = -(int64_t)huge;
        session->times.now_ns = 1000 + i;
        session->all->phase++;
        CU_ASSERT_EQUAL(calls_collect(session, CALLS_COLLECT_ALL), 0);
        CU_ASSERT_EQUAL(calls_clear_figures(session, i), 0);
    }
    const uint64_t most = calls_most_ticks(session);
    for (size_t i = 0; i < batch->samples.count; i++)
        CU_ASSERT((uint64_t)batch->samples.items[i].count <= most &&
                  (uint64_t)batch->samples.items[i].weight <= most);
    for (size_t i = 0; i < batch->call_costs.count; i++) {
        const struct store_call_cost *row = &batch->call_costs.items[i];
        CU_ASSERT(row->calls <= 2 * most && row->total_ns <= most && row->raw_total_ns <= most);
        CU_ASSERT(row->self_ns <= most && row->raw_self_ns <= most && row->recursive <= most);
    }
    release(&figures);
}

/* As the agent writes it. */
static void note_slow(struct figures *figures)
{
    struct probe_warnings *warnings = &figures->session.process.shared->warnings;
    const uint64_t place = warnings->head++;
    warnings->items[place] = (struct probe_warning){.value = 5, .limit = 2, .kind = PROBE_SLOW};
    warnings->items[place].place = place + 1;
}

static void begin_warnings(struct figures *figures, const struct trace_limit *limit)
{
    struct calls_program *session = &figures->session;
    struct sprof_error error = {0};
    session->all->clock.tick_ns = 1;
    session->process.pid = getpid();
    session->options.warn.over = limit;
    session->options.warn.over_count = 1;
    session->all->programs.count = 0;
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&session->all->programs, &session->probing), 0);
    CU_ASSERT_EQUAL_FATAL(calls_warnings_begin(session, 0, &error), 0);
}

static void end_warnings(struct figures *figures)
{
    calls_warnings_free(&figures->session);
    sprof_vec_release(&figures->session.all->programs);
    sprof_arena_release(&figures->session.arena);
    release(figures);
}

/* A thread's first call may come after all slabs were looked at, and before warnings are read. */
static void test_warning_of_new_thread(void)
{
    const struct trace_limit limit = {.ns = 2};
    struct figures figures;
    make(&figures);
    struct calls_program *session = &figures.session;
    free(session->threads.of_slab[0]);
    session->threads.of_slab[0] = NULL;
    begin_warnings(&figures, &limit);
    session->process.shared->slabs[0].state = PROBE_SLAB_TAKEN;
    session->process.shared->slabs[0].tid = (uint32_t)getpid();
    note_slow(&figures);
    CU_ASSERT_EQUAL(calls_warnings_read(session), 0);
    CU_ASSERT_EQUAL(session->all->warned.rows, 1);
    const struct store_batch *batch = recording_batch(session->recording);
    CU_ASSERT_EQUAL_FATAL(batch->warnings.count, 1);
    CU_ASSERT_EQUAL(batch->warnings.items[0].value, 5);
    CU_ASSERT_PTR_NOT_NULL_FATAL(session->threads.of_slab[0]);
    CU_ASSERT_EQUAL(batch->warnings.items[0].thread_id, session->threads.of_slab[0]->row);
    end_warnings(&figures);
}

/* Functions that are in no module that was seen have no rows: they are counted, with their calls
 * and warnings. */
static void test_no_module(void)
{
    const struct trace_limit limit = {.ns = 2};
    struct calls_sums sums;
    struct figures figures;
    make(&figures);
    struct calls_program *session = &figures.session;
    session->options.paths = false;
    session->files.items[0].module = 0;
    begin_warnings(&figures, &limit);
    calls_add_up(session, &sums);
    CU_ASSERT_EQUAL(sums.unplaced, 0);
    call(&figures, 0, 4);
    note_slow(&figures);
    call(&figures, 0, 10);
    calls_add_up(session, &sums);
    CU_ASSERT_EQUAL(sums.calls, 0);
    CU_ASSERT_EQUAL(sums.unplaced, 1);
    CU_ASSERT_EQUAL(sums.unplaced_calls, 10);
    CU_ASSERT_EQUAL(sums.warnings_lost, 1);
    CU_ASSERT_EQUAL(session->all->warned.rows, 0);
    end_warnings(&figures);
}

void sprof_suite_calls_figures(void);

void sprof_suite_calls_figures(void)
{
    CU_pSuite suite = CU_add_suite("calls/figures", NULL, NULL);
    CU_add_test(suite, "calls between two looks", test_calls_between_two_looks);
    CU_add_test(suite, "calls without a path", test_calls_without_path);
    CU_add_test(suite, "a clear between two looks", test_clear_between);
    CU_add_test(suite, "a clear before a path is read", test_clear_before_path);
    CU_add_test(suite, "a clear with a call in flight", test_clear_in_flight);
    CU_add_test(suite, "a row before paths", test_row_before_paths);
    CU_add_test(suite, "what cannot be", test_impossible);
    CU_add_test(suite, "a warning of a thread not seen yet", test_warning_of_new_thread);
    CU_add_test(suite, "functions in no module", test_no_module);
}
