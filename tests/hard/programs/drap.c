/* Frames whose address only a realigned or moving stack pointer tells: alloca, variable arrays,
 * vectors of 32 bytes on the stack, arguments passed in memory. */
#include "hard.h"

#include <alloca.h>
#include <stdarg.h>

typedef float vector __attribute__((vector_size(32)));

static volatile float sink;

NOINLINE static void drap_leaf(unsigned long turns)
{
    BURN(turns);
}

__attribute__((target("avx"))) NOINLINE static void realigned(int count, ...)
{
    volatile vector aligned[4];
    volatile char *moving = alloca((unsigned)count * 24u + 8);
    va_list list;
    va_start(list, count);
    for (int i = 0; i < count; i++) {
        moving[i] = (char)va_arg(list, int);
        aligned[i & 3] = (vector){(float)i};
    }
    va_end(list);
    drap_leaf(2000);
    sink = aligned[count & 3][0] + (float)moving[0];
}

NOINLINE static void moving(int depth)
{
    volatile char *room = alloca((unsigned)depth * 40u + 8);
    room[0] = 1;
    if (depth > 1)
        moving(depth - 1);
    else
        realigned(9, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    sink = (float)room[0];
}

int main(void)
{
    for (int i = 0; i < 900000; i++)
        moving(1 + i % 6);
    return 0;
}
