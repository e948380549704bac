/* Prints what the birth and death of a thread cost: the fastest of some rounds, in microseconds of
 * wall-clock time, create to join.
 *     thread_births [THREADS A ROUND] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *nothing(void *unused)
{
    return unused;
}

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? atoi(argv[1]) : 500;
    double best = 1e9;
    for (int round = 0; round < 40; round++) {
        const double begin = now_us();
        for (int i = 0; i < threads; i++) {
            pthread_t thread;
            pthread_create(&thread, NULL, nothing, NULL);
            pthread_join(thread, NULL);
        }
        const double us = (now_us() - begin) / threads;
        best = us < best ? us : best;
    }
    printf("%.2f\n", best);
    return 0;
}
