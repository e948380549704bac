/* Callbacks: qsort (sorting in place and with a buffer) and bsearch call back, the callback calls
 * on; and the vdso. */
#include "hard.h"

#include <stdlib.h>
#include <time.h>

NOINLINE static void compare_leaf(void)
{
    BURN(300);
}

NOINLINE static int compare(const void *a, const void *b)
{
    compare_leaf();
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

NOINLINE static void sort_all(int *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    NO_TAIL_CALL();
}

NOINLINE static void search_all(const int *values, size_t count)
{
    for (int i = 0; i < (int)count; i++)
        if (!bsearch(&values[i], values, count, sizeof *values, compare))
            abort();
}

NOINLINE static void clocks(void)
{
    struct timespec now;
    for (int i = 0; i < 6000000; i++)
        clock_gettime(CLOCK_MONOTONIC, &now);
}

int main(void)
{
    enum { COUNT = 20000 };
    static int values[COUNT];
    srand(1);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < COUNT; i++)
            values[i] = rand();
        sort_all(values, COUNT);
        search_all(values, COUNT);
    }
    clocks();
    return 0;
}
