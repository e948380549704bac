/* Calls through the PLT in a hot loop. */
#include "plt_library.h"

#include "hard.h"

static volatile unsigned long sink;

NOINLINE static void hot(void)
{
    unsigned long value = 1;
    for (int i = 0; i < 200000000; i++)
        value = small_two(small_one(value));
    sink = value;
}

int main(void)
{
    hot();
    NO_TAIL_CALL();
    return 0;
}
