/* A thread on each CPU that never rests, and says of each second what it has had of it.
 *
 *     seconds SECONDS
 *
 * Prints a line for each thread and look at its clocks, SECONDS + 1 of them: thread id,
 * CLOCK_MONOTONIC and its CPU time in nanoseconds, how often it has lost its CPU to others so far,
 * and how long, in ticks of `getconf CLK_TCK`, a virtual machine did not run there (steal). */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { CPUS_MAX = 1024, LINES_MAX = 3600 };

struct line {
    uint64_t time_ns, cpu_ns;
    long switches, steal;
};

static struct {
    int cpu;
    pid_t tid;
    struct line lines[LINES_MAX];
} * all;
static int seconds;

static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static long stolen(int cpu)
{
    char line[512];
    long steal = 0;
    FILE *stat = fopen("/proc/stat", "re");
    while (stat && fgets(line, sizeof line, stat)) {
        int which;
        long value;
        if (sscanf(line, "cpu%d %*d %*d %*d %*d %*d %*d %*d %ld", &which, &value) == 2 &&
            which == cpu)
            steal = value;
    }
    if (stat)
        fclose(stat);
    return steal;
}

/* Both clocks at once: again where something came between. */
static struct line look(int cpu)
{
    struct line line = {.steal = stolen(cpu)};
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    line.switches = usage.ru_nivcsw + usage.ru_nvcsw;
    for (int i = 0; i < 1000; i++) {
        line.time_ns = now(CLOCK_MONOTONIC);
        line.cpu_ns = now(CLOCK_THREAD_CPUTIME_ID);
        if (now(CLOCK_MONOTONIC) - line.time_ns < 5000)
            break;
    }
    return line;
}

static void *spin(void *index)
{
    const size_t i = (size_t)(uintptr_t)index;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)all[i].cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    all[i].tid = gettid();
    uint64_t next_ns = now(CLOCK_MONOTONIC);
    for (int second = 0; second <= seconds; second++, next_ns += 1000000000) {
        while (now(CLOCK_MONOTONIC) < next_ns)
            ;
        all[i].lines[second] = look(all[i].cpu);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    seconds = argc > 1 ? atoi(argv[1]) : 10;
    seconds = seconds < LINES_MAX ? seconds : LINES_MAX - 1;
    cpu_set_t allowed;
    pthread_t threads[CPUS_MAX];
    size_t count = 0;
    all = calloc(CPUS_MAX, sizeof *all);
    if (!all || sched_getaffinity(0, sizeof allowed, &allowed))
        return 1;
    for (int cpu = 0; cpu < CPUS_MAX; cpu++)
        if (CPU_ISSET((size_t)cpu, &allowed)) {
            all[count].cpu = cpu;
            if (pthread_create(&threads[count], NULL, spin, (void *)(uintptr_t)count))
                return 1;
            count++;
        }
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < count; i++)
        for (int second = 0; second <= seconds; second++) {
            const struct line *line = &all[i].lines[second];
            printf("%d %llu %llu %ld %ld\n", (int)all[i].tid, (unsigned long long)line->time_ns,
                   (unsigned long long)line->cpu_ns, line->switches, line->steal);
        }
    return 0;
}
