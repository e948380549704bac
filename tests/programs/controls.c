/* Controls its own recording: burns CPU in a function that is to be seen and in one that is not;
 * with an argument it changes mode and rate between two functions, and clears what came before. */
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

/* Exits with 0 where all is done and what makes no sense is refused. */
static int change(void)
{
    unseen();
    const int cleared = sprof_clear();
    seen();
    const int fast = sprof_rate(499), short_mode = sprof_mode("pc");
    seen();
    return cleared || fast || short_mode || !sprof_mode("log") || !sprof_rate(0) ||
           !sprof_probe("+seen");
}

/* Exits with 0 where the recorder has done all of it, with 3 where there is none. */
int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return change();
    errno = 77;
    const int stopped = sprof_stop();
    unseen();
    const int started = sprof_start(), marked = sprof_mark("second part");
    seen();
    if (errno != 77)
        return 1;
    return stopped || started || marked ? 3 : 0;
}
