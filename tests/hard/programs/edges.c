/* Functions so short that most samples fall into prologues, epilogues and leaves: with frame
 * pointers, without, with saved registers, with an early return. */
#include "hard.h"

static volatile unsigned long sink;

NOINLINE static unsigned long leaf_bare(unsigned long value)
{
    return value * 5 + 1;
}

NOINLINE static unsigned long saves_registers(unsigned long a, unsigned long b)
{
    const unsigned long c = leaf_bare(a), d = leaf_bare(b), e = leaf_bare(a + b);
    return c * d + e * a + b;
}

__attribute__((optimize("no-omit-frame-pointer"))) NOINLINE static unsigned long
frame_pointer(unsigned long value)
{
    return leaf_bare(value) + 1;
}

NOINLINE static unsigned long early_return(unsigned long value)
{
    if (value & 1)
        return value;
    char pad[48];
    __asm__ volatile("" ::"r"(pad) : "memory");
    return leaf_bare(value) + 2;
}

NOINLINE static void hot(void)
{
    unsigned long value = 1;
    for (int i = 0; i < 60000000; i++) {
        value += saves_registers(value, (unsigned long)i);
        value ^= frame_pointer(value);
        value += early_return(value);
    }
    sink = value;
}

int main(void)
{
    hot();
    NO_TAIL_CALL();
    return 0;
}
