/* trace, inside: a process that waits for the end of the tracer, and where that was killed takes
 * probes out of what it traced. */
#ifndef SPROF_TRACE_ATTACH_KEEPER_H
#define SPROF_TRACE_ATTACH_KEEPER_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

enum { TRACE_KEEPER_FILE_MAX = 96 };

struct trace_keeper {
    pid_t pid; /* 0: there is none */
    int fd;    /* our end of a socket pair */
};

/* Forks the keeper, which has no file of ours open but its end. To be called before there are
 * threads or anything that must not be held open. Where it cannot be made, that is said, and the
 * trace is none the worse but where it is killed. */
void trace_keeper_begin(struct trace_keeper *keeper, const struct sprof_log *log);

/* From now on probes are put into a process, whose lock (see trace_lock) the keeper holds, too. It
 * was launched with the agent, or gets that while it runs. */
void trace_keeper_watch(const struct trace_keeper *keeper, pid_t pid, bool is_running, int lock_fd);

/* The memory shared with it, by which the keeper can switch probes off even where it may not trace
 * the process. */
void trace_keeper_share(const struct trace_keeper *keeper, pid_t pid, int memory_fd);

/* A file of ours, by its whole path, to be removed. */
void trace_keeper_note_file(const struct trace_keeper *keeper, const char *file);

/* There are none in it any more. */
void trace_keeper_forget(const struct trace_keeper *keeper, pid_t pid);

/* All is done that there is to do: ends the keeper. */
void trace_keeper_end(struct trace_keeper *keeper);

#endif
