/* Who is being sampled: the processes and threads given, and what they fork. */
#ifndef SPROF_SAMPLER_TARGETS_H
#define SPROF_SAMPLER_TARGETS_H

#include "sampler/sampler.h"

/* Which records come from targets only, by the way the events were opened. */
enum targets_trust {
    TARGETS_TRUST_NOTHING, /* per-CPU events: everything on the machine arrives */
    TARGETS_TRUST_SAMPLES, /* … but samples were filtered in the kernel */
    TARGETS_TRUST_ALL,     /* per-task events */
};

/* Zero is valid: nobody. */
struct targets {
    struct sprof_map processes; /* pid → 1, or 0 when the number was given to somebody else */
    struct sprof_map threads;   /* tid → pid, or 0 once it ended */
    enum targets_trust trust;
    pid_t command;            /* the launched command, which counts from its execve on; 0: none */
    bool command_runs;        /* the execve was seen */
    uint64_t command_runs_ns; /* … or must have happened by then; 0: not yet known */
    pid_t only_thread;        /* 0: whole processes and their children */
};

/* Both return 0 or SPROF_ENOMEM. */
int targets_add_process(struct targets *targets, pid_t pid);
int targets_add_thread(struct targets *targets, pid_t pid, pid_t tid);

/* Whether a record, seen in time order, is a target's; follows forks and exits on the way. */
bool targets_admit(struct targets *targets, const struct model_record *record);

/* Whether a sample of this thread may be a target's, as far as is known now. */
bool targets_know(const struct targets *targets, pid_t pid, pid_t tid);

void targets_release(struct targets *targets);

#endif
