/* A 32-bit process. */
#include "hard.h"

NOINLINE static void leaf32(void)
{
    BURN(1000000000);
}

int main(void)
{
    leaf32();
    NO_TAIL_CALL();
    return 0;
}
