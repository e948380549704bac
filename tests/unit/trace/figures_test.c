/* What is read of a thread's memory while it runs comes to add up. */
#include "trace/tracing.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NODE = 5 };

/* A session with --paths of one function, which the main thread calls. */
struct figures {
    struct trace_session session;
    struct trace_function function;
    struct probe_stat *stat;
    struct probe_node *node;      /* of the function, below nothing … */
    struct probe_node *recursion; /* … and below itself */
};

static void make(struct figures *figures)
{
    struct trace_session *session = &figures->session;
    const uint64_t slab_bytes = probe_slab_bytes(1), bytes = probe_shared_bytes(1, slab_bytes);
    const struct recording_options options = {.view = {.mode = MODEL_MODE_FULL}, .no_cache = true};
    *figures = (struct figures){.function = {.name = "one"}};
    session->common = session;
    session->options.paths = true;
    session->capacity = session->slab_count = session->phase = 1;
    session->ns_per_tick = 1;
    session->memory_fd = memfd_create("figures", MFD_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(ftruncate(session->memory_fd, (off_t)bytes), 0);
    session->shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, session->memory_fd, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(session->shared, MAP_FAILED);
    session->shared_bytes = bytes;
    session->shared->slabs_used = 1;
    CU_ASSERT_EQUAL_FATAL(recording_open(&session->recording, &options, NULL), 0);
    session->run = recording_run(session->recording);
    const struct trace_probe probe = {
        .function = &figures->function, .tier = PROBE_FULL, .is_chosen = true};
    const struct trace_file file = {.path = "", .module = 1};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&session->probes, probe), 0);
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&session->files, file), 0);
    struct trace_thread *thread = session->slabs[0] = calloc(1, sizeof *thread);
    CU_ASSERT_PTR_NOT_NULL_FATAL(thread);
    thread->pid = thread->tid = getpid();
    uint8_t *slab = (uint8_t *)session->shared + trace_slab_offset(session, 0);
    figures->stat = (struct probe_stat *)slab;
    figures->node =
        (struct probe_node *)(slab + probe_stats_bytes(1) + probe_histograms_bytes(1)) + NODE;
    figures->node->key = 1;
    figures->recursion = figures->node + 1;
    figures->recursion->key = (uint64_t)1 << 48 | (uint64_t)NODE << 32 | 1;
}

static void release(struct figures *figures)
{
    struct trace_session *session = &figures->session;
    trace_figures_release(session);
    sprof_vec_release(&session->probes);
    sprof_vec_release(&session->files);
    recording_free(session->recording);
    munmap(session->shared, session->shared_bytes);
    close(session->memory_fd);
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

static void call(struct figures *figures, uint64_t in_path, uint64_t in_all)
{
    figures->node->calls = figures->node->ended = in_path;
    figures->node->self = (int64_t)in_path * 100;
    figures->stat->calls = figures->stat->ended = in_all;
    figures->stat->self = figures->stat->total = (int64_t)in_all * 100;
    CU_ASSERT_EQUAL(trace_collect(&figures->session, TRACE_COLLECT_ALL), 0);
}

/* Paths are read before functions are: calls between the two are in no path until the paths are
 * read again, though the function may not be called any more. */
static void test_calls_between_two_looks(void)
{
    struct figures figures;
    make(&figures);
    call(&figures, 4, 4);
    CU_ASSERT_EQUAL(sampled(&figures), 4);
    call(&figures, 6, 10);
    CU_ASSERT_EQUAL(sampled(&figures), 10);
    call(&figures, 10, 10);
    CU_ASSERT_EQUAL(sampled(&figures), 10);
    CU_ASSERT_EQUAL(figures.session.calls, 10);
    release(&figures);
}

/* A row that was written before any path was read is the one that later ones take the place of. */
static void test_row_before_paths(void)
{
    struct figures figures;
    make(&figures);
    call(&figures, 0, 3);
    figures.recursion->calls = figures.recursion->ended = 8;
    call(&figures, 0, 8);
    const struct store_batch *batch = recording_batch(figures.session.recording);
    CU_ASSERT_EQUAL_FATAL(batch->call_costs.count, 2);
    CU_ASSERT_EQUAL_FATAL(figures.session.slabs[0]->paths.count, 2);
    CU_ASSERT_NOT_EQUAL(figures.session.slabs[0]->paths.items[1].stack,
                        batch->call_costs.items[0].node_id);
    CU_ASSERT_EQUAL(batch->call_costs.items[0].node_id, batch->call_costs.items[1].node_id);
    CU_ASSERT_EQUAL(batch->call_costs.items[1].calls, 8);
    release(&figures);
}

void sprof_suite_trace_figures(void);

void sprof_suite_trace_figures(void)
{
    CU_pSuite suite = CU_add_suite("trace/figures", NULL, NULL);
    CU_add_test(suite, "calls between two looks", test_calls_between_two_looks);
    CU_add_test(suite, "a row before paths", test_row_before_paths);
}
