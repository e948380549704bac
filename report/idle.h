/* report, inside: which waits are of threads that wait for work.
 *
 * A worker comes back to the loop from which it does all its work, and waits there for more. So a
 * wait is idle where it hangs at most a frame or two of the application below the deepest frame of
 * its stack that nearly all other time of its thread passes. A thread that does nothing but wait is
 * idle, too. Sleep, and waits for a lock or a disk, never are. */
#ifndef SPROF_REPORT_IDLE_H
#define SPROF_REPORT_IDLE_H

#include "report/wait_kinds.h"

#include <stddef.h>
#include <stdint.h>

/* How near to the thread's loop a wait is idle. */
enum report_idle_reach {
    REPORT_IDLE_NEVER, /* also of time that is no wait */
    REPORT_IDLE_ONE,   /* at most one frame of the application away */
    REPORT_IDLE_TWO,
};

/* Of a wait of a kind (a word of model_event_wait; NULL: it is none), for which the stack shows
 * that object. `in_kernel`: the thread is one of the kernel's. */
enum report_idle_reach report_idle_reach_of(const char *kind, enum report_wait_object object,
                                            bool in_kernel);

/* Call paths; [id - 1], parents first. */
struct report_idle_paths {
    const uint32_t *parents; /* ids; 0: a root */
    const bool *counts;      /* a function of the application, no start-up code */
    size_t count;
};

/* All time of a thread in one way on one path. */
struct report_idle_time {
    uint32_t thread, path; /* path: an id, > 0 */
    uint32_t event, id;    /* the caller's */
    enum report_idle_reach reach;
    uint64_t samples, weight;
    uint32_t site; /* set: the innermost path that counts; 0: none */
    bool is_idle;  /* set */
};

/* Sets `site` and `is_idle` of all the time of some threads, which is sorted by thread and site.
 * Returns 0 or SPROF_ENOMEM. */
int report_idle_find(const struct report_idle_paths *paths, struct report_idle_time *times,
                     size_t count);

#endif
