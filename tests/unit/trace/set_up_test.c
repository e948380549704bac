/* The order in which a back end's parts are called, and what their failures leave. */
#include "tests/unit/trace/made.h"
#include "trace/program.h"
#include "trace/set_up.h"

#include <errno.h>
#include <stdio.h>

static char steps[64];
static const char *failing;

static int step(const char *name, struct sprof_error *error)
{
    strcat(steps, name);
    return failing && !strcmp(failing, name)
               ? sprof_error_set(error, SPROF_ELIMIT, 0, "no %s", name)
               : 0;
}

static int enter(struct trace_session *session, struct sprof_error *error)
{
    (void)session;
    return step("enter ", error);
}

/* Where code is written: into a file of the test. */
static int open_code(struct probing_program *program, struct sprof_error *error)
{
    (void)program;
    const int result = step("code ", error);
    return result ? result : memfd_create("code", MFD_CLOEXEC);
}

static int begin_measuring(struct trace_session *session, struct sprof_error *error)
{
    CU_ASSERT_EQUAL(session->ranges.count, 1); /* probes are switched before the program goes */
    return step("begin ", error);
}

static const struct probe_backend in_steps = {.has_agent = true,
                                              .is_live = true,
                                              .only_embedded = true,
                                              .enter = enter,
                                              .open_code = open_code,
                                              .begin = begin_measuring};

static int place(const char *what_fails, struct made *made, struct sprof_error *error)
{
    *steps = '\0';
    failing = what_fails;
    made_begin(made, &in_steps, 1);
    return trace_place_by_agent(&made->session, error);
}

static void test_order(void)
{
    struct sprof_error error = {0};
    struct made made;
    CU_ASSERT_EQUAL(place(NULL, &made, &error), 0);
    CU_ASSERT_STRING_EQUAL(error.message, "");
    CU_ASSERT_STRING_EQUAL(steps, "enter code begin ");
    made_end(&made);
}

/* Nothing is done after a step that failed. */
static void test_failures(void)
{
    static const struct {
        const char *failing, *steps;
    } cases[] = {{"enter ", "enter "}, {"code ", "enter code "}, {"begin ", "enter code begin "}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sprof_error error = {0};
        struct made made;
        CU_ASSERT_EQUAL(place(cases[i].failing, &made, &error), SPROF_ELIMIT);
        CU_ASSERT_STRING_EQUAL(steps, cases[i].steps);
        CU_ASSERT_EQUAL(strncmp(error.message, "no ", 3), 0);
        made_end(&made);
    }
}

static void test_no_descriptor(void)
{
    struct sprof_error error = {0};
    struct made made;
    made_begin(&made, &in_steps, 1);
    errno = EMFILE;
    CU_ASSERT_EQUAL(trace_no_descriptor(&made.session, &error), SPROF_EIO);
    CU_ASSERT_EQUAL(error.errnum, EMFILE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, strerror(EMFILE)));
    made_end(&made);
}

/* A row of the result for each kind of probe. */
static void test_count_probes(void)
{
    static struct plan_function functions[5];
    struct made made;
    made_begin_with(&made, &in_steps, functions, 5);
    struct probing_probe *probes = made.session.probes.items;
    struct trace_result result = {.probes = 10, .refused = 1};
    probes[1].tier = PROBE_COUNT;
    probes[2].governed = PROBING_GOVERNED_COUNT;
    probes[3].governed = PROBING_GOVERNED_OFF;
    probes[4].is_chosen = false; /* counts for nothing, whatever it does */
    probes[4].tier = PROBE_LEAVE;
    probes[4].governed = PROBING_GOVERNED_OFF;
    made.session.counts.refused = 2;
    trace_count_probes(&made.session, &result);
    CU_ASSERT_EQUAL(result.probes, 10 + 4); /* it adds to another program's */
    CU_ASSERT_EQUAL(result.refused, 1 + 2);
    CU_ASSERT_EQUAL(result.entry_only, 1);
    CU_ASSERT_EQUAL(result.governed_count, 1);
    CU_ASSERT_EQUAL(result.governed_off, 1);
    made_end(&made);
}

/* Processes that live wake the trace at their end; others have no descriptor. */
static void test_polls(void)
{
    struct trace_polls polls = {0};
    struct made made;
    made_begin(&made, &in_steps, 1);
    CU_ASSERT_EQUAL_FATAL(calls_process_add(&made.session.calls, getpid()), 0);
    CU_ASSERT_EQUAL_FATAL(calls_process_add(&made.session.calls, 0x3fffffff), 0);
    CU_ASSERT_EQUAL(trace_programs_poll(&made.session, &polls), 0);
    CU_ASSERT_EQUAL_FATAL(polls.list.count, 1);
    CU_ASSERT_EQUAL(polls.list.items[0].fd, made.session.processes.list.items[0].fd);
    CU_ASSERT_TRUE(made.session.processes.list.items[1].is_over);
    CU_ASSERT_EQUAL(poll(polls.list.items, 1, 0), 0); /* this one lives */
    sprof_vec_release(&polls.list);
    made_end(&made);
}

void sprof_suite_trace_set_up(void);

void sprof_suite_trace_set_up(void)
{
    CU_pSuite suite = CU_add_suite("trace/set_up", NULL, NULL);
    CU_add_test(suite, "order", test_order);
    CU_add_test(suite, "failures", test_failures);
    CU_add_test(suite, "no descriptor", test_no_descriptor);
    CU_add_test(suite, "kinds of probes", test_count_probes);
    CU_add_test(suite, "polls", test_polls);
}
