/* Reads /proc and /sys. */
#include "base/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PF_KTHREAD = 0x00200000 }; /* include/linux/sched.h, field 9 of /proc/PID/stat */
enum { CPU_NUMBER_MAX = 1 << 16 };
/* PROC_PID_INIT_INO, include/linux/proc_ns.h */
enum { FIRST_PID_NAMESPACE_INODE_LOW = 0xFFFFFFC, FIRST_PID_NAMESPACE_INODE_HIGH = 0xE };

int sprof_proc_read(const char *path, size_t limit, struct sprof_str *text)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    char buffer[8192];
    ssize_t got = 0;
    size_t total = 0;
    while (total < limit && (got = read(fd, buffer, sizeof buffer)) > 0) {
        const size_t size = (size_t)got < limit - total ? (size_t)got : limit - total;
        if (sprof_str_append_bytes(text, buffer, size))
            break;
        total += size;
    }
    const int result = got < 0 ? -errno : text->failed ? -ENOMEM : 0;
    close(fd);
    return result;
}

/* Small files, on the stack. False where there is nothing to read. */
static bool read_small(const char *path, char *buffer, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const ssize_t got = read(fd, buffer, size - 1);
    close(fd);
    if (got <= 0)
        return false;
    buffer[got] = '\0';
    return true;
}

void sprof_proc_line(const char *path, char *line, size_t size)
{
    if (!read_small(path, line, size))
        *line = '\0';
    line[strcspn(line, "\n")] = '\0';
}

uint64_t sprof_proc_waited_ns(void)
{
    char line[128], *second;
    sprof_proc_line("/proc/thread-self/schedstat", line, sizeof line);
    strtoull(line, &second, 10);
    return strtoull(second, NULL, 10);
}

long sprof_proc_number(const char *path, long fallback)
{
    char text[32];
    if (!read_small(path, text, sizeof text))
        return fallback;
    char *end;
    const long value = strtol(text, &end, 10);
    return end == text ? fallback : value;
}

/* The number behind "Name:\t" in /proc/PID/status. */
static long status_field(const char *text, const char *name, long fallback)
{
    const char *at = strstr(text, name);
    return at ? strtol(at + strlen(name), NULL, 10) : fallback;
}

/* "NSpid:" lists the numbers from the outermost namespace to the process's own (proc(5)). */
static pid_t innermost_pid(const char *text, pid_t pid)
{
    static const char name[] = "\nNSpid:";
    const char *at = strstr(text, name);
    if (!at)
        return pid;
    long number = pid;
    char *end = NULL;
    for (at += sizeof name - 1; *at == '\t'; at = end) {
        const long next = strtol(at, &end, 10);
        if (end == at)
            break;
        number = next;
    }
    return (pid_t)number;
}

bool sprof_proc_parse_stat(const char *text, struct sprof_proc_stat *stat)
{
    /* The name stands in parentheses and may itself hold some: the last one ends it. */
    const char *after = strrchr(text, ')');
    int parent;
    unsigned long long start, stack = 0;
    if (!after || sscanf(after,
                         ") %c %d %*d %*d %*d %*d %lu %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                         "%*d %llu %*u %*d %*u %*u %*u %llu",
                         &stat->state, &parent, &stat->flags, &start, &stack) < 4)
        return false;
    stat->parent = parent;
    stat->stack = stack;
    stat->start_ticks = start;
    return true;
}

bool sprof_proc_stat_read(pid_t pid, struct sprof_proc_stat *stat)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    return pid > 0 && read_small(path, text, sizeof text) && sprof_proc_parse_stat(text, stat);
}

bool sprof_proc_thread_stat_read(pid_t pid, pid_t tid, struct sprof_proc_stat *stat)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    return read_small(path, text, sizeof text) && sprof_proc_parse_stat(text, stat);
}

bool sprof_proc_status_read(pid_t pid, struct sprof_proc_status *status)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    struct sprof_proc_stat stat;
    if (!sprof_proc_stat_read(pid, &stat) || !read_small(path, text, sizeof text))
        return false;
    *status = (struct sprof_proc_status){
        .state = stat.state,
        .process = (pid_t)status_field(text, "\nTgid:\t", pid),
        .parent = stat.parent,
        .inner = innermost_pid(text, pid),
        .threads = status_field(text, "\nThreads:\t", 1),
        .user = (uid_t)status_field(text, "\nUid:\t", -1),
        .kernel_thread = stat.flags & PF_KTHREAD,
        .has_seccomp = status_field(text, "\nSeccomp:\t", 0) != 0,
    };
    return true;
}

/* One that has ended has no namespaces any more: there its parent's count. `status`: as /proc has
 * it. */
static bool has_our_files(pid_t pid, const char *status)
{
    char path[64];
    struct stat its, ours;
    const bool has_ended = strstr(status, "\nState:\tZ");
    snprintf(path, sizeof path, "/proc/%d/ns/mnt",
             has_ended ? (pid_t)status_field(status, "\nPPid:\t", 0) : pid);
    return !stat("/proc/self/ns/mnt", &ours) && !stat(path, &its) && its.st_dev == ours.st_dev &&
           its.st_ino == ours.st_ino;
}

bool sprof_proc_user_read(pid_t pid, struct sprof_proc_user *user)
{
    static const char name[] = "\nGroups:\t";
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    if (pid <= 0 || !read_small(path, text, sizeof text) || !has_our_files(pid, text))
        return false;
    *user = (struct sprof_proc_user){.uid = (uid_t)status_field(text, "\nUid:\t", -1),
                                     .gid = (gid_t)status_field(text, "\nGid:\t", -1)};
    const char *at = strstr(text, name);
    at = at ? at + sizeof name - 1 : "";
    size_t length = strcspn(at, "\n");
    if (length >= sizeof user->groups || !at[length])
        for (length = length < sizeof user->groups ? length : sizeof user->groups - 1;
             length && at[length - 1] != ' ';)
            length--; /* of the last number there may be a part only */
    while (length && at[length - 1] == ' ')
        length--;
    memcpy(user->groups, at, length);
    return true;
}

bool sprof_proc_uid_read(pid_t pid, uid_t *uid)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    if (pid <= 0 || !read_small(path, text, sizeof text))
        return false;
    const long found = status_field(text, "\nUid:\t", -1);
    *uid = (uid_t)found;
    return found >= 0;
}

int sprof_proc_threads(pid_t pid, struct sprof_id_list *list)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *directory = opendir(path);
    if (!directory)
        return -errno;
    int result = 0;
    for (struct dirent *entry; !result && (entry = readdir(directory));) {
        const int tid = atoi(entry->d_name);
        if (tid > 0 && sprof_vec_push(list, tid))
            result = -ENOMEM;
    }
    closedir(directory);
    return result;
}

bool sprof_proc_parse_ranges(const char *text, struct sprof_id_list *list)
{
    for (const char *next = text; *next && *next != '\n';) {
        char *end;
        const long first = strtol(next, &end, 10);
        if (end == next)
            return false;
        long last = first;
        if (*end == '-') {
            next = end + 1;
            last = strtol(next, &end, 10);
            if (end == next)
                return false;
        }
        if (first < 0 || last < first || last >= CPU_NUMBER_MAX)
            return false;
        for (long number = first; number <= last; number++)
            if (sprof_vec_push(list, (int)number))
                return false;
        next = *end == ',' ? end + 1 : end;
        if (next == end && *end && *end != '\n')
            return false;
    }
    return true;
}

static bool has_program(pid_t tid)
{
    char path[48], byte;
    snprintf(path, sizeof path, "/proc/%d/exe", tid);
    return readlink(path, &byte, 1) >= 0 || errno != ENOENT;
}

pid_t sprof_proc_sharing_task(pid_t pid)
{
    if (has_program(pid))
        return pid;
    struct sprof_id_list threads = {0};
    pid_t found = pid;
    sprof_proc_threads(pid, &threads);
    for (size_t i = 0; i < threads.count && found == pid; i++)
        if (has_program(threads.items[i]))
            found = threads.items[i];
    sprof_vec_release(&threads);
    return found;
}

void sprof_proc_shared_path(char *path, size_t size, pid_t pid, const char *name)
{
    snprintf(path, size, "/proc/%d/%s", sprof_proc_sharing_task(pid), name);
}

int sprof_proc_online_cpus(struct sprof_id_list *list)
{
    char text[4096];
    if (read_small("/sys/devices/system/cpu/online", text, sizeof text) &&
        sprof_proc_parse_ranges(text, list) && list->count)
        return 0;
    list->count = 0;
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    for (long cpu = 0; cpu < count; cpu++)
        if (sprof_vec_push(list, (int)cpu))
            return -ENOMEM;
    return count > 0 ? 0 : -ENOENT;
}

void sprof_proc_comm(pid_t pid, pid_t tid, char name[16])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", pid, tid);
    sprof_proc_line(path, name, 16);
}

uint64_t sprof_proc_cpu_time_ns(pid_t pid, pid_t tid)
{
    char path[64], text[128];
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", pid, tid);
    return read_small(path, text, sizeof text) ? strtoull(text, NULL, 10) : 0;
}

void sprof_proc_boot_id(char boot_id[SPROF_BOOT_ID_SIZE])
{
    sprof_proc_line("/proc/sys/kernel/random/boot_id", boot_id, SPROF_BOOT_ID_SIZE);
}

bool sprof_proc_in_first_pid_namespace(void)
{
    struct stat status;
    const ino_t first =
        ((ino_t)FIRST_PID_NAMESPACE_INODE_HIGH << 28) | FIRST_PID_NAMESPACE_INODE_LOW;
    return !stat("/proc/self/ns/pid", &status) && status.st_ino == first;
}
