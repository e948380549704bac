#include "base/urgency.h"

#include <CUnit/CUnit.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int nice_now(void)
{
    return getpriority(PRIO_PROCESS, 0);
}

/* Where it is not permitted it changes nothing, and restores nothing. */
static void test_raise(void)
{
    struct sprof_urgency urgency, most;
    const int before = nice_now();
    sprof_urgency_raise(&urgency);
    CU_ASSERT_EQUAL(nice_now(), urgency.is_raised ? -20 : before);
    if (!geteuid() && before <= 0)
        CU_ASSERT_TRUE(urgency.is_raised);
    const int raised = nice_now();
    sprof_urgency_raise_most(&most); /* a stop within a command */
    CU_ASSERT_TRUE(sched_getscheduler(0) == SCHED_RR || nice_now() == -20 || !most.is_raised);
    sprof_urgency_restore(&most);
    CU_ASSERT_EQUAL(sched_getscheduler(0), SCHED_OTHER);
    CU_ASSERT_EQUAL(nice_now(), raised);
    sprof_urgency_restore(&urgency);
    CU_ASSERT_EQUAL(nice_now(), before);
    sprof_urgency_restore(&urgency); /* again: nothing */
    CU_ASSERT_EQUAL(nice_now(), before);
}

static void *be_nice(void *unused)
{
    struct sprof_urgency urgency;
    (void)unused;
    setpriority(PRIO_PROCESS, 0, 19); /* of this thread alone */
    sprof_urgency_wake_soon();
    sprof_urgency_raise(&urgency);
    CU_ASSERT_FALSE(urgency.is_raised);
    sprof_urgency_raise_most(&urgency);
    CU_ASSERT_FALSE(urgency.is_raised);
    CU_ASSERT_EQUAL(nice_now(), 19);
    return NULL;
}

/* Who runs sprof as a guest of others wants it to be one. */
static void test_guest(void)
{
    pthread_t thread;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, be_nice, NULL), 0);
    pthread_join(thread, NULL);
}

/* Nobody needs a right for slices, nor for putting back what was not changed. */
static void test_nobody(void)
{
    const pid_t child = fork();
    if (!child) {
        struct sprof_urgency urgency, most;
        const int before = nice_now();
        bool good = geteuid() || !setuid(65534);
        sprof_urgency_wake_soon();
        sprof_urgency_raise(&urgency);
        sprof_urgency_raise_most(&most);
        sprof_urgency_restore(&most);
        sprof_urgency_restore(&urgency);
        good = good && nice_now() == before && sched_getscheduler(0) == SCHED_OTHER;
        _exit(!good);
    }
    int status = -1;
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
}

void sprof_suite_base_urgency(void);
void sprof_suite_base_urgency(void)
{
    CU_pSuite suite = CU_add_suite("base/urgency", NULL, NULL);
    CU_add_test(suite, "raised and restored", test_raise);
    CU_add_test(suite, "a guest stays one", test_guest);
    CU_add_test(suite, "as nobody", test_nobody);
}
