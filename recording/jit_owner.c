/* Notes the owners of perf maps while their processes live. */
#include "recording/jit_owner.h"

#include <unistd.h>

struct recording_jit_owner recording_jit_owner_read(pid_t pid)
{
    struct sprof_proc_status status;
    if (!sprof_proc_status_read(pid, &status))
        return (struct recording_jit_owner){.uid = geteuid(), .ns_pid = pid};
    return (struct recording_jit_owner){.uid = status.user, .ns_pid = status.inner};
}

bool recording_jit_owners_has(const struct recording_jit_owners *owners, pid_t pid)
{
    return sprof_map_get(&owners->by_pid, (uint64_t)pid) != NULL;
}

int recording_jit_owners_note(struct recording_jit_owners *owners, pid_t pid,
                              struct recording_jit_owner owner)
{
    return sprof_map_put(&owners->by_pid, (uint64_t)pid,
                         (uint64_t)owner.uid << 32 | (uint32_t)owner.ns_pid);
}

struct recording_jit_owner recording_jit_owners_get(const struct recording_jit_owners *owners,
                                                    pid_t pid)
{
    const uint64_t *noted = owners ? sprof_map_get(&owners->by_pid, (uint64_t)pid) : NULL;
    if (!noted)
        return recording_jit_owner_read(pid);
    return (struct recording_jit_owner){(uid_t)(*noted >> 32), (pid_t)(uint32_t)*noted};
}

void recording_jit_owners_release(struct recording_jit_owners *owners)
{
    sprof_map_release(&owners->by_pid);
}
