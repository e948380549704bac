/* Ends the calls of a vfork child when it executes a program. It shares memory and stack with its
 * parent's thread, which would find them open at its next probe. */
#include "agent/probe/call.h"

/* The process's own: a system filter would answer to getpid, and then none is asked. */
static bool is_in_child(void)
{
    return !probe_inside.loses_clock && !atomic_load(&probe_inside.shared->keep.is_filtered) &&
           (uint32_t)inside_call(SYS_getpid, 0, 0, 0, 0, 0, 0) != probe_inside.pid;
}

/* A child's own child ends with it. */
SAVES_ALL void probe_vfork(struct thread *thread, uint64_t slot)
{
    if (!has_begun(thread) && !probe_begin_thread(thread))
        return;
    if (!is_own(thread, slot) || (thread->vfork_slot && is_in_child()))
        return;
    if (thread->innermost != &thread->root && thread->innermost->slot <= slot)
        probe_end_left(thread, slot);
    thread->vfork_slot = slot;
}

/* Where no program could be executed, calls that are open return uncounted. */
SAVES_ALL void probe_vfork_executes(struct thread *thread, uint64_t slot)
{
    if (has_begun(thread) && thread->vfork_slot && is_own(thread, slot) &&
        slot <= thread->vfork_slot && is_in_child())
        probe_end_below(thread, thread->vfork_slot, probe_ticks(), PROBE_EXIT_LEFT);
}
