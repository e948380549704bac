/* Prepares threads and forked processes before the tracing agent measures their first call. No
 * libc, no lock, only general registers. */
#include "agent/probe/table.h"

enum { CALLS_BETWEEN_LOOKS = 256 };

/* == Threads == */

/* After a raw fork memory holds the parent's id. */
SAVES_ALL uint32_t probe_thread_id(const struct probe_shared *shared)
{
    if (shared->tid_offset && !probe_inside.is_forked)
        return *(const uint32_t *)(uintptr_t)(probe_thread_pointer() + shared->tid_offset);
    return (uint32_t)inside_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

/* Of the first process, or on a forked copy of it. */
static bool is_on_main_stack(const struct probe_shared *shared, uint32_t tid)
{
    const uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    return tid == shared->main_tid ||
           (probe_inside.is_forked &&
            here - shared->stacks.low < shared->stacks.high - shared->stacks.low);
}

/* False: none is free. One instruction claims, so a handler's claim is visible. */
static bool claim_slab(struct thread *thread, uint32_t generation)
{
    struct probe_shared *shared = probe_inside.shared;
    uint64_t before = atomic_load(&thread->claim);
    for (uint32_t i = 0; i < probe_inside.slab_count && before >> 32 != generation; i++) {
        uint32_t state = PROBE_SLAB_FREE;
        if (atomic_load_explicit(&shared->slabs[i].state, memory_order_relaxed) !=
                PROBE_SLAB_FREE ||
            !atomic_compare_exchange_strong(&shared->slabs[i].state, &state, PROBE_SLAB_TAKEN))
            continue;
        if (atomic_compare_exchange_strong(&thread->claim, &before, (uint64_t)generation << 32 | i))
            return true;
        atomic_store(&shared->slabs[i].state, PROBE_SLAB_FREE);
    }
    return before >> 32 == generation;
}

/* libc's stacks end at the control block. Forked threads keep their bounds. */
static void find_stack(struct thread *thread, uint32_t tid)
{
    const struct probe_shared *shared = probe_inside.shared;
    if (thread->high)
        return;
    const bool is_main = is_on_main_stack(shared, tid);
    const uint64_t high = is_main ? shared->stacks.high : probe_thread_pointer();
    thread->low =
        high - (is_main ? shared->stacks.high - shared->stacks.low : shared->stacks.bytes);
    thread->high = high;
}

/* A handler in between repeats it, with the same slab. */
bool probe_begin_thread(struct thread *thread)
{
    struct probe_shared *shared = probe_inside.shared;
    const uint32_t generation = shared->generation;
    if (has_no_clock(thread) || !generation)
        return false;
    const bool had_none = thread->untracked_in == generation;
    if (thread->is_shared || (had_none && ++thread->untracked_calls % CALLS_BETWEEN_LOOKS))
        return false;
    if (!claim_slab(thread, generation)) {
        thread->untracked_in = generation;
        if (!had_none)
            atomic_fetch_add(&shared->untracked, 1);
        return false;
    }
    const uint32_t i = (uint32_t)atomic_load(&thread->claim);
    uint8_t *slabs = (uint8_t *)shared + PROBE_SHARED_BYTES,
            *slab = slabs + i * probe_inside.slab_bytes;
    const uint32_t tid = probe_thread_id(shared);
    const uint64_t histograms_bytes = probe_histograms_bytes(probe_inside.function_count);
    uint64_t none = 0;
    if (has_begun(thread))
        return true;
    find_stack(thread, tid);
    thread->serial = atomic_fetch_add(&shared->next_serial, 1) + 1;
    thread->root.slot = thread->high;
    thread->root.begin = UINT64_MAX;
    thread->root.stat =
        (uint64_t)(uintptr_t)((struct probe_stat *)slab + probe_inside.function_count);
    thread->histograms = probe_stats_bytes(probe_inside.function_count);
    thread->nodes = (struct probe_node *)(slab + thread->histograms + histograms_bytes);
    thread->innermost = &thread->root;
    thread->slab = (uint16_t)i;
    thread->ring_mask = probe_ring_units(i) - 1;
    thread->open_logged = 0;
    thread->kept = 0;
    thread->stack_bottom = 0;
    thread->stack_mark = 0;
    thread->next_jumper = 0;
    thread->flying_at = 0;
    thread->vfork_slot = 0;
    thread->ring = (struct probe_ring *)(slabs + probe_inside.slab_count * probe_inside.slab_bytes +
                                         probe_ring_offset(i));
    thread->stats = (struct probe_stat *)slab;
    __atomic_compare_exchange_n(&stat_of(&thread->root)->pending, &none, thread->histograms, false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    thread->pending =
        none - thread->histograms < histograms_bytes ? none & ~UINT64_C(3) : thread->histograms;
    atomic_store(&shared->slabs[i].pid, probe_inside.pid);
    atomic_store(&shared->slabs[i].thread, probe_thread_pointer());
    atomic_store(&shared->slabs[i].tid, tid);
    uint32_t used = atomic_load(&shared->slabs_used);
    while (used <= i && !atomic_compare_exchange_weak(&shared->slabs_used, &used, i + 1))
        ;
    atomic_signal_fence(memory_order_release);
    thread->generation = generation;
    atomic_signal_fence(memory_order_seq_cst);
    if (thread->is_shared) /* by a handler's clone */
        thread->generation = 0;
    return thread->generation == generation;
}

SAVES_ALL void probe_share_thread(struct thread *thread)
{
    if (!thread->is_shared)
        atomic_fetch_add(&probe_inside.shared->sharing.threads, 1);
    thread->is_shared = true;
    thread->innermost = &thread->root;
    thread->generation = 0;
    probe_give_no_more(thread);
}

/* == Processes that were forked == */

struct vector {
    void *base;
    uint64_t size;
};

_Static_assert(offsetof(struct thread, claim) == offsetof(struct thread, generation) + 8,
               "wiped together");

/* Finds the forked thread by id. Its data leads to the parent's slab, or is missing if it never had
 * a probe. Other threads' control blocks are gone. */
static void renew_forked(const struct probe_shared *shared, uint32_t pid)
{
    const uint32_t used = atomic_load(&shared->slabs_used);
    for (uint32_t i = 0; i < used && i < PROBE_SLABS && shared->tid_offset; i++) {
        const uint64_t pointer = atomic_load(&shared->slabs[i].thread);
        uint32_t tid = 0, none[4] = {0, 0, 0, 0}; /* generation, untracked_in, claim */
        struct vector here = {&tid, sizeof tid},
                      there = {(void *)(uintptr_t)(pointer + shared->tid_offset), sizeof tid};
        if (atomic_load(&shared->slabs[i].pid) != probe_inside.pid ||
            inside_call(SYS_process_vm_readv, pid, (long)&here, 1, (long)&there, 1, 0) !=
                (long)sizeof tid ||
            tid != pid)
            continue;
        here = (struct vector){none, sizeof none};
        there = (struct vector){
            (void *)(uintptr_t)(probe_address_of(pointer) + offsetof(struct thread, generation)),
            sizeof none};
        inside_call(SYS_process_vm_writev, pid, (long)&here, 1, (long)&there, 1, 0);
    }
}

bool probe_begin_process(struct thread *thread, uint32_t function)
{
    enum { WAITS = 1000 };
    struct probe_shared *shared = probe_inside.shared;
    _Atomic uint64_t *page = (_Atomic uint64_t *)(uintptr_t)probe_inside.alive;
    uint64_t first = 0;
    if (!probe_inside.follows_forks ||
        (atomic_load(&shared->tiers[function]) & ~(PROBE_QUIET | PROBE_COVER)) == PROBE_EXECUTE)
        return false;
    const uint32_t pid = (uint32_t)inside_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
    const uint32_t tid = (uint32_t)inside_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
    if (atomic_compare_exchange_strong(&page[1], &first, tid)) {
        if (tid != pid)
            renew_forked(shared, pid);
        thread->generation = 0;
        thread->untracked_in = 0;
        thread->claim = 0;
        thread->is_shared = false;
        probe_inside.pid = pid;
        probe_inside.is_forked = true;
        atomic_store(&page[0], (uint64_t)(uintptr_t)shared);
        return true;
    }
    /* Another thread does it, or this one, interrupted. */
    for (int i = 0; i < WAITS && first != tid && !atomic_load(&page[0]); i++)
        inside_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
    return atomic_load(&page[0]) != 0;
}

void probe_say_thread(struct probe_hello *hello)
{
    hello->table = probe_describe_table();
    hello->thread = probe_thread_at();
    hello->thread_bytes = sizeof(struct thread);
    hello->generation = offsetof(struct thread, generation);
    hello->is_shared = offsetof(struct thread, is_shared);
}

const struct probe_stat *probe_stat_of(uint32_t function)
{
    struct thread *thread = probe_own_thread();
    return has_begun(thread) || probe_begin_thread(thread) ? &thread->stats[function] : NULL;
}
