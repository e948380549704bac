/* Clocks of processes in time namespaces (time_namespaces(7)). */
#ifndef SPROF_BASE_TIME_NAMESPACE_H
#define SPROF_BASE_TIME_NAMESPACE_H

#include <stdint.h>
#include <sys/types.h>

/* By how much CLOCK_MONOTONIC in a process's time namespace is ahead of that of the first one,
 * which is the clock of the kernel's samples and of sprof_clock_monotonic_ns; 0 where that cannot
 * be read. */
int64_t sprof_time_namespace_offset_ns(pid_t pid);

#endif
