/* Detects that a process has executed another program, which is not traced. */
#ifndef SPROF_TRACE_EXECUTED_H
#define SPROF_TRACE_EXECUTED_H

#include <stdbool.h>
#include <sys/types.h>

struct trace_session;

/* The program's file. */
struct trace_executable {
    const char *path; /* NULL: not known yet */
    dev_t device;
    ino_t inode;
    bool is_replaced; /* the process runs another file */
};

/* Whether a process of the session runs another file than the session's program. */
bool trace_executed_other(const struct trace_session *session, pid_t pid);

/* Reports once that the process runs another program. */
void trace_executed_refresh(struct trace_session *session);

#endif
