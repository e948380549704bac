/* Reports each execve on this machine, by the kernel's process events (linux/cn_proc.h). */
#ifndef SPROF_TRACE_EXEC_EVENTS_H
#define SPROF_TRACE_EXEC_EVENTS_H

#include "base/base.h"

#include <sys/types.h>

struct trace_exec_events {
    int fd;
    uint64_t lost; /* times that the kernel dropped events */
};

/* SPROF_EPERMISSION: CAP_NET_ADMIN is missing. SPROF_EUNSUPPORTED: no such events in this kernel or
 * pid namespace. The caller closes. */
int trace_exec_events_open(struct trace_exec_events *events, struct sprof_error *error);

/* Does not wait. Returns 0 and a process that executed a program; 1: none now; or a negative
 * code. */
int trace_exec_events_next(struct trace_exec_events *events, pid_t *pid);

void trace_exec_events_close(struct trace_exec_events *events);

#endif
