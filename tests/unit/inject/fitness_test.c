/* Which threads may be borrowed to call the loader, by where they stand. */
#include "inject/code.h"
#include "inject/inject.h"
#include "tests/unit/inject/child.h"
#include "tests/unit/sanitized.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* What a child does in its first thread, and why that thread cannot be borrowed (NULL: it can). */
struct stand {
    void (*begin)(struct child_shared *shared);
    const char *unfit;
};

struct asked {
    struct inject_code *code;
    struct inject_stop stop;
    const char *unfit;
};

static void ask(void *context)
{
    struct asked *asked = context;
    asked->unfit = inject_code_unfit(asked->code, &asked->stop.threads.items[0].registers);
}

static void check(const struct stand *stand)
{
    struct child child = child_make(stand->begin);
    struct asked asked = {0};
    struct sprof_error error = {0};
    child_wait(&child, 1);
    for (int i = 0; i < 5; i++) /* until it stands there: it has said so just before */
        child_pause();
    CU_ASSERT_EQUAL_FATAL(inject_code_open(&asked.code, child.pid, NULL, &error), 0);
    CU_ASSERT(inject_code_dlopen(asked.code) && inject_code_ways(asked.code)->signal_return);
    /* The child has the libraries of the test where that has them. */
    CU_ASSERT_EQUAL(inject_code_dlclose(asked.code), (uintptr_t)dlsym(RTLD_DEFAULT, "dlclose"));
    const char *text = "";
    for (int i = 0; i < 50; i++) {
        CU_ASSERT_EQUAL_FATAL(inject_stop_while(&asked.stop, child.pid, ask, &asked, &error), 0);
        text = asked.unfit ? asked.unfit : "";
        if (!strcmp(text, stand->unfit ? stand->unfit : ""))
            break;
        child_pause(); /* it is on its way */
    }
    CU_ASSERT_STRING_EQUAL(text, stand->unfit ? stand->unfit : "");
    sprof_vec_release(&asked.stop.threads);
    inject_code_free(asked.code);
    child.shared->returned = 1;
    kill(child.pid, SIGKILL);
    child_end(&child);
}

/* == Where it stands == */

static void spin(struct child_shared *shared)
{
    shared->is_ready++;
    while (!shared->returned)
        shared->turns++;
}

static struct child_shared *of_callback;

static int wait_in_callback(const void *a, const void *b)
{
    (void)a;
    (void)b;
    of_callback->is_ready++;
    while (!of_callback->returned)
        pause();
    return 0;
}

/* libc may hold a lock while it calls back. */
static void be_called_by_libc(struct child_shared *shared)
{
    int numbers[] = {2, 1};
    of_callback = shared;
    qsort(numbers, 2, sizeof *numbers, wait_in_callback);
}

static void wait_in_handler(int number)
{
    (void)number;
    of_callback->is_ready++;
    for (;;)
        pause();
}

static void handle(struct child_shared *shared, int flags)
{
    static char stack[64 << 10];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = wait_in_handler, .sa_flags = flags};
    of_callback = shared;
    sigaltstack(&alternate, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

static void be_on_another_stack(struct child_shared *shared)
{
    handle(shared, SA_ONSTACK);
}

static void test_fit(void)
{
    check(&(struct stand){NULL, NULL}); /* it waits in read(2) */
    check(&(struct stand){spin, NULL});
}

static void test_unfit(void)
{
    check(&(struct stand){be_called_by_libc, "is called by libc"});
    check(&(struct stand){be_on_another_stack, "is in a signal handler on another stack"});
}

/* A process that is gone has no code. */
static void test_gone(void)
{
    struct inject_code *code = NULL;
    struct sprof_error error = {0};
    struct child child = child_make(NULL);
    child_end(&child);
    CU_ASSERT(inject_code_open(&code, child.pid, NULL, &error) < 0);
    CU_ASSERT_PTR_NULL(code);
    inject_code_free(code);
}

void sprof_suite_inject_fitness(void);

void sprof_suite_inject_fitness(void)
{
    if (SPROF_TEST_SANITIZED) /* no thread of a program with a malloc of its own is borrowed */
        return;
    CU_pSuite suite = CU_add_suite("inject/fitness", NULL, NULL);
    CU_add_test(suite, "threads that can be borrowed", test_fit);
    CU_add_test(suite, "threads that cannot", test_unfit);
    CU_add_test(suite, "a process that is gone", test_gone);
}
