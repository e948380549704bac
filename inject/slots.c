/* Restores GOT slots that hold thunks (probing/outside.h). */
#include "inject/leaving.h"

#include <stddef.h>

enum { SLOTS = 256 };

static bool is_thunk(const struct inject_leaving *leaving, uint64_t address)
{
    const uint64_t offset = address - leaving->process->hello.thunks;
    return offset < PROBE_THUNKS * (uint64_t)ARCH_THUNK_BYTES &&
           offset % ARCH_THUNK_BYTES == ARCH_THUNK_ENTRY;
}

/* The loader may have written another address. */
static bool give_back(const struct inject_leaving *leaving, const struct probe_got_slot *slot)
{
    uint64_t there;
    return !slot->address || !inject_leaving_read(leaving, slot->address, &there, sizeof there) ||
           !is_thunk(leaving, there) ||
           inject_leaving_write(leaving, slot->address, &slot->original, sizeof slot->original);
}

bool inject_slots_give_back(const struct inject_leaving *leaving)
{
    const uint64_t shared_at = leaving->process->shared_at,
                   slots_at = shared_at + offsetof(struct probe_shared, got_slots);
    struct probe_got_slot slots[SLOTS];
    uint32_t first = 0;
    if (!shared_at ||
        !inject_leaving_read(leaving, shared_at + offsetof(struct probe_shared, first_outside),
                             &first, sizeof first) ||
        !first)
        return true;
    for (size_t at = 0; at < PROBE_OUTSIDE; at += SLOTS) {
        if (!inject_leaving_read(leaving, slots_at + at * sizeof *slots, slots, sizeof slots))
            return true;
        for (size_t i = 0; i < SLOTS && slots[i].address; i++)
            if (!give_back(leaving, &slots[i]))
                return false;
        if (!slots[SLOTS - 1].address)
            return true;
    }
    return true;
}
