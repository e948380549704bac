/* inject, inside: a process that waits for the end of the tracer, and takes its probes out where it
 * was killed. */
#ifndef SPROF_INJECT_KEEPER_H
#define SPROF_INJECT_KEEPER_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

enum { INJECT_KEEPER_FILE_MAX = 96 };

struct inject_keeper {
    pid_t pid; /* 0: none */
    int fd;    /* an end of a socket pair */
};

/* Forks the keeper, which keeps no file open but its end. To be called before there are threads or
 * files that must not be inherited. A failure is reported, and the trace goes on without. */
void inject_keeper_begin(struct inject_keeper *keeper, const struct sprof_log *log);

/* From now on a process gets probes. The keeper holds its lock (see inject_lock), too. The process
 * was launched with the agent, or gets it while it runs. */
void inject_keeper_watch(const struct inject_keeper *keeper, pid_t pid, bool is_running,
                         int lock_fd);

/* Hands over the shared memory, by which the keeper switches probes off even where it may not trace
 * the process. */
void inject_keeper_share(const struct inject_keeper *keeper, pid_t pid, int memory_fd);

/* A file, by its whole path, to be removed after a kill. */
void inject_keeper_note_file(const struct inject_keeper *keeper, const char *file);

/* The process has no probes any more. */
void inject_keeper_forget(const struct inject_keeper *keeper, pid_t pid);

/* Ends the keeper: nothing is left for it. */
void inject_keeper_end(struct inject_keeper *keeper);

#endif
