/* trace, inside: what the program says of its calls by <sprof.h>: requests that threads work for,
 * and notes. */
#ifndef SPROF_TRACE_FIGURES_REMARKS_H
#define SPROF_TRACE_FIGURES_REMARKS_H

#include "trace/tracing.h"

/* Takes a request or a note out of a thread's ring, behind which so many bytes of texts stand.
 * Returns 0 or SPROF_ENOMEM. */
int trace_remark_take(struct trace_session *session, struct trace_thread *thread,
                      const struct probe_remark *unit, size_t bytes);

/* Makes the row of a part of a request. The thread, the run and the label, which may be NULL, are
 * filled in. Returns 0 or SPROF_ENOMEM. */
int trace_remarks_put_part(struct trace_session *session, const struct trace_thread *thread,
                           const struct store_request_part *part, const char *label);

/* The request that a call belongs to, by the ticks of its beginning and its end: the one at its
 * beginning, else the only one during it. 0: none, or several. */
uint64_t trace_remarks_request(const struct trace_thread *thread, uint64_t begin, uint64_t end);

/* Makes rows of the notes of a call that has a row of that number, 0: it has none, by the ticks of
 * its beginning; and drops them. Returns 0 or SPROF_ENOMEM. */
int trace_remarks_put_notes(struct trace_session *session, struct trace_thread *thread,
                            uint32_t function, uint64_t begin, uint32_t number);

/* Drops the notes of calls that began then or later: they have ended. */
void trace_remarks_drop_notes(struct trace_thread *thread, uint64_t begin);

/* All rows have gone: requests that threads work for have one again. Returns 0 or SPROF_ENOMEM. */
int trace_remarks_begin_anew(struct trace_session *session);

/* A thread has ended: it works for no request any more. Returns 0 or SPROF_ENOMEM. */
int trace_remarks_end(struct trace_session *session, struct trace_thread *thread);

void trace_remarks_release(struct trace_remarks *remarks);

#endif
