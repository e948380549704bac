/* Lets the n-th allocation of a test fail. A library's tests use it after
 * `sprof_scarce_memory(unit_LIBRARY)` in their library.cmake, which puts it between them and
 * malloc. */
#ifndef SPROF_TESTS_SCARCE_MEMORY_H
#define SPROF_TESTS_SCARCE_MEMORY_H

#include <stdbool.h>

/* How many allocations succeed from now on, less one; the last of them fails, and so does each
 * after it. -1: no limit. */
void scarce_memory_set(long allocations);

/* Whether one has failed since the last scarce_memory_set with a limit. */
bool scarce_memory_ran_out(void);

/* Takes the next allocation off; false where it must fail. For allocators of other kinds. */
bool scarce_memory_allows(void);

/* Calls `use` with one more allocation each time until it works, and expects SPROF_ENOMEM of each
 * call whose memory ran out, of at least `min_failures` of them, and 0 of the last. */
void scarce_memory_fail_each(int (*use)(void), long min_failures);

#endif
