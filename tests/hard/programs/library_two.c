/* The second: the same code addresses belong to frames of another size. */
#include "hard.h"

NOINLINE static void two_leaf(unsigned long turns)
{
    char pad[488];
    __asm__ volatile("" ::"r"(pad) : "memory");
    BURN(turns);
}

NOINLINE static void two_middle(unsigned long turns)
{
    char pad[3000];
    __asm__ volatile("" ::"r"(pad) : "memory");
    two_leaf(turns);
    NO_TAIL_CALL();
}

NOINLINE void two_outer(unsigned long turns)
{
    char pad[1000];
    __asm__ volatile("" ::"r"(pad) : "memory");
    two_middle(turns);
    NO_TAIL_CALL();
}
