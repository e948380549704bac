/* Logs beginnings and ends of traced calls in the thread's ring. */
#ifndef SPROF_AGENT_PROBE_LOG_H
#define SPROF_AGENT_PROBE_LOG_H

#include "agent/probe/call.h"

static inline bool keeps_calls(void)
{
    return probe_inside.shared->extras & PROBE_KEEP;
}

/* In `node` of a record. Where that is the number of a kept call, the depth takes the place of a
 * path in `stat`, and the flag is LOGGED_BESIDE. */
enum logged {
    LOGGED = 1u << 31,
    DEPTH = LOGGED - 1,
};
#define LOGGED_BESIDE (UINT64_C(1) << PROBE_STAT_BITS)

static inline uint32_t depth_most(void)
{
    return keeps_calls() ? PROBE_LOG_DEPTH_BESIDE : PROBE_LOG_DEPTH_MAX;
}

static inline uint32_t depth_of(const struct record *record)
{
    return keeps_calls() ? path_of(record) : record->node & DEPTH;
}

/* The outermost has 1. */
static inline uint32_t depth_below(const struct record *caller)
{
    const uint32_t depth = depth_of(caller);
    return depth < depth_most() ? depth + 1 : depth;
}

static inline bool is_logged(const struct record *record)
{
    return keeps_calls() ? record->stat & LOGGED_BESIDE : record->node & LOGGED;
}

static inline void set_logged(struct record *record, uint32_t depth, bool is_logged)
{
    if (keeps_calls())
        record->stat |= (uint64_t)depth << PROBE_PATH_AT | (is_logged ? LOGGED_BESIDE : 0);
    else
        record->node = depth | (is_logged ? LOGGED : 0);
}

static inline uint64_t log_header(uint64_t position, uint32_t kind, uint32_t exit, uint32_t depth,
                                  uint32_t function)
{
    return probe_log_header(position, kind, exit, depth | (keeps_calls() ? PROBE_LOG_BESIDE : 0),
                            function);
}

/* Units that stay free for what signal handlers log between a check and its use. */
enum { RING_MARGIN = 256 };

/* One instruction, like add(). */
static inline uint64_t take_room(uint64_t *head, uint64_t units)
{
    __asm__ volatile("xaddq %0, %1" : "+r"(units), "+m"(*head) : : "cc", "memory");
    return units;
}

static inline uint64_t *unit_at(const struct thread *thread, uint64_t position)
{
    return (uint64_t *)((uint8_t *)thread->ring + PROBE_RING_HEADER +
                        (position & thread->ring_mask) * PROBE_UNIT_BYTES);
}

/* Called last: the header validates the rest. */
static inline void put_header(uint64_t *unit, uint64_t header)
{
    __atomic_store_n(unit, header, __ATOMIC_RELEASE);
}

/* For a beginning, and the ends of all open calls. */
static inline bool has_room(const struct thread *thread)
{
    const uint64_t units = thread->ring_mask + 1,
                   ends = (thread->open_logged + 1) * (keeps_calls() ? PROBE_KEPT_UNITS : 1);
    const uint64_t used = __atomic_load_n(&thread->ring->head, __ATOMIC_RELAXED) -
                          atomic_load_explicit(&thread->ring->tail, memory_order_acquire);
    return used + 2 + (ends < units / 4 ? ends : units / 4) + RING_MARGIN <= units;
}

enum logging {
    LOG_NOT,  /* too deep, not missed */
    LOG_FULL, /* missed; the caller counts it */
    LOG_DONE,
};

static inline enum logging log_begin(struct thread *thread, uint32_t function, uint32_t kind,
                                     uint32_t depth, uint64_t begin,
                                     const struct probe_saved *saved)
{
    const struct probe_shared *shared = probe_inside.shared;
    if (depth > atomic_load_explicit(&shared->log.depth, memory_order_relaxed))
        return LOG_NOT;
    if (keeps_calls() && depth == PROBE_LOG_DEPTH_BESIDE)
        return LOG_FULL;
    if (!atomic_load_explicit(&shared->log.reach, memory_order_relaxed) || !has_room(thread))
        return LOG_FULL;
    const uint64_t position = take_room(&thread->ring->head, 2);
    uint64_t *first = unit_at(thread, position), *second = first + PROBE_UNIT_BYTES / sizeof *first;
    first[1] = begin;
    first[2] = saved->rdi;
    first[3] = saved->rsi;
    second[0] = saved->rdx;
    second[1] = saved->rcx;
    second[2] = saved->r8;
    second[3] = saved->r9;
    put_header(first, log_header(position, kind, 0, depth, function));
    return LOG_DONE;
}

static inline void log_end(struct thread *thread, const struct record *record, uint64_t begin,
                           uint64_t ticks, uint64_t self, enum probe_exit exit)
{
    const uint32_t function = (uint32_t)(stat_of(record) - thread->stats);
    const uint64_t used =
        thread->ring->head - atomic_load_explicit(&thread->ring->tail, memory_order_acquire);
    thread->open_logged -= thread->open_logged > 0;
    if (used > thread->ring_mask) /* more open calls than reserved ends */
        return;
    const uint64_t position = take_room(&thread->ring->head, 1);
    uint64_t *unit = unit_at(thread, position);
    unit[1] = begin;
    unit[2] = ticks;
    unit[3] = self;
    put_header(unit, log_header(position, PROBE_LOG_END, exit, depth_of(record), function));
}

/* Fills room taken and never filled, for which the recorder would wait. Not while a handler has
 * interrupted a probe. */
static inline void log_mend(struct thread *thread)
{
    const uint64_t head = thread->ring->head;
    uint64_t position = atomic_load_explicit(&thread->ring->tail, memory_order_acquire);
    if (head - position > thread->ring_mask + 1)
        return;
    while (position < head) {
        uint64_t *unit = unit_at(thread, position);
        const uint32_t kind = PROBE_LOG_KIND(*unit);
        const bool is_there = kind && PROBE_LOG_IS_AT(*unit, position);
        if (!is_there)
            put_header(unit, probe_log_header(position, PROBE_LOG_END, 0, 0, PROBE_LOG_NOBODY));
        position += is_there && kind != PROBE_LOG_END ? 2 : 1;
    }
}

#endif
