/* trace, inside: how a program is planned and gets its probes. */
#ifndef SPROF_TRACE_SET_UP_H
#define SPROF_TRACE_SET_UP_H

#include "trace/tracing.h"

/* Plans one program and puts probes into it. They measure at once unless session->paused is set.
 * After an error some may be in it. */
int trace_program_set_up(struct trace_session *session, struct sprof_error *error);

/* For back ends with an agent: makes the shared memory, writes thunks, copies and jumps into the
 * chosen files of the program, and lets it go. */
int trace_place_by_agent(struct trace_session *session, struct sprof_error *error);

/* Refuses because a descriptor of the program's memory cannot be copied. Returns SPROF_EIO. */
int trace_no_descriptor(const struct trace_session *session, struct sprof_error *error);

#endif
