/* Switches all probes off at their lease's end: tracer and keeper were killed, or a deadline passed
 * while the tracer was stopped. */
#include "agent/probe/inside.h"

/* A (virtual) machine may have paused before the tracer could renew. False: already extended. */
static bool extend(struct probe_shared *shared, uint64_t lease, uint64_t now)
{
    const uint64_t deadline = atomic_load_explicit(&shared->renewal.deadline, memory_order_relaxed),
                   ticks = atomic_load_explicit(&shared->renewal.ticks, memory_order_relaxed);
    const uint64_t until = (now + ticks / PROBE_LEASE_EXTENSION) | PROBE_LEASE_EXTENDED;
    if (lease == deadline || lease & PROBE_LEASE_EXTENDED || !ticks)
        return false;
    atomic_compare_exchange_strong(&shared->lease, &lease,
                                   deadline && deadline < until ? deadline : until);
    return true;
}

void probe_end_lease(uint64_t now)
{
    struct probe_shared *shared = probe_inside.shared;
    const uint32_t count =
        shared->function_count < PROBE_THUNKS ? shared->function_count : PROBE_THUNKS;
    uint64_t lease = atomic_load_explicit(&shared->lease, memory_order_relaxed);
    if (now <= lease || extend(shared, lease, now) ||
        !atomic_compare_exchange_strong(&shared->lease, &lease, UINT64_MAX))
        return;
    for (uint32_t i = 0; i < count; i++)
        atomic_store_explicit(&shared->tiers[i], PROBE_OFF, memory_order_relaxed);
    if (atomic_load(&shared->heap.epoch)) /* bytes no longer count */
        atomic_fetch_add(&shared->heap.epoch, 1);
    atomic_store(&shared->lease_over, lease);
}
