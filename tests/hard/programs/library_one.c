/* The first of two libraries that take turns at one address: small frames. */
#include "hard.h"

NOINLINE static void one_leaf(unsigned long turns)
{
    BURN(turns);
}

NOINLINE void one_outer(unsigned long turns)
{
    one_leaf(turns);
    NO_TAIL_CALL();
}
