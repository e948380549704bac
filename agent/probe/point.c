/* Unusual cases of call points (probing/points.h). */
#include "agent/probe/call.h"

/* Restores the return address, so unwinders ignore the record. */
static void put_back(const struct record *record, uint64_t slot)
{
    *(volatile uint64_t *)(uintptr_t)slot = record->return_address;
    atomic_signal_fence(memory_order_seq_cst);
}

/* A function that ends with a jump through the GOT continues until its callee returns (probe_jump).
 * Its call point ends: the new one takes the record. Returns whether there is such a function; then
 * the slot holds the address to which both return. */
static bool jump_from(struct thread *thread, struct record *point, uint64_t slot,
                      const struct probe_stat *next, uint64_t now)
{
    const volatile uint64_t *const place = (const volatile uint64_t *)(uintptr_t)slot;
    struct record *function = record_of(slot);
    const bool has_jumped =
        is_in_thunks(*place, probe_thunks, PROBE_THUNKS) && function->serial == thread->serial;
    if (has_jumped) {
        put_back(function, slot);
        probe_jump(thread, function, next, now);
    }
    if (is_in_thunks(*place, probe_points, PROBE_POINTS) && point->serial == thread->serial) {
        put_back(point, slot);
        probe_end_point(thread, point, now);
    }
    return has_jumped;
}

SAVES_ALL int probe_point_entered(uint32_t number, uint64_t slot, const struct probe_saved *saved)
{
    struct thread *thread = probe_own_thread();
    (void)saved;
    if (!*probe_inside.alive ||
        atomic_load_explicit(&probe_inside.shared->tiers[number], memory_order_relaxed) !=
            PROBE_FULL ||
        (!has_begun(thread) && !probe_begin_thread(thread)))
        return 1;
    struct record *record = record_of(slot);
    if (is_others(record, slot))
        return 1;
    struct probe_stat *stat = &thread->stats[number];
    const uint64_t now = probe_ticks();
    const bool has_jumped = jump_from(thread, record, slot ^ POINT, stat, now);
    struct record *caller = has_jumped ? thread->innermost : end_left(thread, record, slot);
    fill_record(record, caller, slot, stat);
    record->return_address = *(const uint64_t *)(uintptr_t)(slot ^ POINT);
    set_path(record, path_of(caller)); /* paths and log have no call points */
    record->node = caller->node & INT32_MAX;
    record->begin = probe_ticks() + probe_inside.shared->cost.inside;
    make_innermost(thread, record);
    count_call(thread, record, false);
    if (has_jumped) /* not the caller's time */
        add(&caller->probe_ticks, record->begin - probe_inside.shared->cost.inside - now);
    return 0;
}
