/* target: the processes that are looked at. It launches a command or attaches to what already runs,
 * checks whether targets exist, whose they are and whether their memory may be read, and takes down
 * what /proc shows of them. It does not depend on events, samples' contents or databases. */
#ifndef SPROF_TARGET_TARGET_H
#define SPROF_TARGET_TARGET_H

#include "base/base.h"
#include "model/model.h"

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

/* == The target of a recording == */

/* Of pids, tid and all one is given, or a command (or a command and all). All is borrowed until
 * target_open returns. */
struct target_options {
    char *const *command; /* argv of a command to launch, NULL-terminated */
    const pid_t *pids;    /* processes to attach to, all their threads */
    size_t pid_count;
    pid_t tid;              /* one thread to attach to */
    bool all;               /* whatever runs on the machine */
    void (*in_child)(void); /* called in the launched child while it waits; NULL: nothing */
    /* Called here, again and again, while target_start waits for the command's execve; NULL:
     * nothing. With its context, which is borrowed until then. */
    void (*meanwhile)(void *);
    void *meanwhile_context;
};

struct target;

/* Checks that the targets exist and forks the command, which waits right before its execve until
 * target_start. Fails with SPROF_ENOCOMMAND, SPROF_ENOEXEC, SPROF_ENOTFOUND (a process or thread),
 * SPROF_EPERMISSION, SPROF_EUSAGE (no target, or one that is none) or SPROF_ELIMIT (processes,
 * descriptors). The caller frees. */
int target_open(struct target **target, const struct target_options *options,
                struct sprof_error *error);

/* Kills and reaps a command that was never started; leaves everything else alone. */
void target_free(struct target *target);

/* The process of the launched command; 0: attached. */
pid_t target_command(const struct target *target);

/* The one thread attached to; 0: whole processes. */
pid_t target_thread(const struct target *target);

/* The processes attached to (of one thread: its process), each once; none of a command. */
const pid_t *target_processes(const struct target *target, size_t *count);

/* Finds a library of sprof that is to be preloaded into a command: beside the binary in the build
 * tree, or where both are installed. SPROF_EUNSUPPORTED where there is none, or where a blank or
 * colon in its path keeps it from being preloaded. */
enum { TARGET_PATH_MAX = 4096 };
int target_find_library(const char *name, char path[TARGET_PATH_MAX], struct sprof_error *error);

/* Puts "NAME=value" into the environment of the command, before it starts. Returns 0 or
 * SPROF_ENOMEM. */
int target_set_environment(struct target *target, const char *assignment);

/* Lets the command go and waits for the outcome of its execve: SPROF_ENOCOMMAND, SPROF_ENOEXEC, …
 * as from target_open. Of running targets: 0. */
int target_start(struct target *target, struct sprof_error *error);

/* When target_start returned (CLOCK_MONOTONIC): the execve of a command lies before it. 0: not yet.
 */
uint64_t target_started_ns(const struct target *target);

/* Whether the command was reaped, or all attached processes (or the thread) are gone. Never blocks.
 * For a command, *wait_status (where not NULL) is as from waitpid. */
bool target_ended(struct target *target, int *wait_status);

/* What a command that has ended, and the descendants it waited for, have used of the CPU since
 * target_start, in nanoseconds; 0 until then. */
uint64_t target_command_cpu_ns(const struct target *target);

/* How long the target has been ready without a CPU since target_start, in nanoseconds: of a command
 * that has ended its first thread, of what runs its threads that live. Never too much. 0: not
 * known, or not at all. */
uint64_t target_ready_ns(const struct target *target);

/* A process that was attached to is looked at no more: as if it had ended. */
void target_forget(struct target *target, pid_t pid);

/* How many entries target_polls writes at most; the entries themselves: descriptors that become
 * readable when a target ends. *blind: some targets have none; check these from time to time. */
size_t target_poll_count(const struct target *target);
size_t target_polls(const struct target *target, struct pollfd *polls, bool *blind);

/* == What a process permits == */

/* Checks that a process (or, with is_thread, a thread) can be a target at all: that it exists, is
 * no zombie, no kernel thread, and no thread where a process is expected. */
int target_check(pid_t pid, bool is_thread, struct sprof_error *error);

/* Waits until a process that has begun just now has executed its program, as that of `command &` in
 * a shell: a moment before it is another shell. At most until it is a second old. */
void target_wait_for_program(pid_t pid);

/* Explains why the kernel refused (`errnum`) to have a process or thread sampled: it ended, belongs
 * to another user, or forbids it. Returns the code of the error it fills. */
int target_explain(pid_t pid, bool is_thread, int errnum, struct sprof_error *error);

/* Whether this process may read the memory of another (PTRACE_MODE_ATTACH of ptrace(2), which Yama
 * restricts further): 0, -EPERM, or -ESRCH where it is gone. */
int target_may_read(pid_t pid);

/* Explains to the user why that is so (`errnum`). `done` is what was wanted ("traced"),
 * `command` ("trace -p 42 …") is to be run as another user. Returns the code of the error. */
int target_explain_reading(pid_t pid, int errnum, const char *done, const char *command,
                           struct sprof_error *error);

/* Copies memory of a live process, as long as it lives and permits: returns the bytes copied, 0
 * when none. Where the range ends in unmapped memory, what lies before it. */
size_t target_read_memory(pid_t pid, uint64_t address, void *buffer, size_t size);

/* The same, up to the first page that does not exist yet. A program may provide such pages itself
 * (userfaultfd(2)), and a read waits for that: for ever, where the thread that would do it
 * has been stopped. The used part of a stack exists. */
size_t target_read_existing(pid_t pid, uint64_t address, void *buffer, size_t size);

/* Where a live process's program itself begins, behind its loader; 0: not known. */
uint64_t target_entry(pid_t pid);

/* == Choosing targets == */

/* Appends the numbers of all processes, in order. Returns 0 or a negative errno. */
int target_all_processes(struct sprof_id_list *list);

/* A cgroup of version 2. */
struct target_cgroup {
    uint64_t id;
    uint32_t level;                  /* the root has 0 */
    char directory[TARGET_PATH_MAX]; /* where it is mounted */
};

/* Finds a cgroup by its path below the mount of cgroup2, which /proc/self/mountinfo shows. Fails
 * with SPROF_ENOTFOUND, or SPROF_EUNSUPPORTED where there is no such mount. */
int target_cgroup_find(const char *path, struct target_cgroup *cgroup, struct sprof_error *error);

/* The path of a live process's cgroup, as /proc shows it; "" where it is not known. */
void target_cgroup_of(pid_t pid, char *path, size_t size);

/* The name of the container that lines of /proc/PID/cgroup show: an id of 64 digits as Docker,
 * Podman, containerd and CRI-O use them, or the name that LXC and systemd-nspawn give; false where
 * there is none. */
enum { TARGET_CONTAINER_MAX = 65 };
bool target_container_find(const char *cgroups, char name[TARGET_CONTAINER_MAX]);

/* Where a live process belongs. Texts live in `arena`. */
struct target_origin {
    uint32_t uid;
    const char *user;      /* NULL: this machine has no name for it */
    const char *cgroup;    /* of version 2, from the root that sprof sees; NULL: none is mounted */
    const char *container; /* NULL: none is known */
};

/* The last user whose name was looked for. Zero is none. */
struct target_user {
    bool is_known;
    uint32_t uid;
    char name[64]; /* "": it has none */
};

/* SPROF_ENOTFOUND where the process is gone; SPROF_ENOMEM. */
int target_origin_read(struct target_origin *origin, pid_t pid, struct target_user *last,
                       struct sprof_arena *arena);

/* Whether a live process is in the cgroup, or in a child of it. */
bool target_cgroup_has(const struct target_cgroup *cgroup, pid_t pid);

/* == What /proc shows == */

/* Records as the kernel would have written them; zero is a valid empty snapshot. */
struct target_snapshot {
    struct sprof_arena arena; /* of the names */
    SPROF_VEC(struct model_record) records;
    size_t next; /* the first that was not handed out */
};

/* Appends the threads, their names and the executable mappings of a process. One that ends
 * meanwhile is no error. Returns 0 or SPROF_ENOMEM. */
int target_snapshot_process(struct target_snapshot *snapshot, pid_t pid, uint64_t time_ns);

/* Appends the text of the kernel and of its modules, as far as the system shows their addresses.
 * Returns 0 or SPROF_ENOMEM. */
int target_snapshot_kernel(struct target_snapshot *snapshot, uint64_t time_ns);

/* Appends one record, marked before_start; what it points to has to live as long. Returns 0 or
 * SPROF_ENOMEM. */
int target_snapshot_push(struct target_snapshot *snapshot, const struct model_record *record);

/* The next record in the order of appending, or NULL. */
const struct model_record *target_snapshot_next(struct target_snapshot *snapshot);

void target_snapshot_release(struct target_snapshot *snapshot);

/* Calls `mapping` for each executable mapping that a live process has now, until it returns
 * non-zero, which is then returned; else 0, also where the process is gone, or SPROF_ENOMEM. */
int target_each_mapping(pid_t pid, int (*mapping)(void *, const struct model_mmap *),
                        void *context);

#endif
