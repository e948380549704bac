/* Threads that work a little, one after the other. Prints how much CPU time their functions used,
 * from their first instruction to their last, and how much the threads used from birth to death;
 * nanoseconds. short_threads MICROSECONDS THREADS */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t cpu_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t inside_ns;

static void *work_of_thread(void *us)
{
    const uint64_t begin_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    const uint64_t end_ns = begin_ns + (uint64_t)(uintptr_t)us * 1000;
    uint64_t now_ns;
    while ((now_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID)) < end_ns)
        for (volatile int i = 0; i < 1000; i++)
            ;
    inside_ns += now_ns - begin_ns;
    return NULL;
}

/* Threads of one length come in step with the kernel's tick, which then meets them always or never:
 * the pause before each is of another length, up to 0.1 ms. */
static void pause_before(unsigned *state)
{
    *state = *state * 1664525 + 1013904223;
    const uint64_t end_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) + (*state >> 16) * 100000ul / 65536;
    while (cpu_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
        ;
}

/* Before all other work, where that is allowed: threads that share a CPU begin with the kernel's
 * tick. */
int main(int argc, char **argv)
{
    const struct sched_param lowest = {.sched_priority = 1};
    if (argc != 3)
        return 2;
    sched_setscheduler(0, SCHED_FIFO, &lowest);
    unsigned pauses = (unsigned)cpu_ns(CLOCK_MONOTONIC);
    const uint64_t before_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = atoi(argv[2]); i > 0; i--) {
        pthread_t thread;
        pause_before(&pauses);
        if (pthread_create(&thread, NULL, work_of_thread, (void *)(uintptr_t)atoi(argv[1])))
            return 1;
        pthread_join(thread, NULL);
    }
    const uint64_t after_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    printf("%llu %llu\n", (unsigned long long)inside_ns,
           (unsigned long long)(after_ns - before_ns));
    return 0;
}
