/* Requests to a thread of the program that waits in its loader. A thread of the test stands for it.
 */
#include "tests/unit/trace/made.h"
#include "trace/loader.h"

#include <errno.h>
#include <sys/wait.h>

static const struct probe_backend in_memory = {.source = "in memory", .has_agent = true};
static struct probe_loading shared;

static void begin(struct made *made)
{
    made_begin(made, &in_memory, 1);
    memset(&shared, 0, sizeof shared);
    made->session.loader.event_fd = -1;
    CU_ASSERT_EQUAL_FATAL(trace_loader_begin(&made->session.loader, &shared, NULL), 0);
}

static void end(struct made *made)
{
    trace_loader_release(&made->session.loader);
    made_end(made);
}

/* As agent/probe/loaded.c does: twice its address, once. */
static void *answer(void *context)
{
    (void)context;
    while (atomic_load(&shared.state) != PROBE_LOADING_REQUEST)
        usleep(100);
    shared.answer.result = 2 * (int64_t)shared.request.address;
    atomic_store(&shared.state, PROBE_LOADING_ANSWERED);
    return NULL;
}

static void test_ask(void)
{
    const struct probe_request request = {.kind = PROBE_MAP_ISLAND, .address = 0x4000};
    struct made made;
    pthread_t thread;
    begin(&made);
    CU_ASSERT_EQUAL_FATAL(calls_process_add(&made.session.calls, getpid()), 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, answer, NULL), 0);
    CU_ASSERT_EQUAL(trace_loader_ask(&made.session, &request), 0x8000);
    CU_ASSERT_EQUAL(shared.request.kind, PROBE_MAP_ISLAND);
    pthread_join(thread, NULL);
    end(&made);
}

/* A program that ended answers nothing, and is not waited for. */
static void test_ask_an_ended_program(void)
{
    const struct probe_request request = {.kind = PROBE_MAP_ISLAND, .address = 0x4000};
    struct made made;
    begin(&made);
    const pid_t child = fork();
    if (!child)
        _exit(0);
    CU_ASSERT_EQUAL_FATAL(calls_process_add(&made.session.calls, child), 0);
    waitpid(child, NULL, 0);
    CU_ASSERT_EQUAL(trace_loader_ask(&made.session, &request), -EPIPE);
    end(&made);
}

/* Requests go to the waiting thread while it is served, and only then. */
static void test_close(void)
{
    struct made made;
    begin(&made);
    trace_loader_close(&made.session.loader);
    CU_ASSERT_EQUAL(atomic_load(&shared.state), PROBE_LOADING_CLOSED);
    CU_ASSERT_EQUAL(trace_loader_take(&made.session.loader), 0);
    CU_ASSERT_FALSE(made.session.loader.is_serving);
    CU_ASSERT(trace_loader_fd(&made.session.loader) >= 0); /* still to be polled */
    trace_loader_release(&made.session.loader);
    trace_loader_close(&made.session.loader); /* after the end: nothing is shared any more */
    CU_ASSERT_PTR_NULL(made.session.loader.shared);
    made_end(&made);
}

void sprof_suite_trace_loader(void);

void sprof_suite_trace_loader(void)
{
    CU_pSuite suite = CU_add_suite("trace/loader", NULL, NULL);
    CU_add_test(suite, "a request", test_ask);
    CU_add_test(suite, "a request to an ended program", test_ask_an_ended_program);
    CU_add_test(suite, "closing", test_close);
}
