/* A program whose stacks are deep, and whose depth tells what is in them.
 *     deep        runs until it is killed
 * Each level's frame holds a mark, MARK | class | level; the classes change every 0.3 ms or so. */
#include "tests/unit/sampler/programs/deep.h"

#include <stdint.h>

#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

NOINLINE static void bottom(void)
{
    for (uint64_t i = 0; i < 500000; i++)
        __asm__ volatile("" ::: "memory");
}

NOINLINE static void descend(uint64_t class, uint64_t level)
{
    volatile uint64_t mark = DEEP_MARK | class << 20 | level;
    if (level > 1)
        descend(class, level - 1);
    else
        bottom();
    mark = 0;
}

int main(void)
{
    for (;;)
        for (uint64_t class = 0; class < DEEP_CLASSES; class ++)
            descend(class, 100 + 2000 * class);
}
