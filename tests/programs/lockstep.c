/* A program that works in step with a clock: in the first fifth of each interval of so many
 * nanoseconds of CLOCK_MONOTONIC in one function, in the rest in another.
 *
 *     lockstep INTERVAL_NS SECONDS
 */
#include "spin.h"

#include <stdlib.h>
#include <time.h>

static uint64_t interval_ns, time_ns;

/* In the functions themselves, so that samples are theirs. */
#define LOOK_AT_CLOCK()                                                                            \
    do {                                                                                           \
        struct timespec now;                                                                       \
        clock_gettime(CLOCK_MONOTONIC, &now);                                                      \
        time_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;                       \
    } while (0)

NOINLINE static void first_fifth(void)
{
    do
        LOOK_AT_CLOCK();
    while (time_ns % interval_ns < interval_ns / 5);
}

NOINLINE static void remaining(void)
{
    do
        LOOK_AT_CLOCK();
    while (time_ns % interval_ns >= interval_ns / 5);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    interval_ns = strtoull(argv[1], NULL, 10);
    LOOK_AT_CLOCK();
    const uint64_t end_ns = time_ns + strtoull(argv[2], NULL, 10) * 1000000000;
    while (time_ns < end_ns) {
        remaining();
        first_fifth();
    }
    return 0;
}
