/* The tracing agent, inside: what a thread has, and its records of calls. */
#ifndef SPROF_AGENT_PROBE_THREAD_H
#define SPROF_AGENT_PROBE_THREAD_H

#include "agent/probe/inside.h"

#define SAVES_ALL __attribute__((no_caller_saved_registers))

/* One call, in flight or over. */
struct record {
    uint64_t return_address; /* of the call; stays when it is over */
    uint64_t begin;          /* ticks, and what the probe takes between its readings */
    struct record *parent;   /* the call below which it began; the root once it is taken out, too */
    uint64_t child_ticks;    /* of calls directly below it that are over, without their probes */
    uint64_t probe_ticks;    /* what probes took of all calls below it */
    uint64_t slot;           /* of call points with its lowest bit set: one call has both */
    struct probe_stat *stat;
    uint32_t serial; /* of the thread while it is open, else 0 */
    uint32_t node;   /* of its path; in a log enum logged and the depth; 0: none */
};
_Static_assert(sizeof(struct record) == PROBE_RECORD_BYTES, "a cache line, eight times a slot");
_Static_assert(offsetof(struct record, return_address) == PROBE_RECORD_RETURN &&
                   offsetof(struct record, slot) == PROBE_RECORD_SLOT &&
                   offsetof(struct record, serial) == PROBE_RECORD_SERIAL,
               "as the tracer reads it");

/* Frames on a thread's own stack are ordered: one that lies at or below another that begins or ends
 * has been left. Of frames on other stacks (signals, coroutines) only the chain is known. The chain
 * holds own frames first, then foreign ones: when an own frame begins, foreign ones are suspended
 * or left, and taken out. */
struct thread {
    struct probe_stat *stats; /* its slab; NULL: not yet */
    struct record *innermost;
    uint64_t low, high; /* its own stack */
    uint32_t serial;
    uint16_t slab;           /* its number, as in what it has claimed */
    uint64_t open_logged;    /* calls in the log that have not ended */
    struct probe_ring *ring; /* of the log … */
    uint64_t ring_mask;      /* … its units, less one: a power of two */
    struct record root;      /* the caller of the outermost calls; begins nowhere and never ends */
    /* Where its stack ends, how much may be in use, and where deeper calls are told of; 0: not
     * known. */
    uint64_t stack_bottom, stack_limit, stack_mark;
    uint64_t histograms;      /* where in its slab they are */
    struct probe_node *nodes; /* of its paths */
    /* The trace that all this is of, as in struct probe_shared; and one in which no slab was free.
     */
    uint32_t generation, untracked_in;
    _Atomic uint64_t claim; /* the trace for which it has a slab, above the slab's number */
    /* From where to where on its stack the page below is known to be there, down to where the stack
     * has ended before: see edge.S, which also saves registers here. */
    uint64_t edge_low, edge_high, edge_floor, edge_is_busy;
    struct {
        uint64_t rax, rcx, rdx, rsi, rdi, r10, r11;
    } edge;
    uint32_t untracked_calls; /* how many calls found no slab free */
    bool has_no_clock;        /* it may not read the processor's counter, and is never begun */
    uint32_t is_shared;       /* somebody else runs with all this: nothing of it may be used */
    uint32_t next_jumper;     /* where among its PROBE_JUMPERS a free one is looked for first */
    uint64_t thrown_at;       /* the slot where its last exception began, on a stack not its own */
};

/* A place that calls, and the function that it calls, are two calls of one slot: the record of the
 * first is where that of another slot would be, 1 TiB away, where Linux has no stack. */
enum { POINT = 1 };
#define POINT_DISTANCE (UINT64_C(1) << 40)

/* In serials of records of allocators' calls that nobody has chosen. */
enum { OF_BYTES = 1u << 31 };

static inline struct record *record_of(uint64_t slot)
{
    const uint64_t place = slot & POINT ? slot ^ POINT ^ POINT_DISTANCE : slot;
    return (struct record *)(uintptr_t)(PROBE_RECORDS + (place & PROBE_SLOT_MASK) * 8);
}

/* Two stacks whose addresses differ by a multiple of 2 TiB share records: whether the call of
 * another slot is open in one. */
static inline bool is_others(const struct record *record, uint64_t slot)
{
    return record->serial && record->slot != slot;
}

static inline bool is_own(const struct thread *thread, uint64_t slot)
{
    return slot - thread->low < thread->high - thread->low;
}

_Static_assert(PROBE_JUMPERS_BYTES == (uint64_t)PROBE_SLABS * PROBE_JUMPERS * sizeof(struct record),
               "so many for each slab");

/* Whether it is that of a call that has jumped to another. */
static inline bool is_jumper(const struct record *record)
{
    return (uint64_t)(uintptr_t)record - PROBE_JUMPERS_AT < PROBE_JUMPERS_BYTES;
}

/* … to one whose return address is at that slot, so that both end together. */
static inline bool is_jumper_to(const struct record *record, uint64_t slot)
{
    return is_jumper(record) && record->slot == slot;
}

/* When a call began. */
static inline uint64_t *begin_of(struct record *record)
{
    return is_jumper(record) ? &record->return_address : &record->begin;
}

/* Ends a call, what is below it, and what has jumped to it; and all on the thread's own stack that
 * are at or below an address. */
void probe_end_call(struct thread *thread, struct record *record, uint64_t now,
                    enum probe_exit exit) __attribute__((visibility("hidden"))) SAVES_ALL;
void probe_end_below(struct thread *thread, uint64_t address, uint64_t now, enum probe_exit exit)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* A call has jumped at `now` to a function at its end, whose figures are `next`, and whose call
 * takes its record. Returns the caller of that. */
struct record *probe_jump(struct thread *thread, struct record *record,
                          const struct probe_stat *next, uint64_t now)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* Warns where so much of the thread's stack is in use at a slot. */
void probe_warn_of_stack(struct thread *thread, uint32_t function, uint64_t slot)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* Where the first two arguments of prctl say that the thread gives up the processor's counter; or
 * how it is named from now on. */
void probe_clock_goes(struct thread *thread, uint64_t option, uint64_t value)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* Calls in flight return to their callers, and not to probes. */
void probe_leave_chain(struct thread *thread) __attribute__((visibility("hidden"))) SAVES_ALL;

/* Whether the thread that runs may not read it. */
static inline bool has_no_clock(const struct thread *thread)
{
    return thread->has_no_clock || probe_inside.has_no_clock;
}

/* Of the thread that runs. */
uint32_t probe_thread_id(const struct probe_shared *shared)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* Whether what it has is of this trace. That is looked at first, and written last, as a signal's
 * handler can begin the thread at any moment. */
static inline bool has_begun(const struct thread *thread)
{
    const bool has = thread->generation == probe_inside.shared->generation;
    atomic_signal_fence(memory_order_acquire);
    return has;
}

/* A thread's first probe in a trace: takes a slab. False: none is free, which is looked at again
 * now and then. */
bool probe_begin_thread(struct thread *thread) __attribute__((visibility("hidden"))) SAVES_ALL;

/* Another thread or process is about to begin with this thread's data: from now on the calls of
 * both are only counted. Those that are in flight return by their records, which are by their
 * slots. */
void probe_share_thread(struct thread *thread) __attribute__((visibility("hidden"))) SAVES_ALL;

/* The first probe of a process that was forked: from now on it is measured, and its threads take
 * slabs of their own. False: it is not, or nobody wants that. */
bool probe_begin_process(struct thread *thread) __attribute__((visibility("hidden"))) SAVES_ALL;

#endif
