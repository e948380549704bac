/* A program whose call tree has a known split. Of every 10 units of work
 *
 *     main … alpha                              1
 *     main … beta                               2
 *     main … beta → gamma                       2
 *     main … gamma                              2
 *     main … omega → library_spin               1
 *     main … theta → library_call → callback    2
 *
 * are spent in exactly these call paths. A unit is far shorter than the time between two samples,
 * and all units of a round grow and shrink together at random, so that no sampling rate falls in
 * step.
 *
 *     split once MILLIONS          one thread; MILLIONS of turns of the loop in all
 *     split threads N MILLIONS     N threads, each so much
 *     split processes N MILLIONS   N children, each so much
 *     split short-threads N        N threads of one round each, one after the other
 *     split forever                until a signal comes
 *
 * Prints the CPU time it used, in nanoseconds. */
#include "known_library.h"
#include "spin.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNIT_TURNS 30000
#define UNITS 10

NOINLINE static void alpha(uint64_t unit)
{
    SPIN(unit);
}

NOINLINE static void delta(uint64_t unit)
{
    SPIN(2 * unit);
}

NOINLINE static void beta(uint64_t unit)
{
    SPIN(2 * unit);
    delta(unit);
    NO_TAIL_CALL();
}

NOINLINE static void omega(uint64_t unit)
{
    library_spin(unit);
    NO_TAIL_CALL();
}

NOINLINE static void callback(uint64_t unit)
{
    SPIN(2 * unit);
}

NOINLINE static void theta(uint64_t unit)
{
    library_call(callback, unit);
    NO_TAIL_CALL();
}

NOINLINE static void one_round(uint64_t unit)
{
    alpha(unit);
    beta(unit);
    delta(unit);
    omega(unit);
    theta(unit);
    NO_TAIL_CALL();
}

/* Rounds until so many turns are done; 0 goes on for ever. */
static void work(uint64_t turns, uint64_t seed)
{
    uint64_t done = 0;
    while (!turns || done < turns) {
        const uint64_t unit = UNIT_TURNS / 2 + next_random(&seed) % UNIT_TURNS;
        one_round(unit);
        done += UNITS * unit;
    }
}

struct job {
    pthread_t thread;
    uint64_t turns, seed;
};

static void *run_job(void *context)
{
    const struct job *job = context;
    work(job->turns, job->seed);
    return NULL;
}

static void in_threads(int count, uint64_t turns)
{
    struct job *jobs = calloc((size_t)count, sizeof *jobs);
    for (int i = 0; i < count; i++) {
        jobs[i] = (struct job){.turns = turns, .seed = (uint64_t)i + 1};
        pthread_create(&jobs[i].thread, NULL, run_job, &jobs[i]);
        char name[24];
        snprintf(name, sizeof name, "worker-%d", i);
        pthread_setname_np(jobs[i].thread, name);
    }
    for (int i = 0; i < count; i++)
        pthread_join(jobs[i].thread, NULL);
    free(jobs);
}

static void in_processes(int count, uint64_t turns)
{
    for (int i = 0; i < count; i++)
        if (!fork()) {
            work(turns, (uint64_t)i + 1);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
}

static void in_short_threads(int count)
{
    for (int i = 0; i < count; i++) {
        struct job job = {.turns = 1, .seed = (uint64_t)i + 1};
        pthread_create(&job.thread, NULL, run_job, &job);
        pthread_join(job.thread, NULL);
    }
}

static uint64_t cpu_time_ns(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    const int count = argc > 2 ? atoi(argv[2]) : 0;
    const uint64_t millions = 1000000;
    if (!strcmp(how, "once") && argc == 3)
        work((uint64_t)count * millions, 1);
    else if (!strcmp(how, "threads") && argc == 4)
        in_threads(count, strtoull(argv[3], NULL, 10) * millions);
    else if (!strcmp(how, "processes") && argc == 4)
        in_processes(count, strtoull(argv[3], NULL, 10) * millions);
    else if (!strcmp(how, "short-threads") && argc == 3)
        in_short_threads(count);
    else if (!strcmp(how, "forever") && argc == 2)
        work(0, 1);
    else
        return 2;
    printf("%llu\n", (unsigned long long)(cpu_time_ns(RUSAGE_SELF) + cpu_time_ns(RUSAGE_CHILDREN)));
    return 0;
}
