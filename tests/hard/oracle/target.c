/* Stopping a thread with ptrace: attached for the moment of the stop only. */
#include "tests/hard/oracle/oracle.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

int target_read(const struct oracle_target *target, uint64_t address, void *buffer, size_t size)
{
    const struct iovec local = {buffer, size}, remote = {(void *)(uintptr_t)address, size};
    return process_vm_readv(target->pid, &local, 1, &remote, 1, 0) == (ssize_t)size ? 0 : -1;
}

const struct oracle_map *target_map(const struct oracle_target *target, uint64_t address)
{
    for (size_t i = 0; i < target->map_count; i++)
        if (address >= target->maps[i].start && address < target->maps[i].end)
            return &target->maps[i];
    return NULL;
}

/* == Which thread == */

static char thread_state(pid_t pid, pid_t tid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    FILE *file = fopen(path, "re");
    const char *got = file ? fgets(text, sizeof text, file) : NULL;
    if (file)
        fclose(file);
    const char *name_end = got ? strrchr(text, ')') : NULL;
    return name_end && name_end[1] ? name_end[2] : 'X';
}

/* The running threads take turns. */
static pid_t pick_thread(const struct oracle_target *target)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", target->pid);
    DIR *directory = opendir(path);
    pid_t first = 0, next = 0;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        const pid_t tid = atoi(entry->d_name);
        if (tid <= 0 || thread_state(target->pid, tid) != 'R')
            continue;
        first = first ? first : tid;
        next = !next && tid > target->tid ? tid : next;
    }
    if (directory)
        closedir(directory);
    return next ? next : first ? first : target->pid;
}

/* == Maps == */

static char *read_maps(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t size = 0;
    if (!file)
        return NULL;
    if (getdelim(&text, &size, '\0', file) < 0) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

static void forget_maps(struct oracle_target *target)
{
    for (size_t i = 0; i < target->map_count; i++)
        free(target->maps[i].path);
    free(target->maps);
    free(target->maps_text);
    target->maps = NULL;
    target->maps_text = NULL;
    target->map_count = 0;
}

static bool parse_map(struct oracle_map *map, const char *line, size_t length)
{
    char protection[8];
    int path_at = 0;
    unsigned long long start, end, offset, inode;
    if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %n", &start, &end, protection, &offset,
               &map->device_major, &map->device_minor, &inode, &path_at) < 7)
        return false;
    map->start = start;
    map->end = end;
    map->offset = offset;
    map->inode = inode;
    map->executable = protection[2] == 'x';
    const size_t at = (size_t)path_at < length ? (size_t)path_at : length;
    map->path = strndup(line + at, length - at);
    return map->path;
}

static bool update_maps(struct oracle_target *target)
{
    char *text = read_maps(target->pid);
    if (!text || (target->maps_text && strcmp(text, target->maps_text) == 0)) {
        free(text);
        return target->maps_text;
    }
    forget_maps(target);
    target->maps_text = text;
    target->generation++;
    size_t lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    target->maps = calloc(lines + 1, sizeof *target->maps);
    for (const char *line = text; target->maps && *line;) {
        const size_t length = strcspn(line, "\n");
        if (parse_map(&target->maps[target->map_count], line, length))
            target->map_count++;
        line += length + (line[length] == '\n');
    }
    return target->maps;
}

/* == Registers and stack == */

static bool take_registers(struct oracle_target *target)
{
    struct user_regs_struct user;
    if (ptrace(PTRACE_GETREGS, target->tid, NULL, &user))
        return false;
    target->registers = (struct unwind_registers){
        {user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi, user.rbp, user.rsp, user.r8,
         user.r9, user.r10, user.r11, user.r12, user.r13, user.r14, user.r15, user.rip}};
    return true;
}

/* As much of the stack as a sample holds; less near the stack's end. */
static void take_slice(struct oracle_target *target)
{
    const uint64_t sp = target->registers.value[ARCH_SP];
    const struct oracle_map *map = target_map(target, sp);
    size_t size = map ? map->end - sp : 0;
    if (size > sizeof target->slice)
        size = sizeof target->slice;
    target->slice_size = size && target_read(target, sp, target->slice, size) == 0 ? size : 0;
}

/* Waits for the stop asked for. A signal that comes first goes back with the thread. */
static bool wait_stopped(pid_t tid)
{
    int status;
    while (waitpid(tid, &status, __WALL) < 0)
        if (errno != EINTR)
            return false;
    if (!WIFSTOPPED(status))
        return false;
    if (status >> 16 == PTRACE_EVENT_STOP)
        return true;
    ptrace(PTRACE_DETACH, tid, NULL, WSTOPSIG(status));
    return false;
}

bool target_stop(struct oracle_target *target)
{
    for (int tries = 0; tries < 100; tries++) {
        target->tid = pick_thread(target);
        if (thread_state(target->pid, target->pid) == 'Z' ||
            thread_state(target->pid, target->pid) == 'X')
            return false;
        if (ptrace(PTRACE_SEIZE, target->tid, NULL, NULL))
            continue;
        if (ptrace(PTRACE_INTERRUPT, target->tid, NULL, NULL) || !wait_stopped(target->tid))
            continue;
        if (update_maps(target) && take_registers(target)) {
            take_slice(target);
            return true;
        }
        target_go_on(target);
    }
    return false;
}

void target_go_on(struct oracle_target *target)
{
    ptrace(PTRACE_DETACH, target->tid, NULL, NULL);
}

void target_release(struct oracle_target *target)
{
    forget_maps(target);
}
