/* A process with the agent, and their shared memory. */
#ifndef SPROF_INJECT_PROCESS_H
#define SPROF_INJECT_PROCESS_H

#include "agent/probe.h"
#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

struct inject_attachment;

/* Begin with INJECT_PROCESS_NONE, set `pid`, `log` and `no_cache`, end with inject_process_release.
 */
struct inject_process {
    pid_t pid;
    const struct sprof_log *log;          /* not owned; or NULL */
    bool no_cache;                        /* build unwind tables anew */
    int lock_fd;                          /* lock.h; or -1 */
    int agent_fd;                         /* or -1 */
    int code_fd;                          /* memory, for code; or -1 */
    struct inject_attachment *attachment; /* if a thread was borrowed, or NULL */
    struct probe_hello hello;
    int memory_fd;               /* of the shared memory, or -1 */
    int memory_there;            /* its descriptor in the process, until it is mapped */
    struct probe_shared *shared; /* or NULL */
    uint64_t shared_bytes;
    uint64_t shared_at;  /* address in the process, or 0 */
    uint64_t stopped_ns; /* longest stop */
};

#define INJECT_PROCESS_NONE                                                                        \
    ((struct inject_process){.lock_fd = -1, .agent_fd = -1, .code_fd = -1, .memory_fd = -1})

void inject_process_release(struct inject_process *process);

/* Closes *fd unless it is -1, and sets it to -1. */
void inject_close(int *fd);

/* From `start` to before `end`. */
struct inject_span {
    uint64_t start, end;
};

bool inject_span_holds(const struct inject_span *span, uint64_t address);

/* True: the process has ended, maybe unreaped. False for another user's. */
bool inject_memory_is_gone(pid_t pid);

/* Opens *fd for reading and writing; -1 on failure. SPROF_ENOTFOUND: the process has ended;
 * SPROF_EPERMISSION. */
int inject_memory_open(pid_t pid, int *fd, struct sprof_error *error);

/* SPROF_EUNSUPPORTED or SPROF_ELIMIT. */
int inject_hello_check(const struct inject_process *process, struct sprof_error *error);

#endif
