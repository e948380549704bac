/* A stack pointer at odd addresses: the kernel cuts what it copies of such a stack at the end of
 * user addresses, and records of odd sizes follow. */
#include "hard.h"

NOINLINE static void misaligned(unsigned long turns)
{
    __asm__ volatile("sub $3, %%rsp\n"
                     ".cfi_adjust_cfa_offset 3\n"
                     "1: dec %0\n"
                     "jnz 1b\n"
                     "add $3, %%rsp\n"
                     ".cfi_adjust_cfa_offset -3"
                     : "+r"(turns)
                     :
                     : "cc", "memory");
}

int main(void)
{
    for (int i = 0; i < 1000; i++)
        misaligned(2000000);
    return 0;
}
