/* The sampling agent's SIGPROF handler. It copies registers and a stack slice straight into the
 * ring, as its stack may be a small alternate one. It uses no thread-local storage and no errno. */
#include "agent/preload/preload.h"
#include SPROF_ARCH_CONTEXT_HEADER

#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct sample {
    struct perf_event_header header;
    uint64_t event_id, ip;
    uint32_t pid, tid;
    uint64_t time_ns;
    uint32_t cpu, tail; /* tail: index of struct agent_tail + 1, or 0 */
    uint64_t weight_ns;
    uint64_t abi; /* from here on: with a stack */
    uint64_t registers[ARCH_REGISTERS];
    uint64_t stack_bytes; /* the slice follows, then its useful bytes as a word */
};

enum {
    BARE_BYTES = offsetof(struct sample, abi),
    ROOM_KEPT = 512, /* for a thread's end */
    PAGE_BYTES = 4096,
    SLICE_LEAST = 512, /* rings fill slowly with tails */
};

/* Copies up to where the kernel stops. */
static size_t copy_unknown(struct agent_thread *thread, uintptr_t from, size_t size)
{
    const size_t start = (size_t)thread->head & (thread->ring_bytes - 1);
    const size_t first = size < thread->ring_bytes - start ? size : thread->ring_bytes - start;
    const struct iovec local[2] = {{thread->ring + start, first}, {thread->ring, size - first}};
    const struct iovec remote = {(void *)from, size};
    /* longs: the last argument is on the stack */
    const long got = syscall(SYS_process_vm_readv, thread->tid, local, 2L, &remote, 1L, 0L);
    return got > 0 ? (size_t)got & ~(size_t)7 : 0;
}

/* At most a quarter of the room: cuts stacks before samples are lost. */
static size_t slice_of(const struct agent_thread *thread, uintptr_t pointer, uint64_t room,
                       size_t wanted)
{
    size_t size = wanted < AGENT_SLICE_MAX ? wanted : AGENT_SLICE_MAX;
    if (pointer >= thread->stack_low && pointer < thread->stack_end &&
        thread->stack_end - pointer < size)
        size = thread->stack_end - pointer;
    const uint64_t allowed = (room - sizeof(struct sample)) / 4;
    return (size < allowed ? size : (size_t)allowed) & ~(size_t)7;
}

/* Copies whole pages, as the process may end before they are read. Returns index + 1; 0: the
 * recorder reads the process. */
static uint32_t put_tail(uintptr_t from, uintptr_t stack_end)
{
    const uintptr_t end = (stack_end + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1);
    struct agent_control *control = &agent_process.shared->control;
    const uint32_t count =
        agent_process.has_tails ? atomic_load_explicit(&control->tails, memory_order_relaxed) : 0;
    const size_t bytes = end - from < AGENT_TAIL_BYTES ? end - from : (size_t)AGENT_TAIL_BYTES;
    for (uint32_t i = 0; i < count && i < AGENT_TAILS; i++) {
        struct agent_tail *tail = &control->tail[i];
        if (atomic_exchange_explicit(&tail->taken, 1, memory_order_acquire))
            continue;
        memcpy((uint8_t *)agent_process.shared + agent_tail_offset(i), (const void *)from, bytes);
        tail->address = from;
        tail->bytes = bytes;
        return i + 1;
    }
    return 0;
}

/* A slice longer than its useful bytes by a word is complete. */
static void put_stack(struct agent_thread *thread, const ucontext_t *context, struct sample *sample,
                      uint64_t room, size_t wanted)
{
    const uintptr_t pointer = arch_context_sp(context);
    const bool known = pointer >= thread->stack_low && pointer < thread->stack_end;
    const uint64_t before = thread->head;
    size_t size = slice_of(thread, pointer, room, wanted), useful = size;
    if (!known) {
        thread->head = before + sizeof *sample;
        useful = copy_unknown(thread, pointer, size);
        thread->head = before;
    }
    const bool cut = known ? thread->stack_end - pointer >= size + 8 : useful == size;
    if (known && cut) {
        const size_t least = size < SLICE_LEAST ? size : (size_t)SLICE_LEAST;
        sample->tail = put_tail(pointer + least, thread->stack_end);
        useful = sample->tail ? least : size;
    }
    sample->stack_bytes = cut ? useful : useful + 8;
    const size_t closing = sample->stack_bytes ? 8 : 0;
    sample->header.size = (uint16_t)(sizeof *sample + sample->stack_bytes + closing);
    agent_ring_put(thread, sample, sizeof *sample);
    if (known)
        agent_ring_put(thread, (const void *)pointer, useful);
    else
        thread->head += useful;
    const uint64_t none = 0, end = useful;
    agent_ring_put(thread, &none, cut ? 0 : 8);
    agent_ring_put(thread, &end, closing);
}

static void put_sample(struct agent_thread *thread, const ucontext_t *context, uint64_t weight_ns,
                       uint64_t room)
{
    const struct agent_control *control = &agent_process.shared->control;
    const size_t wanted = atomic_load_explicit(&control->slice_bytes, memory_order_relaxed);
    struct sample sample = {
        .header = {.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .size = BARE_BYTES},
        .event_id = wanted ? AGENT_EVENT_STACK : AGENT_EVENT_BARE,
        .ip = arch_context_pc(context),
        .pid = (uint32_t)thread->pid,
        .tid = (uint32_t)thread->tid,
        .time_ns = agent_time_ns(),
        .cpu = (uint32_t)sched_getcpu(),
        .weight_ns = weight_ns,
        .abi = PERF_SAMPLE_REGS_ABI_64,
    };
    if (wanted) {
        arch_context_registers(sample.registers, context);
        put_stack(thread, context, &sample, room, wanted);
    } else {
        agent_ring_put(thread, &sample, BARE_BYTES);
    }
    agent_ring_publish(thread);
}

/* CPU time before the tick replaces the helper. */
static uint64_t patience_ns(void)
{
    return 2 * agent_process.tick_ns;
}

/* The first expiry weighs a whole interval, later ones the CPU time since the last. */
static uint64_t weigh(struct agent_thread *thread, uint64_t clock_ns, bool by_tick)
{
    const uint64_t interval_ns = agent_helper_interval_ns(), most_ns = patience_ns();
    uint64_t weight_ns = clock_ns - thread->clock_ns;
    if (thread->first_ns && !by_tick)
        weight_ns = interval_ns < most_ns ? interval_ns : most_ns;
    else if (thread->first_ns && !interval_ns)
        weight_ns = thread->first_ns;
    thread->first_ns = 0;
    thread->clock_ns = clock_ns;
    return weight_ns;
}

/* Ignores ticks if the helper checks often: work in step with them would be biased. */
static bool is_helped(const struct agent_thread *thread, uint64_t cpu_ns)
{
    return agent_helper_interval_ns() &&
           atomic_load_explicit(&thread->poke, memory_order_relaxed) >= 0 &&
           cpu_ns - thread->clock_ns < patience_ns();
}

/* A thread that waited for a CPU gets its expiry late, often at a tick. */
static bool is_late(const struct agent_thread *thread)
{
    enum { LATE_NS = 200000 };
    return agent_clock_ns(CLOCK_MONOTONIC) -
               atomic_load_explicit(&thread->poked_ns, memory_order_relaxed) >
           LATE_NS;
}

/* A handler on a small alternate stack blocked SIGPROF; that time is not the interrupted code's. */
static uint64_t leave_out_blocked(const struct agent_thread *thread, uint64_t passed_ns,
                                  uint64_t weight_ns)
{
    struct agent_control *control = &agent_process.shared->control;
    const uint64_t tick_ns = agent_process.tick_ns,
                   least_ns = thread->period_ns > tick_ns ? thread->period_ns : tick_ns;
    if (passed_ns <= least_ns || !agent_alternate_was_used(thread->tid))
        return weight_ns;
    atomic_fetch_add_explicit(&control->blocked_ns, passed_ns - least_ns, memory_order_relaxed);
    return weight_ns < least_ns ? weight_ns : least_ns;
}

static void take(struct agent_thread *thread, const ucontext_t *context, bool by_tick)
{
    struct agent_shared *shared = agent_process.shared;
    struct agent_control *control = &shared->control;
    const bool runs = atomic_load_explicit(&control->state, memory_order_relaxed) == AGENT_RUN;
    const uint64_t cpu_ns = agent_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (runs && by_tick && is_helped(thread, cpu_ns))
        return;
    if (!by_tick && is_late(thread))
        return;
    const bool wall = agent_timer_is(AGENT_CLOCK_WALL);
    const uint64_t passed_ns = cpu_ns - thread->clock_ns;
    const uint64_t weight_ns =
        weigh(thread, wall ? agent_clock_ns(CLOCK_MONOTONIC) : cpu_ns, by_tick);
    thread->weight_ns +=
        wall || !runs ? weight_ns : leave_out_blocked(thread, passed_ns, weight_ns);
    atomic_store_explicit(&shared->slots[thread - agent_threads].cpu_ns, cpu_ns,
                          memory_order_relaxed);
    if (!runs) {
        thread->weight_ns = 0;
        return;
    }
    const uint64_t room = agent_ring_free(thread);
    if (room < sizeof(struct sample) + ROOM_KEPT) {
        atomic_fetch_add_explicit(&control->lost, 1, memory_order_relaxed);
        return;
    }
    put_sample(thread, context, thread->weight_ns, room - ROOM_KEPT);
    thread->weight_ns = 0;
    const uint64_t period_ns = atomic_load_explicit(&control->period_ns, memory_order_relaxed);
    if (period_ns != thread->period_ns && !wall)
        agent_timer_set(thread, period_ns, period_ns);
}

static bool is_ours(const siginfo_t *info)
{
    const uintptr_t first = (uintptr_t)agent_threads, at = (uintptr_t)info->si_value.sival_ptr;
    return info->si_code == SI_TIMER && at - first < sizeof agent_threads;
}

bool agent_take_sample(const siginfo_t *info, const ucontext_t *context)
{
    if (!is_ours(info))
        return false;
    struct agent_thread *thread = info->si_value.sival_ptr;
    const int32_t timer = atomic_load_explicit(&thread->timer, memory_order_relaxed);
    const int32_t poke = atomic_load_explicit(&thread->poke, memory_order_relaxed);
    const bool by_tick = timer == info->si_timerid;
    /* The timer's number excludes expiries of an ended thread. */
    if (timer < 0 || (!by_tick && (poke < 0 || poke != info->si_timerid)))
        return true;
    if (!agent_active()) {
        agent_timer_set(thread, 0, 0);
        return true;
    }
    if (atomic_load_explicit(&agent_process.shared->control.has_requests, memory_order_relaxed))
        agent_threads_request();
    take(thread, context, by_tick);
    if (agent_timer_is(AGENT_CLOCK_WALL))
        agent_timer_arm_wall(thread);
    return true;
}
