/* Starting the command to be sampled. */
#ifndef SPROF_TARGET_LAUNCH_H
#define SPROF_TARGET_LAUNCH_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

struct target_launch {
    pid_t pid; /* 0: no command */
    int pidfd; /* readable once it ended; -1 where the kernel has none, or after it was reaped */
    int socket_fd; /* the message target_launch_go sends lets the child go, closing makes it end;
                      back comes the errno of a failed execve, or, as the execve closes it, end of
                      file */
    struct sprof_str
        environment; /* "NAME=value" texts to add to the command's, each with its NUL */
    bool started, reaped;
    int wait_status;
    void (*meanwhile)(
        void *); /* called again and again while the command executes; NULL: nothing */
    void *meanwhile_context;
    uint64_t cpu_start_ns; /* CPU time of the child when it was let go */
    uint64_t cpu_ns; /* once reaped: of the command and the descendants it waited for, since then */
    uint64_t ready_start_ns, ready_ns; /* the same of its first thread: ready without a CPU */
    char name[256];                    /* of the command, for messages */
};

/* An empty launch: no command, no descriptors. */
#define TARGET_LAUNCH_NONE ((struct target_launch){.pidfd = -1, .socket_fd = -1})

/* Forks a child that calls in_child (where not NULL) and waits for target_launch_go. The command
 * gets the signal mask of the calling thread and the dispositions that are ignored now; handlers
 * end with the execve, as always. Fails with SPROF_ENOCOMMAND, SPROF_ENOEXEC or SPROF_ELIMIT. */
int target_launch_open(struct target_launch *launch, char *const *command, void (*in_child)(void),
                       struct sprof_error *error);

/* Lets the child call execve and waits for the outcome. */
int target_launch_go(struct target_launch *launch, struct sprof_error *error);

/* Whether the command has ended, without waiting; reaps it. */
bool target_launch_ended(struct target_launch *launch);

/* How long a thread could have run and had no CPU, since it began, in nanoseconds: also of one that
 * has ended and was not reaped yet. 0 where there is none, or the kernel does not count it.
 * (Documentation/scheduler/sched-stats.rst.) */
uint64_t target_thread_ready_ns(pid_t pid, pid_t tid);

/* Kills and reaps a child that was never started; leaves a running command alone. */
void target_launch_close(struct target_launch *launch);

#endif
