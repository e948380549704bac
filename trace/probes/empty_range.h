/* Ranges without functions. */
#ifndef SPROF_TRACE_PROBES_EMPTY_RANGE_H
#define SPROF_TRACE_PROBES_EMPTY_RANGE_H

#include "trace/tracing.h"

/* Sets SPROF_EUSAGE, with similar names or addresses. `text` has no sign. */
int trace_refuse_empty_range(struct trace_session *session, const char *text,
                             struct sprof_error *error);

/* Appends new ranges that are empty in all programs, and similar names. */
int trace_ranges_append_empty(const struct trace_session *session, uint64_t since_ns,
                              struct sprof_str *answer, struct sprof_error *error);

#endif
