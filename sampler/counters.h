/* How much CPU time the targets use: counting events beside the sampling ones. */
#ifndef SPROF_SAMPLER_COUNTERS_H
#define SPROF_SAMPLER_COUNTERS_H

#include "sampler/ring.h"

#include "base/base.h"

#include <sys/types.h>

/* Of one thread that was there when the recording began. */
struct counter {
    pid_t pid, tid;
    int own_fd;    /* its own CPU time; -1: none */
    int family_fd; /* the same and that of all threads it started since; -1: own_fd tells all */
    bool has_ring; /* the ring of own_fd holds the READ records of threads that ended */
};

/* Zero is valid: no counters. */
struct counters {
    SPROF_VEC(struct counter) items;
    struct sprof_map by_tid; /* tid → index + 1 */
};

/* Opens the counters of a thread, disabled (or, with on_exec, until its execve). With `follow`,
 * what it starts is counted, too, and *ring becomes a ring of their READ records where there was
 * room for one (else ring->base is NULL). The ring is the caller's, who closes it. Returns 0 or a
 * negative errno. */
int counters_add(struct counters *counters, pid_t pid, pid_t tid, bool follow, bool on_exec,
                 size_t ring_bytes, struct ring *ring);

void counters_enable(const struct counters *counters);
void counters_disable(const struct counters *counters);

/* CPU time of all threads together, in nanoseconds. */
uint64_t counters_total_ns(const struct counters *counters);

/* CPU time of one thread alone into *cpu_time_ns. False when it has no counter of its own. With
 * `ended`, its number may be another thread's from now on. */
bool counters_thread_ns(struct counters *counters, pid_t tid, bool ended, uint64_t *cpu_time_ns);

void counters_release(struct counters *counters);

#endif
