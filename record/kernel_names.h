/* The kernel's symbols, read by a thread of their own while the target runs: the kernel takes tens
 * of milliseconds to write them out. */
#ifndef SPROF_RECORD_KERNEL_NAMES_H
#define SPROF_RECORD_KERNEL_NAMES_H

#include "symbolize/symbolize.h"

#include <pthread.h>

/* Zero is a valid "not started". */
struct record_kernel_names {
    struct symbolize_kernel
        *kernel; /* the thread's until it is joined; NULL when they are hidden */
    struct sprof_error error;
    pthread_t thread;
    bool running, tried;
};

/* Begins to read them. A thread that cannot be started costs nothing: they are read when asked for.
 */
void record_kernel_names_start(struct record_kernel_names *names);

/* The symbols, read by now at the latest; NULL and the reason in names->error when there are none.
 */
const struct symbolize_kernel *record_kernel_names_get(struct record_kernel_names *names);

void record_kernel_names_release(struct record_kernel_names *names);

#endif
