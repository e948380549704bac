/* Reads clocks as nanoseconds. */
#include "base/clock.h"

#include "base/time_namespace.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static int64_t offset_ns; /* of this process's time namespace */

static void find_offset(void)
{
    offset_ns = sprof_time_namespace_offset_ns(getpid());
}

/* The kernel gives the times of samples by the clock of the first time namespace. */
uint64_t sprof_clock_monotonic_ns(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_offset);
    return read_ns(CLOCK_MONOTONIC) - (uint64_t)offset_ns;
}

uint64_t sprof_clock_realtime_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

uint64_t sprof_clock_own_cpu_ns(void)
{
    return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}
