/* Rules of kept calls that depend on load. */
#ifndef SPROF_TRACE_FIGURES_KEEP_LOAD_H
#define SPROF_TRACE_FIGURES_KEEP_LOAD_H

#include "trace/tracing.h"

/* Suspends or resumes rules by the load since the last check. */
void trace_keep_check_load(struct trace_session *session);

void trace_keep_forget_load(struct trace_session *session);

#endif
