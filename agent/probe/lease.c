/* Switches all probes off where nobody renews their lease: who traced was killed together with
 * whoever was to clean up, or stands still while a time is over. */
#include "agent/probe/inside.h"

void probe_end_lease(uint64_t now)
{
    struct probe_shared *shared = probe_inside.shared;
    const uint32_t count =
        shared->function_count < PROBE_THUNKS ? shared->function_count : PROBE_THUNKS;
    uint64_t lease = atomic_load_explicit(&shared->lease, memory_order_relaxed);
    if (now <= lease || !atomic_compare_exchange_strong(&shared->lease, &lease, UINT64_MAX))
        return;
    for (uint32_t i = 0; i < count; i++)
        atomic_store_explicit(&shared->tiers[i], PROBE_OFF, memory_order_relaxed);
    if (atomic_load(&shared->heap.epoch)) /* what checked calls allocate is not seen any more */
        atomic_fetch_add(&shared->heap.epoch, 1);
    atomic_store(&shared->lease_over, lease);
}
