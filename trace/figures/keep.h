/* trace, inside: calls that rules keep. */
#ifndef SPROF_TRACE_FIGURES_KEEP_H
#define SPROF_TRACE_FIGURES_KEEP_H

#include "trace/tracing.h"

/* Takes a unit out of a thread's ring, behind which so many units of values stand; it is of a
 * chosen function. Returns 0 or SPROF_ENOMEM. */
int trace_keep_take(struct trace_session *session, struct trace_thread *thread,
                    const struct probe_kept *unit, uint32_t more);

/* The program was given this id of the open call with that number. */
int trace_keep_ask(struct trace_session *session, struct trace_thread *thread, uint32_t number,
                   uint64_t id);

/* The thread or the trace has ended: writes rows of the callers that are open. */
int trace_keep_end(struct trace_session *session, struct trace_thread *thread,
                   enum store_exit exit);

/* Calls so far of a program's functions to which a rule applies, which is given as a bit. */
uint64_t trace_keep_count_tested(const struct trace_session *session, uint64_t rule);

/* Adds what a program has tested and dropped since the last time. */
void trace_keep_read(struct trace_session *session);

/* Writes how often rules have fired. Returns 0 or SPROF_ENOMEM. */
int trace_keep_serve(struct trace_session *session);

/* Appends ", 7 calls kept (over 20ms: 2, throws: 5)" where there are rules. */
void trace_keep_describe(const struct trace_session *session, struct sprof_str *text);

/* Drops what was kept. Callers that are open begin now. */
void trace_keep_clear(struct trace_session *session);

#endif
