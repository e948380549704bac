/* Gives each thread of a sampled program a slot and a timer, from its first to its last
 * instruction. */
#include "agent/preload/preload.h"
#include SPROF_ARCH_CONTEXT_HEADER

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* == Slots == */

static _Atomic uint64_t taken[AGENT_SLOTS / 64];
static _Atomic uint32_t live_threads;
static _Atomic bool serves_requests;

/* Early slots have larger rings, with pages in use. Safe in the handler. */
static struct agent_thread *claim_slot(void)
{
    for (size_t word = 0; word < AGENT_SLOTS / 64; word++) {
        uint64_t bits = atomic_load_explicit(&taken[word], memory_order_relaxed);
        while (~bits) {
            const unsigned bit = (unsigned)__builtin_ctzll(~bits);
            if (!atomic_compare_exchange_weak(&taken[word], &bits, bits | UINT64_C(1) << bit))
                continue;
            if (word * 64 + bit < atomic_load(&agent_process.slots))
                return &agent_threads[word * 64 + bit];
            atomic_fetch_and(&taken[word], ~(UINT64_C(1) << bit));
            return NULL;
        }
    }
    return NULL;
}

static uint32_t end_of_taken(void)
{
    uint32_t end = 0;
    for (uint32_t word = 0; word < AGENT_SLOTS / 64; word++) {
        const uint64_t bits = atomic_load(&taken[word]);
        if (bits)
            end = word * 64 + 64 - (uint32_t)__builtin_clzll(bits);
    }
    return end;
}

/* Unmaps unused slots when the program locks memory, which is limited. A thread that takes one sees
 * the new bound, or is found by the second check. */
static void shrink(void)
{
    enum { SPARE = 8 };
    struct agent_shared *shared = agent_process.shared;
    const uint32_t before = atomic_load(&agent_process.slots);
    uint32_t slots = end_of_taken() + SPARE;
    if (slots >= before)
        return;
    atomic_store(&agent_process.slots, slots);
    if (end_of_taken() > slots)
        atomic_store(&agent_process.slots, slots = end_of_taken());
    const size_t end = before == AGENT_SLOTS ? agent_tail_offset(0) : agent_process.mapped_bytes;
    munmap((uint8_t *)shared + agent_ring_offset(slots), end - agent_ring_offset(slots));
    for (size_t i = 0; agent_process.has_tails && i < AGENT_TAILS; i++)
        if (!atomic_exchange(&shared->control.tail[i].taken, 1))
            munmap((uint8_t *)shared + agent_tail_offset(i), AGENT_TAIL_BYTES);
}

static void count_refused(enum agent_refusal why)
{
    atomic_fetch_add_explicit(&agent_process.shared->control.refused[why], 1, memory_order_relaxed);
}

static struct agent_thread *claim(void)
{
    struct agent_thread *thread = claim_slot();
    if (!thread)
        return NULL;
    struct agent_shared *shared = agent_process.shared;
    const size_t slot = (size_t)(thread - agent_threads);
    const uint64_t head = thread->head; /* the reader continues where the last owner ended */
    *thread = (struct agent_thread){
        .ring = (uint8_t *)shared + agent_ring_offset(slot),
        .ring_bytes = agent_ring_bytes(slot, agent_process.ring_shift),
        .head = head,
        .pid = agent_process.pid,
        .timer = -1,
        .poke = -1,
    };
    atomic_fetch_add_explicit(&live_threads, 1, memory_order_relaxed);
    uint32_t used = atomic_load_explicit(&shared->control.slots_used, memory_order_relaxed);
    while (used <= slot &&
           !atomic_compare_exchange_weak(&shared->control.slots_used, &used, (uint32_t)slot + 1))
        ;
    return thread;
}

struct agent_thread *agent_thread_claim(void)
{
    struct agent_thread *thread = claim();
    if (!thread)
        count_refused(AGENT_REFUSED_SLOT);
    return thread;
}

static void give_back(struct agent_thread *thread)
{
    const size_t slot = (size_t)(thread - agent_threads);
    atomic_store_explicit(&agent_process.shared->slots[slot].tid, 0, memory_order_release);
    atomic_fetch_sub_explicit(&live_threads, 1, memory_order_relaxed);
    atomic_fetch_and_explicit(&taken[slot / 64], ~(UINT64_C(1) << slot % 64), memory_order_release);
}

void agent_threads_reset(void)
{
    memset(taken, 0, sizeof taken);
    atomic_store(&serves_requests, false);
    atomic_store(&live_threads, 0);
    for (size_t i = 0; i < AGENT_SLOTS && agent_threads[i].ring; i++)
        agent_threads[i].head = 0;
}

/* == Timers == */

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
}

static void arm(struct agent_thread *thread, uint64_t first_ns, uint64_t interval_ns)
{
    const struct itimerspec when = {timespec_of(interval_ns), timespec_of(first_ns)};
    syscall(SYS_timer_settime, atomic_load_explicit(&thread->timer, memory_order_relaxed), 0, &when,
            NULL);
}

/* A timer of exactly a tick often misses it, so it is set shorter. */
void agent_timer_set(struct agent_thread *thread, uint64_t first_ns, uint64_t period_ns)
{
    enum { ASKED_NS = 1000000 };
    const bool asks_less = period_ns > ASKED_NS && period_ns < agent_process.tick_ns * 3 / 2;
    thread->period_ns = period_ns;
    arm(thread, first_ns, asks_less ? (uint64_t)ASKED_NS : period_ns);
}

uint64_t agent_random_below(uint64_t limit, uint64_t now_ns, pid_t tid)
{
    uint64_t value = now_ns ^ (uint64_t)tid << 32;
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return (value ^ value >> 31) % limit;
}

static uint64_t random_below(uint64_t limit, pid_t tid)
{
    return agent_random_below(limit, agent_clock_ns(CLOCK_MONOTONIC), tid);
}

/* CPU timers expire at ticks. The first expiry is random within a period of whole ticks and stands
 * for it, so short threads are right on average. */
static void start_cpu_timer(struct agent_thread *thread)
{
    const uint64_t tick_ns = agent_process.tick_ns;
    const uint64_t period_ns =
        atomic_load_explicit(&agent_process.shared->control.period_ns, memory_order_relaxed);
    const uint64_t ticks = period_ns > tick_ns ? (period_ns + tick_ns / 2) / tick_ns : 1;
    const uint64_t before = ticks > 1 ? random_below(ticks, thread->tid) * tick_ns : 0;
    thread->first_ns = ticks * tick_ns;
    agent_timer_set(thread, before ? before : 1, period_ns);
}

bool agent_timer_is(enum agent_clock clock)
{
    return atomic_load_explicit(&agent_process.shared->control.clock, memory_order_relaxed) ==
           clock;
}

static uint64_t wall_period_ns(void)
{
    const uint32_t threads = atomic_load_explicit(&live_threads, memory_order_relaxed);
    const uint64_t period_ns =
        atomic_load_explicit(&agent_process.shared->control.period_ns, memory_order_relaxed);
    return threads <= AGENT_WALL_THREADS ? period_ns : period_ns * threads / AGENT_WALL_THREADS;
}

/* The period varies by ±30 %, out of step with the program. */
void agent_timer_arm_wall(struct agent_thread *thread)
{
    const uint64_t period_ns = wall_period_ns();
    arm(thread, period_ns * 7 / 10 + 1 + random_below(period_ns * 6 / 10 + 1, thread->tid), 0);
}

static void start_wall_timer(struct agent_thread *thread)
{
    thread->first_ns = wall_period_ns();
    arm(thread, 1 + random_below(thread->first_ns + 1, thread->tid), 0);
}

/* The kernel's struct sigevent; some libcs lack `tid`. */
struct event {
    void *value;
    int32_t signal, notify, tid;
    int32_t reserved[11];
};
_Static_assert(sizeof(struct event) == 64, "include/uapi/asm-generic/siginfo.h");

enum { NOTIFY_THREAD = 4 /* SIGEV_THREAD_ID */ };

static int32_t create_timer(const struct agent_thread *thread, clockid_t clock)
{
    const struct event event = {.value = (void *)(uintptr_t)thread,
                                .signal = SIGPROF,
                                .notify = NOTIFY_THREAD,
                                .tid = thread->tid};
    int32_t timer;
    return syscall(SYS_timer_create, clock, &event, &timer) ? -1 : timer;
}

static void start_poke(struct agent_thread *thread, clockid_t clock)
{
    thread->clock_ns = agent_clock_ns(clock);
    atomic_store_explicit(&thread->looked_at_ns, thread->clock_ns, memory_order_relaxed);
    atomic_store_explicit(&thread->poke, create_timer(thread, CLOCK_MONOTONIC),
                          memory_order_relaxed);
}

static void start_timers(struct agent_thread *thread, clockid_t clock)
{
    const bool wall = agent_timer_is(AGENT_CLOCK_WALL);
    if (agent_timer_is(AGENT_CLOCK_FINE))
        start_poke(thread, clock);
    const int32_t timer = create_timer(thread, wall ? CLOCK_MONOTONIC : clock);
    if (timer < 0) {
        count_refused(AGENT_REFUSED_TIMER);
        return;
    }
    atomic_store_explicit(&thread->timer, timer, memory_order_relaxed);
    (wall ? start_wall_timer : start_cpu_timer)(thread);
}

static void delete_timers(struct agent_thread *thread)
{
    const int32_t timer = atomic_exchange_explicit(&thread->timer, -1, memory_order_relaxed);
    const int32_t poke = atomic_exchange_explicit(&thread->poke, -1, memory_order_relaxed);
    if (timer >= 0)
        syscall(SYS_timer_delete, timer);
    if (poke >= 0)
        syscall(SYS_timer_delete, poke);
}

/* == Threads == */

static void publish_tid(struct agent_thread *thread)
{
    const size_t slot = (size_t)(thread - agent_threads);
    atomic_store_explicit(&agent_process.shared->slots[slot].cpu_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&agent_process.shared->slots[slot].tid, (uint32_t)thread->tid,
                          memory_order_release);
}

void agent_thread_begin(struct agent_thread *thread)
{
    thread->tid = (pid_t)syscall(SYS_gettid);
    publish_tid(thread);
    if (thread->tid != thread->pid)
        agent_record_fork(thread);
    agent_unblock();
    start_timers(thread, CLOCK_THREAD_CPUTIME_ID);
}

void agent_thread_end(struct agent_thread *thread)
{
    delete_timers(thread);
    agent_record_end(thread);
    give_back(thread);
}

static struct agent_thread *thread_of(pid_t tid)
{
    const struct agent_shared *shared = agent_process.shared;
    const uint32_t used = atomic_load_explicit(&shared->control.slots_used, memory_order_relaxed);
    for (uint32_t i = 0; i < used && i < AGENT_SLOTS; i++)
        if (atomic_load_explicit(&shared->slots[i].tid, memory_order_relaxed) == (uint32_t)tid)
            return &agent_threads[i];
    return NULL;
}

/* Adds a raw clone's thread. Any thread can use its clock (CPUCLOCK_PERTHREAD and CPUCLOCK_SCHED,
 * include/linux/posix-timers.h). */
static void adopt(pid_t tid)
{
    struct agent_thread *thread = thread_of(tid) ? NULL : claim(); /* sprof counts those left out */
    if (!thread)
        return;
    thread->tid = tid;
    publish_tid(thread);
    agent_record_fork(thread);
    start_timers(thread, (clockid_t)(~(unsigned)tid << 3 | 6));
}

/* The thread ended unnoticed; its id may be reused. */
static void give_up(pid_t tid)
{
    struct agent_thread *thread = thread_of(tid);
    if (!thread || thread->tid != tid || !syscall(SYS_tgkill, thread->pid, tid, 0) ||
        errno != ESRCH)
        return;
    delete_timers(thread);
    give_back(thread);
}

void agent_threads_request(void)
{
    struct agent_control *control = &agent_process.shared->control;
    const int saved = errno;
    if (atomic_exchange(&serves_requests, true))
        return;
    atomic_store(&control->has_requests, 0);
    for (size_t i = 0; i < AGENT_REQUESTS; i++) {
        const uint32_t request = atomic_load(&control->requests[i]);
        if (!request)
            continue;
        if (request & AGENT_REQUEST_GONE)
            give_up((pid_t)(request & ~AGENT_REQUEST_GONE));
        else
            adopt((pid_t)request);
        atomic_store(&control->requests[i], 0);
    }
    atomic_store(&serves_requests, false);
    errno = saved;
}

/* == pthread_create == */

/* glibc and musl put the control block on top of the stack. Else the kernel finds the end. */
static void find_stack(struct agent_thread *thread, uintptr_t frame)
{
    enum { BLOCKS_MAX = 256 << 10, GUARD_MAX = 64 << 10 };
    const uintptr_t block = arch_context_thread_pointer();
    if (block <= frame || block - frame > BLOCKS_MAX || thread->stack_bytes <= GUARD_MAX)
        return;
    thread->stack_end = block;
    thread->stack_low = block - thread->stack_bytes + GUARD_MAX;
    if (thread->stack_low > frame || thread->stack_low > block)
        thread->stack_low = frame & ~(uintptr_t)4095;
}

struct call {
    void *(*function)(void *);
    void *argument;
};

static __attribute__((noinline)) struct call begin(struct agent_thread *thread)
{
    const struct call call = {thread->start, thread->argument};
    find_stack(thread, (uintptr_t)__builtin_frame_address(0));
    agent_next()->setspecific(agent_process.key, thread);
    agent_thread_begin(thread);
    return call;
}

/* A tail call, so the agent leaves no frame. */
static void *start_thread(void *cell)
{
    const struct call call = begin(cell);
    return call.function(call.argument);
}

static size_t stack_size_of(const pthread_attr_t *attributes)
{
    static _Atomic size_t usual;
    const struct agent_next *next = agent_next();
    size_t size = 0;
    if (attributes)
        return next->attr_getstacksize && !next->attr_getstacksize(attributes, &size) ? size : 0;
    size = atomic_load_explicit(&usual, memory_order_relaxed);
    if (size || !next->getattr_default || !next->attr_getstacksize)
        return size;
    pthread_attr_t defaults;
    if (next->getattr_default(&defaults))
        return 0;
    if (next->attr_getstacksize(&defaults, &size))
        size = 0;
    atomic_store_explicit(&usual, size, memory_order_relaxed);
    return size;
}

AGENT_EXPORT int pthread_create(pthread_t *id, const pthread_attr_t *attributes,
                                void *(*start)(void *), void *argument)
{
    const struct agent_next *next = agent_next();
    struct agent_thread *thread =
        agent_active() && agent_process.has_key ? agent_thread_claim() : NULL;
    if (!thread)
        return next->pthread_create(id, attributes, start, argument);
    thread->start = start;
    thread->argument = argument;
    thread->stack_bytes = stack_size_of(attributes);
    const int result = next->pthread_create(id, attributes, start_thread, thread);
    if (result)
        give_back(thread);
    return result;
}

AGENT_EXPORT int mlockall(int flags)
{
    if (agent_active())
        shrink();
    return agent_next()->mlockall(flags);
}

/* == clone == */

/* Thread-local storage may be the creator's. */
static int start_clone(void *cell)
{
    struct agent_thread *thread = cell;
    int (*const program)(void *) = thread->clone_start;
    void *argument = thread->argument;
    agent_thread_begin(thread);
    const int result = program(argument);
    agent_thread_end(thread);
    return result;
}

AGENT_EXPORT int clone(int (*start)(void *), void *stack, int flags, void *argument, ...)
{
    va_list more;
    va_start(more, argument);
    pid_t *parent_tid = va_arg(more, pid_t *);
    void *tls = va_arg(more, void *);
    pid_t *child_tid = va_arg(more, pid_t *);
    va_end(more);
    const struct agent_next *next = agent_next();
    struct agent_thread *thread =
        (flags & CLONE_THREAD) && agent_active() ? agent_thread_claim() : NULL;
    if (!thread)
        return next->clone(start, stack, flags, argument, parent_tid, tls, child_tid);
    thread->clone_start = start;
    thread->argument = argument;
    const int result = next->clone(start_clone, stack, flags, thread, parent_tid, tls, child_tid);
    if (result < 0)
        give_back(thread);
    return result;
}
