/* Rules that the agent tests with a few instructions. */
#ifndef SPROF_CALLS_KEEP_QUICK_H
#define SPROF_CALLS_KEEP_QUICK_H

#include "calls/program.h"

enum calls_keep_range { CALLS_RANGE_NONE, CALLS_RANGE_SOME, CALLS_RANGE_ALL };

/* Makes an unsigned comparison (struct probe_keep_quick) of an integer test. SOME: `quick` is set.
 * ALL: every value passes, or the test is too complex. NONE: no value passes. */
enum calls_keep_range calls_keep_compare(const struct probe_binding *binding,
                                         const struct probe_keep_test *test,
                                         struct probe_keep_quick *quick);

/* Writes a function's rules (`mask`) and its comparison. Rules with tests match no call until their
 * values are bound. */
void calls_keep_write(struct calls_program *program, uint32_t function, uint64_t mask);

void calls_keep_clear_slowest(struct calls_program *program);

#endif
