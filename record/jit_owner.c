#include "record/jit_owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "NSpid:" lists the numbers from the outermost namespace to the process's own (proc(5)). */
static struct record_jit_owner read_owner(pid_t pid)
{
    struct record_jit_owner owner = {.uid = geteuid(), .ns_pid = pid};
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return owner;
    while (fgets(line, sizeof line, file)) {
        unsigned uid;
        if (sscanf(line, "Uid: %u", &uid) == 1)
            owner.uid = uid;
        const char *last = strncmp(line, "NSpid:", 6) == 0 ? strrchr(line, '\t') : NULL;
        if (last)
            owner.ns_pid = atoi(last + 1);
    }
    fclose(file);
    return owner;
}

int record_jit_owners_note(struct record_jit_owners *owners, pid_t pid)
{
    if (sprof_map_get(&owners->by_pid, (uint64_t)pid))
        return 0;
    const struct record_jit_owner owner = read_owner(pid);
    return sprof_map_put(&owners->by_pid, (uint64_t)pid,
                         (uint64_t)owner.uid << 32 | (uint32_t)owner.ns_pid);
}

struct record_jit_owner record_jit_owners_get(const struct record_jit_owners *owners, pid_t pid)
{
    const uint64_t *noted = owners ? sprof_map_get(&owners->by_pid, (uint64_t)pid) : NULL;
    if (!noted)
        return read_owner(pid);
    return (struct record_jit_owner){(uid_t)(*noted >> 32), (pid_t)(uint32_t)*noted};
}

void record_jit_owners_release(struct record_jit_owners *owners)
{
    sprof_map_release(&owners->by_pid);
}
