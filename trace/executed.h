/* Detects that a process has executed another program, which is not traced. */
#ifndef SPROF_TRACE_EXECUTED_H
#define SPROF_TRACE_EXECUTED_H

#include <stdbool.h>
#include <sys/types.h>

struct trace_session;

/* Reports once that the process runs another program. */
void trace_executed_refresh(struct trace_session *session);

#endif
