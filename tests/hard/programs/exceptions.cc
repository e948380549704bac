// Exceptions in flight through three frames, one of which has a destructor to run: samples fall
// into libgcc's unwinder, its personality routine, the landing pads, and between the frames it
// drops.
#include "hard.h"

static volatile unsigned long sink;

struct guard {
    NOINLINE ~guard()
    {
        sink = sink + 1;
    }
};

NOINLINE static void thrower(unsigned long turns)
{
    BURN(turns);
    throw 1;
}

NOINLINE static void middle(unsigned long turns)
{
    guard kept;
    thrower(turns);
    NO_TAIL_CALL();
}

NOINLINE static void outer(unsigned long turns)
{
    char pad[120];
    __asm__ volatile("" ::"r"(pad) : "memory");
    middle(turns);
    NO_TAIL_CALL();
}

NOINLINE static void catcher(unsigned long turns)
{
    try {
        outer(turns);
    } catch (int value) {
        sink = sink + (unsigned long)value;
    }
}

int main()
{
    for (int i = 0; i < 300; i++)
        catcher(1000000);
    for (int i = 0; i < 400000; i++)
        catcher(0);
}
