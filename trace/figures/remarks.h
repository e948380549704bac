/* trace, inside: what the program says of its calls by <sprof.h>: requests that threads work for,
 * and notes. */
#ifndef SPROF_TRACE_FIGURES_REMARKS_H
#define SPROF_TRACE_FIGURES_REMARKS_H

#include "trace/tracing.h"

/* Takes a request or a note out of a thread's ring, behind which so many bytes of texts stand.
 * Returns 0 or SPROF_ENOMEM. */
int trace_remark_take(struct trace_session *session, struct trace_thread *thread,
                      const struct probe_remark *unit, size_t bytes);

/* The request that a call belongs to, by the ticks of its beginning and its end: the one at its
 * beginning, else the only one during it. 0: none, or several. */
uint64_t trace_remarks_request(const struct trace_thread *thread, uint64_t begin, uint64_t end);

/* A call has ended: makes rows of its notes, with the number of its own row, and drops those of
 * calls in it that have none. Returns 0 or SPROF_ENOMEM. */
int trace_remarks_put_notes(struct trace_session *session, struct trace_thread *thread,
                            const struct probe_kept *call, uint32_t number);

/* A thread has ended: it works for no request any more. Returns 0 or SPROF_ENOMEM. */
int trace_remarks_end(struct trace_session *session, struct trace_thread *thread);

void trace_remarks_release(struct trace_remarks *remarks);

#endif
