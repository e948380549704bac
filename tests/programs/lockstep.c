/* A program that works in step with a clock: in the first fifth of each interval of so many
 * nanoseconds of CLOCK_MONOTONIC in one function, in the rest in another.
 *
 *     lockstep INTERVAL_NS SECONDS
 *
 * Prints the share of the first fifth in the CPU time: where the program shares its CPU with
 * others, it may lose it in step with the clock, too. */
#include "spin.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t interval_ns, time_ns;
static uint64_t last_ns; /* of the clock */
static uint64_t used_ns; /* without steps of the clock so large that others must have had the CPU */

/* In the functions themselves, so that samples are theirs. */
#define LOOK_AT_CLOCK()                                                                            \
    do {                                                                                           \
        struct timespec now;                                                                       \
        clock_gettime(CLOCK_MONOTONIC, &now);                                                      \
        time_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;                       \
        used_ns += time_ns - last_ns < 50000 ? time_ns - last_ns : 0;                              \
        last_ns = time_ns;                                                                         \
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
    uint64_t first_ns = 0;
    used_ns = 0;
    while (time_ns < end_ns) {
        remaining();
        const uint64_t before_ns = used_ns;
        first_fifth();
        first_ns += used_ns - before_ns;
    }
    printf("%.5f\n", (double)first_ns / (double)used_ns);
    return 0;
}
