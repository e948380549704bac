/* Whether a process has executed another program: this one, whose first file the test pretends. */
#include "tests/unit/trace/made.h"
#include "trace/executed.h"

#include <stdio.h>
#include <sys/wait.h>

static const struct probe_backend in_memory = {.source = "in memory", .has_agent = true},
                                  borrowing = {.has_agent = true, .borrows = true};

static void begin(struct made *made, const struct probe_backend *backend)
{
    made_begin(made, backend, 1);
    trace_executed_refresh(&made->session);
    CU_ASSERT_PTR_NOT_NULL_FATAL(made->session.executable.path);
    CU_ASSERT_EQUAL(made->log.said.length, 0);
}

static bool reports(struct made *made, const char *part)
{
    trace_executed_refresh(&made->session);
    return made_said(made, part);
}

static void test_first(void)
{
    struct made made;
    begin(&made, &in_memory);
    CU_ASSERT_PTR_NOT_NULL(strstr(made.session.executable.path, "/unit_trace"));
    CU_ASSERT(made.session.executable.inode != 0);
    CU_ASSERT_FALSE(reports(&made, ""));
    CU_ASSERT_FALSE(made.session.executable.is_replaced);
    made_end(&made);
}

static void test_other(void)
{
    struct made made;
    begin(&made, &in_memory);
    made.session.executable.path = "/bin/former";
    made.session.executable.inode++;
    CU_ASSERT_TRUE(reports(&made, "the command executed /"));
    CU_ASSERT_TRUE(made.session.executable.is_replaced);
    CU_ASSERT_STRING_EQUAL(made.session.executable.path, "/bin/former");
    CU_ASSERT_FALSE(reports(&made, "")); /* once */
    made_end(&made);
}

/* The same file has another name now: it was renamed, or removed. */
static void test_renamed(void)
{
    struct made made;
    begin(&made, &in_memory);
    made.session.executable.path = "/bin/former";
    CU_ASSERT_FALSE(reports(&made, ""));
    CU_ASSERT_FALSE(made.session.executable.is_replaced);
    CU_ASSERT_PTR_NOT_NULL(strstr(made.session.executable.path, "/unit_trace"));
    made_end(&made);
}

/* The message names the process where there are several, and --children where that would help. */
static void test_text(void)
{
    struct made made;
    char name[32];
    begin(&made, &in_memory);
    made.session.executable.path = "/bin/former";
    made.session.executable.device++;
    CU_ASSERT_TRUE(reports(&made, "; --children traces what it executes, too"));
    made_end(&made);
    begin(&made, &borrowing);
    made.trace.has_others = true;
    made.session.executable.path = "/bin/former";
    made.session.executable.inode++;
    trace_executed_refresh(&made.session);
    snprintf(name, sizeof name, "process %d executed", (int)getpid());
    CU_ASSERT_PTR_NOT_NULL(strstr(made.log.said.text, name));
    CU_ASSERT_PTR_NULL(strstr(made.log.said.text, "--children"));
    made_end(&made);
}

/* With --children the next program connects by itself. */
static void test_children(void)
{
    struct made made;
    begin(&made, &in_memory);
    made.session.options.children = true;
    made.session.executable.path = "/bin/former";
    made.session.executable.inode++;
    CU_ASSERT_FALSE(reports(&made, ""));
    CU_ASSERT_FALSE(made.session.executable.is_replaced);
    made_end(&made);
}

/* A process that ended has executed nothing. */
static void test_ended(void)
{
    struct made made;
    begin(&made, &borrowing);
    const pid_t child = fork();
    if (!child)
        _exit(0);
    waitpid(child, NULL, 0);
    made.session.process.pid = child;
    made.session.executable.path = "/bin/former";
    made.session.executable.inode++;
    CU_ASSERT_FALSE(reports(&made, ""));
    CU_ASSERT_FALSE(made.session.executable.is_replaced);
    made_end(&made);
}

void sprof_suite_trace_executed(void);

void sprof_suite_trace_executed(void)
{
    CU_pSuite suite = CU_add_suite("trace/executed", NULL, NULL);
    CU_add_test(suite, "the first program", test_first);
    CU_add_test(suite, "another program", test_other);
    CU_add_test(suite, "another name", test_renamed);
    CU_add_test(suite, "the message", test_text);
    CU_add_test(suite, "children", test_children);
    CU_add_test(suite, "a process that ended", test_ended);
}
