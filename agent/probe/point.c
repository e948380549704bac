/* Unusual cases of call points: see trace/probes/points.h. */
#include "agent/probe/call.h"

/* Ends a call whose function jumps to another at its end. The end is at the jump, because its
 * record and that of its call point are needed. The return address is back where it was before, so
 * an unwinder finds no record of the call. */
static void end_before(struct thread *thread, struct record *ended, uint64_t slot)
{
    *(volatile uint64_t *)(uintptr_t)slot = ended->return_address;
    atomic_signal_fence(memory_order_seq_cst);
    count_exit(ended->stat, PROBE_EXIT_TAIL_CUT);
    probe_end_call(thread, ended, probe_ticks(), PROBE_EXIT_TAIL_CUT);
}

/* The address to which a call returns that was made by a jump at the end of a function. That
 * function ends here, and with it its call point. */
static uint64_t end_tails(struct thread *thread, struct record *point, uint64_t slot)
{
    const volatile uint64_t *const place = (const volatile uint64_t *)(uintptr_t)slot;
    struct record *function = record_of(slot);
    if (is_in_thunks(*place, probe_thunks, PROBE_THUNKS) && function->serial == thread->serial)
        end_before(thread, function, slot);
    if (is_in_thunks(*place, probe_points, PROBE_POINTS) && point->serial == thread->serial)
        end_before(thread, point, slot);
    return *place;
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
    const uint64_t return_address = end_tails(thread, record, slot ^ POINT);
    struct record *caller = end_left(thread, record, slot);
    fill_record(record, caller, slot, &thread->stats[number]);
    record->return_address = return_address;
    record->node = caller->node & INT32_MAX; /* neither paths nor the log have call points */
    record->begin = probe_ticks() + probe_inside.shared->cost.inside;
    make_innermost(thread, record);
    count_call(thread, record, false);
    return 0;
}
