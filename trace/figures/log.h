/* trace, inside: the log of calls, in mode log. */
#ifndef SPROF_TRACE_FIGURES_LOG_H
#define SPROF_TRACE_FIGURES_LOG_H

#include "trace/tracing.h"

/* Says to the agent what is to be done with calls, as options and mode have it. */
void trace_set_extras(struct trace_session *session);

/* Says to it how deep calls may be to be logged. */
void trace_log_begin(struct trace_session *session);

/* Takes what a thread has put into its ring, as far as the database keeps up. Returns 0 or
 * SPROF_ENOMEM. */
int trace_log_read(struct trace_session *session, struct trace_thread *thread, uint32_t slab);

/* The thread has ended, or the trace has: takes all, and writes rows of the calls that have not. */
int trace_log_end(struct trace_session *session, struct trace_thread *thread, uint32_t slab,
                  bool is_last);

/* The figures of a thread have been cleared: calls that have ended by then do not count in the log
 * either, though they may still be in its ring. */
void trace_log_note_clear(const struct trace_session *session, struct trace_thread *thread,
                          uint32_t slab);

/* What was logged counts no more; calls in flight begin now. */
void trace_log_clear(struct trace_session *session, uint64_t now_ns);

/* Its ring is another thread's next. */
void trace_log_empty(struct trace_session *session, uint32_t slab);

/* Rows of calls that were not logged, by function and second; whether the database is as large as
 * it may be. Returns 0 or SPROF_ENOMEM. */
int trace_log_tick(struct trace_session *session);

/* Whether rows wait to be written that are worth it. */
bool trace_log_wants_flush(struct trace_session *session);

#endif
