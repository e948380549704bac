/* Finds out who traces a process, from the memory that the process shares with its tracer. */
#include "trace/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* For who holds a process's lock to let go of it. */
enum { LOCK_MS = 10000 };

/* Of a trace that is over nothing is left in it but its version. */
static bool is_retired(pid_t pid, uint64_t at)
{
    struct probe_owner owner;
    return target_read_memory(pid, at + offsetof(struct probe_shared, owner), &owner,
                              sizeof owner) == sizeof owner &&
           !owner.pid && owner.hello.magic == PROBE_MAGIC;
}

static uint64_t find_shared(pid_t pid)
{
    char path[64], line[512];
    uint64_t at = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    while (maps && !at && fgets(line, sizeof line, maps)) {
        unsigned long start, offset;
        if (strstr(line, "/memfd:" PROBE_MEMORY_NAME " ") &&
            sscanf(line, "%lx-%*x %*s %lx", &start, &offset) == 2 && !offset &&
            !is_retired(pid, start))
            at = start;
    }
    if (maps)
        fclose(maps);
    return at;
}

int trace_lock(pid_t pid, int *fd, struct sprof_error *error)
{
    const uint64_t until_ns = sprof_clock_monotonic_ns() + LOCK_MS * UINT64_C(1000000);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return sprof_error_set(error, errno == ENOENT ? SPROF_ENOTFOUND : SPROF_EPERMISSION, errno,
                               "the mappings of process %d cannot be read: %s", (int)pid,
                               strerror(errno));
    while (flock(*fd, LOCK_EX | LOCK_NB)) {
        const struct timespec pause = {.tv_nsec = 5000000};
        if (sprof_clock_monotonic_ns() < until_ns && !nanosleep(&pause, NULL))
            continue;
        close(*fd);
        *fd = -1;
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "another sprof puts probes into process %d, or takes them out, just "
                               "now\ntry again in a few seconds",
                               (int)pid);
    }
    return 0;
}

void trace_owner_write(struct trace_session *session)
{
    struct probe_owner *owner = &session->shared->owner;
    struct sprof_proc_stat stat;
    char directory[PROBE_OUTPUT_BYTES / 2];
    const char *output = session->options.output;
    owner->pid = (uint32_t)getpid();
    owner->start = sprof_proc_stat_read(getpid(), &stat) ? stat.start_ticks : 0;
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

void trace_owner_drop_island(struct trace_session *session, uint64_t address)
{
    struct probe_owner *owner = &session->shared->owner;
    if (owner->island_count && owner->islands[owner->island_count - 1].address == address)
        owner->island_count--;
}

/* Whether what is shared with a tracer is laid out as here: its own notes say so, which are written
 * before the process maps it. */
static bool is_of_this_version(pid_t pid, uint64_t at)
{
    uint32_t words[2] = {0}; /* as struct probe_hello begins */
    return target_read_memory(pid, at + offsetof(struct probe_shared, owner.hello), words,
                              sizeof words) == sizeof words &&
           words[0] == PROBE_MAGIC && words[1] == PROBE_VERSION;
}

int trace_owner_check_version(pid_t pid, struct sprof_error *error)
{
    const uint64_t at = find_shared(pid);
    if (!at || is_of_this_version(pid, at))
        return 0;
    return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                           "process %d has probes of another version of sprof\nend that trace with "
                           "that sprof's own `sprof ctl -p %d detach`, or start the process anew",
                           (int)pid, (int)pid);
}

bool trace_owner_read(pid_t pid, struct probe_owner *owner, uint32_t *functions)
{
    const uint64_t at = find_shared(pid);
    uint32_t count = 0;
    if (!at || !is_of_this_version(pid, at) ||
        target_read_memory(pid, at + offsetof(struct probe_shared, owner), owner, sizeof *owner) !=
            sizeof *owner ||
        target_read_memory(pid, at + offsetof(struct probe_shared, function_count), &count,
                           sizeof count) != sizeof count)
        return false;
    owner->shared_at = at;
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
    const int version = trace_owner_check_version(pid, error);
    if (version)
        return version;
    if (!trace_owner_read(pid, &owner, NULL))
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "process %d is not being traced; a recording of samples is "
                               "controlled by its file: `sprof ctl -i FILE`",
                               (int)pid);
    snprintf(output, TRACE_OUTPUT_BYTES, "%s", owner.output);
    *is_alive = trace_owner_is_alive(&owner);
    return 0;
}
