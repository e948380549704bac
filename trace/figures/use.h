/* trace, inside: what calls of functions use beside time, by function: how deep in their stacks
 * they began, and what they allocated. */
#ifndef SPROF_TRACE_FIGURES_USE_H
#define SPROF_TRACE_FIGURES_USE_H

struct trace_session;

/* Writes rows of what has grown. Returns 0 or SPROF_ENOMEM. */
int trace_use_write(struct trace_session *session);

/* Drops what was measured so far. */
void trace_use_clear(struct trace_session *session);

#endif
