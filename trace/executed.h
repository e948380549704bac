/* trace, inside: whether a process still runs the program that was traced at first. */
#ifndef SPROF_TRACE_EXECUTED_H
#define SPROF_TRACE_EXECUTED_H

#include <stdbool.h>
#include <sys/types.h>

struct trace_session;

/* The program's first file. */
struct trace_executable {
    const char *path; /* its present name; NULL: not known yet */
    dev_t device;
    ino_t inode;
    bool is_replaced; /* the process runs another file now */
};

/* Reports once that the process has executed another program in its own place, which is not traced.
 */
void trace_executed_refresh(struct trace_session *session);

#endif
