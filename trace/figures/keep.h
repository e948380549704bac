/* Calls that rules keep. Functions return 0 or SPROF_ENOMEM. */
#ifndef SPROF_TRACE_FIGURES_KEEP_H
#define SPROF_TRACE_FIGURES_KEEP_H

#include "trace/tracing.h"

/* Reads a unit of a chosen function, followed by `more` units of values. */
int trace_keep_take(struct trace_session *session, struct trace_thread *thread,
                    const struct probe_kept *unit, uint32_t more);

/* Records the program's id for its open call `number`. */
int trace_keep_ask(struct trace_session *session, struct trace_thread *thread, uint32_t number,
                   uint64_t id);

/* Writes open callers when a thread or the trace ends. */
int trace_keep_end(struct trace_session *session, struct trace_thread *thread,
                   enum store_exit exit);

/* Counts calls of the functions of a rule, given as a bit. */
uint64_t trace_keep_count_tested(const struct trace_session *session, uint64_t rule);

void trace_keep_read(struct trace_session *session);

int trace_keep_serve(struct trace_session *session);

/* Appends text like ", 7 calls kept (over 20ms: 2, throws: 5)". */
void trace_keep_describe(const struct trace_session *session, struct sprof_str *text);

/* Drops kept calls. Open callers begin now. */
void trace_keep_clear(struct trace_session *session);

#endif
