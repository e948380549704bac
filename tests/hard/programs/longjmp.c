/* Out of three frames by longjmp: rarely, with work at the innermost, and in a hot loop, so that
 * samples fall between the moments when longjmp has loaded one register and the next. */
#include "hard.h"

#include <setjmp.h>

static jmp_buf target;
static volatile unsigned long jumps;

NOINLINE static void jump_leaf(unsigned long turns)
{
    BURN(turns);
}

NOINLINE static void third(unsigned long turns)
{
    if (turns)
        jump_leaf(turns);
    longjmp(target, 1);
}

NOINLINE static void second(unsigned long turns)
{
    char pad[72];
    __asm__ volatile("" ::"r"(pad) : "memory");
    third(turns);
    NO_TAIL_CALL();
}

NOINLINE static void first(unsigned long turns)
{
    char pad[200];
    __asm__ volatile("" ::"r"(pad) : "memory");
    second(turns);
    NO_TAIL_CALL();
}

NOINLINE static void loop(unsigned long turns, unsigned long times)
{
    jumps = 0;
    setjmp(target);
    if (jumps++ < times)
        first(turns);
}

int main(void)
{
    loop(1000000, 500);
    loop(0, 40000000);
    return 0;
}
