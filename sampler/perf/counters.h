/* How much CPU time the targets use: counting events beside the sampling ones. */
#ifndef SPROF_SAMPLER_PERF_COUNTERS_H
#define SPROF_SAMPLER_PERF_COUNTERS_H

#include "sampler/ring.h"

#include "base/base.h"

#include <sys/types.h>

/* Of one thread that was there when the recording began. */
struct perf_counter {
    pid_t pid, tid;
    int own_fd;    /* its own CPU time; -1: none */
    int family_fd; /* the same and that of all threads it started since; -1: own_fd counts all */
    bool has_ring; /* the ring of own_fd holds the READ records of threads that ended */
};

/* Zero is valid: no counters. */
struct perf_counters {
    SPROF_VEC(struct perf_counter) items;
    struct sprof_map by_tid; /* tid → index + 1 */
};

/* Opens the counters of a thread, disabled (or, with on_exec, until its execve). With `follow`,
 * what it starts is counted, too, and *ring becomes a ring of their READ records where there was
 * room for one (else ring->mapping is NULL). The caller closes the ring. Returns 0 or
 * a negative errno. */
int perf_counters_add(struct perf_counters *counters, pid_t pid, pid_t tid, bool follow,
                      bool on_exec, size_t ring_bytes, struct sampler_ring *ring);

void perf_counters_enable(const struct perf_counters *counters);
void perf_counters_disable(const struct perf_counters *counters);

/* CPU time of all threads together, in nanoseconds. */
uint64_t perf_counters_total_ns(const struct perf_counters *counters);

/* CPU time of one thread alone into *cpu_time_ns. False when it has no counter of its own. With
 * `ended`, its number may be another thread's from now on. */
bool perf_counters_thread_ns(struct perf_counters *counters, pid_t tid, bool ended,
                             uint64_t *cpu_time_ns);

void perf_counters_release(struct perf_counters *counters);

#endif
