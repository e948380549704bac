/* Unusual cases of calls that leave the traced modules (probing/outside.h). */
#include "agent/probe/call.h"
#include "agent/probe/paths.h"

SAVES_ALL int probe_outside_entered(uint32_t number, uint64_t slot, const struct probe_saved *saved)
{
    struct thread *thread = probe_own_thread();
    (void)saved;
    if (!*probe_inside.alive || !has_begun(thread) || thread->innermost == &thread->root ||
        atomic_load_explicit(&probe_inside.shared->tiers[number], memory_order_relaxed) !=
            PROBE_FULL ||
        !has_page(thread, probe_inside.shared->extras, number))
        return 1;
    struct record *record = record_of(slot);
    if (is_others(record, slot))
        return 1;
    const uint64_t return_address = *(const uint64_t *)(uintptr_t)slot;
    const bool is_tail = is_in_thunks(return_address, probe_thunks, PROBE_THUNKS),
               has_jumped = is_tail && record->serial == thread->serial;
    /* Calls below were left, e.g. by an exception whose cleanup calls this. They end where it is
     * caught or continues; until then nothing is measured. */
    const uint64_t innermost = thread->innermost->slot;
    if (is_own(thread, slot) && is_own(thread, innermost) && innermost <= slot && !has_jumped)
        return 1;
    struct probe_stat *stat = &thread->stats[number];
    const uint64_t now = probe_ticks();
    struct record *caller =
        has_jumped ? probe_jump(thread, record, stat, now) : end_left(thread, record, slot);
    if (!is_tail)
        record->return_address = return_address;
    fill_record(record, caller, slot, stat);
    /* Paths and logs lack it, so calls below it follow its caller; with rules it has no number. */
    set_path(record, path_of(caller));
    record->node =
        probe_inside.shared->extras & PROBE_KEEP ? 0 : caller->node & (uint32_t)INT32_MAX;
    record->begin = probe_ticks() + probe_inside.shared->cost.inside;
    make_innermost(thread, record);
    count_call(thread, record, false);
    if (has_jumped) /* not the caller's time */
        add(&caller->probe_ticks, record->begin - probe_inside.shared->cost.inside - now);
    return 0;
}
