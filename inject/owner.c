/* Locks a process, and finds its tracer in the shared memory. */
#include "inject/owner.h"
#include "control/control.h"
#include "inject/inside.h"
#include "inject/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum {
    LOCK_MS = 10000,  /* for the holder to release it */
    BEGIN_MS = 1000,  /* then a holder is named that has noted nothing */
    SOON_MS = 500,    /* for a killed holder */
    LOOK_MS = 50,     /* between two checks for a tracer */
    TRY_MS = 5,       /* between two tries to lock */
    EXECUTE_MS = 500, /* for an exec */
    KILL_MS = 50,     /* for the other threads to be killed then */
};

/* After a trace only the version is left. */
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
    sprof_proc_shared_path(path, sizeof path, pid, "maps");
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

/* == The lock == */

static pid_t find_holder(int fd)
{
    struct stat status;
    char line[256];
    int pid = 0, found = 0;
    FILE *locks = fstat(fd, &status) ? NULL : fopen("/proc/locks", "re");
    while (locks && !found && fgets(line, sizeof line, locks)) {
        unsigned major, minor;
        unsigned long inode;
        if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%lu", &pid, &major, &minor, &inode) == 4 &&
            inode == status.st_ino && makedev(major, minor) == status.st_dev)
            found = pid;
    }
    if (locks)
        fclose(locks);
    return found;
}

static int refuse_second(pid_t pid, const char *output, pid_t tracer, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_ESTATE, 0,
                           "process %d is being traced already, into %s by process %d\n`sprof ctl "
                           "-p %d probe +RE` adds to that, `sprof ctl -p %d end` ends it",
                           (int)pid, output, (int)tracer, (int)pid, (int)pid);
}

static bool is_alive_still(const struct probe_owner *owner)
{
    struct sprof_proc_stat stat;
    return owner->pid && sprof_proc_stat_read((pid_t)owner->pid, &stat) &&
           stat.start_ticks == owner->start && stat.state != 'Z';
}

int inject_owner_check_alone(pid_t pid, struct sprof_error *error)
{
    struct probe_owner owner;
    return inject_owner_read(pid, &owner, NULL) && !owner.is_ending && is_alive_still(&owner)
               ? refuse_second(pid, owner.output, (pid_t)owner.pid, error)
               : 0;
}

/* A new tracer has noted nothing yet, but its recording is open. */
static int check_beginner(pid_t pid, int fd, struct sprof_error *error)
{
    const pid_t holder = find_holder(fd);
    struct control_files files = {0};
    int result = holder > 0 && control_find(pid, &files) ? sprof_error_memory(error) : 0;
    for (size_t i = 0; i < files.list.count && !result; i++)
        if (files.recorders.items[i] == holder)
            result = refuse_second(pid, files.list.items[i], holder, error);
    control_files_release(&files);
    return result;
}

static int refuse_lock(pid_t pid, int fd, struct sprof_error *error)
{
    const pid_t holder = find_holder(fd);
    char name[16] = "", by[64] = "";
    if (holder > 0)
        sprof_proc_comm(holder, holder, name);
    if (*name)
        snprintf(by, sizeof by, ", process %d (%s),", (int)holder, name);
    return sprof_error_set(error, SPROF_ESTATE, 0,
                           "another sprof%s puts probes into process %d, or takes them out, just "
                           "now\ntry again in a few seconds",
                           by, (int)pid);
}

static int wait_for_lock(pid_t pid, int fd, bool alone, struct sprof_error *error)
{
    const struct timespec pause = {.tv_nsec = TRY_MS * 1000000};
    for (int waited_ms = 0; flock(fd, LOCK_EX | LOCK_NB); waited_ms += TRY_MS) {
        int result = 0;
        if (alone && waited_ms % LOOK_MS == 0)
            result = inject_owner_check_alone(pid, error);
        if (!result && alone && waited_ms >= BEGIN_MS && waited_ms % LOOK_MS == 0)
            result = check_beginner(pid, fd, error);
        if (!result && (waited_ms >= LOCK_MS || nanosleep(&pause, NULL)))
            result = refuse_lock(pid, fd, error);
        if (result)
            return result;
    }
    return 0;
}

/* The file of an ended first thread is empty, so another thread's is locked. */
static int open_lock(pid_t pid)
{
    char path[64];
    inject_wait_for_leader(pid);
    sprof_proc_shared_path(path, sizeof path, pid, "maps");
    return open(path, O_RDONLY | O_CLOEXEC);
}

static int lock(pid_t pid, int *fd, bool alone, struct sprof_error *error)
{
    *fd = open_lock(pid);
    if (*fd < 0)
        return sprof_error_set(error, errno == ENOENT ? SPROF_ENOTFOUND : SPROF_EPERMISSION, errno,
                               "the mappings of process %d cannot be read: %s", (int)pid,
                               strerror(errno));
    const int result = wait_for_lock(pid, *fd, alone, error);
    if (result)
        inject_close(fd);
    return result;
}

bool inject_lock_soon(pid_t pid, int *fd)
{
    const struct timespec pause = {.tv_nsec = TRY_MS * 1000000};
    *fd = open_lock(pid);
    for (int waited_ms = 0; *fd >= 0 && flock(*fd, LOCK_EX | LOCK_NB); waited_ms += TRY_MS)
        if (waited_ms >= SOON_MS || nanosleep(&pause, NULL))
            inject_close(fd);
    return *fd >= 0;
}

int inject_lock(pid_t pid, int *fd, struct sprof_error *error)
{
    return lock(pid, fd, false, error);
}

int inject_lock_alone(pid_t pid, int *fd, struct sprof_error *error)
{
    return lock(pid, fd, true, error);
}

/* The file is empty after an exec. An ending process has no executable; another user's may be
 * hidden. */
bool inject_lock_is_stale(pid_t pid, int fd)
{
    char path[64], any;
    sprof_proc_shared_path(path, sizeof path, pid, "exe");
    return fd > 0 && pread(fd, &any, 1, 0) == 0 &&
           (readlink(path, &any, 1) == 1 || errno == EACCES || errno == EPERM);
}

/* During an exec the first thread seems to have ended. */
static bool is_led(pid_t pid)
{
    struct sprof_proc_status status;
    return !sprof_proc_status_read(pid, &status) || status.state != 'Z' || status.threads <= 1;
}

void inject_wait_for_leader(pid_t pid)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    const uint64_t until_ns = sprof_clock_monotonic_ns() + EXECUTE_MS * UINT64_C(1000000);
    while (!is_led(pid) && sprof_clock_monotonic_ns() < until_ns)
        nanosleep(&pause, NULL);
}

bool inject_lock_has_become_stale(pid_t pid, int fd)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    inject_wait_for_leader(pid);
    for (int waited_ms = 0; waited_ms < KILL_MS; waited_ms++) {
        if (inject_lock_is_stale(pid, fd))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

int inject_refuse_ended(pid_t pid, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                           "process %d has ended before its probes were in place\ntrace it from "
                           "its start: `sprof trace -- COMMAND`",
                           (int)pid);
}

int inject_refuse_executed(pid_t pid, struct sprof_error *error)
{
    char link[64], path[PATH_MAX];
    sprof_proc_shared_path(link, sizeof link, pid, "exe");
    const ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    return sprof_error_set(error, SPROF_ESTATE, 0,
                           "process %d executed %s before its probes were in place, and runs that "
                           "untraced\ntry again, or trace it from its start: `sprof trace -- "
                           "COMMAND`",
                           (int)pid, *path ? path : "another program");
}

/* == Notes == */

/* The tracer writes the note before the process maps the memory. */
static bool is_of_this_version(pid_t pid, uint64_t at)
{
    uint32_t words[2] = {0}; /* of struct probe_hello */
    return target_read_memory(pid, at + offsetof(struct probe_shared, owner.hello), words,
                              sizeof words) == sizeof words &&
           words[0] == PROBE_MAGIC && words[1] == PROBE_VERSION;
}

int inject_owner_check_version(pid_t pid, struct sprof_error *error)
{
    const uint64_t at = find_shared(pid);
    if (!at || is_of_this_version(pid, at))
        return 0;
    return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                           "process %d has probes of another version of sprof\nend that trace with "
                           "that sprof's own `sprof ctl -p %d detach`, or start the process anew",
                           (int)pid, (int)pid);
}

bool inject_owner_read(pid_t pid, struct probe_owner *owner, uint32_t *functions)
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

int inject_find_owner(pid_t pid, char output[INJECT_OUTPUT_BYTES], bool *is_alive,
                      struct sprof_error *error)
{
    struct probe_owner owner;
    const int code = target_check(pid, false, error);
    if (code)
        return code;
    const int refused = target_may_read(pid);
    if (refused)
        return target_explain_reading(pid, refused, "looked into", "…", error);
    const int version = inject_owner_check_version(pid, error);
    if (version)
        return version;
    if (!inject_owner_read(pid, &owner, NULL))
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "process %d is not being traced; a recording of samples is "
                               "controlled by its file: `sprof ctl -i FILE`",
                               (int)pid);
    snprintf(output, INJECT_OUTPUT_BYTES, "%s", owner.output);
    *is_alive = is_alive_still(&owner);
    return 0;
}

bool inject_is_over(pid_t pid)
{
    struct probe_owner owner;
    return inject_owner_read(pid, &owner, NULL) && owner.is_ending;
}

bool inject_is_with_others(pid_t pid, const char *output)
{
    struct probe_owner owner;
    struct sprof_proc_status status;
    uint32_t follows_forks = 0;
    if (!inject_owner_read(pid, &owner, NULL) || strcmp(owner.output, output) != 0)
        return false;
    return owner.has_others ||
           (target_read_memory(pid, owner.shared_at + offsetof(struct probe_shared, follows_forks),
                               &follows_forks, sizeof follows_forks) == sizeof follows_forks &&
            follows_forks && sprof_proc_status_read(pid, &status) &&
            (uint32_t)status.parent != owner.pid);
}
