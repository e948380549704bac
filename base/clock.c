/* Reads clocks as nanoseconds. */
#include "base/clock.h"

#include <time.h>

static uint64_t read_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t sprof_clock_monotonic_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t sprof_clock_realtime_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

uint64_t sprof_clock_own_cpu_ns(void)
{
    return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}
