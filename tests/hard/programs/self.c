/* Works for ever in a function whose frame size and name are told by the compiler's command line:
 * -DNAME=…, -DPAD=…. With an argument it first removes its own file. */
#include "hard.h"

#include <unistd.h>

NOINLINE static void NAME(void)
{
    char pad[PAD];
    __asm__ volatile("" ::"r"(pad) : "memory");
    BURN(1000000);
}

NOINLINE static void between(void)
{
    char pad[PAD * 3];
    __asm__ volatile("" ::"r"(pad) : "memory");
    NAME();
    NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
    if (argc > 1 && unlink(argv[0]))
        return 3;
    for (int i = 0; argc == 1 || i < 1500; i++)
        between();
    return 0;
}
