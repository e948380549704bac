/* A process that has the agent, or is to get it: how it is reached, and the memory that sprof and
 * the agent share. */
#ifndef SPROF_INJECT_PROCESS_H
#define SPROF_INJECT_PROCESS_H

#include "agent/probe.h"
#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

struct inject_attachment;

/* The caller makes it (INJECT_PROCESS_NONE), fills in `pid`, `log` and `no_cache`, and frees it
 * with inject_process_release. */
struct inject_process {
    pid_t pid;
    const struct sprof_log *log;          /* borrowed; NULL: none */
    bool no_cache;                        /* unwind tables are made anew */
    int lock_fd;                          /* its lock, see lock.h; -1: not held */
    int agent_fd;                         /* the socket to the agent; -1: there is none */
    int code_fd;                          /* its memory, for code; -1: not open */
    struct inject_attachment *attachment; /* of a borrowed thread's; NULL: none was needed */
    struct probe_hello hello;
    int memory_fd;               /* of the shared memory; -1: there is none */
    int memory_there;            /* its descriptor in the process, while it is being mapped there */
    struct probe_shared *shared; /* mapped here; NULL: not yet */
    uint64_t shared_bytes;
    uint64_t shared_at;  /* address in the process; 0: not mapped there */
    uint64_t stopped_ns; /* the longest stop of its threads */
};

#define INJECT_PROCESS_NONE                                                                        \
    ((struct inject_process){.lock_fd = -1, .agent_fd = -1, .code_fd = -1, .memory_fd = -1})

/* Closes, unmaps and frees what it has. The process itself stays as it is. */
void inject_process_release(struct inject_process *process);

/* Closes a descriptor that is not -1, and sets it to -1. */
void inject_close(int *fd);

/* Addresses from `start` on and before `end`. */
struct inject_span {
    uint64_t start, end;
};

bool inject_span_holds(const struct inject_span *span, uint64_t address);

/* Whether a process has ended, and so has no memory, even before its parent reaps it. False for
 * another user's. */
bool inject_memory_is_gone(pid_t pid);

/* Opens the memory of a process for reading and writing; *fd is the caller's, -1 on failure.
 * SPROF_ENOTFOUND where the process has ended, SPROF_EPERMISSION where the kernel refuses it. */
int inject_memory_open(pid_t pid, int *fd, struct sprof_error *error);

/* Checks the agent's hello. SPROF_EUNSUPPORTED or SPROF_ELIMIT: it cannot work there. */
int inject_hello_check(const struct inject_process *process, struct sprof_error *error);

#endif
