/* trace: which processes execute a program on this machine, as they do. */
#ifndef SPROF_TRACE_EXEC_EVENTS_H
#define SPROF_TRACE_EXEC_EVENTS_H

#include "base/base.h"

#include <sys/types.h>

/* Of the kernel's process events connector (linux/cn_proc.h). */
struct trace_exec_events {
    int fd;        /* readable where there are events */
    uint64_t lost; /* times at which the kernel had no room for more of them */
};

/* SPROF_EPERMISSION without CAP_NET_ADMIN; SPROF_EUNSUPPORTED where the kernel has no such events,
 * or gives none to this pid namespace. The caller closes. */
int trace_exec_events_open(struct trace_exec_events *events, struct sprof_error *error);

/* Returns 0 and the next process that has executed a program; 1: there is none now; or a negative
 * code. It does not wait. */
int trace_exec_events_next(struct trace_exec_events *events, pid_t *pid);

void trace_exec_events_close(struct trace_exec_events *events);

#endif
