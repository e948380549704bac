/* Controls its own recording: burns CPU in a function that is to be seen and in one that is not. */
#include "include/sprof.h"

#include <time.h>

static volatile unsigned long sink;

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void burn(double seconds)
{
    const double end = cpu_s() + seconds;
    while (cpu_s() < end)
        for (int i = 0; i < 20000; i++)
            sink += (unsigned long)i;
}

__attribute__((noinline)) static void seen(void)
{
    burn(0.5);
    sink++;
}

__attribute__((noinline)) static void unseen(void)
{
    burn(0.5);
    sink++;
}

/* Exits with 0 where the recorder has done all of it, with 3 where there is none. */
int main(void)
{
    errno = 77;
    const int stopped = sprof_stop();
    unseen();
    const int started = sprof_start(), marked = sprof_mark("second part");
    seen();
    if (errno != 77)
        return 1;
    return stopped || started || marked ? 3 : 0;
}
