/* Lets the n-th allocation of a test fail. A room's tests use it after
 * `sprof_scarce_memory(unit_ROOM)` in their room.cmake, which puts it between them and malloc. */
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

#endif
