/* What the thunks of call points call where the case is not the usual one: see trace/points.h. */
#include "agent/probe/thread.h"

static inline void add_one(uint64_t *to)
{
    __asm__ volatile("incq %0" : "+m"(*to) : : "cc");
}

static inline bool is_between(uint64_t address, const uint8_t *from, uint64_t thunks)
{
    return address - (uint64_t)(uintptr_t)from < thunks * PROBE_THUNK_BYTES;
}

/* Where a call returns to that is made by a jump at the end of a function, which ends here, and
 * with it the call point that had called that. */
static uint64_t end_tails(struct thread *thread, struct record *point, uint64_t slot, uint64_t now)
{
    uint64_t return_address = *(const uint64_t *)(uintptr_t)slot;
    struct record *function = record_of(slot);
    if (is_between(return_address, probe_thunks, PROBE_THUNKS) &&
        function->serial == thread->serial) {
        add_one(&function->stat->tails);
        probe_end_call(thread, function, now, PROBE_EXIT_TAIL);
        return_address = function->return_address;
    }
    if (is_between(return_address, probe_points, PROBE_POINTS) && point->serial == thread->serial) {
        add_one(&point->stat->tails);
        probe_end_call(thread, point, now, PROBE_EXIT_TAIL);
        return_address = point->return_address;
    }
    return return_address;
}

SAVES_ALL int probe_point_entered(uint32_t number, uint64_t slot, const struct probe_saved *saved)
{
    struct thread *thread = &probe_thread;
    (void)saved;
    if (!*probe_inside.alive ||
        atomic_load_explicit(&probe_inside.shared->tiers[number], memory_order_relaxed) !=
            PROBE_FULL ||
        (!has_begun(thread) && !probe_begin_thread(thread)))
        return 1;
    struct record *record = record_of(slot);
    const uint64_t now = probe_ticks();
    const uint64_t return_address = end_tails(thread, record, slot ^ POINT, now);
    if (record->serial == thread->serial && !is_own(thread, slot)) {
        add_one(&record->stat->abnormal);
        probe_end_call(thread, record, now, PROBE_EXIT_LEFT);
    }
    if (thread->innermost != &thread->root && is_own(thread, slot) &&
        (thread->innermost->slot <= slot || !is_own(thread, thread->innermost->slot)))
        probe_end_below(thread, slot, now, PROBE_EXIT_LEFT);
    struct record *caller = thread->innermost;
    struct probe_stat *stat = &thread->stats[number];
    record->return_address = return_address;
    record->parent = caller;
    record->child_ticks = 0;
    record->probe_ticks = 0;
    record->slot = slot;
    record->stat = stat;
    record->node = caller->node & INT32_MAX; /* neither paths nor the log know of it */
    if (stat->calls != stat->ended)
        add_one(&stat->recursive);
    add_one(&stat->calls);
    record->begin = probe_ticks() + probe_inside.shared->cost.inside;
    record->serial = thread->serial;
    thread->innermost = record;
    return 0;
}
