/* The kernel's program follows calls through recursion, jumps out of functions, tail calls, other
 * stacks, clears and the execve of a command. */
#include "tests/unit/uprobe/probed.h"
#include "uprobe/calls.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

enum { OUTER = 3, INNER, AGAIN, LANDED, CALLS = 20 };

struct probing {
    struct uprobe_kernel kernel;
    struct uprobe_figures figures;
};

static void end_probing(struct probing *probing)
{
    uprobe_figures_release(&probing->figures);
    uprobe_kernel_close(&probing->kernel);
}

/* What a function has by now. */
static struct uprobe_stat read_stat(struct probing *probing, uint32_t function)
{
    const struct uprobe_stat *stat = probed_stat(&probing->kernel, &probing->figures, function);
    CU_ASSERT_PTR_NOT_NULL_FATAL(stat);
    return *stat;
}

static volatile int sum;

static PROBED void inner(int count)
{
    for (int i = 0; i < count; i++)
        sum += i;
}
static void (*volatile call_inner)(int) = inner;

static PROBED void outer(int count)
{
    for (int i = 0; i < count; i++)
        call_inner(100);
    sum++;
}
static void (*volatile call_outer)(int) = outer;

static void test_time_of_callees(void)
{
    struct probing probing = {0};
    if (!probed_open(&probing.kernel))
        return;
    probed_function(&probing.kernel, (const void *)(uintptr_t)outer, OUTER);
    probed_function(&probing.kernel, (const void *)(uintptr_t)inner, INNER);
    call_outer(CALLS);
    call_outer(0);
    const struct uprobe_stat out = read_stat(&probing, OUTER), in = read_stat(&probing, INNER);
    CU_ASSERT_EQUAL(out.calls, 2);
    CU_ASSERT_EQUAL(out.child_calls, CALLS);
    CU_ASSERT_EQUAL(in.calls, CALLS);
    CU_ASSERT_EQUAL(in.child_calls, 0);
    CU_ASSERT_EQUAL(in.total, in.self);
    CU_ASSERT_EQUAL(out.total - out.self, in.total);
    CU_ASSERT(in.max >= UPROBE_LONG - in.most_below);
    CU_ASSERT_EQUAL(out.recursive + in.recursive, 0);

    /* Of calls that are counted alone the caller has the number. */
    probing.kernel.control->tiers[INNER] = UPROBE_COUNT;
    call_outer(CALLS);
    CU_ASSERT_EQUAL(read_stat(&probing, OUTER).child_counted, CALLS);
    CU_ASSERT_EQUAL(read_stat(&probing, OUTER).child_calls, CALLS);
    CU_ASSERT_EQUAL(read_stat(&probing, INNER).counted, CALLS);
    CU_ASSERT_EQUAL(read_stat(&probing, INNER).calls, CALLS);
    end_probing(&probing);
}

static PROBED int again(int depth);
static int (*volatile call_again)(int) = again;
static PROBED int again(int depth)
{
    sum += depth;
    return depth ? call_again(depth - 1) + sum : 0;
}

/* The time of a recursion is that of its outermost call. */
static void test_recursion(void)
{
    enum { DEPTH = 5 };
    struct probing probing = {0};
    if (!probed_open(&probing.kernel))
        return;
    probed_function(&probing.kernel, (const void *)(uintptr_t)again, AGAIN);
    call_again(DEPTH);
    const struct uprobe_stat stat = read_stat(&probing, AGAIN);
    CU_ASSERT_EQUAL(stat.calls, DEPTH + 1);
    CU_ASSERT_EQUAL(stat.recursive, DEPTH);
    CU_ASSERT_EQUAL(stat.ends[UPROBE_RETURNS], DEPTH + 1);
    CU_ASSERT_EQUAL(stat.total, stat.self);
    end_probing(&probing);
}

/* Calls that are open beyond the room for them are counted, and all later ones are timed. */
static void test_deep(void)
{
    enum { DEPTH = 200, TIMED = UPROBE_FRAMES - 1 };
    struct probing probing = {0};
    if (!probed_open(&probing.kernel))
        return;
    probed_function(&probing.kernel, (const void *)(uintptr_t)again, AGAIN);
    call_again(DEPTH - 1);
    struct uprobe_stat stat = read_stat(&probing, AGAIN);
    CU_ASSERT_EQUAL(stat.calls, TIMED);
    CU_ASSERT_EQUAL(stat.counted, DEPTH - TIMED);
    CU_ASSERT_EQUAL(stat.child_counted, DEPTH - TIMED);
    CU_ASSERT_EQUAL(stat.ends[UPROBE_RETURNS], TIMED);
    call_again(0);
    stat = read_stat(&probing, AGAIN);
    CU_ASSERT_EQUAL(stat.calls, TIMED + 1);
    CU_ASSERT_EQUAL(stat.counted, DEPTH - TIMED);
    end_probing(&probing);
}

static jmp_buf back;

static PROBED void jump_back(int value)
{
    sum++;
    longjmp(back, value);
}

static PROBED void landed(void)
{
    sum++;
}
static void (*volatile call_landed)(void) = landed;

/* Calls that were jumped out of end at the next probe outside of them. */
static void test_left(void)
{
    struct probing probing = {0};
    if (!probed_open(&probing.kernel))
        return;
    const void *code = (const void *)(uintptr_t)jump_back;
    const struct uprobe_site sites[] = {
        {probed_offset(code), UPROBE_COOKIE(INNER, probed_entry(code), UPROBE_EXIT_NOT, 0), INNER},
        {probed_offset((const void *)(uintptr_t)landed),
         UPROBE_COOKIE(0, UPROBE_ENTRY_NOT, UPROBE_EXIT_LEAVE, 0), LANDED}};
    probed_place(&probing.kernel, sites, 2, getpid());
    probed_function(&probing.kernel, (const void *)(uintptr_t)outer, OUTER);
    probing.kernel.control->tiers[INNER] = UPROBE_TIME;
    call_inner = jump_back;
    if (!setjmp(back))
        call_outer(1);
    call_inner = inner;
    CU_ASSERT_EQUAL(read_stat(&probing, OUTER).ends[UPROBE_IS_LEFT], 0);
    call_landed();
    const struct uprobe_stat out = read_stat(&probing, OUTER), in = read_stat(&probing, INNER);
    CU_ASSERT_EQUAL(in.ends[UPROBE_IS_LEFT], 1);
    CU_ASSERT_EQUAL(out.ends[UPROBE_IS_LEFT], 1);
    CU_ASSERT_EQUAL(out.ends[UPROBE_RETURNS], 0);
    CU_ASSERT_EQUAL(out.child_calls, 1);
    CU_ASSERT_EQUAL(in.uncertain + out.uncertain, 0);
    CU_ASSERT(in.total > 0 && out.total >= in.total);
    end_probing(&probing);
}

/* The next call at the same address of the stack ends one whose end is not seen. */
static void test_unseen_ends(void)
{
    struct probing probing = {0};
    if (!probed_open(&probing.kernel))
        return;
    const void *code = (const void *)(uintptr_t)landed;
    const struct uprobe_site site = {
        probed_offset(code), UPROBE_COOKIE(LANDED, probed_entry(code), UPROBE_EXIT_NOT, 0), LANDED};
    probed_place(&probing.kernel, &site, 1, getpid());
    probing.kernel.control->tiers[LANDED] = UPROBE_TIME;
    for (int i = 0; i < CALLS; i++)
        call_landed();
    const struct uprobe_stat stat = read_stat(&probing, LANDED);
    CU_ASSERT_EQUAL(stat.calls, CALLS);
    CU_ASSERT_EQUAL(stat.ends[UPROBE_IS_LEFT], CALLS - 1);
    CU_ASSERT_EQUAL(stat.recursive, 0);
    end_probing(&probing);
}

/* Tail calls, and functions whose entry is their end. */
static void test_tails(void)
{
    struct probing probing = {0};
    if (!probed_open(&probing.kernel))
        return;
    const struct arch_uprobe_subject *subject = arch_uprobe_subjects;
    while (!subject->jumps)
        subject++;
    const void *code = (const void *)(uintptr_t)subject->function,
               *empty = (const void *)(uintptr_t)landed;
    const struct uprobe_site sites[] = {
        {probed_offset(code), UPROBE_COOKIE(INNER, probed_entry(code), UPROBE_EXIT_NOT, 0), INNER},
        {probed_offset(subject->end), UPROBE_COOKIE(0, UPROBE_ENTRY_NOT, UPROBE_EXIT_TAIL, 0),
         INNER},
        {probed_offset(empty), UPROBE_COOKIE(LANDED, probed_entry(empty), UPROBE_EXIT_RETURN, 0),
         LANDED}};
    probed_place(&probing.kernel, sites, 3, getpid());
    probing.kernel.control->tiers[INNER] = probing.kernel.control->tiers[LANDED] = UPROBE_TIME;
    for (int i = 0; i < CALLS; i++) {
        subject->function();
        call_landed();
    }
    const struct uprobe_stat tail = read_stat(&probing, INNER), whole = read_stat(&probing, LANDED);
    CU_ASSERT_EQUAL(tail.calls, CALLS);
    CU_ASSERT_EQUAL(tail.ends[UPROBE_TAILS], CALLS);
    CU_ASSERT_EQUAL(tail.ends[UPROBE_IS_LEFT], 0);
    CU_ASSERT_EQUAL(whole.calls, CALLS);
    CU_ASSERT_EQUAL(whole.ends[UPROBE_RETURNS], CALLS);
    CU_ASSERT_EQUAL(whole.total, 0);
    CU_ASSERT_EQUAL(whole.buckets[0], CALLS);
    end_probing(&probing);
}

static ucontext_t main_context, other_context;

static PROBED void leave_stack(int more)
{
    sum += more;
    swapcontext(&other_context, &main_context);
    sum++;
}
static void (*volatile call_leave_stack)(int) = leave_stack;

static void on_other_stack(void)
{
    call_leave_stack(1);
}

/* Comes back to the other stack where it is to. */
static PROBED void go_to_other_stack(bool comes_back)
{
    swapcontext(&main_context, &other_context);
    call_landed();
    if (comes_back)
        swapcontext(&main_context, &other_context);
    sum++;
}
static void (*volatile call_go)(bool) = go_to_other_stack;

static struct uprobe_stat call_on_other_stack(bool comes_back)
{
    enum { STACK = 256 << 10 };
    struct probing probing = {0};
    if (!probed_open(&probing.kernel))
        return (struct uprobe_stat){0};
    probed_function(&probing.kernel, (const void *)(uintptr_t)go_to_other_stack, OUTER);
    probed_function(&probing.kernel, (const void *)(uintptr_t)leave_stack, INNER);
    probed_function(&probing.kernel, (const void *)(uintptr_t)landed, LANDED);
    getcontext(&other_context);
    /* far below this thread's stack */
    void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(stack, MAP_FAILED);
    other_context.uc_stack.ss_sp = stack;
    other_context.uc_stack.ss_size = STACK;
    other_context.uc_link = &main_context;
    makecontext(&other_context, on_other_stack, 0);
    call_go(comes_back);
    const struct uprobe_stat out = read_stat(&probing, OUTER), in = read_stat(&probing, INNER),
                             between = read_stat(&probing, LANDED);
    CU_ASSERT_EQUAL(out.ends[UPROBE_RETURNS], 1);
    CU_ASSERT_EQUAL(out.uncertain, 0);
    CU_ASSERT_EQUAL(between.ends[UPROBE_RETURNS], 1);
    munmap(stack, STACK);
    end_probing(&probing);
    return in;
}

/* A call on another stack is open until it returns there. Where it does not, it ends with the call
 * outside of it, and that this is a guess is counted. */
static void test_other_stack(void)
{
    struct uprobe_stat stat = call_on_other_stack(true);
    if (!stat.calls)
        return;
    CU_ASSERT_EQUAL(stat.ends[UPROBE_RETURNS], 1);
    CU_ASSERT_EQUAL(stat.uncertain, 0);
    stat = call_on_other_stack(false);
    CU_ASSERT_EQUAL(stat.ends[UPROBE_IS_LEFT], 1);
    CU_ASSERT_EQUAL(stat.uncertain, 1);
}

static struct uprobe_control *cleared;
static uint64_t before_clear_ns;

static void nap_inside(int unused)
{
    const struct timespec nap = {.tv_nsec = 30000000};
    (void)unused;
    nanosleep(&nap, NULL);
}

static void clear_inside(int unused)
{
    nap_inside(unused);
    before_clear_ns = sprof_clock_monotonic_ns();
    cleared->cleared_ns = before_clear_ns;
    cleared->period++;
}

/* Of a call that is open at a clear the time from then on counts, and of those before only their
 * number; the longest is that of the new period. */
static void test_cleared(void)
{
    struct probing probing = {0};
    if (!probed_open(&probing.kernel))
        return;
    probed_function(&probing.kernel, (const void *)(uintptr_t)outer, OUTER);
    cleared = probing.kernel.control;
    call_inner = clear_inside;
    call_outer(1);
    const uint64_t end_ns = sprof_clock_monotonic_ns();
    call_inner = nap_inside;
    struct uprobe_stat stat = read_stat(&probing, OUTER);
    CU_ASSERT_EQUAL(stat.calls, 1);
    CU_ASSERT(stat.total > 0 && (uint64_t)stat.total <= end_ns - before_clear_ns);
    CU_ASSERT_EQUAL(stat.max, (uint64_t)stat.total);
    CU_ASSERT_EQUAL(stat.period, cleared->period);
    CU_ASSERT_EQUAL(UPROBE_LONG - stat.most_below, stat.max);
    call_outer(1);
    call_inner = inner;
    const int64_t before = read_stat(&probing, OUTER).total;
    cleared->period++;
    call_outer(0);
    stat = read_stat(&probing, OUTER);
    CU_ASSERT_EQUAL(stat.max, (uint64_t)(stat.total - before));
    end_probing(&probing);
}

static void *call_in_thread(void *context)
{
    struct probing *probing = context;
    call_outer(0);
    call_outer(0);
    CU_ASSERT_EQUAL(read_stat(probing, OUTER).calls, 2);
    return NULL;
}

static void test_threads(void)
{
    struct probing probing = {0};
    pthread_t thread;
    if (!probed_open(&probing.kernel))
        return;
    probed_function(&probing.kernel, (const void *)(uintptr_t)outer, OUTER);
    call_outer(0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, call_in_thread, &probing), 0);
    pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(read_stat(&probing, OUTER).calls, 1);
    CU_ASSERT_EQUAL(probing.figures.keys.count, 2);
    CU_ASSERT_EQUAL(probing.kernel.control->lost, 0);
    end_probing(&probing);
}

/* The child stops, goes on by a signal, and exits with `ends`. */
static void check_stop(const struct uprobe_kernel *kernel, pid_t child, int ends)
{
    int status = 0;
    CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, WUNTRACED), child);
    CU_ASSERT_TRUE_FATAL(WIFSTOPPED(status));
    CU_ASSERT_EQUAL(WSTOPSIG(status), SIGSTOP);
    CU_ASSERT_EQUAL(kernel->control->stopped, 1);
    kill(child, SIGCONT);
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_TRUE(WIFEXITED(status));
    CU_ASSERT_EQUAL(WEXITSTATUS(status), ends);
}

/* A child that waits for a byte, and then does one of two things. */
static pid_t make_child(int pipe_fd[2], bool executes)
{
    CU_ASSERT_EQUAL_FATAL(pipe(pipe_fd), 0);
    const pid_t child = fork();
    if (child)
        return child;
    char byte;
    if (read(pipe_fd[0], &byte, 1) == 1 && executes)
        execl("/bin/true", "true", (char *)NULL);
    call_landed();
    _exit(7);
}

static void let_go(int pipe_fd[2])
{
    CU_ASSERT_EQUAL(write(pipe_fd[1], "", 1), 1);
    close(pipe_fd[0]);
    close(pipe_fd[1]);
}

/* A command is stopped at its execve, once, and a program at a site that stops it. */
static void test_stops(void)
{
    struct uprobe_kernel kernel;
    struct sprof_error error = {0};
    int pipe_fd[2];
    if (!probed_open(&kernel))
        return;
    pid_t child = make_child(pipe_fd, true);
    CU_ASSERT_EQUAL(uprobe_kernel_stop_at_exec(&kernel, child, &error), 0);
    let_go(pipe_fd);
    check_stop(&kernel, child, 0);
    CU_ASSERT_EQUAL(kernel.control->stop_at_exec, 0);

    kernel.control->stopped = 0;
    child = make_child(pipe_fd, false);
    const struct uprobe_site site = {probed_offset((const void *)(uintptr_t)landed),
                                     UPROBE_COOKIE(0, UPROBE_ENTRY_NOT, UPROBE_EXIT_STOP, 0),
                                     LANDED};
    probed_place(&kernel, &site, 1, child);
    let_go(pipe_fd);
    check_stop(&kernel, child, 7);
    uprobe_kernel_close(&kernel);
}

/* Each part of a cookie is found again, whatever the others are. */
static void test_cookies(void)
{
    for (uint32_t i = 0; i < 64; i++) {
        const uint32_t function = i % 2 ? UPROBE_FUNCTIONS - 1 : i, entry = i / 2 % UPROBE_ENTRIES,
                       exit = i % (UPROBE_EXIT_STOP + 1), condition = i % 16;
        const uint64_t cookie = UPROBE_COOKIE(function, entry, exit, condition);
        CU_ASSERT_EQUAL(UPROBE_COOKIE_FUNCTION(cookie), function);
        CU_ASSERT_EQUAL(UPROBE_COOKIE_ENTRY(cookie), entry);
        CU_ASSERT_EQUAL(UPROBE_COOKIE_EXIT(cookie), exit);
        CU_ASSERT_EQUAL(UPROBE_COOKIE_CONDITION(cookie), condition);
        CU_ASSERT_EQUAL(UPROBE_COOKIE_HOW(cookie), entry || exit == UPROBE_EXIT_LEAVE
                                                       ? UPROBE_IS_LEFT
                                                   : exit == UPROBE_EXIT_RETURN ? UPROBE_RETURNS
                                                                                : UPROBE_TAILS);
    }
}

void sprof_suite_uprobe_calls(void);

void sprof_suite_uprobe_calls(void)
{
    CU_pSuite suite = CU_add_suite("uprobe/calls", NULL, NULL);
    CU_add_test(suite, "time of callees", test_time_of_callees);
    CU_add_test(suite, "recursion", test_recursion);
    CU_add_test(suite, "more open calls than room", test_deep);
    CU_add_test(suite, "jumps out of calls", test_left);
    CU_add_test(suite, "ends that are not seen", test_unseen_ends);
    CU_add_test(suite, "tail calls", test_tails);
    CU_add_test(suite, "another stack", test_other_stack);
    CU_add_test(suite, "a clear in a call", test_cleared);
    CU_add_test(suite, "threads", test_threads);
    CU_add_test(suite, "stopping a command", test_stops);
    CU_add_test(suite, "cookies", test_cookies);
}
