/* Rounds in which the probes of mode coverage come back, while processes begin and end. */
#include "tests/unit/inject/child.h"
#include "tests/unit/trace/made.h"

static const struct probe_backend in_memory = {.source = "in memory", .has_agent = true};

enum { FUNCTIONS = 2, ALWAYS = 1000 };

static struct made made;
static struct plan_function functions[FUNCTIONS];
static struct child child;
static unsigned finds, forks; /* rounds; in so many of them a new process is found */

static void add_process(pid_t pid)
{
    const struct calls_process process = {.pid = pid, .fd = -1};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&made.session.processes.list, process), 0);
}

static int find(struct trace_session *session)
{
    (void)session;
    if (finds++ < forks)
        add_process(child.pid);
    return 0;
}

static int fail(struct trace_session *session)
{
    (void)session;
    return SPROF_ENOMEM;
}

static const struct trace_membership of_forks = {.find = find}, without_memory = {.find = fail};

/* The first function's probe has been removed. It was never in the child. */
static void begin(const struct trace_membership *membership)
{
    made_begin_with(&made, &in_memory, functions, FUNCTIONS);
    made.trace.membership = membership;
    made.session.probes.items[0].is_restored = true;
    child = child_make(NULL);
    add_process(child.pid);
    finds = forks = 0;
}

static void end(void)
{
    close(child.end);
    waitpid(child.pid, NULL, 0);
    munmap(child.shared, sizeof *child.shared);
    made_end(&made);
}

static int give_back(struct sprof_error *error)
{
    return trace_coverage_return(&made.session, error);
}

/* A round without a new process is the last one. */
static void test_rounds(void)
{
    struct sprof_error error = {0};
    begin(&of_forks);
    forks = 3;
    CU_ASSERT_EQUAL(give_back(&error), 0);
    CU_ASSERT_EQUAL(finds, 4);
    CU_ASSERT_EQUAL(made.session.processes.list.count, 4);
    CU_ASSERT_FALSE(made.session.probes.items[0].is_restored);
    for (size_t i = 0; i < made.session.processes.list.count; i++)
        CU_ASSERT_FALSE(made.session.processes.list.items[i].is_back); /* ready for the next time */
    end();
}

static void test_nothing_left(void)
{
    struct sprof_error error = {0};
    begin(&of_forks);
    made.session.probes.items[0].is_restored = false;
    CU_ASSERT_EQUAL(give_back(&error), 0);
    CU_ASSERT_EQUAL(finds, 0);
    end();
}

static void test_forks_without_end(void)
{
    struct sprof_error error = {0};
    begin(&of_forks);
    forks = ALWAYS;
    CU_ASSERT_EQUAL(give_back(&error), SPROF_ESTATE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "the probes of 1 function can"));
    CU_ASSERT(finds < ALWAYS);
    CU_ASSERT_TRUE(made.session.probes.items[0].is_restored); /* still removed */
    for (size_t i = 0; i < made.session.processes.list.count; i++)
        CU_ASSERT_FALSE(made.session.processes.list.items[i].is_back);
    end();
}

/* Processes that have ended, or have no probes, need none back. */
static void test_processes_without_probes(void)
{
    struct sprof_error error = {0};
    begin(&of_forks);
    struct calls_process *process = &made.session.processes.list.items[0];
    process->is_out = true;
    CU_ASSERT_EQUAL(give_back(&error), 0);
    CU_ASSERT_EQUAL(finds, 1);
    CU_ASSERT_FALSE(made.session.probes.items[0].is_restored);
    made.session.probes.items[0].is_restored = true;
    process->is_out = false;
    kill(child.pid, SIGKILL); /* a zombie */
    CU_ASSERT_EQUAL(waitid(P_PID, (id_t)child.pid, NULL, WEXITED | WNOWAIT), 0);
    CU_ASSERT_EQUAL(give_back(&error), 0);
    CU_ASSERT_EQUAL(finds, 2);
    CU_ASSERT_TRUE(process->is_over);
    end();
}

static void test_without_memory(void)
{
    struct sprof_error error = {0};
    begin(&without_memory);
    CU_ASSERT_EQUAL(give_back(&error), SPROF_ENOMEM);
    CU_ASSERT_TRUE(made.session.probes.items[0].is_restored);
    end();
}

void sprof_suite_trace_coverage_return(void);
void sprof_suite_trace_coverage_return(void)
{
    CU_pSuite suite = CU_add_suite("trace/coverage_return", NULL, NULL);
    CU_add_test(suite, "rounds", test_rounds);
    CU_add_test(suite, "nothing left", test_nothing_left);
    CU_add_test(suite, "forks without end", test_forks_without_end);
    CU_add_test(suite, "processes without probes", test_processes_without_probes);
    CU_add_test(suite, "without memory", test_without_memory);
}
