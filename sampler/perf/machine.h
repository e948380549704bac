/* Sampling whatever runs on the machine, or what was chosen of it. */
#ifndef SPROF_SAMPLER_PERF_MACHINE_H
#define SPROF_SAMPLER_PERF_MACHINE_H

#include "sampler/bpf/sampling.h"
#include "sampler/sampler.h"
#include "target/target.h"

struct perf_source;

/* What the text of the source says then. */
#define PERF_MACHINE_SOURCE ", all that runs"

/* What a CPU was idle. */
struct perf_cpu_idle {
    struct sampler_cpu_idle sum; /* while it counted */
    uint64_t level_ns;           /* what was read last */
};

/* Zero: processes are sampled, not the machine. */
struct perf_machine {
    bool is_wanted;
    bool chooses;                         /* not all that runs */
    bool counts;                          /* CPU time, now */
    struct sampling_choice choice;        /* as the program in the kernel takes it */
    struct target_cgroup cgroup;          /* where one was chosen … */
    bool counts_cgroup;                   /* … and nothing else: its CPU time is known */
    uint64_t used_ns;                     /* CPU time up to the last pause … */
    uint64_t level_ns;                    /* … and what was read at its end */
    SPROF_VEC(struct perf_cpu_idle) idle; /* of each CPU that is sampled, where all that runs is */
    struct sprof_map chosen; /* process → 1 chosen, 2 not, where no program chooses */
};

/* Takes over what was chosen: reduces the source's CPUs, finds the cgroup. Fails with SPROF_EUSAGE
 * or SPROF_ENOTFOUND. */
int perf_machine_open(struct perf_source *source, const struct sampler_choice *choice,
                      struct sprof_error *error);

/* CPU time counts from now on, or no more. */
void perf_machine_count(struct perf_source *source, bool counts);

/* CPU time that was used while it counted, in nanoseconds: of the CPUs that are sampled, all but
 * what they were idle, or what the cgroup used; 0 where it cannot be known. */
uint64_t perf_machine_cpu_ns(struct perf_source *source);

/* Hands out what each CPU was idle while it counted, where all that runs is sampled. */
int perf_machine_each_idle(struct perf_source *source,
                           int (*each)(void *context, const struct sampler_cpu_idle *idle),
                           void *context);

/* A process may be another one now. */
void perf_machine_note(struct perf_source *source, const struct model_record *record);

/* Whether a sample is of what was chosen, where no program in the kernel has decided that. */
bool perf_machine_chooses(struct perf_source *source, const struct model_record *record);

#endif
