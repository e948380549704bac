/* Takes down what was there before a recording began, as the records the kernel would have written.
 */
#include "target/snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A process with more mappings than fit is either broken or hostile. */
enum { MAPS_BYTES_MAX = 64 << 20 };

int target_snapshot_push(struct target_snapshot *snapshot, const struct model_record *record)
{
    if (sprof_vec_push(&snapshot->records, *record))
        return SPROF_ENOMEM;
    snapshot->records.items[snapshot->records.count - 1].before_start = true;
    return 0;
}

const char *target_snapshot_name(struct target_snapshot *snapshot, const char *name)
{
    return sprof_arena_copy(&snapshot->arena, name, strlen(name));
}

const struct model_record *target_snapshot_next(struct target_snapshot *snapshot)
{
    return snapshot->next < snapshot->records.count ? &snapshot->records.items[snapshot->next++]
                                                    : NULL;
}

void target_snapshot_release(struct target_snapshot *snapshot)
{
    sprof_vec_release(&snapshot->records);
    sprof_arena_release(&snapshot->arena);
    snapshot->next = 0;
}

/* proc(5): address perms offset dev inode pathname; a newline in the name stands as \012. */
static bool parse_maps_line(char *line, struct model_mmap *mapping, const char **name)
{
    uint64_t end;
    int used = 0;
    const char *permissions = strchr(line, ' '); /* most mappings are no code: the cheapest first */
    if (!permissions || strnlen(permissions, 4) < 4 || permissions[3] != 'x' ||
        sscanf(line,
               "%" SCNx64 "-%" SCNx64 " %*4s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64 " %n",
               &mapping->address, &end, &mapping->file_offset, &mapping->file.device_major,
               &mapping->file.device_minor, &mapping->file.inode, &used) < 6 ||
        !used || end <= mapping->address)
        return false;
    mapping->size = end - mapping->address;
    *name = line[used] ? line + used : "//anon";
    return true;
}

int target_snapshot_maps(struct target_snapshot *snapshot, pid_t pid, uint64_t time_ns, char *maps)
{
    char *save = NULL;
    for (char *line = strtok_r(maps, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        struct model_record record = {
            .type = MODEL_RECORD_MMAP, .time_ns = time_ns, .pid = pid, .tid = pid, .cpu = -1};
        const char *name;
        if (!parse_maps_line(line, &record.mapping, &name))
            continue;
        record.mapping.file.path = target_snapshot_name(snapshot, name);
        if (!record.mapping.file.path || target_snapshot_push(snapshot, &record))
            return SPROF_ENOMEM;
    }
    return 0;
}

int target_snapshot_mappings(struct target_snapshot *snapshot, pid_t pid, uint64_t time_ns)
{
    char path[64];
    int result = 0;
    sprof_proc_shared_path(path, sizeof path, pid, "maps");
    struct sprof_str maps = {0};
    if (!sprof_proc_read(path, MAPS_BYTES_MAX, &maps) && maps.text)
        result = target_snapshot_maps(snapshot, pid, time_ns, maps.text);
    result = maps.failed ? SPROF_ENOMEM : result;
    sprof_str_release(&maps);
    return result;
}

static int add_thread(struct target_snapshot *snapshot, pid_t pid, pid_t tid, pid_t parent,
                      uint64_t time_ns)
{
    char name[16];
    sprof_proc_comm(pid, tid, name);
    const char *kept = target_snapshot_name(snapshot, name);
    struct model_record fork = {
        .type = MODEL_RECORD_FORK, .time_ns = time_ns, .pid = pid, .tid = tid, .cpu = -1};
    fork.fork.parent_pid = fork.fork.parent_tid = parent;
    struct model_record comm = {
        .type = MODEL_RECORD_COMM, .time_ns = time_ns, .pid = pid, .tid = tid, .cpu = -1};
    comm.comm.name = kept;
    if (!kept || target_snapshot_push(snapshot, &fork) ||
        (*name && target_snapshot_push(snapshot, &comm)))
        return SPROF_ENOMEM;
    return 0;
}

int target_snapshot_process(struct target_snapshot *snapshot, pid_t pid, uint64_t time_ns)
{
    struct sprof_proc_status status;
    if (!sprof_proc_status_read(pid, &status))
        return 0;
    int result = add_thread(snapshot, pid, pid, status.parent, time_ns);
    struct sprof_id_list threads = {0};
    if (!result && sprof_proc_threads(pid, &threads) == -ENOMEM)
        result = SPROF_ENOMEM;
    for (size_t i = 0; !result && i < threads.count; i++)
        if (threads.items[i] != pid)
            result = add_thread(snapshot, pid, threads.items[i], pid, time_ns);
    sprof_vec_release(&threads);
    return result ? result : target_snapshot_mappings(snapshot, pid, time_ns);
}
