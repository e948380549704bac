/* What thunks call: takes calls and their ends into records and figures. No system call, no libc,
 * no lock, nothing but general registers; a signal may interrupt it anywhere and enter it again. */
#include "agent/probe/heap.h"
#include "agent/probe/offsets.h"
#include "agent/probe/thread.h"

/* == What calls.S knows == */

#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), "calls.S")
AT(struct probe_inside, alive, INSIDE_ALIVE);
AT(struct probe_inside, shared, INSIDE_SHARED);
AT(struct probe_inside, follows_forks, INSIDE_FOLLOWS_FORKS);
AT(struct record, return_address, RECORD_RETURN_ADDRESS);
AT(struct record, begin, RECORD_BEGIN);
AT(struct record, parent, RECORD_PARENT);
AT(struct record, child_ticks, RECORD_CHILD_TICKS);
AT(struct record, probe_ticks, RECORD_PROBE_TICKS);
AT(struct record, slot, RECORD_SLOT);
AT(struct record, stat, RECORD_STAT);
AT(struct record, serial, RECORD_SERIAL);
AT(struct record, node, RECORD_NODE);
AT(struct thread, stats, THREAD_STATS);
AT(struct thread, innermost, THREAD_INNERMOST);
AT(struct thread, low, THREAD_LOW);
AT(struct thread, high, THREAD_HIGH);
AT(struct thread, serial, THREAD_SERIAL);
AT(struct thread, open_logged, THREAD_OPEN_LOGGED);
AT(struct thread, ring, THREAD_RING);
AT(struct thread, ring_mask, THREAD_RING_MASK);
AT(struct thread, root, THREAD_ROOT);
AT(struct thread, histograms, THREAD_HISTOGRAMS);
AT(struct thread, generation, THREAD_GENERATION);
AT(struct probe_stat, calls, STAT_CALLS);
AT(struct probe_stat, ended, STAT_ENDED);
AT(struct probe_stat, self, STAT_SELF);
AT(struct probe_stat, total, STAT_TOTAL);
AT(struct probe_stat, probe_ticks, STAT_PROBE_TICKS);
AT(struct probe_stat, max, STAT_MAX);
AT(struct probe_stat, min_mask, STAT_MIN_MASK);
AT(struct probe_stat, child_calls, STAT_CHILD_CALLS);
AT(struct probe_stat, counted, STAT_COUNTED);
AT(struct probe_stat, child_counted, STAT_CHILD_COUNTED);
AT(struct probe_stat, recursive, STAT_RECURSIVE);
AT(struct probe_stat, pending, STAT_PENDING);
AT(struct probe_shared, function_count, SHARED_FUNCTION_COUNT);
AT(struct probe_shared, extras, SHARED_EXTRAS);
AT(struct probe_shared, log_depth, SHARED_LOG_DEPTH);
AT(struct probe_shared, log_is_full, SHARED_LOG_IS_FULL);
AT(struct probe_shared, histograms, SHARED_HISTOGRAMS);
AT(struct probe_shared, cleared, SHARED_CLEARED);
AT(struct probe_shared, cost.inside, SHARED_COST_INSIDE);
AT(struct probe_shared, cost.whole, SHARED_COST_WHOLE);
AT(struct probe_shared, cost.count, SHARED_COST_COUNT);
AT(struct probe_shared, generation, SHARED_GENERATION);
AT(struct probe_shared, tiers, SHARED_TIERS);
_Static_assert(sizeof(struct probe_stat) == STAT_BYTES && STAT_BYTES == 1 << 7 &&
                   sizeof(struct probe_histogram) == 2 * STAT_BYTES,
               "calls.S");
_Static_assert(PROBE_OFF == 0 && PROBE_COUNT == 1 && PROBE_FULL == 4 && PROBE_LOG == 4 &&
                   PROBE_WARN == 8 && PROBE_SPARE == 16,
               "calls.S");
_Static_assert(RECORD_SERIAL + 4 == offsetof(struct record, node), "written together");
_Static_assert(PROBE_RECORDS == 0x570000000000 && PROBE_SLOT_MASK == (UINT64_C(1) << 42) - 1,
               "calls.S");
_Static_assert(PROBE_THUNKS *PROBE_THUNK_BYTES == 0x800000 && PROBE_BUCKETS == 64 &&
                   PROBE_BUCKET_FIRST == 4,
               "calls.S");

/* One instruction, so that a signal handler's addition cannot get lost. */
static inline void add(uint64_t *to, uint64_t value)
{
    __asm__ volatile("addq %1, %0" : "+m"(*to) : "er"(value) : "cc");
}

static inline void add_one(uint32_t *to)
{
    __asm__ volatile("addl $1, %0" : "+m"(*to) : : "cc");
}

/* == Memory that is not to grow == */

static inline bool has_bit(const _Atomic uint8_t *bits, uint64_t at)
{
    return atomic_load_explicit(&bits[at / 8], memory_order_relaxed) >> at % 8 & 1;
}

/* Whether a thread's figures of a function are on a page that exists, or may be made. */
static inline bool has_page(const struct thread *thread, uint32_t extras, uint32_t function)
{
    return !(extras & PROBE_SPARE) || function >= probe_inside.shared->function_count ||
           has_bit(probe_inside.shared->stat_pages[thread->slab],
                   function * sizeof(struct probe_stat) / PROBE_PAGE);
}

static inline bool has_node_page(const struct thread *thread, uint32_t node)
{
    return has_bit(probe_inside.shared->node_pages[thread->slab],
                   node * sizeof(struct probe_node) / PROBE_PAGE);
}

/* == Paths == */

/* The node of a function below a caller's, made where there is none yet. 0: no room, or the place
 * is not to be found by few looks. */
static inline uint32_t node_below(const struct thread *thread, uint32_t parent, uint32_t function,
                                  bool is_spare)
{
    enum { LOOKS = 32 };
    struct probe_node *nodes = thread->nodes;
    uint64_t depth = parent ? PROBE_NODE_DEPTH(nodes[parent].key) + 1 : 0;
    if (depth >= PROBE_PATH_DEPTH)
        depth = parent = 0;
    const uint64_t key = depth << 48 | (uint64_t)parent << 32 | (function + 1);
    uint32_t at = (parent * 0x9e3779b1u + function * 0x85ebca77u) >> 16;
    for (int i = 0; i < LOOKS; i++, at++) {
        at = at % PROBE_NODES ? at % PROBE_NODES : 1;
        if (is_spare && !has_node_page(thread, at))
            return 0;
        if (nodes[at].key == key)
            return at;
        uint64_t free = 0;
        if (__atomic_compare_exchange_n(&nodes[at].key, &free, key, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return at;
        if (free == key) /* by a signal's handler, just now */
            return at;
    }
    return 0;
}

/* The same of two: the function that called it, if one did, and the function. */
static uint32_t pair_node(const struct thread *thread, const struct record *caller,
                          uint32_t function, bool is_spare)
{
    while (caller != &thread->root && caller->slot & POINT &&
           (uint32_t)(caller->stat - thread->stats) >= probe_inside.shared->first_open_point)
        caller = caller->parent ? caller->parent : &thread->root;
    const uint32_t from =
        caller == &thread->root ? UINT32_MAX : (uint32_t)(caller->stat - thread->stats);
    const uint32_t parent = from == UINT32_MAX ? 0 : node_below(thread, 0, from, is_spare);
    return from != UINT32_MAX && !parent ? 0 : node_below(thread, parent, function, is_spare);
}

/* == The log == */

enum logged {
    LOGGED = 1u << 31,
    DEPTH = LOGGED - 1,
};

/* The depth of a call below a caller: the outermost one that the log sees has 1. */
static inline uint32_t depth_below(const struct record *caller)
{
    const uint32_t depth = caller->node & DEPTH;
    return depth < PROBE_LOG_DEPTH_MAX ? depth + 1 : depth;
}

/* So much stays free for what signal handlers log between a look and what follows from it. */
enum { RING_MARGIN = 256 };

/* One instruction, for the same reason as add(). */
static inline uint64_t take_room(uint64_t *head, uint64_t units)
{
    __asm__ volatile("xaddq %0, %1" : "+r"(units), "+m"(*head) : : "cc", "memory");
    return units;
}

static inline uint64_t *unit_at(const struct thread *thread, uint64_t place)
{
    return (uint64_t *)((uint8_t *)thread->ring + PROBE_RING_HEADER +
                        (place & thread->ring_mask) * PROBE_UNIT_BYTES);
}

/* What is in a header says that the rest is there. */
static inline void put_header(uint64_t *unit, uint64_t header)
{
    __atomic_store_n(unit, header, __ATOMIC_RELEASE);
}

/* Whether there is room for a beginning, and for the ends of all that are open. */
static inline bool has_room(const struct thread *thread)
{
    const uint64_t units = thread->ring_mask + 1, ends = thread->open_logged + 1;
    const uint64_t used = __atomic_load_n(&thread->ring->head, __ATOMIC_RELAXED) -
                          atomic_load_explicit(&thread->ring->tail, memory_order_acquire);
    return used + 2 + (ends < units / 4 ? ends : units / 4) + RING_MARGIN <= units;
}

/* Calls that only calibrate cost the same and leave nothing. */
static bool log_begin(struct thread *thread, uint32_t function, uint32_t kind, uint32_t depth,
                      uint64_t begin, const struct probe_saved *saved)
{
    const struct probe_shared *shared = probe_inside.shared;
    const bool is_real = function < shared->function_count;
    if (depth > atomic_load_explicit(&shared->log_depth, memory_order_relaxed))
        return false;
    if (atomic_load_explicit(&shared->log_is_full, memory_order_relaxed) || !has_room(thread)) {
        add(&thread->stats[function].unlogged, is_real);
        return false;
    }
    const uint64_t place = take_room(&thread->ring->head, is_real ? 2 : 0);
    uint64_t *first = unit_at(thread, place), *second = unit_at(thread, place + 1);
    first[1] = begin;
    first[2] = saved->rdi;
    first[3] = saved->rsi;
    second[0] = saved->rdx;
    second[1] = saved->rcx;
    second[2] = saved->r8;
    second[3] = saved->r9;
    put_header(first, is_real ? probe_log_header(place, kind, 0, depth, function) : 0);
    return true;
}

static void log_end(struct thread *thread, const struct record *record, uint64_t begin,
                    uint64_t ticks, uint64_t self, enum probe_exit exit)
{
    const uint32_t function = (uint32_t)(record->stat - thread->stats);
    const bool is_real = function < probe_inside.shared->function_count;
    const uint64_t used =
        thread->ring->head - atomic_load_explicit(&thread->ring->tail, memory_order_acquire);
    thread->open_logged -= thread->open_logged > 0;
    if (used > thread->ring_mask) /* more were open than there was room kept for */
        return;
    const uint64_t place = take_room(&thread->ring->head, is_real);
    uint64_t *unit = unit_at(thread, place);
    unit[1] = begin;
    unit[2] = ticks;
    unit[3] = self;
    put_header(
        unit,
        is_real ? probe_log_header(place, PROBE_LOG_END, exit, record->node & DEPTH, function) : 0);
}

_Static_assert(LOGGED == 0x80000000 && DEPTH == 0x7fffffff && PROBE_LOG_DEPTH_MAX == 0x1fffff &&
                   RING_MARGIN == 256 && PROBE_RING_HEADER == 4096 && PROBE_UNIT_BYTES == 32 &&
                   offsetof(struct probe_ring, head) == 0 &&
                   offsetof(struct probe_ring, tail) == 64,
               "calls.S");
_Static_assert(PROBE_LOG_BEGIN == 1 && PROBE_LOG_END == 2 && PROBE_EXIT_RETURN == 0, "calls.S");

/* == Warnings == */

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

/* Where a thread's stack ends: behind its thread pointer libc has noted the block that holds both,
 * its size and that of the guard. 0: not found. */
static uint64_t stack_bottom(const struct thread *thread, uint64_t pointer)
{
    enum { FROM = 0x100, TO = 0x8e8, PAGE = 4096, ABOVE = 64 << 10 };
    for (uint64_t at = pointer + FROM; at < pointer + TO; at += 8) {
        const uint64_t *words = (const uint64_t *)(uintptr_t)at;
        const uint64_t block = words[0], size = words[1], guard = words[2];
        if (!((block | size | guard) % PAGE) && block && block < thread->high && guard < size &&
            size <= UINT64_C(1) << 40 && block + size >= pointer && block + size - pointer < ABOVE)
            return block + guard;
    }
    return 0;
}

/* The next warning of a thread comes when half of what was left is in use, too. */
static SAVES_ALL __attribute__((noinline)) void warn_of_stack(struct thread *thread,
                                                              uint32_t function, uint64_t slot)
{
    const uint64_t part = atomic_load(&probe_inside.shared->warnings.stack_part);
    if (!part || !is_own(thread, slot))
        return;
    if (!thread->stack_mark) {
        const bool is_main = thread->high == probe_inside.shared->stack_high;
        thread->stack_bottom = is_main ? thread->low : stack_bottom(thread, thread->high);
        thread->stack_limit = (thread->high - thread->stack_bottom) / 256 * part;
        thread->stack_mark = thread->stack_bottom ? thread->high - thread->stack_limit : 1;
    }
    if (slot >= thread->stack_mark)
        return;
    probe_warn(&(struct probe_warning){.time = probe_ticks(),
                                       .value = thread->high - slot,
                                       .limit = thread->stack_limit,
                                       .function = function,
                                       .slab = thread->slab,
                                       .kind = PROBE_STACK});
    thread->stack_mark = thread->stack_bottom + (slot - thread->stack_bottom) / 2;
}

/* == Ends of calls == */

/* A node that was left in a record when calls were logged is none. */
static inline bool is_counted_by_path(void)
{
    return probe_inside.shared->extras & (PROBE_PATHS | PROBE_CALLERS);
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
    struct probe_stat *stat = record->stat;
    const uint64_t whole = probe_inside.shared->cost.whole;
    const uint64_t begin = record->begin;
    const bool is_point = record->slot & POINT;
    renew(record);
    const uint64_t ticks = now - record->begin;
    const uint64_t total = ticks - record->probe_ticks;
    const uint64_t length = (int64_t)total > 0 ? total : 0;
    record->serial = 0;
    if (!is_of(&probe_thread, stat))
        return;
    if (record->node & LOGGED) {
        const uint64_t self = ticks - record->child_ticks, passed = now - begin;
        log_end(&probe_thread, record, begin, (int64_t)passed > 0 ? passed : 0,
                (int64_t)self > 0 ? self : 0, exit);
    } else if (record->node && !is_point && is_counted_by_path()) {
        struct probe_node *node = &probe_thread.nodes[record->node];
        add((uint64_t *)&node->self, ticks - record->child_ticks);
        add(&node->ended, 1);
    }
    add(&stat->ended, 1);
    if (probe_inside.shared->extras & PROBE_WARN) {
        const uint32_t function = (uint32_t)(stat - probe_thread.stats);
        warn_of_time(&probe_thread, record, now, length);
        if (probe_heap_is_checked(function))
            probe_heap_end(&probe_thread, function, record->slot, stat->ended == stat->calls);
    }
    add((uint64_t *)&stat->self, ticks - record->child_ticks);
    if (stat->ended == stat->calls) {
        add((uint64_t *)&stat->total, total);
        add(&stat->probe_ticks, record->probe_ticks);
    }
    if (~length > stat->min_mask)
        stat->min_mask = ~length;
    if (length > stat->max)
        stat->max = length;
    add_one(&histogram_of(&probe_thread, stat)->buckets[bucket_of(length)]);
    if (!is_in_chain) {
        add(&stat->uncertain, 1);
        return;
    }
    struct record *parent = record->parent;
    if (parent) {
        renew(parent);
        /* The time between a place that calls and what it calls is the caller's own. */
        add(&parent->child_ticks, (is_point ? record->child_ticks : ticks) + whole);
        add(&parent->probe_ticks, record->probe_ticks + whole);
        add(&parent->stat->child_calls, 1);
    }
}

/* A call that is only counted. */
static inline void count(const struct thread *thread, struct probe_stat *stat)
{
    struct record *caller = thread->innermost;
    add(&stat->counted, 1);
    add(&caller->child_ticks, probe_inside.shared->cost.count);
    add(&caller->probe_ticks, probe_inside.shared->cost.count);
    add(&caller->stat->child_counted, 1);
}

void probe_take_off(uint64_t ticks)
{
    struct thread *thread = &probe_thread;
    if (!has_begun(thread) || thread->innermost == &thread->root)
        return;
    add(&thread->innermost->child_ticks, ticks);
    add(&thread->innermost->probe_ticks, ticks);
}

/* Takes the innermost frame out: an own one was left without a return; a foreign one is suspended
 * or left, and its own end or the next use of its slot will show. */
static inline void drop_innermost(struct thread *thread, uint64_t now, enum probe_exit exit)
{
    struct record *record = thread->innermost;
    struct record *parent = record->parent;
    if (is_own(thread, record->slot)) {
        add(&record->stat->abnormal, 1);
        finish(record, now, true, exit);
    }
    thread->innermost = parent;
    record->parent = NULL;
}

/* Makes a frame that is open the innermost. False: it is not in the chain. */
static SAVES_ALL __attribute__((noinline)) bool uncover(struct thread *thread,
                                                        struct record *record, uint64_t now)
{
    struct record *at = thread->innermost;
    while (at && at != record)
        at = at->parent;
    if (!at)
        return false;
    while (thread->innermost != record)
        drop_innermost(thread, now, PROBE_EXIT_LEFT);
    return true;
}

static inline void end_call(struct thread *thread, struct record *record, uint64_t now,
                            enum probe_exit exit)
{
    const bool is_in_chain = thread->innermost == record || uncover(thread, record, now);
    struct record *parent = record->parent;
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

/* == Coverage == */

/* The first call. Frames go on being ended where the probe is there for that. */
static SAVES_ALL __attribute__((noinline)) void cover(uint32_t function, uint8_t tiers)
{
    struct probe_shared *shared = probe_inside.shared;
    struct probe_hit *hit = &shared->hits[function];
    uint64_t none = 0;
    const uint8_t rest = tiers & (uint8_t)~PROBE_COVER;
    if (atomic_compare_exchange_strong(&hit->first, &none, probe_ticks())) {
        atomic_store(&hit->pid, probe_inside.pid);
        atomic_store(&hit->tid, probe_thread_id(shared));
    }
    atomic_compare_exchange_strong(&shared->tiers[function], &tiers, rest);
}

/* == Frames that are left by a jump == */

/* Where a longjmp sets the stack pointer to. glibc stores it rotated and mixed with a secret, musl
 * as it is; only an address on the thread's own stack is believed. */
static uint64_t jump_target(const struct thread *thread, uint64_t buffer, uint64_t slot)
{
    enum { STACK_POINTER = 6 };
    const uint64_t stored = ((const uint64_t *)(uintptr_t)buffer)[STACK_POINTER];
    uint64_t secret;
    __asm__("movq %%fs:0x30, %0" : "=r"(secret));
    const uint64_t plain = (stored >> 17 | stored << 47) ^ secret;
    if (is_own(thread, plain) && plain > slot)
        return plain;
    return is_own(thread, stored) && stored > slot ? stored : 0;
}

static SAVES_ALL __attribute__((noinline)) void leave_frames(struct thread *thread, uint32_t tier,
                                                             uint64_t slot, uint64_t argument)
{
    const uint64_t now = probe_ticks();
    if (!is_own(thread, slot))
        return;
    const uint64_t target = tier == PROBE_JUMP ? jump_target(thread, argument, slot) : 0;
    probe_end_below(thread, target ? target - 1 : slot | POINT, now,
                    tier == PROBE_JUMP ? PROBE_EXIT_LONGJMP : PROBE_EXIT_EXCEPTION);
}

/* A call whose figures would have to be on a page that may not be made. */
static SAVES_ALL __attribute__((noinline)) void count_beyond(struct thread *thread,
                                                             uint32_t function, uint8_t tiers,
                                                             uint64_t slot, uint64_t argument)
{
    const uint8_t tier = tiers & (uint8_t)~PROBE_QUIET;
    struct record *caller = thread->innermost;
    if (tiers == tier) {
        atomic_fetch_add_explicit(&probe_inside.shared->beyond[function], 1, memory_order_relaxed);
        add(&caller->child_ticks, probe_inside.shared->cost.count);
        add(&caller->probe_ticks, probe_inside.shared->cost.count);
        add(&caller->stat->child_counted, 1);
    }
    if (tier == PROBE_LEAVE || tier == PROBE_JUMP)
        leave_frames(thread, tier, slot, argument);
}

/* == Functions of allocators that nobody has chosen == */

static inline bool is_thunk(uint64_t address)
{
    return address - (uint64_t)(uintptr_t)probe_thunks < (uint64_t)PROBE_THUNKS * PROBE_THUNK_BYTES;
}

enum { OF_BYTES = 1u << 31 }; /* in serials of records, of such calls alone */

/* Has the call return to its thunk. It is in no chain: for figures, paths and the log it is a part
 * of its caller. Returns as probe_entered. */
static SAVES_ALL __attribute__((noinline)) int
see_bytes(struct thread *thread, uint32_t function, uint64_t slot, const struct probe_saved *saved)
{
    struct record *record = record_of(slot);
    const uint64_t return_address = *(const uint64_t *)(uintptr_t)slot;
    if (!probe_heap_enters(thread, function, slot, saved) ||
        (record->serial == thread->serial && is_thunk(return_address)))
        return 1;
    if (!is_thunk(return_address))
        record->return_address = return_address;
    record->begin = probe_ticks();
    record->slot = slot;
    record->serial = thread->serial | OF_BYTES;
    return 0;
}

/* == Entry and exit == */

SAVES_ALL int probe_entered(uint32_t function, uint64_t slot, const struct probe_saved *saved)
{
    struct thread *thread = &probe_thread;
    if (!*probe_inside.alive && !probe_begin_process(thread))
        return 1;
    uint8_t tiers =
        atomic_load_explicit(&probe_inside.shared->tiers[function], memory_order_relaxed);
    if (tiers & PROBE_COVER) {
        cover(function, tiers);
        tiers &= (uint8_t)~PROBE_COVER;
    }
    const uint8_t tier = tiers & (uint8_t)~PROBE_QUIET;
    if (tier == PROBE_BYTES)
        return see_bytes(thread, function, slot, saved);
    if (tier == PROBE_OFF || (!has_begun(thread) && !probe_begin_thread(thread)))
        return 1;
    const uint32_t extras = probe_inside.shared->extras;
    struct probe_stat *stat = &thread->stats[function];
    if (extras & PROBE_WARN && slot < (thread->stack_mark ? thread->stack_mark : UINT64_MAX))
        warn_of_stack(thread, function, slot);
    if (!has_page(thread, extras, function)) {
        count_beyond(thread, function, tiers, slot, saved->rdi);
        return 1;
    }
    if (tier != PROBE_FULL) {
        if (tiers == tier)
            count(thread, stat);
        if (tier != PROBE_COUNT)
            leave_frames(thread, tier, slot, saved->rdi);
        if (tiers == tier && extras & PROBE_LOG)
            log_begin(thread, function, PROBE_LOG_ONLY, depth_below(thread->innermost),
                      probe_ticks(), saved);
        return 1;
    }
    struct record *record = record_of(slot);
    const uint64_t return_address = *(const uint64_t *)(uintptr_t)slot;
    /* A jump at the end of a function that has a record: its caller is ours, too. */
    const bool is_tail = is_thunk(return_address);
    if (record->serial == thread->serial && (is_tail || !is_own(thread, slot))) {
        add(is_tail ? &record->stat->tails : &record->stat->abnormal, 1);
        end_call(thread, record, probe_ticks(), is_tail ? PROBE_EXIT_TAIL : PROBE_EXIT_LEFT);
    }
    struct record *caller = thread->innermost;
    if (caller != &thread->root && is_own(thread, slot) &&
        (caller->slot <= slot || !is_own(thread, caller->slot))) {
        probe_end_below(thread, slot, probe_ticks(), PROBE_EXIT_LEFT);
        caller = thread->innermost;
    }
    if (!is_tail)
        record->return_address = return_address;
    record->parent = caller;
    record->child_ticks = 0;
    record->probe_ticks = 0;
    record->slot = slot;
    record->stat = stat;
    record->node = 0;
    if (extras & (PROBE_PATHS | PROBE_CALLERS)) {
        record->node = extras & PROBE_PATHS
                           ? node_below(thread, caller->node, function, extras & PROBE_SPARE)
                           : pair_node(thread, caller, function, extras & PROBE_SPARE);
        if (record->node)
            add(&thread->nodes[record->node].calls, 1);
    }
    if (stat->calls != stat->ended)
        add(&stat->recursive, 1);
    add(&stat->calls, 1);
    if (extras & PROBE_LOG) {
        const uint32_t depth = depth_below(caller);
        record->begin = probe_ticks() + probe_inside.shared->cost.inside;
        const bool is_logged =
            log_begin(thread, function, PROBE_LOG_BEGIN, depth, record->begin, saved);
        thread->open_logged += is_logged;
        record->node = depth | (is_logged ? LOGGED : 0);
    } else
        record->begin = probe_ticks() + probe_inside.shared->cost.inside;
    record->serial = thread->serial;
    thread->innermost = record;
    if (extras & PROBE_WARN && probe_heap_is_checked(function))
        probe_heap_begin(thread, function, slot);
    if (extras & PROBE_WARN && probe_inside.shared->heap.operations[function])
        probe_heap_enters(thread, function, slot, saved);
    return 0;
}

enum { RESULT = -3 }; /* words from the slot: where probe_leave has saved rax */

SAVES_ALL uint64_t probe_left(uint32_t function, uint64_t slot)
{
    const uint64_t now = probe_ticks();
    struct thread *thread = &probe_thread;
    struct record *record = record_of(slot);
    (void)function;
    if (*probe_inside.alive && has_begun(thread) && !(slot & POINT) &&
        probe_inside.shared->heap.epoch)
        probe_heap_leaves(thread, slot, ((const uint64_t *)(uintptr_t)slot)[RESULT]);
    if (record->serial & OF_BYTES)
        record->serial = 0;
    else if (*probe_inside.alive && has_begun(thread) && record->serial == thread->serial)
        end_call(thread, record, now, PROBE_EXIT_RETURN);
    return record->return_address;
}
