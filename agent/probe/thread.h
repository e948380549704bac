/* The tracing agent, inside: the data of a thread, and its records of calls. */
#ifndef SPROF_AGENT_PROBE_THREAD_H
#define SPROF_AGENT_PROBE_THREAD_H

#include "agent/probe/inside.h"

#define SAVES_ALL __attribute__((no_caller_saved_registers))

/* One call, in flight or over. */
struct record {
    uint64_t return_address; /* stays when the call is over */
    uint64_t begin;          /* `begin` in ticks; the cost of the probe between its readings */
    struct record *parent;   /* the caller; the root once the call is out of the chain */
    uint64_t child_ticks;    /* of ended calls directly below, without their probes */
    uint64_t probe_ticks;    /* cost of the probes of all calls below */
    uint64_t slot; /* of its return address; with the lowest bit set for a call point, which has the
                      same slot */
    struct probe_stat *stat;
    uint32_t serial; /* of the thread while the call is open, else 0 */
    uint32_t node;   /* of its path; in a log enum logged and the depth; with rules the number of a
                        kept call: see keep.h; 0: none */
};
_Static_assert(sizeof(struct record) == PROBE_RECORD_BYTES, "a cache line, eight times a slot");
_Static_assert(offsetof(struct record, return_address) == PROBE_RECORD_RETURN &&
                   offsetof(struct record, slot) == PROBE_RECORD_SLOT &&
                   offsetof(struct record, serial) == PROBE_RECORD_SERIAL,
               "as the tracer reads it");

/* Calls on a thread's own stack are ordered: when a call begins or ends, all at or below it were
 * left. Calls on other stacks (signals, coroutines) have the chain alone. The chain holds own calls
 * first, then foreign ones, which go out when an own call begins. */
struct thread {
    struct probe_stat *stats; /* NULL: it has no slab yet */
    struct record *innermost;
    uint64_t low, high; /* bounds of its own stack */
    uint32_t serial;
    uint16_t slab;           /* number of its slab, or of the one it claims */
    uint64_t open_logged;    /* open calls in the log, or that have a number as in keep.h */
    struct probe_ring *ring; /* of the log */
    uint64_t ring_mask;      /* its units - 1: a power of two */
    struct record root;      /* the caller of the outermost calls; never begins or ends */
    /* End of its stack, how much may be in use, and the mark below which a call is reported; 0: not
     * known. */
    uint64_t stack_bottom, stack_limit, stack_mark;
    uint64_t histograms;      /* offset in its slab */
    struct probe_node *nodes; /* of its paths */
    /* The trace that this data is of; and a trace in which no slab was free. */
    uint32_t generation, untracked_in;
    _Atomic uint64_t claim; /* the trace for which it has a slab, above the slab's number */
    /* The range of its stack whose page below is known to exist, down to where the stack has ended
     * before. edge.S also saves registers here. */
    uint64_t edge_low, edge_high, edge_floor, edge_is_busy;
    struct {
        uint64_t rax, rcx, rdx, rsi, rdi, r10, r11;
    } edge;
    uint32_t untracked_calls; /* calls that found no free slab */
    bool has_no_clock;        /* it may not read the processor's counter, and never begins */
    uint32_t is_shared;   /* another thread or process runs with this data: it must not be used */
    uint32_t next_jumper; /* where the search for a free jumper's place begins */
    uint64_t thrown_at;   /* the slot where its last exception began, on a foreign stack */
    uint32_t kept, reserved; /* the last number of a kept call, or of a caller of one */
    uint64_t pending;        /* as in its slab, where the program may write anything */
    uint64_t allocator_slot; /* of the allocator's function that runs; 0: none */
};

/* A call point and the function that it calls have one slot. The record of the call point stands
 * where the slot 1 TiB away would have its record; Linux has no stack there. */
enum { POINT = 1 };
#define POINT_DISTANCE (UINT64_C(1) << 40)

/* A bit of serials: the record of an allocator's function that was not chosen. */
enum { OF_BYTES = 1u << 31 };

static inline struct record *record_of(uint64_t slot)
{
    const uint64_t place = slot & POINT ? slot ^ POINT ^ POINT_DISTANCE : slot;
    return (struct record *)(uintptr_t)(PROBE_RECORDS + (place & PROBE_SLOT_MASK) * 8);
}

/* Two stacks that are a multiple of 2 TiB apart share records. Whether an open call of the other
 * one is in a record. */
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

/* Whether it is the record of a call that has jumped to another. */
static inline bool is_jumper(const struct record *record)
{
    return (uint64_t)(uintptr_t)record - PROBE_JUMPERS_AT < PROBE_JUMPERS_BYTES;
}

/* Whether it jumped to a call with that slot, so that both end together: to a function, or through
 * a call point to one. */
static inline bool is_jumper_to(const struct record *record, uint64_t slot)
{
    return is_jumper(record) && (record->slot | POINT) == (slot | POINT);
}

/* Whether it is the call point that called the function with that slot. */
static inline bool is_point_of(const struct record *record, uint64_t slot)
{
    return record->slot == (slot | POINT) && !is_jumper(record);
}

/* Whether it is a call that left the traced modules: see trace/probes/outside.h. */
static inline bool is_outside(const struct thread *thread, const struct record *record)
{
    const uint64_t function = (uint64_t)(record->stat - thread->stats);
    const uint32_t first = probe_inside.shared->first_outside;
    return first && function - first < (uint64_t)probe_inside.function_count - first;
}

/* When a call began. */
static inline uint64_t *begin_of(struct record *record)
{
    return is_jumper(record) ? &record->return_address : &record->begin;
}

/* Ends a call, the calls below it, and those that have jumped to it; and all calls on the thread's
 * own stack at or below an address. */
void probe_end_call(struct thread *thread, struct record *record, uint64_t now,
                    enum probe_exit exit) __attribute__((visibility("hidden"))) SAVES_ALL;
void probe_end_below(struct thread *thread, uint64_t address, uint64_t now, enum probe_exit exit)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* A call jumped at its end, at `now`, to a function with the figures `next`, whose call takes its
 * record. Returns the caller of that call. */
struct record *probe_jump(struct thread *thread, struct record *record,
                          const struct probe_stat *next, uint64_t now)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* Ends a call point whose function jumped at `now` to another call point, and takes it out of the
 * chain. */
void probe_end_point(struct thread *thread, struct record *point, uint64_t now)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* The program says something of its calls: see remark.h. */
void probe_take_remark(struct thread *thread, uint32_t function, const struct probe_saved *saved)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* Warns that the thread's stack is in use as far as a slot. */
void probe_warn_of_stack(struct thread *thread, uint32_t function, uint64_t slot)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* Acts on the first two arguments of prctl: the thread gives up the processor's counter, or has
 * another name. */
void probe_clock_goes(struct thread *thread, uint64_t option, uint64_t value)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* Open calls will return to their callers, and not to thunks. */
void probe_leave_chain(struct thread *thread) __attribute__((visibility("hidden"))) SAVES_ALL;

/* Whether the thread may not read the counter. */
static inline bool has_no_clock(const struct thread *thread)
{
    return thread->has_no_clock || probe_inside.has_no_clock;
}

/* Of the running thread. */
uint32_t probe_thread_id(const struct probe_shared *shared)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* Whether its data is of this trace. That is read first and written last, because a signal's
 * handler may begin the thread at any moment. */
static inline bool has_begun(const struct thread *thread)
{
    const bool has = thread->generation == probe_inside.shared->generation;
    atomic_signal_fence(memory_order_acquire);
    return has && thread->generation; /* the program may have set the trace's to 0 */
}

/* A thread's first probe in a trace: takes a slab. False: none is free; the search is repeated now
 * and then. */
bool probe_begin_thread(struct thread *thread) __attribute__((visibility("hidden"))) SAVES_ALL;

/* Another thread or process is about to begin with this thread's data. From now on calls of both
 * are only counted. Open calls return by their records, which follow from their slots. */
void probe_share_thread(struct thread *thread) __attribute__((visibility("hidden"))) SAVES_ALL;

/* The first probe of a forked process: from now on it is measured, and its threads take slabs of
 * their own. False: it is not to be measured. */
bool probe_begin_process(struct thread *thread) __attribute__((visibility("hidden"))) SAVES_ALL;

#endif
