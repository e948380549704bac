#include "tests/unit/sampler/live.h"
#include "tests/unit/skip.h"

#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };
static const uint64_t MOST_NS = 60000000000; /* beyond the time asked for */

static void account_sample(struct live *live, const struct model_record *record, pid_t pid)
{
    const struct model_sample *sample = &record->sample;
    live->weight += sample->weight;
    live->in_kernel += sample->in_kernel;
    live->with_chain += sample->kernel_chain_count > 0;
    live->with_stack += sample->register_count && sample->stack_size > 0;
    live->foreign += record->pid <= 0 || (pid && record->pid != pid);
}

static void account(struct live *live, const struct model_record *record, pid_t pid,
                    uint64_t *last_ns)
{
    if (record->before_start) {
        live->before_start[record->type]++;
        return;
    }
    live->records[record->type]++;
    live->out_of_order += record->time_ns < *last_ns;
    *last_ns = record->time_ns;
    if (record->type == MODEL_RECORD_SAMPLE)
        account_sample(live, record, pid);
    if (record->type == MODEL_RECORD_CPU_TIME)
        live->cpu_time_ns += record->cpu_time.cpu_time_ns;
    if (record->type == MODEL_RECORD_LOST)
        live->lost += record->lost.count;
    if (record->type == MODEL_RECORD_COMM)
        live->execs += record->comm.exec;
}

static bool has_done(struct sampler *sampler, const struct live *live, const struct live_work *work)
{
    return live->records[MODEL_RECORD_FORK] >= work->forks &&
           (!work->cpu_ns || sampler_target_cpu_ns(sampler) >= work->cpu_ns);
}

int live_record_work(const struct sampler_options *options, const struct live_work *work, pid_t pid,
                     struct live *live, struct sprof_error *error)
{
    *live = (struct live){0};
    struct sampler *sampler;
    int result = sampler_open(&sampler, options, error);
    if (result)
        return result;
    live->facts = *sampler_facts(sampler);
    live->event = live->facts.events[0];
    result = sampler_start(sampler, error);
    const uint64_t end_ns = sprof_clock_monotonic_ns() + (uint64_t)(work->seconds * 1e9);
    uint64_t last_ns = 0;
    for (bool stopped = result < 0; result >= 0;) {
        const struct model_record *record;
        while (!(result = sampler_next(sampler, &record)))
            account(live, record, pid, &last_ns);
        if (stopped || result < 0)
            break;
        result = sampler_wait(sampler, 50, -1);
        stopped = sampler_targets_ended(sampler, &live->wait_status) ||
                  (sprof_clock_monotonic_ns() > end_ns && has_done(sampler, live, work)) ||
                  sprof_clock_monotonic_ns() > end_ns + MOST_NS;
        if (stopped)
            sampler_stop(sampler);
    }
    live->target_ns = sampler_target_cpu_ns(sampler);
    live->unseen_ns = sampler_unseen_cpu_ns(sampler);
    live->counters = sampler_counters(sampler);
    sampler_free(sampler);
    return result < 0 ? result : 0;
}

int live_record(const struct sampler_options *options, double seconds, pid_t pid, struct live *live,
                struct sprof_error *error)
{
    const struct live_work work = {.seconds = seconds};
    return live_record_work(options, &work, pid, live, error);
}

/* Whether the program runs and has all its threads. */
static bool has_begun(pid_t pid, size_t count)
{
    struct sprof_id_list threads = {0};
    char name[16];
    sprof_proc_comm(pid, pid, name);
    const bool begun = !strcmp(name, "sampler_spin") && !sprof_proc_threads(pid, &threads) &&
                       threads.count >= count;
    sprof_vec_release(&threads);
    return begun;
}

pid_t live_spin(const char *threads, const char *cpu_ms, const char *hatch)
{
    const pid_t pid = fork();
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing spins on where a test was ended */
        execl(SAMPLER_SPIN, "spin", threads, cpu_ms, hatch, (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 1000 && !has_begun(pid, (size_t)atoi(threads)); i++)
        usleep(10000);
    return pid;
}

void live_wait_for(pid_t pid, char state)
{
    struct sprof_proc_status status;
    for (int i = 0; i < 1000 && sprof_proc_status_read(pid, &status) && status.state != state; i++)
        usleep(10000);
}

void live_end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

bool live_count_lies(uint64_t samples, double hz, uint64_t least_cpu_ns, uint64_t most_cpu_ns)
{
    const double least = hz * (double)least_cpu_ns / 1e9, most = hz * (double)most_cpu_ns / 1e9;
    return (double)samples <= 1.1 * most + 5 * sqrt(most) + 1 &&
           (double)samples >= 0.5 * least - 5 * sqrt(least);
}

bool live_count_fits(uint64_t samples, double hz, uint64_t cpu_ns)
{
    return live_count_lies(samples, hz, cpu_ns, cpu_ns);
}

bool live_weight_fits(uint64_t weight_ns, double hz, uint64_t cpu_ns)
{
    const double expected = hz * (double)cpu_ns / 1e9, chance = 5 * sqrt(expected);
    const double periods = (double)weight_ns / 1e9 * hz;
    return periods <= 1.5 * expected + chance + 1 && periods >= 0.5 * expected - chance;
}

bool live_is_nearly(uint64_t one_ns, uint64_t other_ns)
{
    return (double)one_ns < 1.4 * (double)other_ns + 100e6 &&
           (double)one_ns > 0.7 * (double)other_ns - 100e6;
}

static void become_nobody(void)
{
    if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
        setresuid(NOBODY, NOBODY, NOBODY))
        _exit(99);
    prctl(PR_SET_DUMPABLE, 1);
}

int live_in_child(int (*check)(void), bool as_nobody)
{
    int ends[2], line = -1;
    if (pipe(ends))
        return -1;
    fflush(stdout);
    const pid_t pid = fork();
    if (!pid) {
        if (as_nobody)
            become_nobody();
        line = check();
        if (write(ends[1], &line, sizeof line) < 0)
            _exit(98);
        _exit(0);
    }
    close(ends[1]);
    if (read(ends[0], &line, sizeof line) != (ssize_t)sizeof line)
        line = -1;
    close(ends[0]);
    waitpid(pid, NULL, 0);
    if (line)
        printf(" line %d", line);
    return line;
}

rlim_t live_next_descriptor(void)
{
    const int fd = dup(0);
    close(fd);
    return (rlim_t)fd;
}

bool live_is_root(void)
{
    if (!geteuid())
        return true;
    sprof_test_skip("needs root");
    return false;
}

enum sampler_scope live_scope(const struct sampler_facts *facts)
{
    if (facts->may_miss_threads)
        return SAMPLER_SCOPE_TASK;
    return strstr(facts->source, "filtered") ? SAMPLER_SCOPE_CPU_FILTERED : SAMPLER_SCOPE_CPU;
}
