/* spin THREADS CPU_MS [HATCH]: each thread uses CPU_MS milliseconds of CPU time; with HATCH the
 * first one starts and joins a short thread after each millisecond of its own. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static long used_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void spin_until(long ms)
{
    while (used_ms() < ms)
        for (volatile int i = 0; i < 10000; i++)
            ;
}

static void *spin(void *ms)
{
    spin_until((long)ms);
    return NULL;
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? atoi(argv[1]) : 1;
    const long ms = argc > 2 ? atol(argv[2]) : 1000;
    pthread_t others[64];
    for (int i = 1; i < threads && i < 64; i++)
        pthread_create(&others[i], NULL, spin, (void *)ms);
    for (long done = 1; done <= ms; done++) {
        spin_until(done);
        pthread_t hatched;
        if (argc > 3 && !pthread_create(&hatched, NULL, spin, (void *)1L))
            pthread_join(hatched, NULL);
    }
    for (int i = 1; i < threads && i < 64; i++)
        pthread_join(others[i], NULL);
    return 0;
}
