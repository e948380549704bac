/* Which waits are of threads that wait for work. */
#include "report/idle.h"

#include "base/base.h"

#include <CUnit/CUnit.h>
#include <stdio.h>

/* worker (1) calls pop (2), which calls wait (3), and job (4), which calls query (5), fetch (6) and
 * deep (7), one in the other. Of wait, a library's recv (8) and kernel code (9) are below. */
static const uint32_t parents[] = {0, 1, 2, 1, 4, 5, 6, 3, 8};
static const bool counts[] = {true, true, true, true, true, true, true, false, false};
static const struct report_idle_paths paths = {parents, counts, 9};
enum { WORKER = 1, POP, WAIT, JOB, QUERY, FETCH, DEEP, RECV, KERNEL };

/* "1" for each time that is idle, "0" for others, in the order of paths. */
static const char *marks(struct report_idle_time *times, size_t count)
{
    static char text[16];
    CU_ASSERT_EQUAL(report_idle_find(&paths, times, count), 0);
    for (size_t i = 0; i < count; i++)
        text[i] = times[i].is_idle ? '1' : '0';
    text[count] = 0;
    return text;
}

static struct report_idle_time time_at(uint32_t path, enum report_idle_reach reach, uint64_t weight)
{
    return (struct report_idle_time){.thread = 1, .path = path, .reach = reach, .weight = weight};
}

static void test_near_the_loop(void)
{
    /* Two frames below the loop: a condition, but no read. */
    CU_ASSERT_STRING_EQUAL(marks((struct report_idle_time[]){time_at(WAIT, REPORT_IDLE_TWO, 50),
                                                             time_at(JOB, REPORT_IDLE_NEVER, 3)},
                                 2),
                           "10");
    CU_ASSERT_STRING_EQUAL(marks((struct report_idle_time[]){time_at(WAIT, REPORT_IDLE_ONE, 50),
                                                             time_at(JOB, REPORT_IDLE_NEVER, 3)},
                                 2),
                           "00");
    CU_ASSERT_STRING_EQUAL(marks((struct report_idle_time[]){time_at(POP, REPORT_IDLE_ONE, 50),
                                                             time_at(JOB, REPORT_IDLE_NEVER, 3)},
                                 2),
                           "10");
    /* Inside of work, deeper than that. */
    CU_ASSERT_STRING_EQUAL(marks((struct report_idle_time[]){time_at(WORKER, REPORT_IDLE_NEVER, 9),
                                                             time_at(FETCH, REPORT_IDLE_TWO, 50)},
                                 2),
                           "00");
    /* The loop is where 95 % pass: some other time elsewhere does not move it. */
    CU_ASSERT_STRING_EQUAL(marks((struct report_idle_time[]){time_at(JOB, REPORT_IDLE_NEVER, 97),
                                                             time_at(QUERY, REPORT_IDLE_ONE, 50),
                                                             time_at(POP, REPORT_IDLE_NEVER, 3)},
                                 3),
                           "001");
}

/* What libraries and the kernel do for one wait is that wait, however it is spelled. */
static void test_one_site(void)
{
    struct report_idle_time times[] = {
        time_at(KERNEL, REPORT_IDLE_TWO, 50), time_at(RECV, REPORT_IDLE_TWO, 50),
        time_at(RECV, REPORT_IDLE_NEVER, 1), time_at(JOB, REPORT_IDLE_NEVER, 4)};
    marks(times, 4);
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(times[i].is_idle, times[i].reach == REPORT_IDLE_TWO);
    CU_ASSERT_EQUAL(times[0].site, WAIT);
}

static void test_nothing_else(void)
{
    CU_ASSERT_STRING_EQUAL(marks((struct report_idle_time[]){time_at(DEEP, REPORT_IDLE_ONE, 5)}, 1),
                           "1");
    CU_ASSERT_STRING_EQUAL(
        marks((struct report_idle_time[]){time_at(DEEP, REPORT_IDLE_NEVER, 5)}, 1), "0");
    /* Threads are apart. */
    struct report_idle_time times[] = {time_at(DEEP, REPORT_IDLE_ONE, 5),
                                       time_at(WORKER, REPORT_IDLE_NEVER, 5)};
    times[1].thread = 2;
    CU_ASSERT_STRING_EQUAL(marks(times, 2), "10");
    CU_ASSERT_EQUAL(report_idle_find(&paths, NULL, 0), 0);
}

static void test_kinds(void)
{
    CU_ASSERT_EQUAL(report_idle_reach_of(NULL, REPORT_WAIT_UNKNOWN, false), REPORT_IDLE_NEVER);
    CU_ASSERT_EQUAL(report_idle_reach_of("futex", REPORT_WAIT_UNKNOWN, false), REPORT_IDLE_NEVER);
    CU_ASSERT_EQUAL(report_idle_reach_of("futex", REPORT_WAIT_LOCK, false), REPORT_IDLE_NEVER);
    CU_ASSERT_EQUAL(report_idle_reach_of("futex", REPORT_WAIT_BARRIER, false), REPORT_IDLE_NEVER);
    CU_ASSERT_EQUAL(report_idle_reach_of("futex", REPORT_WAIT_CONDITION, false), REPORT_IDLE_TWO);
    CU_ASSERT_EQUAL(report_idle_reach_of("futex", REPORT_WAIT_JOIN, false), REPORT_IDLE_ONE);
    CU_ASSERT_EQUAL(report_idle_reach_of("epoll_wait", REPORT_WAIT_LOCK, false), REPORT_IDLE_TWO);
    CU_ASSERT_EQUAL(report_idle_reach_of("sleep", REPORT_WAIT_UNKNOWN, false), REPORT_IDLE_NEVER);
    CU_ASSERT_EQUAL(report_idle_reach_of("block-io", REPORT_WAIT_UNKNOWN, true), REPORT_IDLE_NEVER);
    CU_ASSERT_EQUAL(report_idle_reach_of("ready", REPORT_WAIT_UNKNOWN, true), REPORT_IDLE_NEVER);
    CU_ASSERT_EQUAL(report_idle_reach_of("other", REPORT_WAIT_UNKNOWN, false), REPORT_IDLE_NEVER);
    CU_ASSERT_EQUAL(report_idle_reach_of("other", REPORT_WAIT_UNKNOWN, true), REPORT_IDLE_TWO);
}

static void test_waiting_functions(void)
{
    CU_ASSERT_EQUAL(report_wait_function_find("___pthread_cond_wait")->object,
                    REPORT_WAIT_CONDITION);
    CU_ASSERT_EQUAL(report_wait_function_find("__pthread_mutex_lock")->object, REPORT_WAIT_LOCK);
    CU_ASSERT_EQUAL(
        report_wait_function_find("std::sys::sync::mutex::futex::Mutex::lock_contended")->object,
        REPORT_WAIT_LOCK);
    CU_ASSERT_EQUAL(report_wait_function_find("__futex_abstimed_wait")->object,
                    REPORT_WAIT_UNKNOWN);
    CU_ASSERT_PTR_NULL(report_wait_function_find("book"));
}

void sprof_suite_report_idle(void);
void sprof_suite_report_idle(void)
{
    CU_pSuite suite = CU_add_suite("report/idle", NULL, NULL);
    CU_add_test(suite, "near the loop", test_near_the_loop);
    CU_add_test(suite, "one site", test_one_site);
    CU_add_test(suite, "nothing else", test_nothing_else);
    CU_add_test(suite, "kinds", test_kinds);
    CU_add_test(suite, "waiting functions", test_waiting_functions);
}
