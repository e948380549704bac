/* Threads that help their caller with work that is cut into parts, and end with it. */
#ifndef SPROF_BASE_THREADS_H
#define SPROF_BASE_THREADS_H

#include <pthread.h>
#include <stddef.h>

enum { SPROF_THREADS_MAX = 4 }; /* the caller included */

struct sprof_threads {
    pthread_t threads[SPROF_THREADS_MAX - 1];
    size_t count;
};

/* How many threads can run at once, the caller included: as many as there are processors that it
 * may run on, up to SPROF_THREADS_MAX; 1 where that is not known. */
unsigned sprof_threads_useful(void);

/* pthread_create, of a thread that takes no signals but those of its own faults and system calls:
 * others are the caller's. */
int sprof_thread_create(pthread_t *thread, void *(*run)(void *), void *context);

/* Starts up to `wanted` threads, as many as can be had, that call `run` once each. The caller joins
 * them, and signals stay with it. */
void sprof_threads_start(struct sprof_threads *threads, unsigned wanted, void *(*run)(void *),
                         void *context);

/* Waits for all of them. */
void sprof_threads_join(struct sprof_threads *threads);

#endif
