/* Finds the processes that others have started, in /proc. */
#include "cli/process_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* == The tree == */

struct process {
    pid_t pid, parent;
};

struct processes {
    SPROF_VEC(struct process) list;
};

/* Without those that have ended. */
static int read_all(struct processes *processes)
{
    DIR *directory = opendir("/proc");
    int status = 0;
    for (struct dirent *entry; directory && !status && (entry = readdir(directory));) {
        struct sprof_proc_stat stat;
        const pid_t pid = isdigit((unsigned char)*entry->d_name) ? atoi(entry->d_name) : 0;
        if (pid && sprof_proc_stat_read(pid, &stat) && stat.state != 'Z' && stat.state != 'X')
            status = sprof_vec_push(&processes->list, (struct process){pid, stat.parent});
    }
    if (directory)
        closedir(directory);
    return status;
}

static bool holds(const struct cli_pids *pids, pid_t pid)
{
    for (size_t i = 0; i < pids->list.count; i++)
        if (pids->list.items[i] == pid)
            return true;
    return false;
}

int cli_add_descendants(struct cli_pids *pids)
{
    struct processes all = {0};
    const pid_t own = getpid();
    int status = read_all(&all);
    for (size_t parent = 0; parent < pids->list.count && !status; parent++)
        for (size_t i = 0; i < all.list.count && !status; i++) {
            const struct process *process = &all.list.items[i];
            if (process->parent == pids->list.items[parent] && process->pid != own &&
                !holds(pids, process->pid))
                status = sprof_vec_push(&pids->list, process->pid);
        }
    sprof_vec_release(&all.list);
    return status;
}

int cli_add_named(struct cli_pids *pids, const char *name)
{
    struct processes all = {0};
    char own[16], wanted[sizeof own];
    int status = read_all(&all);
    snprintf(wanted, sizeof wanted, "%s", name);
    for (size_t i = 0; i < all.list.count && !status; i++) {
        const pid_t pid = all.list.items[i].pid;
        sprof_proc_comm(pid, pid, own);
        if (*own && !strcmp(own, wanted) && pid != getpid() && !holds(pids, pid))
            status = sprof_vec_push(&pids->list, pid);
    }
    sprof_vec_release(&all.list);
    return status;
}

/* == What they work == */

/* Of all threads of a process, also of those that have ended: fields 14 and 15 of its stat. */
static uint64_t cpu_time_ns(pid_t pid)
{
    char path[64];
    struct sprof_str text = {0};
    unsigned long long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    const bool is_read = !sprof_proc_read(path, 4096, &text) && text.text;
    const char *behind_name = is_read ? strrchr(text.text, ')') : NULL;
    const bool known =
        behind_name &&
        sscanf(behind_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
               &system) == 2;
    const long ticks = sysconf(_SC_CLK_TCK);
    sprof_str_release(&text);
    return known && ticks > 0 ? (user + system) * (UINT64_C(1000000000) / (uint64_t)ticks) : 0;
}

void cli_descendants_note(struct cli_descendants *descendants, const struct cli_pids *pids)
{
    struct cli_pids all = {0};
    int status = 0;
    if (!pids->list.count)
        return;
    for (size_t i = 0; i < pids->list.count && !status; i++)
        status = sprof_vec_push(&all.list, pids->list.items[i]);
    if (!status)
        status = cli_add_descendants(&all);
    for (size_t i = pids->list.count; i < all.list.count && !status; i++) {
        const pid_t pid = all.list.items[i];
        status = sprof_vec_push(&descendants->list, (struct cli_descendant){pid, cpu_time_ns(pid)});
    }
    if (status)
        descendants->list.count = 0;
    sprof_vec_release(&all.list);
}

uint64_t cli_descendants_worked(struct cli_descendants *descendants)
{
    uint64_t worked_ns = 0;
    size_t kept = 0;
    for (size_t i = 0; i < descendants->list.count; i++) {
        const struct cli_descendant descendant = descendants->list.items[i];
        const uint64_t now_ns = cpu_time_ns(descendant.pid);
        if (now_ns <= descendant.cpu_ns)
            continue;
        worked_ns += now_ns - descendant.cpu_ns;
        descendants->list.items[kept++] = descendant;
    }
    descendants->list.count = kept;
    return worked_ns;
}

void cli_descendants_release(struct cli_descendants *descendants)
{
    sprof_vec_release(&descendants->list);
}
