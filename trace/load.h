/* trace, inside: libraries that come and go while the program runs. */
#ifndef SPROF_TRACE_LOAD_H
#define SPROF_TRACE_LOAD_H

#include "trace/tracing.h"

/* Notes the mappings of a running process before its files are planned, so that none that comes
 * meanwhile is missed. Returns 0 or a negative code. */
int trace_loads_note(struct trace_session *session, struct sprof_error *error);

/* From now on the loader waits for trace_loads_serve after it has mapped or unmapped libraries; in
 * a running process once trace_place_live has placed the hook. An unknown loader is reported, and
 * nothing is done. */
int trace_loads_begin(struct trace_session *session, struct sprof_error *error);

/* Places probes in what a running process has loaded since trace_loads_note. Returns 0 or
 * SPROF_ENOMEM. */
int trace_loads_catch_up(struct trace_session *session, struct sprof_error *error);

/* Places probes in loaded libraries, and forgets those of unloaded ones. Returns 0 or SPROF_ENOMEM.
 */
int trace_loads_serve(struct trace_session *session, struct sprof_error *error);

void trace_loads_free(struct trace_session *session);

#endif
