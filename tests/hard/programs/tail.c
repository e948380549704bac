/* Calls that are jumps: the function that jumped is on no stack any more. */
#include "hard.h"

static volatile unsigned long sink;

NOINLINE static void tail_last(unsigned long turns)
{
    BURN(turns);
    sink = turns;
}

NOINLINE static void tail_second(unsigned long turns)
{
    sink = turns;
    tail_last(turns + 1);
}

NOINLINE static void tail_first(unsigned long turns)
{
    sink = turns + 1;
    tail_second(turns - 1);
}

NOINLINE static void caller(unsigned long turns)
{
    tail_first(turns);
    NO_TAIL_CALL();
}

int main(void)
{
    for (int i = 0; i < 24000000; i++)
        caller(i % 64 ? 20 : 4000);
    return 0;
}
