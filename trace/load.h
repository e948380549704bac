/* Follows libraries that a program loads and unloads while it runs. */
#ifndef SPROF_TRACE_LOAD_H
#define SPROF_TRACE_LOAD_H

#include "trace/tracing.h"

/* Notes mappings of a running process. Called before planning, so that no later library is missed.
 * Returns 0 or a negative code. */
int trace_loads_note(struct trace_session *session, struct sprof_error *error);

/* From now on the loader waits for trace_loads_serve after each change; in a running process after
 * probing_place_live has placed the hook. An unknown loader is reported and not followed. */
int trace_loads_begin(struct trace_session *session, struct sprof_error *error);

/* For libraries loaded since trace_loads_note. Returns 0 or SPROF_ENOMEM. */
int trace_loads_catch_up(struct trace_session *session, struct sprof_error *error);

/* Handles loaded and unloaded libraries. Returns 0 or SPROF_ENOMEM. */
int trace_loads_serve(struct trace_session *session, struct sprof_error *error);

void trace_loads_free(struct trace_session *session);

#endif
