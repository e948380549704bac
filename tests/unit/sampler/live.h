/* What the tests with real events share. */
#ifndef SPROF_TESTS_SAMPLER_LIVE_H
#define SPROF_TESTS_SAMPLER_LIVE_H

#include "sampler/sampler.h"

#include <math.h>
#include <sys/resource.h>

/* What came out of one recording. */
struct live {
    uint64_t records[MODEL_RECORD_THROTTLE + 1]; /* by type, without those from before the start */
    uint64_t before_start[MODEL_RECORD_THROTTLE + 1];
    uint64_t weight, cpu_time_ns, target_ns, unseen_ns, lost;
    uint64_t in_kernel, with_chain, with_stack, foreign, out_of_order, execs;
    int wait_status;
    struct sampler_facts facts;
    struct sampler_event event; /* the first */
    struct sampler_counters counters;
};

/* Records until all targets have ended or `seconds` have passed. `pid`, unless 0, is the only
 * process whose samples are not counted as foreign. Returns the code of the first call that failed.
 */
int live_record(const struct sampler_options *options, double seconds, pid_t pid, struct live *live,
                struct sprof_error *error);

/* The same until so much work was done as well, which takes longer on a busy machine: CPU time of
 * the targets, and threads that they began. A minute more at most. */
struct live_work {
    double seconds;
    uint64_t cpu_ns, forks;
};
int live_record_work(const struct sampler_options *options, const struct live_work *work, pid_t pid,
                     struct live *live, struct sprof_error *error);

/* How the events of a sampler of perf events were opened. */
enum sampler_scope live_scope(const struct sampler_facts *facts);

/* Starts `spin THREADS CPU_MS [HATCH]` and waits until it has begun. */
pid_t live_spin(const char *threads, const char *cpu_ms, const char *hatch);

/* Waits until a process is in that state of /proc: `S` for one that sleeps. */
void live_wait_for(pid_t pid, char state);

/* Ends and reaps it. */
void live_end(pid_t pid);

/* Whether a count of samples, or their weights, is what a clock of `hz` gives in that much CPU
 * time. A count is at most Poisson, taken at five standard errors, since a few hundred such tests
 * run each day. A virtual machine stands still now and then, together for a third of the time on a
 * busy host: the kernel counts that as CPU time or not, and one tick comes for all that were due.
 * So these tell what is off by a factor: a thread that is counted twice, half of the threads or of
 * the CPUs missing, another rate. */
bool live_count_fits(uint64_t samples, double hz, uint64_t cpu_ns);

/* The same of a count in at least and at most so much CPU time. */
bool live_count_lies(uint64_t samples, double hz, uint64_t least_cpu_ns, uint64_t most_cpu_ns);

bool live_weight_fits(uint64_t weight_ns, double hz, uint64_t cpu_ns);

/* Whether two counters of the same work, which start and stop one after the other, agree: between
 * them this process may not have run for a while. */
bool live_is_nearly(uint64_t one_ns, uint64_t other_ns);

/* Runs `check` in a child, as user nobody if asked. It returns 0, or the line that failed. */
int live_in_child(int (*check)(void), bool as_nobody);
#define LIVE_EXPECT(condition)                                                                     \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__;                                                                       \
    } while (0)

/* The number the next descriptor will get; a limit of that many leaves room for none. */
rlim_t live_next_descriptor(void);

/* Whether this test can use events of whole CPUs; says so where it cannot. */
bool live_is_root(void);

#endif
