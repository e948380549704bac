/* When threads had no CPU, each time and without stacks, by BPF: for traces, which find out by that
 * how long calls ran, waited and were ready. */
#ifndef SPROF_SAMPLER_GAPS_H
#define SPROF_SAMPLER_GAPS_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

struct sampler_gaps;

/* A thread had no CPU. */
struct sampler_gap {
    uint64_t begun_ns, ended_ns;   /* CLOCK_MONOTONIC */
    uint64_t waiting_ns, ready_ns; /* of the thread since it was taken in, this gap with it */
    pid_t pid, tid;
    bool is_last; /* it has ended; the gap has no length */
};

/* Begins with the threads of processes and those that they start, or, with `command`, of a process
 * from its execve on. Returns 0; or a negative errno, and in *reason why there are none, in a few
 * words. */
int sampler_gaps_open(struct sampler_gaps **gaps, pid_t command, const pid_t *pids, size_t count,
                      const char **reason);

/* The next gap that has ended, in each thread in the order of time. False: there is none now. */
bool sampler_gaps_next(struct sampler_gaps *gaps, struct sampler_gap *gap);

/* Gaps without room so far. Those that follow have the sums. */
uint64_t sampler_gaps_lost(const struct sampler_gaps *gaps);

void sampler_gaps_free(struct sampler_gaps *gaps);

#endif
