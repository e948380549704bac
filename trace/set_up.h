/* Plans a program and places its probes. */
#ifndef SPROF_TRACE_SET_UP_H
#define SPROF_TRACE_SET_UP_H

#include "trace/tracing.h"

/* Probes measure at once unless session->paused is set. They may stay in the program after an
 * error. */
int trace_program_set_up(struct trace_session *session, struct sprof_error *error);

/* For back ends with an agent: makes the shared memory, writes thunks, copies and jumps, and lets
 * the program go. */
int trace_place_by_agent(struct trace_session *session, struct sprof_error *error);

/* The program's memory has no descriptor to copy. Returns SPROF_EIO. */
int trace_no_descriptor(const struct trace_session *session, struct sprof_error *error);

#endif
