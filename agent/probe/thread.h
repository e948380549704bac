/* Thread data and call records of the tracing agent, which runs inside the traced program. */
#ifndef SPROF_AGENT_PROBE_THREAD_H
#define SPROF_AGENT_PROBE_THREAD_H

#include "agent/probe/inside.h"

#define SAVES_ALL __attribute__((no_caller_saved_registers))

struct record {
    uint64_t return_address; /* stays after the end */
    uint64_t begin;          /* ticks and the probe's cost between its readings; begin_of() */
    struct record *parent;   /* the caller; out of the chain: the root */
    uint64_t child_ticks;    /* of ended direct callees, without probes */
    uint64_t probe_ticks;    /* of the probes of all calls below */
    uint64_t slot;           /* of the return address; bit 0: call point */
    uint64_t stat;           /* figures' address and path: stat_of(), path_of(), log.h */
    uint32_t serial;         /* the thread's; 0: ended */
    uint32_t node;           /* rules: a kept call's number; else log: enum logged, depth; 0: none */
};
_Static_assert(sizeof(struct record) == PROBE_RECORD_BYTES, "a cache line, eight times a slot");
_Static_assert(offsetof(struct record, return_address) == PROBE_RECORD_RETURN &&
                   offsetof(struct record, slot) == PROBE_RECORD_SLOT &&
                   offsetof(struct record, serial) == PROBE_RECORD_SERIAL,
               "as the tracer reads it");

/* Program addresses have 47 bits, path indexes 16. Assembly takes the whole word for the address,
 * so C handles records with a path. */
_Static_assert(PROBE_NODES <= 1 << (64 - PROBE_PATH_AT), "paths are the upper bits");

static inline struct probe_stat *stat_of(const struct record *record)
{
    return (struct probe_stat *)(uintptr_t)(record->stat & ((UINT64_C(1) << PROBE_STAT_BITS) - 1));
}

/* 0: none. */
static inline uint32_t path_of(const struct record *record)
{
    return (uint32_t)(record->stat >> PROBE_PATH_AT);
}

/* Replaces path 0. */
static inline void set_path(struct record *record, uint32_t path)
{
    record->stat |= (uint64_t)path << PROBE_PATH_AT;
}

/* Calls on a thread's own stack are ordered: when one begins or ends, those at or below it were
 * left. Calls on foreign stacks (signals, coroutines) have only the chain: they follow own calls,
 * and leave it when an own call begins. */
struct thread {
    struct probe_stat *stats; /* NULL: no slab */
    struct record *innermost;
    uint64_t low, high; /* bounds of its own stack */
    uint32_t serial;
    uint16_t slab;        /* index */
    uint64_t open_logged; /* in the log or with a number */
    struct probe_ring *ring;
    uint64_t ring_mask; /* units - 1 */
    struct record root; /* caller of outermost calls */
    /* Lower end (0: not searched, 1: not found), limit, mark below which calls are reported (0:
     * unknown). */
    uint64_t stack_bottom, stack_limit, stack_mark;
    uint64_t histograms; /* offset in the slab */
    struct probe_node *nodes;
    /* Of this data; without a free slab. */
    uint32_t generation, untracked_in;
    _Atomic uint64_t claim; /* trace << 32 | slab */
    /* Between edge_low and edge_high the page below exists; the stack once ended at edge_floor.
     * edge.S saves registers here. */
    uint64_t edge_low, edge_high, edge_floor, edge_is_busy;
    struct {
        uint64_t rax, rcx, rdx, rsi, rdi, r10, r11;
    } edge;
    uint32_t untracked_calls;
    bool has_no_clock;  /* the thread never begins */
    uint32_t is_shared; /* with another thread or process: do not use it */
    uint32_t next_jumper;
    uint64_t thrown_at;      /* slot where the last exception on a foreign stack began */
    uint32_t kept, reserved; /* kept: last number of a kept call */
    uint64_t pending;        /* the slab's, which the program may overwrite */
    uint64_t allocator_slot; /* of the running allocator call, or 0 */
    uint64_t flying_at;  /* slot where an exception on its own stack began or continued; 0: none */
    uint64_t flying;     /* its header, or another address */
    uint64_t vfork_slot; /* of the last vfork, on its own stack; 0: none */
};

/* A call point shares its callee's slot. It uses the record of the slot 1 TiB away, where Linux has
 * no stack. */
enum { POINT = 1 };
#define POINT_DISTANCE (UINT64_C(1) << 40)

/* In serials: a record of an allocator that was not chosen. */
enum { OF_BYTES = 1u << 31 };

static inline struct record *record_of(uint64_t slot)
{
    const uint64_t place = slot & POINT ? slot ^ POINT ^ POINT_DISTANCE : slot;
    return (struct record *)(uintptr_t)(PROBE_RECORDS + (place & PROBE_SLOT_MASK) * 8);
}

/* Stacks multiples of 2 TiB apart share records. True: the other stack's call is open. */
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

/* Its call jumped to another. */
static inline bool is_jumper(const struct record *record)
{
    return (uint64_t)(uintptr_t)record - PROBE_JUMPERS_AT < PROBE_JUMPERS_BYTES;
}

/* It jumped to that slot's call, maybe through a call point; both end together. */
static inline bool is_jumper_to(const struct record *record, uint64_t slot)
{
    return is_jumper(record) && (record->slot | POINT) == (slot | POINT);
}

/* It called the function at that slot. */
static inline bool is_point_of(const struct record *record, uint64_t slot)
{
    return record->slot == (slot | POINT) && !is_jumper(record);
}

/* See probing/outside.h. */
static inline bool is_outside(const struct thread *thread, const struct record *record)
{
    const uint64_t function = (uint64_t)(stat_of(record) - thread->stats);
    const uint32_t first = probe_inside.shared->first_outside;
    return first && function - first < (uint64_t)probe_inside.function_count - first;
}

static inline uint64_t *begin_of(struct record *record)
{
    return is_jumper(record) ? &record->return_address : &record->begin;
}

/* Ends a call with calls below and its jumpers; ends own calls at or below an address. */
void probe_end_call(struct thread *thread, struct record *record, uint64_t now,
                    enum probe_exit exit) __attribute__((visibility("hidden"))) SAVES_ALL;
void probe_end_below(struct thread *thread, uint64_t address, uint64_t now, enum probe_exit exit)
    __attribute__((visibility("hidden"))) SAVES_ALL;
/* A call begins on its own stack, with open calls at or below its slot. */
void probe_end_left(struct thread *thread, uint64_t slot)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* A call jumped to `next`, which takes its record. Returns the latter's caller. */
struct record *probe_jump(struct thread *thread, struct record *record,
                          const struct probe_stat *next, uint64_t now)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* Ends a call point whose function jumped. */
void probe_end_point(struct thread *thread, struct record *point, uint64_t now)
    __attribute__((visibility("hidden"))) SAVES_ALL;

void probe_take_remark(struct thread *thread, uint32_t function, const struct probe_saved *saved)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* The own stack's lower end; 0: unknown. */
uint64_t probe_stack_bottom(struct thread *thread) __attribute__((visibility("hidden"))) SAVES_ALL;

void probe_warn_of_stack(struct thread *thread, uint32_t function, uint64_t slot)
    __attribute__((visibility("hidden"))) SAVES_ALL;

void probe_clock_goes(struct thread *thread, uint64_t option, uint64_t value)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* At vfork; before its child may execute a program. */
void probe_vfork(struct thread *thread, uint64_t slot)
    __attribute__((visibility("hidden"))) SAVES_ALL;
void probe_vfork_executes(struct thread *thread, uint64_t slot)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* Lets open calls return to their callers. */
void probe_leave_chain(struct thread *thread) __attribute__((visibility("hidden"))) SAVES_ALL;

static inline bool has_no_clock(const struct thread *thread)
{
    return thread->has_no_clock || probe_inside.has_no_clock;
}

uint32_t probe_thread_id(const struct probe_shared *shared)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* A signal handler may begin the thread meanwhile, so generation is read first and written last. */
static inline bool has_begun(const struct thread *thread)
{
    const bool has = thread->generation == probe_inside.shared->generation;
    atomic_signal_fence(memory_order_acquire);
    return has && thread->generation; /* the program may write 0 */
}

/* Takes a slab. False: none is free; the search repeats at times. */
bool probe_begin_thread(struct thread *thread) __attribute__((visibility("hidden"))) SAVES_ALL;

/* Call it before another thread or process shares the data. Then calls are only counted. */
void probe_share_thread(struct thread *thread) __attribute__((visibility("hidden"))) SAVES_ALL;

/* At the first probe, of `function`, in a forked process. False: it is not measured. */
bool probe_begin_process(struct thread *thread, uint32_t function)
    __attribute__((visibility("hidden"))) SAVES_ALL;

#endif
