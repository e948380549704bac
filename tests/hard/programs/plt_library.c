/* Functions so small that calling them through the PLT is the work. */
#include "plt_library.h"

unsigned long small_one(unsigned long value)
{
    return value + 1;
}

unsigned long small_two(unsigned long value)
{
    return value * 3;
}
