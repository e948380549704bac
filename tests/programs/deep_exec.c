/* A program of deep stacks that becomes itself again and again, as a proxy becomes what it stands
 * for: when its samples are walked, the code and the stack that they speak of are gone. deep_exec
 * TIMES MILLIONS     so many programs in a row, each of so many millions of turns */
#include "spin.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FRAMES = 12, FRAME_BYTES = 24 << 10 }; /* several slices deep */

NOINLINE static void descend(unsigned depth, uint64_t turns)
{
    volatile char frame[FRAME_BYTES];
    for (size_t i = 0; i < sizeof frame; i += 512)
        frame[i] = 1;
    if (depth > 1)
        descend(depth - 1, turns);
    else
        SPIN(turns);
    NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    descend(FRAMES, strtoull(argv[2], NULL, 10) * 1000000);
    const unsigned long left = strtoul(argv[1], NULL, 10);
    char next[32];
    snprintf(next, sizeof next, "%lu", left - 1);
    if (left > 1)
        execv("/proc/self/exe", (char *[]){argv[0], next, argv[2], NULL});
    return left > 1;
}
