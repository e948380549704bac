/* Reading /proc and /sys: every answer bounded and checked, absence an ordinary result. */
#ifndef SPROF_SAMPLER_PROC_H
#define SPROF_SAMPLER_PROC_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

/* Appends at most `limit` bytes of a file. Returns 0 or a negative errno. */
int proc_read(const char *path, size_t limit, struct sprof_str *text);

/* One number in a file of its own, such as /proc/sys/kernel/…; `fallback` where there is none. */
long proc_number(const char *path, long fallback);

/* What /proc/PID/status and /proc/PID/stat say of a process or thread. */
struct proc_status {
    char state;    /* 'R', 'S', 'Z' … */
    pid_t process; /* Tgid */
    pid_t parent;
    long threads; /* of the process */
    uid_t user;   /* real */
    bool kernel_thread;
};

/* False when there is no such process or thread. */
bool proc_status_read(pid_t pid, struct proc_status *status);

/* Ids of processes, threads or CPUs. */
struct id_list {
    int *items;
    size_t count, capacity;
};

/* Appends the threads of a process, in no order. Returns 0 or a negative errno. */
int proc_threads(pid_t pid, struct id_list *list);

/* Appends the numbers of the CPUs that are online. Returns 0, or a negative errno. */
int proc_online_cpus(struct id_list *list);

/* Appends the numbers of a list such as "0-3,8". False where it is not one. */
bool proc_parse_ranges(const char *text, struct id_list *list);

/* The name of a thread; "" where it is gone. */
void proc_comm(pid_t pid, pid_t tid, char name[16]);

/* CPU time a live thread has used since it began, in nanoseconds; 0 where it is gone. */
uint64_t proc_cpu_time_ns(pid_t pid, pid_t tid);

/* Whether this process sees the system's own process numbers (and not those of a container). */
bool proc_in_first_pid_namespace(void);

#endif
