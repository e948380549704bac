/* Finds processes with the same memory, by clone(2) with CLONE_VM alone. */
#include "inject/sharers.h"
#include "base/compat.h"
#include "base/proc.h"

#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    LOOKS = 20,
    BETWEEN_MS = 5,
    NEWER_MAX = 1000, /* else a look at all is as quick */
    UNFINISHED = 64,  /* tasks that have a number, but may not be seen yet: clone(2) is at work */
};

static bool has_memory(pid_t tid)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/statm", (int)tid);
    return sprof_proc_number(path, 0) > 0;
}

static bool has_same_memory(pid_t thread, pid_t other)
{
    return !syscall(SYS_kcmp, thread, other, KCMP_VM, 0, 0);
}

/* kcmp wrongly matches ended processes and kernel threads */
int inject_sharers_find(pid_t pid, struct sprof_id_list *sharers)
{
    const pid_t thread = sprof_proc_sharing_task(pid);
    DIR *directory = opendir("/proc");
    int result = 0;
    sharers->count = 0;
    for (struct dirent *entry; directory && !result && (entry = readdir(directory));) {
        const pid_t other = (pid_t)strtol(entry->d_name, NULL, 10);
        if (other > 0 && other != pid && has_same_memory(thread, other))
            result = sprof_vec_push(sharers, other);
    }
    if (directory)
        closedir(directory);
    if (!thread || !has_memory(thread))
        sharers->count = 0;
    return result ? SPROF_ENOMEM : 0;
}

/* 0: not known. */
static pid_t newest_task(void)
{
    return (pid_t)sprof_proc_number("/proc/sys/kernel/ns_last_pid", 0);
}

int inject_sharers_look(pid_t pid, struct inject_sharers *sharers)
{
    sharers->newest = newest_task();
    return inject_sharers_find(pid, &sharers->list);
}

/* False for other threads of a process. */
static bool is_first_thread(pid_t tid)
{
    return !syscall(SYS_tgkill, tid, tid, 0) || errno != ESRCH;
}

int inject_sharers_look_again(pid_t pid, struct inject_sharers *sharers)
{
    const pid_t newest = newest_task(), thread = sprof_proc_sharing_task(pid);
    const pid_t seen = sharers->newest - UNFINISHED;
    if (seen <= 0 || newest < sharers->newest || newest - sharers->newest > NEWER_MAX)
        return inject_sharers_find(pid, &sharers->list);
    size_t kept = 0;
    for (size_t i = 0; i < sharers->list.count; i++)
        if (sharers->list.items[i] <= seen && has_same_memory(thread, sharers->list.items[i]))
            sharers->list.items[kept++] = sharers->list.items[i];
    sharers->list.count = kept;
    for (pid_t other = seen + 1; other <= newest; other++)
        if (other != pid && has_same_memory(thread, other) && is_first_thread(other) &&
            sprof_vec_push(&sharers->list, other))
            return SPROF_ENOMEM;
    if (!has_memory(thread))
        sharers->list.count = 0;
    return 0;
}

bool inject_has_sharer(pid_t pid)
{
    struct sprof_id_list sharers = {0};
    const bool has = inject_sharers_find(pid, &sharers) || sharers.count;
    sprof_vec_release(&sharers);
    return has;
}

/* A vfork child shares until it executes something; its parent does not stop before. */
static bool waits_for_vfork(pid_t pid)
{
    struct sprof_id_list threads = {0};
    bool waits = sprof_proc_threads(pid, &threads) != 0;
    for (size_t i = 0; i < threads.count && !waits; i++) {
        char path[64], line[64] = "";
        struct sprof_proc_stat stat;
        snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)threads.items[i]);
        sprof_proc_line(path, line, sizeof line);
        const long number = strtol(line, NULL, 10);
        waits = (number == SYS_vfork || number == SYS_clone || number == SYS_clone3) &&
                sprof_proc_stat_read(threads.items[i], &stat) && stat.state == 'D';
    }
    sprof_vec_release(&threads);
    return waits;
}

bool inject_has_lasting_sharer(pid_t pid)
{
    const struct timespec pause = {.tv_nsec = BETWEEN_MS * 1000000};
    for (int i = 0; i < LOOKS; i++) {
        if (!inject_has_sharer(pid) || waits_for_vfork(pid))
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}
