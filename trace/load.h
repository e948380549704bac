/* trace, inside: libraries that come and go while the command runs. */
#ifndef SPROF_TRACE_LOAD_H
#define SPROF_TRACE_LOAD_H

#include "trace/tracing.h"

/* From now on the command's loader waits when it has mapped or unmapped libraries, until
 * trace_loads_serve has looked. Where its loader is not known that is said, and nothing is done. */
int trace_loads_begin(struct trace_session *session, struct sprof_error *error);

/* Places probes in what was loaded, and forgets those of what was unloaded. Returns 0 or
 * SPROF_ENOMEM. */
int trace_loads_serve(struct trace_session *session, struct sprof_error *error);

/* Readable when there is something to serve; -1: there never is. */
int trace_loads_fd(const struct trace_session *session);

/* Has the thread that waits do something, as agent/probe.h says. Returns the answer, or -EPIPE. */
int64_t trace_loads_ask(struct trace_session *session, const struct probe_request *request);

/* The command waits no more. */
void trace_loads_close(struct trace_session *session);
void trace_loads_free(struct trace_session *session);

#endif
