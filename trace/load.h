/* trace, inside: libraries that come and go while the command runs. */
#ifndef SPROF_TRACE_LOAD_H
#define SPROF_TRACE_LOAD_H

#include "trace/tracing.h"

/* Notes what a process that runs has mapped: before its files are looked at, so that none that
 * comes meanwhile is missed. Returns 0 or a negative code. */
int trace_loads_note(struct trace_session *session, struct sprof_error *error);

/* From now on the loader of the program waits when it has mapped or unmapped libraries, until
 * trace_loads_serve has looked; where that runs, once trace_place_live has placed the hook. Where
 * its loader is not known that is said, and nothing is done. */
int trace_loads_begin(struct trace_session *session, struct sprof_error *error);

/* Places probes in what a process that runs has loaded since trace_loads_note. Returns 0 or
 * SPROF_ENOMEM. */
int trace_loads_catch_up(struct trace_session *session, struct sprof_error *error);

/* Whether a thread waits, which can be asked. */
bool trace_loads_is_serving(const struct trace_session *session);

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
