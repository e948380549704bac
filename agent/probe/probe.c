/* Begins traced calls: fills and counts their records. No system call, libc or lock, only general
 * registers; a signal may interrupt and re-enter it anywhere. */
#include "agent/probe/call.h"
#include "agent/probe/early.h"
#include "agent/probe/heap.h"
#include "agent/probe/paths.h"
#include "agent/probe/values.h"

/* == Coverage == */

/* A probe that ends other calls goes on with that. */
static SAVES_ALL __attribute__((noinline)) void cover(uint32_t function, uint8_t tiers)
{
    struct probe_shared *shared = probe_inside.shared;
    struct probe_hit *hit = &shared->hits[function];
    uint64_t none = 0;
    const uint8_t rest = tiers & (uint8_t)~PROBE_COVER;
    const uint64_t now = has_no_clock(probe_own_thread()) ? 1 : probe_ticks();
    if (atomic_compare_exchange_strong(&hit->first, &none, now)) {
        atomic_store(&hit->pid, probe_inside.pid);
        atomic_store(&hit->tid, probe_thread_id(shared));
    }
    atomic_compare_exchange_strong(&shared->tiers[function], &tiers, rest);
}

/* == Frames that are left by a jump == */

/* Uses edge.S's system call. */
static bool is_there(uint64_t address)
{
    enum { NO_SUCH_WAY = -1, EINVAL = 22, BYTES = 8 };
    return inside_call(SYS_rt_sigprocmask, NO_SUCH_WAY, (long)address, 0, BYTES, 0, 0) == -EINVAL;
}

/* No page between is missing: stacks end at one. */
static bool is_one_stack(const struct thread *thread, uint64_t low, uint64_t high)
{
    enum { NEAR = 256 << 10 };
    if (low >= high || high - low > NEAR || is_own(thread, low) || is_own(thread, high))
        return false;
    for (uint64_t at = (low | (PROBE_PAGE - 1)) + 1; at < high; at += PROBE_PAGE)
        if (!is_there(at))
            return false;
    return true;
}

static bool can_lead_to(const struct thread *thread, uint64_t slot, uint64_t target)
{
    return is_own(thread, slot) ? is_own(thread, target) && target > slot
                                : is_one_stack(thread, slot, target);
}

/* The stack pointer of a longjmp; 0: not higher on the same stack, as at coroutine switches. glibc
 * rotates and mixes it with a secret; musl stores it plainly. */
static uint64_t jump_target(const struct thread *thread, uint64_t buffer, uint64_t slot)
{
    enum { STACK_POINTER = 6 };
    const uint64_t stored = ((const uint64_t *)(uintptr_t)buffer)[STACK_POINTER];
    uint64_t secret;
    __asm__("movq %%fs:0x30, %0" : "=r"(secret));
    const uint64_t plain = (stored >> 17 | stored << 47) ^ secret;
    if (can_lead_to(thread, slot, plain))
        return plain;
    return can_lead_to(thread, slot, stored) ? stored : 0;
}

/* pthread_exit or cancellation: glibc keeps its buffer's address (`cleanup_jmp_buf`) a few words
 * behind the thread's id. */
static bool ends_thread(uint64_t buffer)
{
    enum { WORDS = 8 };
    const uint64_t id = probe_inside.shared->tid_offset & ~UINT64_C(7);
    uint64_t thread;
    __asm__("movq %%fs:0, %0" : "=r"(thread));
    const uint64_t *behind = (const uint64_t *)(uintptr_t)(thread + id) + 1;
    bool found = false;
    for (int i = 0; i < WORDS && id; i++)
        found |= behind[i] == buffer;
    return found;
}

static void end_at(struct thread *thread, uint64_t slot, uint64_t now, enum probe_exit exit)
{
    struct record *record = record_of(slot);
    if (record->slot != slot || record->serial != thread->serial)
        return;
    count_exit(stat_of(record), exit);
    probe_end_call(thread, record, now, exit);
}

/* Calls on a foreign stack have no order, and no chain once resumed. */
static void end_between(struct thread *thread, uint64_t low, uint64_t high, uint64_t now,
                        enum probe_exit exit)
{
    const bool has_points = probe_inside.shared->owner.has_points;
    for (uint64_t slot = (low + 7) & ~UINT64_C(7); slot < high; slot += 8) {
        end_at(thread, slot, now, exit);
        if (has_points)
            end_at(thread, slot | POINT, now, exit);
    }
}

/* Above a slot on a foreign stack an exception was caught, or continues after cleanup. */
static void leave_thrown(struct thread *thread, uint64_t slot, uint64_t now)
{
    if (is_one_stack(thread, thread->thrown_at, slot))
        end_between(thread, thread->thrown_at, slot + 1, now, PROBE_EXIT_EXCEPTION);
}

/* The unwinder's header stands before what __cxa_throw throws. */
static void note_flight(struct thread *thread, uint32_t tier, uint64_t slot, uint64_t argument)
{
    enum { HEADER = 32 };
    thread->flying = tier == PROBE_THROW ? argument - HEADER : argument;
    thread->flying_at = tier == PROBE_THROW || tier == PROBE_RESUME ? slot : 0;
}

static SAVES_ALL __attribute__((noinline)) void leave_frames(struct thread *thread, uint32_t tier,
                                                             uint64_t slot, uint64_t argument)
{
    const uint64_t now = probe_ticks();
    const uint64_t target = tier == PROBE_JUMP ? jump_target(thread, argument, slot) : 0;
    const bool is_above = tier == PROBE_LEAVE || tier == PROBE_RESUME || tier == PROBE_CATCH;
    if (keeps_calls())
        valued_of(thread)->thrown = is_above ? argument : 0;
    if (is_own(thread, slot))
        probe_end_below(thread, target ? target - 1 : slot | POINT, now,
                        tier != PROBE_JUMP      ? PROBE_EXIT_EXCEPTION
                        : ends_thread(argument) ? PROBE_EXIT_THREAD_END
                                                : PROBE_EXIT_LONGJMP);
    else if (tier == PROBE_THROW)
        thread->thrown_at = slot;
    else if (is_above)
        leave_thrown(thread, slot, now);
    else if (target)
        end_between(thread, slot, target, now, PROBE_EXIT_LONGJMP);
    if (keeps_calls())
        valued_of(thread)->thrown = 0;
    if (is_own(thread, slot))
        note_flight(thread, tier, slot, argument);
    probe_take_off(probe_ticks() - now);
}

static inline bool leaves_frames(uint8_t tier)
{
    return tier == PROBE_LEAVE || tier == PROBE_JUMP || tier == PROBE_THROW ||
           tier == PROBE_RESUME || tier == PROBE_CATCH;
}

/* Of a function that leaves frames: the exception, or longjmp's buffer. */
static inline uint64_t left_by(uint8_t tiers, const struct probe_saved *saved)
{
    return (tiers & (uint8_t)~PROBE_QUIET) == PROBE_CATCH ? saved->rsi : saved->rdi;
}

/* == Threads and processes that begin == */

/* After vfork the parent waits while the child calls in its place. */
static SAVES_ALL __attribute__((noinline)) void see_clone(struct thread *thread, uint64_t flags)
{
    enum { VM = 0x100, VFORK = 0x4000, THREAD = 0x10000, SET_TLS = 0x80000 }; /* CLONE_… */
    if ((flags & (VM | VFORK)) == (VM | VFORK))
        thread->vfork_slot = 0; /* this child has a stack of its own */
    if ((flags & (VM | VFORK)) != VM)
        return;
    if (!(flags & THREAD))
        atomic_store(&probe_inside.shared->sharing.has_processes, 1);
    if (!(flags & SET_TLS))
        probe_share_thread(thread);
}

static SAVES_ALL __attribute__((noinline)) void
see_system_call(struct thread *thread, uint64_t slot, const struct probe_saved *saved)
{
    enum { SET_SECCOMP = 22, MODE_STRICT = 1 }; /* PR_SET_SECCOMP, SECCOMP_MODE_STRICT */
    switch (saved->rdi) {
    case SYS_clone: see_clone(thread, saved->rsi); break;
    case SYS_clone3: /* the argument's first word */
        if (is_there(saved->rsi))
            see_clone(thread, *(const uint64_t *)(uintptr_t)saved->rsi);
        break;
    case SYS_prctl: probe_clock_goes(thread, saved->rsi, saved->rdx); break;
    case SYS_seccomp:
        probe_note_filter();
        if (!saved->rsi) /* SECCOMP_SET_MODE_STRICT */
            probe_clock_goes(thread, SET_SECCOMP, MODE_STRICT);
        break;
    case SYS_execve:
    case SYS_execveat: probe_vfork_executes(thread, slot); break;
    default: break;
    }
}

/* What functions of libc are about to do. */
static SAVES_ALL __attribute__((noinline)) void
see_tier(struct thread *thread, uint8_t tier, uint64_t slot, const struct probe_saved *saved)
{
    switch (tier) {
    case PROBE_CLOCK: probe_clock_goes(thread, saved->rdi, saved->rsi); break;
    case PROBE_CLONE: see_clone(thread, saved->rdx); break;
    case PROBE_SYSCALL: see_system_call(thread, slot, saved); break;
    case PROBE_VFORK: probe_vfork(thread, slot); break;
    case PROBE_EXECUTE: probe_vfork_executes(thread, slot); break;
    case PROBE_UNWIND:
        if (has_begun(thread))
            probe_leave_chain(thread);
        break;
    default: break;
    }
}

static SAVES_ALL __attribute__((noinline)) void count_untracked(uint32_t function, uint8_t tiers)
{
    if (!(tiers & PROBE_QUIET) && function < probe_inside.function_count)
        atomic_fetch_add_explicit(&probe_inside.shared->beyond[function], 1, memory_order_relaxed);
}

static SAVES_ALL __attribute__((noinline)) void count_beyond(struct thread *thread,
                                                             uint32_t function, uint8_t tiers,
                                                             uint64_t slot, uint64_t argument)
{
    const uint8_t tier = tiers & (uint8_t)~PROBE_QUIET;
    if (tiers == tier) {
        atomic_fetch_add_explicit(&probe_inside.shared->beyond[function], 1, memory_order_relaxed);
        count_in(thread->innermost);
    }
    if (leaves_frames(tier))
        leave_frames(thread, tier, slot, argument);
}

/* == Functions of allocators that were not chosen == */

static inline bool is_thunk(uint64_t address)
{
    return is_in_thunks(address, probe_thunks, PROBE_THUNKS);
}

/* Returns to its thunk, but is not in the chain; it counts as its caller's. */
static SAVES_ALL __attribute__((noinline)) int
see_bytes(struct thread *thread, uint32_t function, uint64_t slot, const struct probe_saved *saved)
{
    struct record *record = record_of(slot);
    const uint64_t return_address = *(const uint64_t *)(uintptr_t)slot, before = probe_ticks();
    if (is_others(record, slot) || !probe_heap_enters(thread, function, slot, saved) ||
        (record->serial == thread->serial && is_thunk(return_address)))
        return 1;
    if (!is_thunk(return_address))
        record->return_address = return_address;
    record->begin = probe_ticks();
    record->slot = slot;
    record->serial = thread->serial | OF_BYTES;
    probe_take_off(record->begin - before);
    return 0;
}

/* == Entry == */

/* A call without a record may end others and be logged. */
static inline void pass(struct thread *thread, uint32_t function, uint8_t tiers, uint64_t slot,
                        const struct probe_saved *saved)
{
    const uint8_t tier = tiers & (uint8_t)~PROBE_QUIET;
    if (tiers == tier)
        count_in(thread->innermost);
    if (leaves_frames(tier))
        leave_frames(thread, tier, slot, left_by(tier, saved));
    if (tiers != tier)
        return;
    const bool is_missed =
        probe_inside.shared->extras & PROBE_LOG &&
        log_begin(thread, function, PROBE_LOG_ONLY, depth_below(thread->innermost), probe_ticks(),
                  saved) == LOG_FULL;
    add(&thread->stats[function].unlogged, is_missed);
    add(&thread->stats[function].counted, 1);
}

/* Counts after logging, as a signal handler may leave before. `since`: beginning of work that is
 * not the caller's; 0: none. */
static inline void begin_call(struct thread *thread, struct record *record, struct record *caller,
                              uint32_t function, const struct probe_saved *saved, uint64_t since)
{
    const uint32_t extras = probe_inside.shared->extras;
    struct early *early = NULL;
    record->node = 0;
    if (extras & PROBE_ARGUMENTS_TOO) {
        save_words(record, function, saved);
        early = copy_early(thread, record, function);
        since = early && !since ? early->begin : since; /* reading memory takes microseconds */
    }
    if (extras & (PROBE_PATHS | PROBE_CALLERS))
        set_path(record,
                 extras & PROBE_PATHS
                     ? node_below(thread, path_of(caller), function, OF_PATHS, extras & PROBE_SPARE)
                     : pair_node(thread, caller, function, extras & PROBE_SPARE));
    const uint32_t path = path_of(record);
    record->begin = probe_ticks() + probe_inside.shared->cost.inside;
    if (early)
        early->begin = record->begin;
    if (since)
        add(&caller->probe_ticks, record->begin - probe_inside.shared->cost.inside - since);
    make_innermost(thread, record);
    enum logging logging = LOG_NOT;
    if (extras & PROBE_LOG) {
        const uint32_t depth = depth_below(caller);
        logging = log_begin(thread, function, PROBE_LOG_BEGIN, depth, record->begin, saved);
        set_logged(record, depth, logging == LOG_DONE);
        thread->open_logged += logging == LOG_DONE;
    }
    if (path)
        add(&thread->nodes[path].calls, 1);
    count_call(thread, record, logging == LOG_FULL);
}

/* Whether a function that this point calls jumped there. */
static bool is_jumped_to(const struct record *caller, uint64_t slot)
{
    return is_point_of(caller, slot) && is_jumper_to(caller->parent, slot);
}

/* Only the own stack has a known top. */
static inline void note_stack(const struct thread *thread, uint32_t function, uint64_t slot)
{
    _Atomic uint64_t *most = &probe_inside.shared->uses.of[function].stack;
    const uint64_t depth = is_own(thread, slot) ? thread->high - slot : 0;
    uint64_t before = atomic_load_explicit(most, memory_order_relaxed);
    while (depth > before && !atomic_compare_exchange_weak(most, &before, depth))
        ;
}

SAVES_ALL int probe_entered(uint32_t function, uint64_t slot, const struct probe_saved *saved)
{
    struct thread *thread = probe_own_thread();
    if (!*probe_inside.alive && !probe_begin_process(thread, function))
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
    if (tier == PROBE_OFF)
        return 1;
    if (tier > PROBE_BYTES)
        see_tier(thread, tier, slot, saved);
    if (!has_begun(thread) && !probe_begin_thread(thread)) {
        count_untracked(function, tiers);
        return 1;
    }
    if (tier == PROBE_REMARK)
        probe_take_remark(thread, function, saved);
    const uint32_t extras = probe_inside.shared->extras;
    if (extras & PROBE_WARN && slot < (thread->stack_mark ? thread->stack_mark : UINT64_MAX))
        probe_warn_of_stack(thread, function, slot);
    if (extras & PROBE_STACKS)
        note_stack(thread, function, slot);
    if (!has_page(thread, extras, function)) {
        count_beyond(thread, function, tiers, slot, left_by(tiers, saved));
        return 1;
    }
    if (tier != PROBE_FULL) {
        pass(thread, function, tiers, slot, saved);
        return 1;
    }
    struct record *record = record_of(slot);
    if (is_others(record, slot)) {
        pass(thread, function, PROBE_COUNT, slot, saved);
        return 1;
    }
    const uint64_t return_address = *(const uint64_t *)(uintptr_t)slot;
    /* After a tail call both calls return to the same address. */
    const bool is_tail = is_thunk(return_address),
               has_jumped = is_tail && record->serial == thread->serial;
    struct probe_stat *stat = &thread->stats[function];
    const uint64_t now = has_jumped ? probe_ticks() : 0;
    struct record *caller =
        has_jumped ? probe_jump(thread, record, stat, now) : end_left(thread, record, slot);
    if (!is_tail)
        record->return_address = return_address;
    fill_record(record, caller, slot, stat);
    begin_call(thread, record, caller, function, saved, now);
    if (extras & PROBE_WARN && probe_heap_is_checked(function))
        probe_heap_begin(thread, function, slot, has_jumped || is_jumped_to(caller, slot));
    if (extras & PROBE_WARN && probe_inside.shared->heap.operations[function])
        probe_heap_enters(thread, function, slot, saved);
    return 0;
}
