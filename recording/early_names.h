/* Names while recording: a thread with little priority reads the debug information of files that
 * have samples and nothing in the cache, so that little is left to be read when the program has
 * ended. What it has read stays in memory until names are needed, and goes to the cache then. */
#ifndef SPROF_RECORDING_EARLY_NAMES_H
#define SPROF_RECORDING_EARLY_NAMES_H

#include "cache/cache.h"
#include "recording/sessions.h"
#include "recording/walk.h"

#include <pthread.h>
#include <stdatomic.h>

/* One module. `given` and `refused` are under the mutex, the session is the thread's until it has
 * ended. */
struct recording_early_module {
    uint32_t id;
    struct image_request request;
    uint64_t key;
    SPROF_VEC(uint64_t) given; /* vaddrs that are not prepared yet */
    struct recording_session open;
    size_t prepared; /* addresses */
    bool refused;
};

struct recording_early {
    pthread_t thread;
    bool running;
    atomic_bool stopping;
    _Atomic pid_t tid;
    pthread_mutex_t mutex;
    pthread_cond_t wanted;
    bool more; /* something was given since the thread last looked */
    struct sprof_arena arena;
    SPROF_VEC(struct recording_early_module *) modules; /* under the mutex */
    struct sprof_map by_id;                             /* owner's: id → module */
    size_t given_frames;                                /* owner's: so many were looked at */
    struct cache *cache;                                /* borrowed; NULL: none */
    uint64_t begin_ns;                                  /* 0: never started */
    uint64_t bytes, sessions;                           /* the thread's: at hand */
    uint64_t elsewhere_ns;     /* the thread's: CPU time of processes that read for it */
    _Atomic uint64_t prepared; /* addresses */
};

/* Gives the thread the frames that were added since the last time, and starts it at the first.
 * Frames whose image is in the builder's hands are left to the end. What the thread uses stays in
 * proportion to the time since `begin_ns` (CLOCK_MONOTONIC). Returns 0 or SPROF_ENOMEM. */
int recording_early_give(struct recording_early *early, const struct recording_walk *walk,
                         uint64_t begin_ns, struct cache *cache);

/* Makes the thread end, which it does between two compile units or addresses. */
void recording_early_stop(struct recording_early *early);

/* Waits for that, at most `timeout_ms`. False: it is still at work, on memory that must not be
 * freed. */
bool recording_early_wait(struct recording_early *early, unsigned timeout_ms);

/* The same without end. */
void recording_early_end(struct recording_early *early);

/* What was prepared of a module, once the thread has ended: false, and zero, where that is nothing,
 * or was read from another file than `image`. The caller closes it. */
bool recording_early_take(struct recording_early *early, uint32_t module, const struct image *image,
                          struct recording_session *open);

/* Ends the thread and frees what was not taken. Zero is fine. */
void recording_early_release(struct recording_early *early);

#endif
