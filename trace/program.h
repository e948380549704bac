/* trace, inside: one of several programs: that the command and its children execute, or of
 * processes that run. */
#ifndef SPROF_TRACE_PROGRAM_H
#define SPROF_TRACE_PROGRAM_H

#include "trace/tracing.h"

#include <poll.h>

/* Of a process whose agent has said hello and waits at a descriptor, which is the program's from
 * now on; or that has no agent yet (-1, and an empty hello). NULL: no memory. */
struct trace_session *trace_program_make(struct trace_session *common, int fd, pid_t pid,
                                         const struct probe_hello *hello);

/* The agent waits: what it must be given is written into its process. `was_known`: the process has
 * a row from what it ran before. Returns 0 or a negative code. */
int trace_program_begin(struct trace_session *program, bool was_known, struct sprof_error *error);

void trace_program_free(struct trace_session *program);

/* The program of that index is traced no more: what it has called is taken, and counts. Frees it,
 * also where it fails. Returns 0 or SPROF_ENOMEM. */
int trace_program_end(struct trace_session *common, size_t index, enum trace_collecting what);

/* Adds the ends of all programs' processes to what is waited for. Returns 0 or SPROF_ENOMEM. */
struct trace_polls {
    SPROF_VEC(struct pollfd) list;
};
int trace_programs_poll(const struct trace_session *common, struct trace_polls *polls);

/* Which modules its files are, which are opened for their names: later the process may have
 * executed something else, or be gone, and nobody else sees the same files by their paths. */
void trace_program_note_modules(struct trace_session *program);

#endif
