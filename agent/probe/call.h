/* Shared by the tracing agent's entries of functions and call points. */
#ifndef SPROF_AGENT_PROBE_CALL_H
#define SPROF_AGENT_PROBE_CALL_H

#include "agent/probe/table.h"

/* One instruction, so signal handlers' additions are not lost. */
static inline void add(uint64_t *to, uint64_t value)
{
    __asm__ volatile("addq %1, %0" : "+m"(*to) : "er"(value) : "cc");
}

static inline void add_one(uint32_t *to)
{
    __asm__ volatile("addl $1, %0" : "+m"(*to) : : "cc");
}

static inline void count_in(struct record *caller)
{
    add(&caller->probe_ticks, probe_inside.shared->cost.count);
    add(&stat_of(caller)->child_counted, 1);
}

/* Threads with the same data (raw clone) mix up the chain but stay in it: only the root has no
 * parent. */
static inline struct record *above(struct thread *thread, const struct record *record)
{
    return record->parent ? record->parent : &thread->root;
}

static inline bool is_in_thunks(uint64_t address, const uint8_t *thunks, uint64_t count)
{
    return address - (uint64_t)(uintptr_t)thunks < count * ARCH_THUNK_BYTES;
}

static inline void count_exit(struct probe_stat *stat, enum probe_exit exit)
{
    const bool is_cut = exit == PROBE_EXIT_TAIL_CUT;
    add(&stat->tail_cuts, is_cut);
    add(is_cut || exit == PROBE_EXIT_TAIL ? &stat->tails : &stat->abnormal, 1);
}

/* Ends calls that were left where one begins at `slot`. Returns the caller. */
static inline struct record *end_left(struct thread *thread, struct record *record, uint64_t slot)
{
    const struct record *caller = thread->innermost;
    if (record->serial == thread->serial && !is_own(thread, slot)) {
        count_exit(stat_of(record), PROBE_EXIT_LEFT);
        probe_end_call(thread, record, probe_ticks(), PROBE_EXIT_LEFT);
        caller = thread->innermost;
    }
    if (caller != &thread->root && is_own(thread, slot) &&
        (caller->slot <= slot || !is_own(thread, caller->slot)))
        probe_end_left(thread, slot);
    return thread->innermost;
}

/* Except for beginning, node and return address. */
static inline void fill_record(struct record *record, struct record *caller, uint64_t slot,
                               struct probe_stat *stat)
{
    record->parent = caller;
    record->child_ticks = 0;
    record->probe_ticks = 0;
    record->slot = slot;
    record->stat = (uint64_t)(uintptr_t)stat;
    record->serial = 0;
}

/* Before counting: a signal handler may leave the call between, see settle() in end.c. */
static inline void make_innermost(struct thread *thread, struct record *record)
{
    atomic_signal_fence(memory_order_seq_cst);
    thread->innermost = record;
    atomic_signal_fence(memory_order_seq_cst);
}

/* `is_missed`: no room in the log. Counted right before the call, so a handler that leaves
 * here mostly leaves both uncounted. */
static inline void count_call(struct thread *thread, struct record *record, bool is_missed)
{
    struct probe_stat *stat = stat_of(record);
    if (stat->calls != stat->ended)
        add(&stat->recursive, 1);
    if (is_missed)
        add(&stat->unlogged, 1);
    atomic_signal_fence(memory_order_seq_cst);
    add(&stat->calls, 1);
    atomic_signal_fence(memory_order_seq_cst);
    record->serial = thread->serial;
}

#endif
