/* A command that runs while its BPF programs are loaded: until they are there, what follows the
 * slices of its samples is copied from the living process. A thread does nothing else, for the
 * recorder opens files and writes its database just then, and what is not copied within a fraction
 * of a millisecond may be gone. It shares with the recorder the rings' positions, the copies, the
 * members and the stacks' ends: under a lock, as long as it runs. */
#ifndef SPROF_SAMPLER_PERF_EARLY_COPIES_H
#define SPROF_SAMPLER_PERF_EARLY_COPIES_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct perf_source;

struct perf_early_copies {
    pthread_t thread;
    pthread_mutex_t lock;
    bool running;
    int end_fd; /* an eventfd: the thread is to end */
    struct pollfd *polls;
    size_t poll_count;
};

#define PERF_EARLY_COPIES_NONE ((struct perf_early_copies){.end_fd = -1})

/* Begins to copy, where samples carry stacks; where no thread can be had, records are copied when
 * the recorder looks at the rings, as ever. Nothing else may poll the rings until the end: the
 * kernel reports only once that one is ready. */
void perf_early_copies_begin(struct perf_source *source);

/* Waits for the thread's end, in any case. The lock must not be held. */
void perf_early_copies_end(struct perf_source *source);

/* Nothing where the thread does not run. */
static inline void perf_early_copies_lock(struct perf_early_copies *early)
{
    if (early->running)
        pthread_mutex_lock(&early->lock);
}

static inline void perf_early_copies_unlock(struct perf_early_copies *early)
{
    if (early->running)
        pthread_mutex_unlock(&early->lock);
}

#endif
