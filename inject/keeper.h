/* Internal: a process that takes the probes out if the tracer is killed. */
#ifndef SPROF_INJECT_KEEPER_H
#define SPROF_INJECT_KEEPER_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

enum { INJECT_KEEPER_FILE_MAX = 96 };

struct inject_keeper {
    pid_t pid; /* 0: none */
    int fd;    /* end of a socket pair */
};

/* Forks the keeper. Call it before there are threads or files to inherit. A failure is only logged.
 */
void inject_keeper_begin(struct inject_keeper *keeper, const struct sprof_log *log);

/* Call it before a process gets probes. The keeper shares its lock. `is_running`: it was not
 * launched with the agent. */
void inject_keeper_watch(const struct inject_keeper *keeper, pid_t pid, bool is_running,
                         int lock_fd);

/* The keeper switches probes off by this memory even if it may not trace. */
void inject_keeper_share(const struct inject_keeper *keeper, pid_t pid, int memory_fd);

/* A whole path, removed after a kill. */
void inject_keeper_note_file(const struct inject_keeper *keeper, const char *file);

/* Call it after the last probe. */
void inject_keeper_forget(const struct inject_keeper *keeper, pid_t pid);

void inject_keeper_end(struct inject_keeper *keeper);

#endif
