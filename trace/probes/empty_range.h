/* trace, inside: ranges that hold no function, and what may be meant. */
#ifndef SPROF_TRACE_PROBES_EMPTY_RANGE_H
#define SPROF_TRACE_PROBES_EMPTY_RANGE_H

#include "trace/tracing.h"

/* Sets SPROF_EUSAGE for a range that holds nothing, with names or addresses that are near. `text`
 * has no sign. Returns a negative code. */
int trace_refuse_empty_range(struct trace_session *session, const char *text,
                             struct sprof_error *error);

/* Names in an answer the ranges said since then that hold no function of any program, and what is
 * near them. With --children programs that are executed later may have them. */
int trace_ranges_append_empty(const struct trace_session *session, uint64_t since_ns,
                              struct sprof_str *answer, struct sprof_error *error);

#endif
