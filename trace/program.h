/* One of several traced programs. The command, its children, or attached processes run it. */
#ifndef SPROF_TRACE_PROGRAM_H
#define SPROF_TRACE_PROGRAM_H

#include "trace/tracing.h"

/* Takes over `fd`, at which the agent waits; -1 with an empty hello: no agent yet. NULL: out of
 * memory. */
struct trace_session *trace_program_make(struct trace_session *common,
                                         const struct probe_backend *backend, int fd, pid_t pid,
                                         const struct probe_hello *hello);

/* `was_known`: the process has a row from an earlier program. Returns 0 or a negative code. After
 * an error the agent waits until the program is freed. */
int trace_program_begin(struct trace_session *program, bool was_known, struct sprof_error *error);

/* Keeps what sessions share. */
void trace_program_release(struct trace_session *session);

void trace_program_free(struct trace_session *program);

/* Reads last figures and frees the program, even on error. Returns 0 or SPROF_ENOMEM. */
int trace_program_end(struct trace_session *common, size_t index, enum calls_collecting what);

void trace_count_probes(const struct trace_session *session, struct trace_result *result);

/* Adds pidfds of all processes. Returns 0 or SPROF_ENOMEM. */
int trace_programs_poll(const struct trace_session *common, struct trace_polls *polls);

#endif
