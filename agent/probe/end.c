/* Ends calls: what they took goes into figures, paths and the log. As probe.c, no system call, no
 * libc, no lock; a signal may interrupt it anywhere and enter it again. */
#include "agent/probe/call.h"
#include "agent/probe/heap.h"
#include "agent/probe/log.h"

/* A node that was left in a record when calls were logged is none; and paths know nothing of call
 * points. */
static inline bool has_path(const struct record *record)
{
    return record->node && !(record->slot & POINT) &&
           probe_inside.shared->extras & (PROBE_PATHS | PROBE_CALLERS);
}

static inline uint32_t bucket_of(uint64_t ticks)
{
    if (ticks < UINT64_C(1) << PROBE_BUCKET_FIRST)
        return 0;
    const uint32_t octave = 63 - (uint32_t)__builtin_clzll(ticks);
    const uint32_t bucket =
        2 * (octave - PROBE_BUCKET_FIRST) + (uint32_t)(ticks >> (octave - 1) & 1);
    return bucket < PROBE_BUCKETS ? bucket : PROBE_BUCKETS - 1;
}

static inline struct probe_histogram *histogram_of(const struct thread *thread,
                                                   const struct probe_stat *stat)
{
    struct probe_histogram *all =
        (struct probe_histogram *)((uint8_t *)thread->stats + thread->histograms);
    const bool is_kept =
        atomic_load_explicit(&probe_inside.shared->histograms, memory_order_relaxed) != 0;
    return is_kept ? &all[stat - thread->stats + 1] : all;
}

/* What was measured is cleared while calls are in flight: they count from then on. A value that the
 * program wrote there harms its own figures alone. */
static inline void renew(struct record *record)
{
    const uint64_t cleared =
        atomic_load_explicit(&probe_inside.shared->cleared, memory_order_relaxed);
    if (record->begin < cleared) {
        record->begin = cleared;
        record->child_ticks = 0;
        record->probe_ticks = 0;
    }
}

static inline void warn_of_time(const struct thread *thread, const struct record *record,
                                uint64_t now, uint64_t length)
{
    const uint32_t function = (uint32_t)(record->stat - thread->stats);
    const uint64_t limit =
        atomic_load_explicit(&probe_inside.shared->warnings.slow[function], memory_order_relaxed);
    if (limit && length > limit)
        probe_warn(&(struct probe_warning){.time = now,
                                           .value = length,
                                           .limit = limit,
                                           .function = function,
                                           .slab = thread->slab,
                                           .kind = PROBE_SLOW});
}

/* Whether figures are in a thread's slab. They are of a trace before where a signal's handler came
 * upon a probe during that one, and has had calls measured by this one. */
static inline bool is_of(const struct thread *thread, const struct probe_stat *stat)
{
    return (uint64_t)((const uint8_t *)stat - (const uint8_t *)thread->stats) < thread->histograms;
}

/* The call is over; the caller takes it out of the chain. Sums are not cut off at zero, or those of
 * short calls, which come out now above and now below their mean, would be too large. */
static inline void finish(struct record *record, uint64_t now, bool is_in_chain,
                          enum probe_exit exit)
{
    struct thread *thread = probe_own_thread();
    struct probe_stat *stat = record->stat;
    /* Of a call that was left, what its exit would have taken has not passed: about half. */
    const bool has_returned = exit == PROBE_EXIT_RETURN || exit == PROBE_EXIT_TAIL;
    const uint64_t whole = probe_inside.shared->cost.whole >> !has_returned;
    const uint64_t begin = record->begin;
    const bool is_point = record->slot & POINT;
    renew(record);
    const uint64_t total = now - record->begin - record->probe_ticks;
    const uint64_t self = total - record->child_ticks;
    const uint64_t length = (int64_t)total > 0 ? total : 0;
    record->serial = 0;
    atomic_signal_fence(memory_order_seq_cst);
    if (!is_of(thread, stat))
        return;
    if (record->node & LOGGED) {
        const uint64_t passed = now - begin;
        log_end(thread, record, begin, (int64_t)passed > 0 ? passed : 0,
                (int64_t)self > 0 ? self : 0, exit);
    } else if (has_path(record)) {
        struct probe_node *node = &thread->nodes[record->node];
        add((uint64_t *)&node->self, self);
        add(&node->ended, 1);
    }
    add(&stat->ended, 1);
    if (probe_inside.shared->extras & PROBE_WARN) {
        const uint32_t function = (uint32_t)(stat - thread->stats);
        warn_of_time(thread, record, now, length);
        if (probe_heap_is_checked(function))
            probe_heap_end(thread, function, record->slot, stat->ended == stat->calls);
    }
    add((uint64_t *)&stat->self, self);
    if (stat->ended == stat->calls) {
        add((uint64_t *)&stat->total, total);
        add(&stat->probe_ticks, record->probe_ticks);
    }
    if (~length > stat->min_mask)
        stat->min_mask = ~length;
    if (length > stat->max)
        stat->max = length;
    add_one(&histogram_of(thread, stat)->buckets[bucket_of(length)]);
    if (!is_in_chain) {
        add(&stat->uncertain, 1);
        return;
    }
    struct record *parent = record->parent;
    if (parent) {
        renew(parent);
        /* The time between a place that calls and what it calls is the caller's own. */
        add(&parent->child_ticks, is_point ? record->child_ticks : total);
        add(&parent->probe_ticks, record->probe_ticks + whole);
        add(&parent->stat->child_calls, 1);
    }
}

uint64_t probe_now(void)
{
    return has_begun(probe_own_thread()) ? probe_ticks() : 0;
}

void probe_take_off(uint64_t ticks)
{
    struct thread *thread = probe_own_thread();
    if (!has_begun(thread) || thread->innermost == &thread->root)
        return;
    add(&thread->innermost->probe_ticks, ticks);
}

/* Two that run with one thread's data, of which nobody knows (a clone by a raw system call), mix up
 * the chain, but do not come to its end: only the root has no parent, and a frame that is taken out
 * has the root. */
static inline struct record *above(struct thread *thread, const struct record *record)
{
    return record->parent ? record->parent : &thread->root;
}

enum { CHAIN_MOST = 1 << 22 }; /* records: a longer chain leads round, or nowhere */

/* A frame that a signal's handler has left while its probe was at work. A call is made the
 * innermost before it is counted or logged, has its serial right behind that, and loses it before
 * its end is: without one it is open where one call more is than frames of its function are above
 * it. Were it not ended, all later calls of the function would be taken for recursive ones. Its
 * time is lost. */
static SAVES_ALL __attribute__((noinline)) void settle(struct thread *thread, struct record *record,
                                                       enum probe_exit exit)
{
    struct probe_stat *stat = record->stat;
    const bool is_logged =
        probe_inside.shared->extras & PROBE_LOG && probe_inside.shared->log_reach;
    uint64_t open = 0, open_on_path = 0;
    bool is_at_work = false; /* a probe above, which the handler has come upon */
    uint32_t steps = 0;
    if (!is_of(thread, stat))
        return;
    for (const struct record *at = record->parent; at && at != &thread->root; at = at->parent) {
        if (steps++ == CHAIN_MOST)
            return;
        const bool is_open = at->serial == thread->serial;
        is_at_work |= !is_open;
        open += is_open && at->stat == stat;
        open_on_path += is_open && at->node == record->node && !(at->slot & POINT);
    }
    if (has_path(record)) {
        struct probe_node *node = &thread->nodes[record->node];
        add(&node->ended, node->calls - node->ended == open_on_path + 1);
    }
    if (is_logged && !is_at_work)
        log_mend(thread);
    if (stat->calls - stat->ended != open + 1)
        return;
    if (is_logged && record->node & LOGGED)
        log_end(thread, record, record->begin, 0, 0, exit);
    add(&stat->abnormal, 1);
    add(&stat->ended, 1);
}

/* Takes the innermost frame out: an own one was left without a return; a foreign one is suspended
 * or left, and its own end or the next use of its slot will show. */
static inline void drop_innermost(struct thread *thread, uint64_t now, enum probe_exit exit)
{
    struct record *record = thread->innermost;
    struct record *parent = above(thread, record);
    if (is_own(thread, record->slot) && record->serial) {
        add(&record->stat->abnormal, 1);
        finish(record, now, true, exit);
    } else if (is_own(thread, record->slot)) {
        settle(thread, record, exit);
    }
    thread->innermost = parent;
    record->parent = &thread->root;
}

/* Makes a frame that is open the innermost. False: it is not in the chain. */
static SAVES_ALL __attribute__((noinline)) bool uncover(struct thread *thread,
                                                        struct record *record, uint64_t now)
{
    struct record *at = thread->innermost;
    uint32_t steps = 0;
    while (at && at != record && steps++ < CHAIN_MOST)
        at = at->parent;
    if (steps > CHAIN_MOST)
        thread->innermost = &thread->root;
    if (at != record)
        return false;
    while (thread->innermost != record && thread->innermost != &thread->root)
        drop_innermost(thread, now, PROBE_EXIT_LEFT);
    return true;
}

static inline void end_call(struct thread *thread, struct record *record, uint64_t now,
                            enum probe_exit exit)
{
    const bool is_in_chain = thread->innermost == record || uncover(thread, record, now);
    struct record *parent = above(thread, record);
    finish(record, now, is_in_chain, exit);
    if (is_in_chain)
        thread->innermost = parent;
}

SAVES_ALL void probe_end_call(struct thread *thread, struct record *record, uint64_t now,
                              enum probe_exit exit)
{
    end_call(thread, record, now, exit);
}

/* Ends the frames on the thread's own stack that are below an address or at it. */
SAVES_ALL __attribute__((noinline)) void probe_end_below(struct thread *thread, uint64_t address,
                                                         uint64_t now, enum probe_exit exit)
{
    while (thread->innermost != &thread->root &&
           (!is_own(thread, thread->innermost->slot) || thread->innermost->slot <= address))
        drop_innermost(thread, now, exit);
}

enum { RESULT = -3 }; /* words from the slot: where probe_leave has saved rax */

SAVES_ALL uint64_t probe_left(uint32_t function, uint64_t slot)
{
    struct thread *thread = probe_own_thread();
    struct record *record = record_of(slot);
    const bool has_clock =
        !thread->has_no_clock && (!probe_inside.has_no_clock || has_begun(thread));
    const uint64_t now = has_clock ? probe_ticks() : 0;
    if (!has_clock) {
        record->serial = 0;
        return record->return_address;
    }
    (void)function;
    if (*probe_inside.alive && has_begun(thread))
        probe_end_lease(now);
    if (*probe_inside.alive && has_begun(thread) && !(slot & POINT) &&
        probe_inside.shared->heap.epoch)
        probe_heap_leaves(thread, slot, ((const uint64_t *)(uintptr_t)slot)[RESULT]);
    if (record->serial & OF_BYTES)
        record->serial = 0;
    else if (*probe_inside.alive && has_begun(thread) && record->serial == thread->serial)
        end_call(thread, record, now, PROBE_EXIT_RETURN);
    return record->return_address;
}
