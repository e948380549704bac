/* The two clocks sprof uses. */
#ifndef SPROF_BASE_CLOCK_H
#define SPROF_BASE_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC in nanoseconds: the clock of every sample and interval. */
uint64_t sprof_clock_monotonic_ns(void);

/* CLOCK_REALTIME in nanoseconds since 1970: only to say when a recording was made. */
uint64_t sprof_clock_realtime_ns(void);

/* CPU time this process has used, all threads, user and kernel, in nanoseconds. */
uint64_t sprof_clock_own_cpu_ns(void);

#endif
