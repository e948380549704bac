/* Keeps track of a program's processes and their CPU time. */
#include "calls/program.h"

#include "base/compat.h"

#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAPS_MAX = 16 << 20 };

/* *cpu_ns stays as it was if the process is gone. */
static void read_cpu_time(pid_t pid, uint64_t *cpu_ns)
{
    clockid_t clock;
    struct timespec used;
    if (!clock_getcpuclockid(pid, &clock) && !clock_gettime(clock, &used))
        *cpu_ns = (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static int add(struct calls_program *program, pid_t pid, bool is_there)
{
    struct calls_process process = {.pid = pid, .fd = -1, .is_over = !is_there};
    if (is_there) {
        process.fd = (int)syscall(SYS_pidfd_open, pid, 0);
        process.is_over = process.fd < 0 && errno == ESRCH;
    }
    if (program->options.pid && !process.is_over) {
        read_cpu_time(pid, &process.before_ns);
        process.cpu_ns = process.before_ns;
    }
    if (!sprof_map_put(&program->processes.by_pid, (uint32_t)pid, program->processes.list.count) &&
        !sprof_vec_push(&program->processes.list, process)) {
        if (!process.is_over)
            inject_keeper_watch(&program->all->keeper, pid, false, -1);
        return 0;
    }
    if (process.fd >= 0)
        close(process.fd);
    return SPROF_ENOMEM;
}

struct calls_process *calls_process_find(const struct calls_program *program, pid_t pid)
{
    const uint64_t *index = sprof_map_get(&program->processes.by_pid, (uint32_t)pid);
    return index && *index < program->processes.list.count ? &program->processes.list.items[*index]
                                                           : NULL;
}

int calls_process_add(struct calls_program *program, pid_t pid)
{
    return add(program, pid, true);
}

static int add_forked(struct calls_program *program, pid_t pid, bool is_there)
{
    const struct model_record fork = {.type = MODEL_RECORD_FORK,
                                      .time_ns = sprof_clock_monotonic_ns(),
                                      .pid = pid,
                                      .tid = pid,
                                      .fork = {program->process.pid, program->process.pid}};
    return recording_event(program->recording, &fork) ? SPROF_ENOMEM : add(program, pid, is_there);
}

int calls_process_add_forked(struct calls_program *program, pid_t pid)
{
    return add_forked(program, pid, true);
}

bool calls_maps_hold_program(const char *maps, const struct calls_program *program)
{
    struct stat status;
    char inode[32];
    if (fstat(program->process.memory_fd, &status))
        return false;
    snprintf(inode, sizeof inode, " %llu ", (unsigned long long)status.st_ino);
    for (const char *at = maps; (at = strstr(at, "/memfd:" PROBE_MEMORY_NAME)); at++) {
        const char *line = at;
        while (line > maps && line[-1] != '\n')
            line--;
        const char *found = strstr(line, inode);
        if (found && found < at)
            return true;
    }
    return false;
}

const char *calls_maps_read(pid_t pid, struct sprof_str *maps)
{
    char path[64];
    sprof_proc_shared_path(path, sizeof path, pid, "maps");
    return !sprof_proc_read(path, MAPS_MAX, maps) && maps->length ? maps->text : NULL;
}

bool calls_program_is_mapped(const struct calls_program *program, pid_t pid)
{
    struct sprof_str maps = {0};
    const char *text = calls_maps_read(pid, &maps);
    const bool is = text && calls_maps_hold_program(text, program);
    sprof_str_release(&maps);
    return is;
}

bool calls_has_parents_memory(pid_t pid)
{
    struct sprof_proc_status status;
    return sprof_proc_status_read(pid, &status) &&
           !syscall(SYS_kcmp, pid, status.parent, KCMP_VM, 0, 0);
}

/* Whether a process can be the one with pid `inner` in its namespace. A program can write any
 * number, so it must be younger than sprof, and neither sprof nor the keeper. */
static bool can_be(const struct calls_program *program, pid_t pid, pid_t inner)
{
    struct sprof_proc_stat stat, own;
    struct sprof_proc_status status;
    return pid != getpid() && pid != program->all->keeper.pid && sprof_proc_stat_read(pid, &stat) &&
           sprof_proc_stat_read(getpid(), &own) && stat.start_ticks >= own.start_ticks &&
           sprof_proc_status_read(pid, &status) && status.inner == inner;
}

/* Finds a process by its pid in another namespace; 0: none. */
static pid_t find_inside(const struct calls_program *program, pid_t inner)
{
    DIR *directory = opendir("/proc");
    const struct dirent *entry;
    pid_t found = 0;
    while (directory && !found && (entry = readdir(directory))) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && can_be(program, pid, inner) && calls_program_is_mapped(program, pid))
            found = pid;
    }
    if (directory)
        closedir(directory);
    return found;
}

static bool is_inside(const struct calls_program *program)
{
    return program->process.hello.pid &&
           program->process.hello.pid != (uint32_t)program->process.pid;
}

pid_t calls_process_thread(const struct calls_program *program, pid_t pid, uint32_t number)
{
    struct sprof_id_list threads = {0};
    struct sprof_proc_status status;
    pid_t found = (pid_t)number;
    if ((!is_inside(program) && !program->processes.by_inner.count) ||
        !sprof_proc_status_read(pid, &status) || status.inner == pid ||
        sprof_proc_threads(pid, &threads))
        return found;
    for (size_t i = 0; i < threads.count; i++)
        if (sprof_proc_status_read(threads.items[i], &status) && status.inner == (pid_t)number)
            found = threads.items[i];
    sprof_vec_release(&threads);
    return found;
}

pid_t calls_process_seen(struct calls_program *program, uint32_t number)
{
    struct sprof_proc_stat stat;
    const pid_t inner = (pid_t)number;
    if (!program->options.children || !number || number > INT32_MAX ||
        number == program->process.hello.pid)
        return program->process.pid;
    const uint64_t *known = sprof_map_get(&program->processes.by_inner, number);
    if (known)
        return (pid_t)*known;
    pid_t pid = inner;
    bool is_there = true;
    if (is_inside(program) ||
        (sprof_proc_stat_read(inner, &stat) && !can_be(program, inner, inner))) {
        pid = find_inside(program, inner);
        is_there = pid != 0;
        pid = is_there ? pid : inner;
        if (sprof_map_put(&program->processes.by_inner, number, (uint64_t)pid))
            return 0;
    }
    return calls_process_find(program, pid) || !add_forked(program, pid, is_there) ? pid : 0;
}

/* Without a pidfd a zombie counts as ended. */
static bool has_ended(const struct calls_process *process)
{
    struct pollfd ends = {.fd = process->fd, .events = POLLIN};
    struct sprof_proc_stat stat;
    if (process->fd >= 0)
        return poll(&ends, 1, 0) > 0;
    return !sprof_proc_stat_read(process->pid, &stat) || stat.state == 'Z';
}

bool calls_processes_are_over(struct calls_program *program)
{
    bool all = true;
    for (size_t i = 0; i < program->processes.list.count; i++) {
        struct calls_process *process = &program->processes.list.items[i];
        if (!process->is_over && has_ended(process)) {
            process->is_over = true;
            read_cpu_time(process->pid, &process->cpu_ns); /* readable until it is reaped */
            inject_keeper_forget(&program->all->keeper, process->pid);
            if (process->fd >= 0)
                close(process->fd);
            process->fd = -1;
        }
        all &= process->is_over;
    }
    return all;
}

uint64_t calls_program_cpu_ns(struct calls_program *program)
{
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < program->processes.list.count; i++) {
        struct calls_process *process = &program->processes.list.items[i];
        if (!process->is_over)
            read_cpu_time(process->pid, &process->cpu_ns);
        sum_ns += process->cpu_ns - process->before_ns;
    }
    return sum_ns;
}

void calls_processes_refresh(struct calls_program *program)
{
    if (program->options.pid)
        calls_program_cpu_ns(program);
}

uint64_t calls_command_cpu_ns(struct calls_trace *trace)
{
    uint64_t sum_ns = trace->ended.cpu_ns;
    for (size_t i = 0; i < trace->programs.count; i++)
        sum_ns += calls_program_cpu_ns(calls_program_at(trace, i));
    return sum_ns;
}

void calls_processes_release(struct calls_program *program)
{
    for (size_t i = 0; i < program->processes.list.count; i++)
        if (program->processes.list.items[i].fd >= 0)
            close(program->processes.list.items[i].fd);
    sprof_vec_release(&program->processes.list);
    sprof_map_release(&program->processes.by_pid);
    sprof_map_release(&program->processes.by_inner);
}

bool calls_executed_other(const struct calls_program *program, pid_t pid)
{
    char link[64];
    struct stat file;
    sprof_proc_shared_path(link, sizeof link, pid, "exe");
    return program->executable.inode && !stat(link, &file) &&
           (file.st_dev != program->executable.device || file.st_ino != program->executable.inode);
}
