#include "why/why.h"

#include <CUnit/CUnit.h>
#include <string.h>

enum { MOST = 8 };

/* A stack, innermost first: "k:" before functions of the kernel, "a:" before the application's. */
static enum why_cause cause_of(const char *wait, const char *const names[MOST])
{
    struct why_frame frames[MOST];
    size_t count = 0;
    for (; count < MOST && names[count]; count++) {
        const bool is_kernel = !strncmp(names[count], "k:", 2);
        const bool is_application = !strncmp(names[count], "a:", 2);
        frames[count] = (struct why_frame){
            .name = names[count] + (is_kernel || is_application ? 2 : 0),
            .kind = is_kernel        ? MODEL_KIND_KERNEL
                    : is_application ? MODEL_KIND_APP
                                     : MODEL_KIND_SYSTEM,
            .is_application = is_application,
        };
    }
    return why_cause_of(wait, frames, count);
}

static void test_causes(void)
{
    static const struct {
        const char *wait;
        const char *names[MOST];
        enum why_cause cause;
    } cases[] = {
        {NULL, {"a:apply", "a:main"}, WHY_COMPUTES},
        {NULL, {"deflate", "a:apply"}, WHY_COMPUTES},
        {NULL, {"_int_free", "cfree", "a:apply"}, WHY_ALLOCATES},
        {NULL, {"__libc_malloc", "operator new(unsigned long)", "a:apply"}, WHY_ALLOCATES},
        {NULL, {"a:malloc_pool", "a:main"}, WHY_COMPUTES},
        {NULL,
         {"k:clear_page_erms", "k:exc_page_fault", "k:asm_exc_page_fault", "a:fill"},
         WHY_FAULTS},
        {NULL,
         {"k:copy_user", "k:__x64_sys_write", "k:do_syscall_64", "write", "a:emit"},
         WHY_CALLS_SYSTEM},
        {NULL, {"k:irq_exit", "k:asm_sysvec_apic_timer_interrupt", "a:apply"}, WHY_COMPUTES},
        {NULL, {"k:brk", "k:do_syscall_64", "brk", "sysmalloc", "malloc", "a:fill"}, WHY_ALLOCATES},
        {NULL, {0}, WHY_COMPUTES},
        {"ready", {"a:apply"}, WHY_READY},
        {"sleep", {"clock_nanosleep", "usleep", "a:rest"}, WHY_SLEEP},
        {"futex", {"k:futex_wait", "__lll_lock_wait", "pthread_mutex_lock", "a:store"}, WHY_LOCK},
        {"futex", {"futex_wait", "pthread_cond_wait", "a:next"}, WHY_CONDITION},
        {"futex", {"lll_lock_wait", "pthread_cond_timedwait", "a:next"}, WHY_CONDITION},
        {"futex", {"futex_wait", "pthread_join", "a:main"}, WHY_JOIN},
        {"futex", {"futex_wait", "sem_wait", "a:next"}, WHY_SEMAPHORE},
        {"futex", {"futex_wait", "pthread_barrier_wait", "a:step"}, WHY_BARRIER},
        {"futex", {"syscall", "a:park"}, WHY_FUTEX},
        {"futex", {"__lll_lock_wait_private", "malloc", "a:fill"}, WHY_LOCK},
        {"futex", {"futex_wait", "std::__condition", "a:pthread_mutex_user"}, WHY_FUTEX},
        {"epoll_wait", {"epoll_wait", "a:loop"}, WHY_POLL},
        {"recv", {"recv", "a:ask"}, WHY_PEER},
        {"read", {"read", "a:ask"}, WHY_PEER},
        {"fsync", {"fsync", "a:save"}, WHY_DISK},
        {"block-io", {"read", "a:load"}, WHY_DISK},
        {"page-fault", {"a:load"}, WHY_PAGE},
        {"wait", {"wait4", "a:main"}, WHY_CHILD},
        {"memory", {"munmap", "a:drop"}, WHY_OTHER},
        {"a kind of tomorrow", {"a:main"}, WHY_OTHER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const enum why_cause found = cause_of(cases[i].wait, cases[i].names);
        CU_ASSERT_EQUAL(found, cases[i].cause);
        if (found != cases[i].cause)
            printf("case %zu is %s\n", i, why_cause_word(found));
    }
}

/* Samples by time do not say whether a thread waits: functions that wait do. */
static void test_names_stand_in_for_states(void)
{
    CU_ASSERT_EQUAL(cause_of("", (const char *[MOST]){"k:x", "__poll", "a:loop"}), WHY_POLL);
    CU_ASSERT_EQUAL(cause_of("", (const char *[MOST]){"clock_nanosleep", "usleep", "a:rest"}),
                    WHY_SLEEP);
    CU_ASSERT_EQUAL(
        cause_of("", (const char *[MOST]){"__lll_lock_wait", "pthread_mutex_lock", "a:store"}),
        WHY_LOCK);
    CU_ASSERT_EQUAL(
        cause_of("", (const char *[MOST]){"__futex_abstimed_wait", "pthread_cond_wait", "a:next"}),
        WHY_CONDITION);
    CU_ASSERT_EQUAL(cause_of("", (const char *[MOST]){"a:poll_all", "a:main"}), WHY_COMPUTES);
    CU_ASSERT_EQUAL(cause_of("", (const char *[MOST]){"memcpy", "a:main"}), WHY_COMPUTES);
}

static void test_every_cause_has_words(void)
{
    for (int cause = 0; cause < WHY_CAUSES; cause++) {
        CU_ASSERT_PTR_NOT_NULL(why_cause_text((enum why_cause)cause));
        CU_ASSERT_PTR_NOT_NULL(why_cause_word((enum why_cause)cause));
    }
    CU_ASSERT_FALSE(why_cause_is_wait(WHY_CALLS_SYSTEM));
    CU_ASSERT_FALSE(why_cause_is_wait(WHY_READY));
    CU_ASSERT_TRUE(why_cause_is_wait(WHY_LOCK));
    CU_ASSERT_TRUE(why_cause_is_wait(WHY_OTHER));
}

void sprof_suite_why_cause(void);
void sprof_suite_why_cause(void)
{
    CU_pSuite suite = CU_add_suite("why/cause", NULL, NULL);
    CU_add_test(suite, "causes", test_causes);
    CU_add_test(suite, "names stand in for states", test_names_stand_in_for_states);
    CU_add_test(suite, "every cause has words", test_every_cause_has_words);
}
