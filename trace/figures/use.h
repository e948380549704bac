/* Stack and heap use by function. */
#ifndef SPROF_TRACE_FIGURES_USE_H
#define SPROF_TRACE_FIGURES_USE_H

struct trace_session;

/* Writes changed rows. Returns 0 or SPROF_ENOMEM. */
int trace_use_write(struct trace_session *session);

void trace_use_clear(struct trace_session *session);

#endif
