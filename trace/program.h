/* trace, inside: one of several programs, executed by the command and its children, or running
 * before. */
#ifndef SPROF_TRACE_PROGRAM_H
#define SPROF_TRACE_PROGRAM_H

#include "trace/tracing.h"

/* Makes the program of a process whose agent waits at a descriptor, which it takes over; or which
 * has no agent yet (-1, and an empty hello). NULL: no memory. */
struct trace_session *trace_program_make(struct trace_session *common, int fd, pid_t pid,
                                         const struct probe_hello *hello);

/* Gives the waiting agent what it needs. `was_known`: the process has a row of its earlier program.
 * Returns 0 or a negative code; the agent waits on then, until the program is freed. */
int trace_program_begin(struct trace_session *program, bool was_known, struct sprof_error *error);

/* Releases everything but what sessions have in common. */
void trace_program_release(struct trace_session *session);

void trace_program_free(struct trace_session *program);

/* Ends the trace of the program of that index: reads its last figures and frees it, also after an
 * error. Returns 0 or SPROF_ENOMEM. */
int trace_program_end(struct trace_session *common, size_t index, enum trace_collecting what);

/* Adds the ends of all programs' processes to the descriptors to wait for. Returns 0 or
 * SPROF_ENOMEM. */
int trace_programs_poll(const struct trace_session *common, struct trace_polls *polls);

#endif
