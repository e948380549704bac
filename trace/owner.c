/* Finds out who traces a process, from the memory that the process shares with its tracer. */
#include "trace/tracing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static uint64_t find_shared(pid_t pid)
{
    char path[64], line[512];
    uint64_t at = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    while (maps && !at && fgets(line, sizeof line, maps)) {
        unsigned long start, offset;
        if (strstr(line, "/memfd:" PROBE_MEMORY_NAME " ") &&
            sscanf(line, "%lx-%*x %*s %lx", &start, &offset) == 2 && !offset)
            at = start;
    }
    if (maps)
        fclose(maps);
    return at;
}

void trace_owner_write(struct trace_session *session)
{
    struct probe_owner *owner = &session->shared->owner;
    struct sprof_proc_stat stat;
    char directory[PROBE_OUTPUT_BYTES / 2];
    const char *output = session->options.output;
    owner->pid = (uint32_t)getpid();
    owner->start = sprof_proc_stat_read(getpid(), &stat) ? stat.start_ticks : 0;
    owner->shared_at = session->shared_at;
    owner->hello = session->hello;
    owner->handle = trace_attach_handle(session, &owner->close);
    if (*output == '/' || !getcwd(directory, sizeof directory))
        snprintf(owner->output, sizeof owner->output, "%s", output);
    else
        snprintf(owner->output, sizeof owner->output, "%s/%s", directory, output);
}

void trace_owner_add_island(struct trace_session *session, uint64_t address, uint64_t bytes)
{
    struct probe_owner *owner = &session->shared->owner;
    if (owner->island_count >= PROBE_ISLANDS)
        return;
    owner->islands[owner->island_count].address = address;
    owner->islands[owner->island_count].bytes = bytes;
    owner->island_count++;
}

bool trace_owner_read(pid_t pid, struct probe_owner *owner, uint32_t *functions)
{
    const uint64_t at = find_shared(pid);
    uint32_t count = 0;
    if (!at ||
        target_read_memory(pid, at + offsetof(struct probe_shared, owner), owner, sizeof *owner) !=
            sizeof *owner ||
        target_read_memory(pid, at + offsetof(struct probe_shared, function_count), &count,
                           sizeof count) != sizeof count)
        return false;
    owner->output[sizeof owner->output - 1] = '\0';
    if (owner->island_count > PROBE_ISLANDS)
        owner->island_count = PROBE_ISLANDS;
    if (functions)
        *functions = count < PROBE_THUNKS ? count : PROBE_THUNKS;
    return true;
}

bool trace_owner_is_alive(const struct probe_owner *owner)
{
    struct sprof_proc_stat stat;
    return owner->pid && sprof_proc_stat_read((pid_t)owner->pid, &stat) &&
           stat.start_ticks == owner->start && stat.state != 'Z';
}

int trace_find_owner(pid_t pid, char output[TRACE_OUTPUT_BYTES], bool *is_alive,
                     struct sprof_error *error)
{
    struct probe_owner owner;
    const int code = target_check(pid, false, error);
    if (code)
        return code;
    if (target_may_read(pid))
        return sprof_error_set(error, SPROF_EPERMISSION, EPERM,
                               "the memory of process %d may not be read: run sprof as its owner "
                               "or as root (and see /proc/sys/kernel/yama/ptrace_scope)",
                               (int)pid);
    if (!trace_owner_read(pid, &owner, NULL))
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "process %d is not being traced; a recording of samples is "
                               "controlled by its file: `sprof ctl -i FILE`",
                               (int)pid);
    snprintf(output, TRACE_OUTPUT_BYTES, "%s", owner.output);
    *is_alive = trace_owner_is_alive(&owner);
    return 0;
}
