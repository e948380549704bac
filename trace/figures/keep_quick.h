/* trace, inside: what of a function's rules the agent decides by a few instructions at each end of
 * a call. */
#ifndef SPROF_TRACE_FIGURES_KEEP_QUICK_H
#define SPROF_TRACE_FIGURES_KEEP_QUICK_H

#include "trace/tracing.h"

enum trace_keep_range { TRACE_RANGE_NONE, TRACE_RANGE_SOME, TRACE_RANGE_ALL };

/* Makes one unsigned comparison of a test of integers: see struct probe_keep_quick. SOME: `quick`
 * is filled in. ALL: the test holds for all values, or is one that takes more. NONE: for none. */
enum trace_keep_range trace_keep_compare(const struct probe_binding *binding,
                                         const struct probe_keep_test *test,
                                         struct probe_keep_quick *quick);

/* Writes for a function which rules apply, a bit each, and what is decided quickly. Before values
 * are bound to rules, those with tests are met by no call. */
void trace_keep_write(struct trace_session *session, uint32_t function, uint64_t mask);

/* The longest calls so far are those from now on. */
void trace_keep_clear_slowest(struct trace_session *session);

#endif
