/* Stacks of this very process, beside libunwind's view of them. */
#include "tests/unit/unwind/own_process.h"

#include <CUnit/CUnit.h>
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static struct own_capture *taken;
static size_t wanted_bytes;

#define NOINLINE __attribute__((noinline))
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

/* What a test does with a capture: walk it, compare, count. */
static void expect_whole(bool live, bool stitched)
{
    struct own_process own;
    own_process_init(&own);
    const struct unwind_stack stack = own_process_walk(&own, taken, live);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_ROOT);
    CU_ASSERT_EQUAL(stack.stitched, stitched);
    CU_ASSERT_TRUE(own_capture_agrees(taken, &stack));
    for (size_t i = 0; i < stack.count; i++)
        CU_ASSERT(stack.frames[i].found_by <= MODEL_BY_SIGNAL);
    own_process_release(&own);
}

static int begin(void)
{
    static struct own_capture capture;
    own_capture_init(&capture);
    taken = &capture;
    return 0;
}

static int end(void)
{
    own_capture_release(taken);
    return 0;
}

/* == Calls == */

static NOINLINE void innermost(void)
{
    own_capture_take(taken, wanted_bytes);
    KEEP_FRAME();
}

static NOINLINE void with_alloca(size_t size)
{
    volatile char *room = alloca(size);
    room[0] = 1;
    innermost();
    KEEP_FRAME();
}

static NOINLINE void realigned(void)
{
    _Alignas(128) volatile char room[256];
    room[0] = 1;
    with_alloca((size_t)(unsigned char)room[0] * 333);
    KEEP_FRAME();
}

static void test_nested(void)
{
    wanted_bytes = OWN_STACK;
    realigned();
    expect_whole(false, false);
}

static int compare(const void *left, const void *right)
{
    innermost();
    return *(const int *)left - *(const int *)right;
}

static void test_qsort_callback(void)
{
    int numbers[] = {3, 1, 2};
    wanted_bytes = OWN_STACK;
    qsort(numbers, 3, sizeof numbers[0], compare);
    expect_whole(false, false);
}

static void test_after_longjmp(void)
{
    jmp_buf place;
    volatile int turns = 0;
    wanted_bytes = OWN_STACK;
    setjmp(place);
    if (!turns++)
        longjmp(place, 1);
    innermost();
    expect_whole(false, false);
}

/* == Threads == */

static void *thread_main(void *argument)
{
    realigned();
    return argument;
}

static void test_thread_root(void)
{
    pthread_t thread;
    wanted_bytes = OWN_STACK;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, thread_main, NULL), 0);
    pthread_join(thread, NULL);
    expect_whole(false, false);
}

static ucontext_t coroutine_context, main_context;

static void coroutine(void)
{
    innermost();
}

/* glibc's coroutines start in __start_context, which does not say that it has no caller. */
static void test_coroutine(void)
{
    enum { ROOM = 256 << 10 };
    char *room = malloc(ROOM);
    wanted_bytes = OWN_STACK;
    getcontext(&coroutine_context);
    coroutine_context.uc_stack.ss_sp = room;
    coroutine_context.uc_stack.ss_size = ROOM;
    coroutine_context.uc_link = &main_context;
    makecontext(&coroutine_context, coroutine, 0);
    swapcontext(&main_context, &coroutine_context);
    struct own_process own;
    own_process_init(&own);
    const struct unwind_stack stack = own_process_walk(&own, taken, false);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_ROOT);
    CU_ASSERT(stack.count >= 3);
    CU_ASSERT_TRUE(own_capture_agrees(taken, &stack));
    own_process_release(&own);
    free(room);
}

/* == Signals == */

static void on_signal(int number)
{
    (void)number;
    realigned();
}

static void raise_with(int flags)
{
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    signal(SIGUSR1, SIG_DFL);
}

static size_t signal_frames(const struct unwind_stack *stack)
{
    size_t count = 0;
    for (size_t i = 0; i < stack->count; i++)
        count += stack->frames[i].found_by == MODEL_BY_SIGNAL;
    return count;
}

static void expect_one_signal(bool live)
{
    struct own_process own;
    own_process_init(&own);
    const struct unwind_stack stack = own_process_walk(&own, taken, live);
    CU_ASSERT_EQUAL(signal_frames(&stack), 1);
    own_process_release(&own);
}

static void test_signal_handler(void)
{
    wanted_bytes = OWN_STACK;
    raise_with(0);
    expect_whole(false, false);
    expect_one_signal(false);
}

static NOINLINE void walk_in_handler(void)
{
    realigned();
    expect_whole(true, true);
    expect_one_signal(true);
}

static void on_other_stack(int number)
{
    (void)number;
    walk_in_handler();
}

/* The interrupted stack is not in the slice; it is read while the handler still runs. */
static void test_alternate_stack(void)
{
    enum { ROOM = 256 << 10 };
    stack_t alternate = {.ss_sp = malloc(ROOM), .ss_size = ROOM}, before;
    const struct sigaction action = {.sa_handler = on_other_stack, .sa_flags = SA_ONSTACK};
    wanted_bytes = ROOM / 2;
    CU_ASSERT_EQUAL_FATAL(sigaltstack(&alternate, &before), 0);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    signal(SIGUSR1, SIG_DFL);
    sigaltstack(&before, NULL);
    free(alternate.ss_sp);
}

/* == Depth == */

/* Walks the stack it stands on; returns the number of frames. */
static NOINLINE size_t walk_from_below(void)
{
    struct own_process own;
    innermost();
    own_process_init(&own);
    struct unwind_stack stack = own_process_walk(&own, taken, true);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_ROOT);
    CU_ASSERT_TRUE(stack.stitched);
    CU_ASSERT_TRUE(own_capture_agrees(taken, &stack));
    const size_t whole = stack.count;
    stack = own_process_walk(&own, taken, false);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_TRUNCATED);
    CU_ASSERT(stack.count < whole);
    own_process_release(&own);
    return whole;
}

static NOINLINE size_t recurse(unsigned depth)
{
    const size_t frames = depth ? recurse(depth - 1) : walk_from_below();
    KEEP_FRAME();
    return frames;
}

static void test_deep_recursion(void)
{
    wanted_bytes = 16 << 10; /* enough for the frames that are gone when the stack is walked */
    const size_t shallow = recurse(2000), deep = recurse(10000);
    CU_ASSERT_EQUAL(deep - shallow, 10000 - 2000);
}

/* The root by the symbols of the start functions, not by the unwinder's word. */
static void test_root_is_the_start(void)
{
    wanted_bytes = OWN_STACK;
    innermost();
    struct own_process own;
    own_process_init(&own);
    const struct unwind_stack stack = own_process_walk(&own, taken, false);
    extern void _start(void);
    const uint64_t start = (uint64_t)(uintptr_t)_start;
    CU_ASSERT(stack.stopped_at > start && stack.stopped_at < start + 64);
    own_process_release(&own);
}

void sprof_suite_unwind_live_stack(void);
void sprof_suite_unwind_live_stack(void)
{
    CU_pSuite suite = CU_add_suite("unwind/live_stack", begin, end);
    CU_add_test(suite, "nested, realigned, alloca", test_nested);
    CU_add_test(suite, "qsort callback", test_qsort_callback);
    CU_add_test(suite, "after longjmp", test_after_longjmp);
    CU_add_test(suite, "a thread's root", test_thread_root);
    CU_add_test(suite, "coroutine", test_coroutine);
    CU_add_test(suite, "signal handler", test_signal_handler);
    CU_add_test(suite, "signal handler on another stack", test_alternate_stack);
    CU_add_test(suite, "10 000 frames beyond a small slice", test_deep_recursion);
    CU_add_test(suite, "the root is _start", test_root_is_the_start);
}
