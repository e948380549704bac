/* Ends traced calls: adds their time to figures, paths and the log. No system call, no libc, no
 * lock; a signal may interrupt and re-enter it anywhere. */
#include "agent/probe/call.h"
#include "agent/probe/heap.h"
#include "agent/probe/paths.h"
#include "agent/probe/remark.h"

/* Call points have no path, and calls outside the modules have their caller's. */
static inline bool has_path(const struct thread *thread, const struct record *record)
{
    return path_of(record) && !(record->slot & POINT) && !is_outside(thread, record) &&
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

/* Clears the past of open calls after figures were cleared. */
static inline void renew(struct record *record)
{
    const uint64_t cleared =
        atomic_load_explicit(&probe_inside.shared->cleared, memory_order_relaxed);
    uint64_t *begin = begin_of(record);
    if (*begin < cleared) {
        *begin = cleared;
        record->child_ticks = 0;
        record->probe_ticks = 0;
    }
}

static inline void warn_of_time(const struct thread *thread, const struct record *record,
                                uint64_t now, uint64_t length)
{
    const uint32_t function = (uint32_t)(stat_of(record) - thread->stats);
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

/* A probe interrupted by a signal handler may hold figures of an earlier trace. */
static inline bool is_of(const struct thread *thread, const struct probe_stat *stat)
{
    return (uint64_t)((const uint8_t *)stat - (const uint8_t *)thread->stats) < thread->histograms;
}

/* Time between a call point and its callee is the caller's. */
static inline void add_to_caller(struct record *caller, const struct record *record, uint64_t total,
                                 uint64_t whole)
{
    renew(caller);
    add(&caller->child_ticks, record->slot & POINT ? record->child_ticks : total);
    add(&caller->probe_ticks, record->probe_ticks + whole);
    add(&stat_of(caller)->child_calls, 1);
}

/* Adds a call outside the modules to a node below its caller's; without one, its time to the
 * caller's. What it calls back is below the caller, too, as without these probes. */
static inline void add_outside_path(const struct thread *thread, const struct probe_stat *stat,
                                    uint32_t caller, uint64_t self)
{
    const uint32_t extras = probe_inside.shared->extras;
    const bool has_room = PROBE_NODE_DEPTH(thread->nodes[caller].key) + 1 < PROBE_PATH_DEPTH;
    const uint32_t below = has_room && extras & PROBE_PATHS
                               ? node_below(thread, caller, (uint32_t)(stat - thread->stats),
                                            OF_OUTSIDE, extras & PROBE_SPARE)
                               : 0;
    struct probe_node *node = &thread->nodes[below ? below : caller];
    add((uint64_t *)&node->self, self);
    if (below) {
        add(&node->calls, 1);
        add(&node->ended, 1);
    }
}

/* A call outside the modules: its self time is its caller's time outside. */
static inline void add_outside(const struct thread *thread, const struct probe_stat *stat,
                               const struct record *caller, uint64_t self)
{
    uint64_t *words = (uint64_t *)(stat_of(&thread->root) + 1);
    const uint64_t function = (uint64_t)(stat_of(caller) - thread->stats);
    if (has_path(thread, caller))
        add_outside_path(thread, stat, path_of(caller), self);
    if (function <= probe_inside.function_count)
        add(&words[function], self);
}

/* Suspended with its coroutine before it jumped: in the chain for its callee, but no part of the
 * call that resumed the coroutine. */
static inline bool is_apart(const struct record *record)
{
    return is_jumper(record) && record->begin == PROBE_JUMPER_APART;
}

/* The caller removes the record from the chain. Short calls vary around their mean, so sums may go
 * below zero. */
static inline void finish(struct record *record, uint64_t now, bool is_in_chain,
                          enum probe_exit exit)
{
    struct thread *thread = probe_own_thread();
    struct probe_stat *stat = stat_of(record);
    /* others skipped the exit, about half of the cost */
    const bool has_returned =
        exit == PROBE_EXIT_RETURN || exit == PROBE_EXIT_TAIL || exit == PROBE_EXIT_TAIL_CUT;
    const uint64_t whole = probe_inside.shared->cost.whole >> !has_returned;
    const uint64_t begin = *begin_of(record);
    const bool is_counted_above = is_in_chain && !is_apart(record);
    const bool leaves = is_outside(thread, record);
    struct record *parent = record->parent;
    renew(record);
    const uint64_t total = now - *begin_of(record) - record->probe_ticks;
    const uint64_t self = total - record->child_ticks;
    const uint64_t length = (int64_t)total > 0 ? total : 0;
    record->serial = 0;
    atomic_signal_fence(memory_order_seq_cst);
    if (!is_of(thread, stat))
        return;
    /* Before its end in the log: the kept call's row begins as the logged one's. */
    if (keeps_calls() && !(record->slot & POINT) && !leaves)
        keep_end(thread, record, now, (int64_t)total, (int64_t)self, is_counted_above, exit);
    if (is_logged(record)) {
        const uint64_t passed = now - begin;
        log_end(thread, record, begin, (int64_t)passed > 0 ? passed : 0,
                ((int64_t)self > 0 ? self : 0) | (is_counted_above ? 0 : PROBE_LOG_APART), exit);
    }
    if (has_path(thread, record)) {
        struct probe_node *node = &thread->nodes[path_of(record)];
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
    add(&stat->uncertain, !is_counted_above);
    if (parent && (is_counted_above || is_jumper_to(parent, record->slot))) {
        add_to_caller(parent, record, total, whole);
        if (leaves)
            add_outside(thread, stat, parent, self);
    }
    if (!is_counted_above || !parent || !is_apart(parent))
        return;
    for (uint32_t steps = 0; parent && is_apart(parent) && steps < PROBE_JUMPERS; steps++)
        parent = parent->parent;
    if (parent)
        add_to_caller(parent, record, total, whole);
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

enum { CHAIN_MOST = 1 << 22 }; /* a longer chain is a loop */

/* == Places of calls that have jumped == */

static inline struct record *jumpers_of(const struct thread *thread)
{
    return (struct record *)(uintptr_t)PROBE_JUMPERS_AT + (uint64_t)thread->slab * PROBE_JUMPERS;
}

/* By an open call of this thread, or of a stack whose slots map there. */
static inline bool is_taken(const struct thread *thread, const struct record *jumper)
{
    return jumper->serial &&
           (jumper->serial == thread->serial || record_of(jumper->slot) == jumper);
}

/* Starts at the last one taken, usually free again. NULL: LOOKS were taken. */
static inline struct record *take_jumper(struct thread *thread)
{
    enum { LOOKS = 64 };
    struct record *jumpers = jumpers_of(thread);
    for (uint32_t look = 0; look < LOOKS; look++) {
        const uint32_t at = thread->next_jumper++ % PROBE_JUMPERS;
        if (!is_taken(thread, &jumpers[at]))
            return &jumpers[at];
    }
    return NULL;
}

static inline void give_jumper_back(struct thread *thread, const struct record *record)
{
    if (is_jumper(record) && !record->serial &&
        (uint32_t)(record - jumpers_of(thread)) == (thread->next_jumper - 1) % PROBE_JUMPERS)
        thread->next_jumper--;
}

/* Ends a call whose probe a signal handler left; its time is lost. A call becomes innermost, is
 * counted, gets its serial, and loses it before its end counts. So without a serial it is open if
 * its function has one open call more than frames above. Else later calls would count as recursive.
 */
static SAVES_ALL __attribute__((noinline)) void settle(struct thread *thread, struct record *record,
                                                       enum probe_exit exit)
{
    struct probe_stat *stat = stat_of(record);
    const bool has_log = probe_inside.shared->extras & PROBE_LOG && probe_inside.shared->log.reach;
    uint64_t open = 0, open_on_path = 0;
    bool is_at_work = false; /* another probe was interrupted above */
    uint32_t steps = 0;
    if (!is_of(thread, stat))
        return;
    for (const struct record *at = record->parent; at && at != &thread->root; at = at->parent) {
        if (steps++ == CHAIN_MOST)
            return;
        const bool is_open = at->serial == thread->serial;
        is_at_work |= !is_open;
        open += is_open && stat_of(at) == stat;
        open_on_path += is_open && path_of(at) == path_of(record) && has_path(thread, at);
    }
    if (has_path(thread, record)) {
        struct probe_node *node = &thread->nodes[path_of(record)];
        add(&node->ended, node->calls - node->ended == open_on_path + 1);
    }
    if (keeps_calls() && !is_at_work)
        keep_mend(thread);
    else if (has_log && !is_at_work)
        log_mend(thread);
    if (keeps_calls() && record->node)
        keep_end(thread, record, *begin_of(record), 0, 0, true, exit);
    if (stat->calls - stat->ended != open + 1)
        return;
    if (has_log && is_logged(record))
        log_end(thread, record, *begin_of(record), 0, 0, exit);
    add(&stat->abnormal, 1);
    add(&stat->ended, 1);
}

/* An own call was left. A foreign one may be suspended until its end or its slot's reuse. */
static inline void drop_innermost(struct thread *thread, uint64_t now, enum probe_exit exit)
{
    struct record *record = thread->innermost;
    struct record *parent = above(thread, record);
    if (is_own(thread, record->slot) && record->serial) {
        count_exit(stat_of(record), exit);
        finish(record, now, true, exit);
    } else if (is_own(thread, record->slot)) {
        settle(thread, record, exit);
    }
    thread->innermost = parent;
    if (is_own(thread, record->slot) || !is_jumper_to(parent, record->slot))
        record->parent = &thread->root;
    give_jumper_back(thread, record);
}

/* Why calls below a slot were left. Destructors are called in frames that a flying exception has
 * reached. */
static inline enum probe_exit begin_leaving(struct thread *thread, uint64_t slot)
{
    const bool is_thrown = thread->flying_at && thread->flying_at < slot && is_own(thread, slot);
    if (is_thrown && keeps_calls())
        valued_of(thread)->thrown = thread->flying;
    return is_thrown ? PROBE_EXIT_EXCEPTION : PROBE_EXIT_LEFT;
}

/* A continuing exception is noted again; another was caught, maybe without a probe. */
static inline void end_leaving(struct thread *thread, enum probe_exit exit)
{
    if (exit != PROBE_EXIT_EXCEPTION)
        return;
    thread->flying_at = 0;
    if (keeps_calls())
        valued_of(thread)->thrown = 0;
}

/* Makes an open call the innermost. False: it is not in the chain. */
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
    const enum probe_exit exit = begin_leaving(thread, record->slot);
    while (thread->innermost != record && thread->innermost != &thread->root)
        drop_innermost(thread, now, exit);
    end_leaving(thread, exit);
    return true;
}

/* Several ends take longer than one (half a probe). The difference is not the caller's time. */
static inline void take_off_end(struct record *caller, uint64_t now)
{
    const uint64_t took = probe_ticks() - now, usual = probe_inside.shared->cost.whole / 2;
    add(&caller->probe_ticks, took > usual ? took - usual : 0);
}

static inline void end_call(struct thread *thread, struct record *record, uint64_t now,
                            enum probe_exit exit)
{
    const bool is_in_chain = thread->innermost == record || uncover(thread, record, now);
    const uint64_t slot = record->slot;
    struct record *const first = above(thread, record), *parent = first;
    uint32_t jumpers = 0;
    finish(record, now, is_in_chain, exit);
    for (; is_jumper_to(parent, slot) && jumpers < PROBE_JUMPERS; jumpers++) {
        struct record *jumper = parent;
        const enum probe_exit how = exit == PROBE_EXIT_RETURN ? PROBE_EXIT_TAIL : exit;
        parent = above(thread, jumper);
        count_exit(stat_of(jumper), how);
        finish(jumper, now, is_in_chain, how);
    }
    if (is_in_chain)
        thread->innermost = parent;
    atomic_signal_fence(memory_order_seq_cst);
    /* last: a signal handler follows these links */
    for (const struct record *jumper = first; jumpers; jumper = jumper->parent, jumpers--)
        give_jumper_back(thread, jumper);
    if (is_in_chain && parent != first && exit == PROBE_EXIT_RETURN)
        take_off_end(parent, now);
}

SAVES_ALL void probe_end_call(struct thread *thread, struct record *record, uint64_t now,
                              enum probe_exit exit)
{
    end_call(thread, record, now, exit);
}

/* == Calls that jump to others == */

/* The jump ends the call instead of leaving it open: many calls at the slot have jumped, or one of
 * either function, as in interpreters whose operations jump to each other. */
static inline bool is_cut(const struct record *record, const struct probe_stat *next)
{
    enum { JUMPERS = 64 };
    uint32_t count = 0;
    if (stat_of(record) == next)
        return true;
    const struct record *at = record->parent;
    if (at && is_point_of(at, record->slot))
        at = at->parent;
    for (; is_jumper_to(at, record->slot); at = at->parent)
        if (stat_of(at) == stat_of(record) || stat_of(at) == next || ++count == JUMPERS)
            return true;
    return false;
}

/* Adds a suspended coroutine's call, with its jumpers. */
static void take_in(struct thread *thread, struct record *record)
{
    struct record *outermost = record;
    for (uint32_t steps = 0; is_jumper_to(outermost->parent, record->slot) && steps < PROBE_JUMPERS;
         steps++) {
        outermost = outermost->parent;
        outermost->begin = PROBE_JUMPER_APART;
    }
    outermost->parent = thread->innermost;
    make_innermost(thread, record);
}

/* The new record is open once it is in the chain: see settle(). */
static void move(struct thread *thread, struct record *record, struct record *jumper, bool is_apart)
{
    *jumper = *record;
    jumper->serial = 0;
    jumper->return_address = record->begin;
    jumper->begin = is_apart ? PROBE_JUMPER_APART : PROBE_JUMPER_IN_CHAIN;
    make_innermost(thread, jumper);
    jumper->serial = thread->serial;
    atomic_signal_fence(memory_order_seq_cst);
    record->serial = 0;
}

SAVES_ALL struct record *probe_jump(struct thread *thread, struct record *record,
                                    const struct probe_stat *next, uint64_t now)
{
    const bool is_in_chain = thread->innermost == record || uncover(thread, record, now);
    if (!is_in_chain)
        take_in(thread, record);
    struct record *jumper = is_cut(record, next) ? NULL : take_jumper(thread);
    if (jumper) {
        move(thread, record, jumper, !is_in_chain);
        return jumper;
    }
    struct record *parent = above(thread, record);
    count_exit(stat_of(record), PROBE_EXIT_TAIL_CUT);
    finish(record, now, is_in_chain, PROBE_EXIT_TAIL_CUT);
    thread->innermost = parent;
    return parent;
}

SAVES_ALL void probe_end_point(struct thread *thread, struct record *point, uint64_t now)
{
    struct record **link = &thread->innermost;
    for (uint32_t steps = 0; is_jumper_to(*link, point->slot) && steps < PROBE_JUMPERS; steps++)
        link = &(*link)->parent;
    const bool is_in_chain = *link == point;
    struct record *parent = above(thread, point);
    count_exit(stat_of(point), PROBE_EXIT_TAIL_CUT);
    finish(point, now, is_in_chain, PROBE_EXIT_TAIL_CUT);
    if (is_in_chain)
        *link = parent;
    atomic_signal_fence(memory_order_seq_cst);
}

SAVES_ALL __attribute__((noinline)) void probe_end_below(struct thread *thread, uint64_t address,
                                                         uint64_t now, enum probe_exit exit)
{
    while (thread->innermost != &thread->root &&
           (!is_own(thread, thread->innermost->slot) || thread->innermost->slot <= address))
        drop_innermost(thread, now, exit);
    if (thread->allocator_slot <= address && is_own(thread, thread->allocator_slot))
        thread->allocator_slot = 0;
}

SAVES_ALL void probe_end_left(struct thread *thread, uint64_t slot)
{
    const enum probe_exit exit = begin_leaving(thread, slot);
    probe_end_below(thread, slot, probe_ticks(), exit);
    end_leaving(thread, exit);
}

enum { RESULT = -3 }; /* words from the slot: rax, saved by probe_leave */

SAVES_ALL uint64_t probe_left(uint64_t now, uint64_t slot)
{
    struct thread *thread = probe_own_thread();
    struct record *record = record_of(slot);
    const bool has_clock =
        !thread->has_no_clock && (!probe_inside.has_no_clock || has_begun(thread));
    if (!has_clock) {
        record->serial = 0;
        return record->return_address;
    }
    if (!now)
        now = probe_ticks();
    if (*probe_inside.alive && has_begun(thread))
        probe_end_lease(now);
    if (*probe_inside.alive && has_begun(thread) && !(slot & POINT) &&
        probe_inside.shared->heap.epoch)
        probe_heap_leaves(thread, slot, ((const uint64_t *)(uintptr_t)slot)[RESULT]);
    if (record->serial & OF_BYTES) {
        record->serial = 0;
        probe_take_off(probe_ticks() - now);
    } else if (*probe_inside.alive && has_begun(thread) && record->serial == thread->serial) {
        end_call(thread, record, now, PROBE_EXIT_RETURN);
    }
    return record->return_address;
}

SAVES_ALL void probe_take_remark(struct thread *thread, uint32_t function,
                                 const struct probe_saved *saved)
{
    if (keeps_calls() && thread->ring)
        take_remark(thread, function, saved);
}
