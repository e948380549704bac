/* A thread of a child makes calls for the test, and goes on as before. */
#include "inject/borrowed.h"
#include "inject/inject.h"
#include "tests/unit/inject/child.h"
#include "tests/unit/sanitized.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

struct data {
    uint64_t value, sum;
    int32_t pid, tid;
};

/* The child has this function at the same address. */
static void called(struct data *data, uint64_t second)
{
    data->sum = data->value + second;
    data->pid = getpid();
    data->tid = (int32_t)syscall(SYS_gettid);
    errno = EXDEV; /* the thread's own must be back behind it */
}

static void fault(struct data *data, uint64_t second)
{
    (void)second;
    *(volatile uint64_t *)data->value = 1;
}

struct errand {
    struct child *child;
    int result, call_result;
    struct data data;
    void (*function)(struct data *data, uint64_t second);
    struct sprof_error error;
};

static int go(void *context)
{
    struct errand *errand = context;
    struct inject_borrowed *borrowed = calloc(1, sizeof *borrowed);
    struct inject_entrance entrance = {0};
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)errand->child->pid);
    const int memory_fd = open(path, O_RDWR | O_CLOEXEC);
    errand->result =
        memory_fd < 0 || !borrowed
            ? SPROF_EIO
            : inject_code_open(&entrance.code, errand->child->pid, NULL, &errand->error);
    if (!errand->result)
        errand->result = inject_borrowed_take(borrowed, errand->child->pid, memory_fd, &entrance,
                                              false, &errand->error);
    if (!errand->result)
        errand->call_result =
            inject_borrowed_call(borrowed, (uintptr_t)errand->function, &errand->data,
                                 sizeof errand->data, 30, &errand->error);
    if (!errand->result)
        inject_borrowed_release(borrowed);
    inject_code_free(entrance.code);
    free(borrowed);
    close(memory_fd);
    return 0;
}

static void run_errand(struct errand *errand)
{
    CU_ASSERT_EQUAL(inject_apart(go, errand, &errand->error), 0);
    CU_ASSERT_EQUAL(errand->result, 0);
    if (errand->result)
        printf("\n    %s", errand->error.message);
}

/* The function's results come back; the child's read(2) goes on as if nothing had been. */
static void test_function(void)
{
    struct child child = child_make(NULL);
    struct errand errand = {.child = &child, .function = called, .data = {.value = 12}};
    child_wait(&child, 1);
    for (int i = 0; i < 5; i++) {
        errand.data.sum = 0;
        run_errand(&errand);
        CU_ASSERT_EQUAL(errand.call_result, 0);
        CU_ASSERT_EQUAL(errand.data.sum, 42);
        CU_ASSERT_EQUAL(errand.data.pid, child.pid);
        CU_ASSERT_EQUAL(errand.data.tid, child.pid);
    }
    CU_ASSERT_EQUAL(child_end(&child), 9);
}

/* A fault in a call does not reach the program. */
static void test_fault(void)
{
    struct child child = child_make(NULL);
    struct errand errand = {.child = &child, .function = fault, .data = {.value = 16}};
    child_wait(&child, 1);
    run_errand(&errand);
    CU_ASSERT_EQUAL(errand.call_result, SPROF_ESTATE);
    CU_ASSERT_PTR_NOT_NULL(strstr(errand.error.message, "Segmentation fault"));
    CU_ASSERT_EQUAL(child_end(&child), 9);
}

static volatile double sums[4];

/* Counts with floating point all the time: state that calls must not change. */
static void *add_up(void *argument)
{
    struct child_shared *shared = argument;
    double a = 1, b = 1;
    shared->is_ready++;
    for (uint64_t i = 1; !shared->returned; i++) {
        a += 0.5;
        b += 0.5;
        if (a != b || a != 1 + 0.5 * (double)i)
            shared->errnum = 1;
        shared->turns = i;
    }
    sums[0] = a;
    return NULL;
}

static void use_vectors(struct data *data, uint64_t second)
{
    volatile double values[16];
    for (int i = 0; i < 16; i++)
        values[i] = (double)(data->value + second + (uint64_t)i) * 1.25;
    data->sum = (uint64_t)values[3];
}

static void begin_sums(struct child_shared *shared)
{
    add_up(shared); /* in the first thread: the one that is borrowed */
}

/* A thread that runs has its vector registers back behind a call. */
static void test_vectors(void)
{
    struct child child = child_make(begin_sums);
    struct errand errand = {.child = &child, .function = use_vectors, .data = {.value = 2}};
    child_wait(&child, 1);
    for (int i = 0; i < 10; i++) {
        const uint64_t turns = child.shared->turns;
        run_errand(&errand);
        CU_ASSERT_EQUAL(errand.data.sum, 43); /* 35 · 1.25 */
        for (int k = 0; k < 5000 && child.shared->turns == turns; k++)
            child_pause();
        CU_ASSERT(child.shared->turns > turns);
    }
    child.shared->returned = 1;
    CU_ASSERT_EQUAL(child.shared->errnum, 0);
    CU_ASSERT_EQUAL(child_end(&child), 9);
}

void sprof_suite_inject_borrowed(void);

void sprof_suite_inject_borrowed(void)
{
    if (SPROF_TEST_SANITIZED) /* no thread of a program with a malloc of its own is borrowed */
        return;
    CU_pSuite suite = CU_add_suite("inject/borrowed", NULL, NULL);
    CU_add_test(suite, "a function", test_function);
    CU_add_test(suite, "a fault", test_fault);
    CU_add_test(suite, "vector registers", test_vectors);
}
