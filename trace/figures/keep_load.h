/* trace, inside: rules of kept calls that hold while the program is under load. */
#ifndef SPROF_TRACE_FIGURES_KEEP_LOAD_H
#define SPROF_TRACE_FIGURES_KEEP_LOAD_H

#include "trace/tracing.h"

/* Compares what the program has done since the last look, and lets rules rest or hold by that. */
void trace_keep_look_at_load(struct trace_session *session);

/* Releases what was noted for that. */
void trace_keep_forget_load(struct trace_session *session);

#endif
