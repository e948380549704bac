/* Notes tracer and mappings in a process's shared memory. */
#include "inject/inside.h"
#include "inject/lock.h"

#include <stdio.h>
#include <unistd.h>

void inject_owner_write(struct inject_process *process, const char *output, bool has_others)
{
    struct probe_owner *owner = &process->shared->owner;
    struct sprof_proc_stat stat;
    char directory[PROBE_OUTPUT_BYTES / 2];
    owner->has_others = has_others;
    owner->pid = (uint32_t)getpid();
    owner->start = sprof_proc_stat_read(getpid(), &stat) ? stat.start_ticks : 0;
    owner->hello = process->hello;
    const struct inject_agent_location location = inject_agent_location_of(process);
    owner->handle = location.handle;
    owner->close = location.close;
    owner->mapped_at = location.mapped.base;
    owner->mapped_bytes = location.mapped.bytes;
    if (*output == '/' || !getcwd(directory, sizeof directory))
        snprintf(owner->output, sizeof owner->output, "%s", output);
    else
        snprintf(owner->output, sizeof owner->output, "%s/%s", directory, output);
}

/* One load, as the process may write. */
static uint32_t count_islands(const struct probe_owner *owner)
{
    const uint32_t count = __atomic_load_n(&owner->island_count, __ATOMIC_RELAXED);
    return count < PROBE_ISLANDS ? count : PROBE_ISLANDS;
}

void inject_owner_add_island(struct inject_process *process, uint64_t address, uint64_t bytes)
{
    struct probe_owner *owner = &process->shared->owner;
    const uint32_t count = count_islands(owner);
    if (count >= PROBE_ISLANDS)
        return;
    owner->islands[count].address = address;
    owner->islands[count].bytes = bytes;
    __atomic_store_n(&owner->island_count, count + 1, __ATOMIC_RELEASE);
}

void inject_owner_drop_island(struct inject_process *process, uint64_t address)
{
    struct probe_owner *owner = &process->shared->owner;
    const uint32_t count = count_islands(owner);
    if (count && owner->islands[count - 1].address == address)
        __atomic_store_n(&owner->island_count, count - 1, __ATOMIC_RELEASE);
}
