/* sampler: sources of samples in; records in time order out.
 *
 * It opens a source (perf events, see source.h for others) for a launched command or for running
 * processes and hands out what it brings, sorted by time. What processes looked like before the
 * recording began (threads, mappings) arrives as the same records, made from /proc. It does
 * not depend on unwinding, modules or databases. One thread uses a sampler; only sampler_interrupt
 * is safe from elsewhere (also from a signal handler). */
#ifndef SPROF_SAMPLER_SAMPLER_H
#define SPROF_SAMPLER_SAMPLER_H

#include "base/base.h"
#include "model/model.h"
#include "sampler/gaps.h"

#include <stdbool.h>
#include <sys/types.h>

/* What each sample must carry. */
enum sampler_capture {
    SAMPLER_CAPTURE_PC,   /* the instruction pointer, nothing else */
    SAMPLER_CAPTURE_USER, /* user registers and user stack */
    SAMPLER_CAPTURE_FULL, /* user registers, user stack and the kernel's call chain */
};

/* What passes between samples. */
enum sampler_clock {
    SAMPLER_CLOCK_CPU,  /* CPU time, or another event */
    SAMPLER_CLOCK_WALL, /* time of each thread, working or waiting */
};

/* How perf events can be opened, the best first. */
enum sampler_scope {
    SAMPLER_SCOPE_CPU_FILTERED, /* one event a CPU, foreign samples dropped by a program in the
                                   kernel */
    SAMPLER_SCOPE_CPU,          /* one event a CPU, foreign samples dropped by the sampler */
    SAMPLER_SCOPE_TASK,         /* inherited events of each thread; short threads go unsampled */
};

/* What of the machine is sampled: whatever fits all that is given here. Zero: all that runs. */
struct sampler_choice {
    const int *cpus; /* on these CPUs; none: on all */
    size_t cpu_count;
    const char *cgroup; /* in this cgroup or its children, as target_cgroup_find takes it */
    bool by_user;
    uid_t user;          /* by the rights of this user, where by_user */
    const char *program; /* programs of this name, as the kernel keeps it: up to 15 bytes */
};

/* Zero values take the defaults named. Strings and arrays are borrowed until sampler_open returns.
 */
enum { SAMPLER_WALL_HZ = 100, SAMPLER_WALL_HZ_MAX = 1000 }; /* of SAMPLER_CLOCK_WALL */
struct sampler_options {
    enum sampler_capture capture;
    enum sampler_clock clock;
    struct {
        bool wanted; /* threads without a CPU are sampled, too, as events of their own */
        bool has_threshold;
        uint64_t threshold_ns; /* shorter times are sampled in proportion; 0: all are recorded */
        bool wakers;           /* what ends them is recorded, too */
        bool stacks;           /* nothing is recorded where BPF cannot read the stacks of waits */
        bool by_switches;      /* the sampler's: there is no BPF, and switches give the times */
    } off_cpu;
    bool fine_clock;       /* an agent samples faster than the kernel's tick, by a helper thread */
    const char *source;    /* the name of one kind of source; NULL: the first that is not refused */
    const char *event;     /* a list, as `record -e` takes it; NULL: "cycles" where there is a PMU,
                              else "cpu-clock" */
    uint64_t frequency_hz; /* of events without a rate of their own; 0 with period 0: 997; 100 of
                              SAMPLER_CLOCK_WALL */
    uint64_t period;       /* events between samples, likewise; excludes frequency_hz */
    size_t stack_bytes;    /* of each user stack slice; 0: 65 528; rounded down to 8 */
    size_t ring_budget_bytes; /* for all rings together; 0: 64 MiB */
    char *const *command;     /* argv of a command to launch, NULL-terminated; or NULL */
    const pid_t *pids;        /* processes to attach to, all their threads */
    size_t pid_count;
    pid_t tid;     /* one thread to attach to; 0: none */
    bool all_cpus; /* whatever runs on the machine; a command beside it says for how long */
    struct sampler_choice choice; /* of that, where all_cpus */
    bool user_only;               /* do not even request kernel samples */
    bool paused;                  /* begin without taking samples: see sampler_set_paused */
    bool early; /* a command may be let go before its samples are filtered in the kernel, and its
                   deep stacks captured there: sprof does it for the first milliseconds */
    enum sampler_scope minimum_scope; /* do not try scopes before this one; 0: the best there is */
    const struct sprof_log *log;
};

/* What weights are. */
enum sampler_weights {
    SAMPLER_WEIGHTS_EXACT, /* the period that ended with the sample */
    SAMPLER_WEIGHTS_TICK,  /* CPU time since the thread's last sample, in steps of a timer's tick */
};

/* One event of a recording: its samples, what they weigh, and what they leave out are its own. */
struct sampler_event {
    char name[96];
    bool is_clock;        /* weights are nanoseconds of CPU time, or of the wall clock */
    bool varying_period;  /* weights differ from sample to sample */
    bool follows_rate;    /* sampler_set_rate changes it */
    bool kernel_excluded; /* samples only in user mode, … */
    bool user_excluded;   /* … or only in kernel mode */
    bool is_wait;         /* of threads without a CPU: it is an event once it has a sample */
    uint64_t period;      /* between samples, in event units: of a clock that varies, the mean; of
                             other events that vary, 0 */
    uint64_t due_ns;      /* CPU time for which one sample is due; 0 where that is not known */
    const struct model_field *fields; /* of what its samples bring, as long as the source lives */
    size_t field_count;
};
struct sampler_event_list {
    struct sampler_event *items;
    size_t count, capacity;
};

/* What was asked for and what there is; changed by sampler_set_rate, sampler_set_capture and
 * sampler_set_slice, and by sampler_stop, where samples of a command were not filtered in the
 * kernel as they were to be. */
struct sampler_facts {
    char source[256];     /* which source, and how it works here: "perf per CPU, …" */
    char source_why[256]; /* why not the one before it; empty where it was the first or asked for */
    char source_cure[256];   /* … and what would let it be, without a closing dot; or empty */
    const char *source_gain; /* … and what would be better then; static */
    bool may_miss_threads;   /* threads that live less than a period may have no sample */
    enum sampler_weights weights;
    const struct sampler_event *events; /* the sampler's own; records name them by index */
    size_t event_count;                 /* at least 1 */
    uint64_t frequency_hz; /* of the first event without a rate of its own, else of the first; 0: it
                              has a period */
    bool kernel_excluded;  /* no event samples the kernel */
    char kernel_excluded_why[256]; /* one line naming the setting; empty where asked for */
    size_t stack_bytes;            /* slice really asked from the kernel */
    size_t stack_bytes_wanted;
    size_t ring_bytes; /* all rings together */
    unsigned rings;
    unsigned cpus;     /* online */
    pid_t command_pid; /* of the launched command; 0 when attached */
};

/* An event that can be asked for. */
struct sampler_known_event {
    const char *name;
    const char *samples; /* how often it gives one, where nothing else is asked for */
    const char *lacks;   /* why it cannot be recorded here; NULL: it can */
};

/* Calls `put` with each, until it returns non-zero, which is returned, as SPROF_ENOMEM is. Where
 * tracepoints cannot be listed, *tracepoints has the reason and its cure, else it stays as it was.
 */
int sampler_known_events(int (*put)(void *context, const struct sampler_known_event *event),
                         void *context, struct sprof_error *tracepoints);

struct sampler;

/* Opens everything and, for a command, forks it: it waits right before its execve until
 * sampler_start. Fails with SPROF_ENOTFOUND (command or process), SPROF_EPERMISSION (the message
 * has the setting, its value and the command that cures), SPROF_EUSAGE (unknown event, impossible
 * rate) or SPROF_ELIMIT (no memory for even the smallest rings). On failure nothing is left behind:
 * the child is reaped, no descriptor stays open. The caller frees. */
int sampler_open(struct sampler **sampler, const struct sampler_options *options,
                 struct sprof_error *error);

/* The same in two steps: between them, what takes time goes on in another thread, and the caller
 * has time for work of its own. The command's pid is known after the first, other facts after the
 * second. On failure of the second the caller frees. */
int sampler_begin(struct sampler **sampler, const struct sampler_options *options,
                  struct sprof_error *error);
int sampler_settle(struct sampler *sampler, const struct sprof_log *log, struct sprof_error *error);

/* After sampler_stop, when all records are taken and nothing is asked for any more but the targets'
 * end: gives back rings, events and what else the sources hold. Any thread may do it. */
void sampler_close(struct sampler *sampler);

/* Stops and frees. A command that was never started is killed and reaped; a running target,
 * attached or launched, is left alone. */
void sampler_free(struct sampler *sampler);

const struct sampler_facts *sampler_facts(const struct sampler *sampler);

/* Lets the command go, or enables the events of running targets. After it, failures of execve are
 * reported here: SPROF_ENOTFOUND (command not found), SPROF_EPERMISSION (not executable) … */
int sampler_start(struct sampler *sampler, struct sprof_error *error);

/* Waits until records may be ready, `timeout_ms` passed, sampler_interrupt was called, the command
 * ended, or `extra_fd` (-1: none) is readable. A negative timeout waits for ever. Returns 0, or a
 * negative code when the wait itself failed. Gives consumed room of the rings back to the kernel.
 */
int sampler_wait(struct sampler *sampler, int timeout_ms, int extra_fd);

/* The next record in time order: 0 and *record, whose pointers reach into the ring (or into the
 * sampler's buffer, where a record wraps) until the next call of sampler_next or sampler_wait; or 1
 * when nothing is old enough to be sure of its order, or SPROF_ENOMEM. After sampler_stop it hands
 * out all that is left before it returns 1. */
int sampler_next(struct sampler *sampler, const struct model_record **record);

/* Stops and resumes the taking of samples, after sampler_start. What happens to processes goes on
 * being handed out, CPU time is not counted, and nothing of the pause is weighed. 0 or a code with
 * a message: SPROF_EUNSUPPORTED where a source cannot do it. *changed_ns, where not NULL, is the
 * time from which all samples are of after the change. */
int sampler_set_paused(struct sampler *sampler, bool paused, uint64_t *changed_ns,
                       struct sprof_error *error);

/* Changes the rate, or what each sample carries, likewise; SPROF_EUSAGE for an impossible rate. The
 * facts state the new ones. */
int sampler_set_rate(struct sampler *sampler, uint64_t frequency_hz, uint64_t *changed_ns,
                     struct sprof_error *error);
int sampler_set_capture(struct sampler *sampler, enum sampler_capture capture, uint64_t *changed_ns,
                        struct sprof_error *error);

/* Changes how much of each stack is copied with its sample, up to what was asked for. What is
 * deeper is captured apart, as ever. */
int sampler_set_slice(struct sampler *sampler, size_t stack_bytes, uint64_t *changed_ns,
                      struct sprof_error *error);

/* A further descriptor whose readiness ends a wait; -1: none. */
void sampler_watch(struct sampler *sampler, int fd);

/* A variable "NAME=value" for the launched command, before sampler_start; attached: nothing.
 * Returns 0 or SPROF_ENOMEM. */
int sampler_set_environment(struct sampler *sampler, const char *assignment);

/* Disables the events. Records in the rings stay readable; CPU_TIME records of the threads still
 * alive follow them. */
void sampler_stop(struct sampler *sampler);

/* Makes a wait return at once, now or the next time. Async-signal-safe. */
void sampler_interrupt(struct sampler *sampler);

/* Whether every target has ended: the launched command was reaped, or all attached processes (or
 * the thread) are gone. Never blocks. For a command, *wait_status is as from waitpid. */
bool sampler_targets_ended(struct sampler *sampler, int *wait_status);

/* CPU time of the targets since sampler_start, threads that ended included, in nanoseconds: the
 * ledger's "expected". One system call an event: not for hot paths. 0 where it cannot be known. */
uint64_t sampler_target_cpu_ns(struct sampler *sampler);

/* What a CPU was idle, waits for disks among it. */
struct sampler_cpu_idle {
    int cpu;
    uint64_t idle_ns; /* since the start, but for pauses; as of sampler_target_cpu_ns */
};

/* Hands out the CPUs where all that runs on them is sampled. Returns 0, or what `each` returned
 * first that is not. */
int sampler_each_idle(struct sampler *sampler,
                      int (*each)(void *context, const struct sampler_cpu_idle *idle),
                      void *context);

/* That of one live thread; 0 where it cannot be known. */
uint64_t sampler_thread_cpu_ns(struct sampler *sampler, pid_t pid, pid_t tid);

/* CPU time that the above has not seen, for the kernel takes a counter away before its thread has
 * quite ended: what a launched command that has ended, and the descendants it waited for, are
 * charged with beyond it. 0 where that is not known: the command still runs, or the kernel is not
 * counted. */
uint64_t sampler_unseen_cpu_ns(struct sampler *sampler);

/* How long the target has been ready without a CPU: target_ready_ns. */
uint64_t sampler_ready_ns(const struct sampler *sampler);

/* A walk of this thread's stack, from `stack_pointer`, has shown where it ends: for the next
 * samples. */
void sampler_stack_end(struct sampler *sampler, pid_t tid, uint64_t stack_pointer,
                       struct model_stack_extent extent);

/* Numbers about the sampler itself. */
struct sampler_counters {
    uint64_t records, samples, foreign_samples, late_records;
    uint64_t outside_samples; /* of processes outside the pid namespace, which have no names */
    uint64_t lost;            /* samples … */
    uint64_t lost_others;     /* … and, where that is known apart, mappings, forks and names */
    uint64_t copied_records;  /* that wrapped in their ring, or were not aligned */
    uint64_t unknown_records; /* types unknown to this version: skipped */
    uint64_t bytes;
    uint64_t tails,
        tails_with_sample; /* stacks captured beyond their slices; of these, at the moment */
    uint64_t agents;       /* programs that an agent called from */
    uint64_t agents_standing_back;  /* … and that use SIGPROF themselves */
    uint64_t agents_without_memory; /* … and that the rings have no room in */
    uint64_t programs_left_out;     /* started by those, and of a kind that no agent gets into */
    uint64_t programs_out_of_reach; /* … or in another root, or of another user */
    uint64_t programs_without_descriptors; /* with too few left for an agent */
    uint64_t unsampled_threads;            /* threads that got no timer */
    uint64_t blocked_ns; /* CPU time of handlers whose alternate stack has no room for an agent */
    uint64_t helpers_ns; /* CPU time of agents' own threads, no part of the targets' */
    uint64_t tails_dropped; /* … and not captured at the moment, for the ring was full */
};
struct sampler_counters sampler_counters(const struct sampler *sampler);

/* Calls `put` with those that recordings keep and their names ("sampler.records", …; static), until
 * it returns non-zero, which is returned. */
int sampler_counters_each(const struct sampler *sampler,
                          int (*put)(void *context, const char *name, uint64_t value),
                          void *context);

#endif
