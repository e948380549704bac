/* Threads that block and are woken thousands of times a second.
 *
 *     wakes pipes MS       two threads that hand a byte to and fro
 *     wakes naps MS        a thread that sleeps 50 µs, works for some, and sleeps again
 *     wakes server MS      64 threads that sleep, and work for some microseconds when they wake
 *
 * They end when the process has used MS milliseconds of CPU time. What they work is of random
 * length, so that no clock comes in step with it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SERVERS = 64, WORK_NS_MAX = 300000, SLEEP_NS_MAX = 8000000 };

static uint64_t limit_ns;
static atomic_bool ended;

static uint64_t cpu_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint32_t next_random(uint32_t *state)
{
    return (*state = *state * 1664525 + 1013904223) >> 8;
}

static void work(uint64_t ns)
{
    const uint64_t end_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
    while (cpu_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
        for (volatile int i = 0; i < 500; i++)
            ;
    if (cpu_ns(CLOCK_PROCESS_CPUTIME_ID) >= limit_ns)
        ended = true;
}

/* == A byte to and fro == */

static int there[2], back[2];

static void hand_on(int from, int to, uint32_t state)
{
    char byte;
    while (read(from, &byte, 1) == 1) {
        work(next_random(&state) % 20000);
        if (ended || write(to, &byte, 1) != 1)
            break;
    }
    close(to); /* the other one ends, too */
}

static void *answer(void *unused)
{
    hand_on(there[0], back[1], 2);
    return unused;
}

static int run_pipes(void)
{
    pthread_t other;
    if (pipe(there) || pipe(back) || pthread_create(&other, NULL, answer, NULL) ||
        write(there[1], "x", 1) != 1)
        return 1;
    hand_on(back[0], there[1], 1);
    pthread_join(other, NULL);
    return 0;
}

/* == Sleepers == */

static int run_naps(void)
{
    const struct timespec nap = {.tv_nsec = 50000};
    for (uint32_t state = 1; !ended;) {
        nanosleep(&nap, NULL);
        work(next_random(&state) % 10000);
    }
    return 0;
}

static void *serve(void *number)
{
    uint32_t state = (uint32_t)(uintptr_t)number * 2654435761u;
    while (!ended) {
        const struct timespec nap = {.tv_nsec = (long)(next_random(&state) % SLEEP_NS_MAX)};
        nanosleep(&nap, NULL);
        work(next_random(&state) % WORK_NS_MAX);
    }
    return NULL;
}

static int run_server(void)
{
    pthread_t threads[SERVERS];
    for (uintptr_t i = 0; i < SERVERS; i++)
        if (pthread_create(&threads[i], NULL, serve, (void *)(i + 1)))
            return 1;
    for (int i = 0; i < SERVERS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    limit_ns = strtoull(argv[2], NULL, 10) * 1000000;
    return strcmp(argv[1], "pipes") == 0  ? run_pipes()
           : strcmp(argv[1], "naps") == 0 ? run_naps()
                                          : run_server();
}
