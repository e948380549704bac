/* Notes the owners of perf maps and jitdumps while their processes live, and holds these files. */
#include "recording/jit_owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HELD_MAX = 512 }; /* owners whose files are held */

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* When a process began: the kernel counts it from the machine's start. */
static uint64_t start_of(pid_t pid)
{
    struct sprof_proc_stat stat;
    const long ticks = sysconf(_SC_CLK_TCK);
    if (ticks <= 0 || !sprof_proc_stat_read(pid, &stat))
        return 0;
    const uint64_t boot_ns = clock_ns(CLOCK_BOOTTIME);
    const uint64_t since_ns = stat.start_ticks * (1000000000 / (uint64_t)ticks);
    return since_ns < boot_ns ? clock_ns(CLOCK_REALTIME) - (boot_ns - since_ns) : 0;
}

struct recording_jit_owner recording_jit_owner_read(pid_t pid)
{
    struct recording_jit_owner owner = {.uid = geteuid(), .ns_pid = pid, .map = -1, .dump = -1};
    struct sprof_proc_status status;
    if (!sprof_proc_status_read(pid, &status))
        return owner;
    owner.uid = status.user;
    owner.ns_pid = status.inner;
    owner.start_ns = start_of(pid);
    owner.clock_ns = sprof_time_namespace_offset_ns(pid);
    return owner;
}

/* "jit-PID.dump", with the number that the process has in its own namespace. */
static bool is_its_dump(const struct recording_jit_owner *owner, const char *path)
{
    char name[64];
    const char *slash = strrchr(path, '/');
    snprintf(name, sizeof name, "jit-%d.dump", (int)owner->ns_pid);
    return !strcmp(slash ? slash + 1 : path, name);
}

void recording_jit_owner_find(struct recording_jit_owner *owner, pid_t pid, const char *dump)
{
    if (!dump && owner->map < 0)
        owner->map = symbolize_jit_find(pid, owner->ns_pid, NULL);
    else if (dump && owner->dump < 0 && is_its_dump(owner, dump))
        owner->dump = symbolize_jit_find(pid, owner->ns_pid, dump);
}

bool recording_jit_owners_has(const struct recording_jit_owners *owners, pid_t pid)
{
    return sprof_map_get(&owners->by_pid, (uint64_t)pid) != NULL;
}

void recording_jit_owner_close(const struct recording_jit_owner *owner)
{
    if (owner->map >= 0)
        close(owner->map);
    if (owner->dump >= 0)
        close(owner->dump);
}

/* Keeps the descriptor that is there. */
static void take_file(int *held, int found)
{
    if (*held >= 0 && found >= 0)
        close(found);
    else if (found >= 0)
        *held = found;
}

int recording_jit_owners_note(struct recording_jit_owners *owners, pid_t pid,
                              const struct recording_jit_owner *owner)
{
    const uint64_t *known = sprof_map_get(&owners->by_pid, (uint64_t)pid);
    struct recording_jit_owner made = *owner;
    if (owners->items.count > HELD_MAX) {
        recording_jit_owner_close(&made);
        made.map = made.dump = -1;
    }
    if (!known) {
        if (!sprof_map_put(&owners->by_pid, (uint64_t)pid, owners->items.count) &&
            !sprof_vec_push(&owners->items, made))
            return 0;
        recording_jit_owner_close(&made);
        return SPROF_ENOMEM;
    }
    struct recording_jit_owner *held = &owners->items.items[*known];
    const struct recording_jit_owner before = *held;
    *held = made;
    held->map = before.map;
    held->dump = before.dump;
    held->growth = before.growth;
    held->growth_count = before.growth_count;
    take_file(&held->map, made.map);
    take_file(&held->dump, made.dump);
    return 0;
}

/* A map that became shorter was written anew: what is known of its lines is of others. */
static int note_length(struct recording_jit_owner *owner, uint64_t bytes, uint64_t from_ns,
                       uint64_t now_ns)
{
    enum { MOST = 1 << 16, STEP = 64 };
    const size_t count = owner->growth_count;
    const uint64_t before = count ? owner->growth[count - 1].bytes : 0;
    if (bytes == before)
        return 0;
    if (bytes < before)
        owner->growth_count = 0;
    else if (count == MOST) {
        owner->growth[count - 1].until_ns = now_ns;
        owner->growth[count - 1].bytes = bytes;
        return 0;
    }
    if (owner->growth_count % STEP == 0) {
        struct symbolize_jit_growth *more =
            realloc(owner->growth, (owner->growth_count + STEP) * sizeof *more);
        if (!more)
            return SPROF_ENOMEM;
        owner->growth = more;
    }
    owner->growth[owner->growth_count++] =
        (struct symbolize_jit_growth){count && bytes > before ? from_ns : 0, now_ns, bytes};
    return 0;
}

int recording_jit_owners_look(struct recording_jit_owners *owners, bool at_once)
{
    const uint64_t pause_ns = 20000000, now_ns = clock_ns(CLOCK_MONOTONIC);
    int result = 0;
    if (!owners->items.count || (!at_once && now_ns - owners->looked_ns < pause_ns))
        return 0;
    for (size_t i = 0; i < owners->items.count && !result; i++) {
        struct stat status;
        struct recording_jit_owner *owner = &owners->items.items[i];
        if (owner->map >= 0 && !fstat(owner->map, &status))
            result = note_length(owner, (uint64_t)status.st_size, owners->looked_ns, now_ns);
    }
    owners->looked_ns = now_ns;
    return result;
}

struct recording_jit_owner recording_jit_owners_get(const struct recording_jit_owners *owners,
                                                    pid_t pid)
{
    const uint64_t *noted = owners ? sprof_map_get(&owners->by_pid, (uint64_t)pid) : NULL;
    return noted ? owners->items.items[*noted] : recording_jit_owner_read(pid);
}

void recording_jit_owners_release(struct recording_jit_owners *owners)
{
    for (size_t i = 0; i < owners->items.count; i++) {
        recording_jit_owner_close(&owners->items.items[i]);
        free(owners->items.items[i].growth);
    }
    sprof_vec_release(&owners->items);
    sprof_map_release(&owners->by_pid);
}
