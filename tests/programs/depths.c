/* A program whose stacks have known depths: of every 8 units of work, 1 is spent below 10 calls of
 * descend, 2 below 100, 5 below 1000.
 *     depths MILLIONS     so many millions of turns in all */
#include "spin.h"

#include <stdlib.h>

#define UNIT_TURNS 100000

NOINLINE static void bottom(uint64_t turns)
{
    SPIN(turns);
}

NOINLINE static void descend(unsigned depth, uint64_t turns)
{
    if (depth > 1)
        descend(depth - 1, turns);
    else
        bottom(turns);
    NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    const uint64_t turns = strtoull(argv[1], NULL, 10) * 1000000;
    uint64_t unit, done = 0;
    for (uint64_t seed = 1; done < turns; done += 8 * unit) {
        unit = UNIT_TURNS / 2 + next_random(&seed) % UNIT_TURNS;
        descend(10, unit);
        descend(100, 2 * unit);
        descend(1000, 5 * unit);
    }
    return 0;
}
