/* Reading /proc and /sys: every answer bounded and checked, absence an ordinary result. */
#ifndef SPROF_BASE_PROC_H
#define SPROF_BASE_PROC_H

#include "base/error.h"
#include "base/str.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Appends at most `limit` bytes of a file. Returns 0 or a negative errno. */
int sprof_proc_read(const char *path, size_t limit, struct sprof_str *text);

/* One number in a file of its own, such as /proc/sys/kernel/…; `fallback` where there is none. */
long sprof_proc_number(const char *path, long fallback);

/* The first line of a small file without its newline; "" where it cannot be read. Lines longer than
 * size - 1 are cut. */
void sprof_proc_line(const char *path, char *line, size_t size);

/* For how long the calling thread could have run and had no CPU, since it began, in nanoseconds; 0
 * where the kernel does not count it. (Documentation/scheduler/sched-stats.rst.) */
uint64_t sprof_proc_waited_ns(void);

/* What /proc/PID/stat holds that sprof uses (proc(5)). */
struct sprof_proc_stat {
    char state;           /* field 3: 'R', 'S', 'Z' … */
    pid_t parent;         /* field 4 */
    unsigned long flags;  /* field 9: PF_… of include/linux/sched.h */
    uint64_t start_ticks; /* field 22: since boot, in clock ticks; distinguishes two processes that
                             had one number */
    uint64_t stack;       /* field 28: where the stack began, moves at most exec; 0: not known */
};

/* Reads the text of such a file, whose second field, the name, may hold anything. False where it is
 * not one. */
bool sprof_proc_parse_stat(const char *text, struct sprof_proc_stat *stat);

/* False when there is no such process or thread. */
bool sprof_proc_stat_read(pid_t pid, struct sprof_proc_stat *stat);

/* The same of a thread of that process, and of no other that has got its number since. */
bool sprof_proc_thread_stat_read(pid_t pid, pid_t tid, struct sprof_proc_stat *stat);

/* What /proc/PID/status and /proc/PID/stat say of a process or thread. */
struct sprof_proc_status {
    char state;    /* 'R', 'S', 'Z' … */
    pid_t process; /* Tgid */
    pid_t parent;
    pid_t inner;  /* its number in its own pid namespace; the same outside containers */
    long threads; /* of the process */
    uid_t user;   /* real */
    bool kernel_thread;
    bool has_seccomp; /* its system calls are filtered */
};

/* False when there is no such process or thread. */
bool sprof_proc_status_read(pid_t pid, struct sprof_proc_status *status);

/* By whose rights a process was begun: its real user and group, and its supplementary groups as
 * numbers with a blank between, as many as there is room for. */
struct sprof_proc_user {
    uid_t uid;
    gid_t gid;
    char groups[1024];
};

/* False when there is no such process, or it has another mount namespace: there, paths name other
 * files, and root is root of less. */
bool sprof_proc_user_read(pid_t pid, struct sprof_proc_user *user);

/* Ids of processes, threads or CPUs. */
struct sprof_id_list {
    int *items;
    size_t count, capacity;
};

/* Appends the threads of a process, in no order. Returns 0 or a negative errno. */
int sprof_proc_threads(pid_t pid, struct sprof_id_list *list);

/* The task through which the kernel shows what all threads of process `pid` share: memory, files,
 * program. It is the process, or another of its threads where the first one has ended and let go of
 * these. /proc/N and process_vm_readv take a thread's number as well as a process's. */
pid_t sprof_proc_sharing_task(pid_t pid);

/* The path of a file of /proc/PID that shows what all threads share: "maps", "mem", "exe" … */
void sprof_proc_shared_path(char *path, size_t size, pid_t pid, const char *name);

/* Appends the numbers of the CPUs that are online. Returns 0, or a negative errno. */
int sprof_proc_online_cpus(struct sprof_id_list *list);

/* Appends the numbers of a list such as "0-3,8". False where it is not one. */
bool sprof_proc_parse_ranges(const char *text, struct sprof_id_list *list);

/* The name of a thread; "" where it is gone. */
void sprof_proc_comm(pid_t pid, pid_t tid, char name[16]);

/* The user whose rights a live process has, as the system numbers them. */
bool sprof_proc_uid_read(pid_t pid, uid_t *uid);

/* CPU time a live thread has used since it began, in nanoseconds; 0 where it is gone. */
uint64_t sprof_proc_cpu_time_ns(pid_t pid, pid_t tid);

/* The id of this boot of the kernel; "" where it is not known. */
enum { SPROF_BOOT_ID_SIZE = 37 };
void sprof_proc_boot_id(char boot_id[SPROF_BOOT_ID_SIZE]);

/* Whether this process sees the system's own process numbers (and not those of a container). */
bool sprof_proc_in_first_pid_namespace(void);

#endif
