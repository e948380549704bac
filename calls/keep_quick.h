/* Rules that the agent tests with a few instructions. */
#ifndef SPROF_CALLS_KEEP_QUICK_H
#define SPROF_CALLS_KEEP_QUICK_H

#include "calls/program.h"

enum trace_keep_range { TRACE_RANGE_NONE, TRACE_RANGE_SOME, TRACE_RANGE_ALL };

/* Makes an unsigned comparison (struct probe_keep_quick) of an integer test. SOME: `quick` is set.
 * ALL: every value passes, or the test is too complex. NONE: no value passes. */
enum trace_keep_range trace_keep_compare(const struct probe_binding *binding,
                                         const struct probe_keep_test *test,
                                         struct probe_keep_quick *quick);

/* Writes a function's rules (`mask`) and its comparison. Rules with tests match no call until their
 * values are bound. */
void trace_keep_write(struct calls_program *session, uint32_t function, uint64_t mask);

void trace_keep_clear_slowest(struct calls_program *session);

#endif
