/* What is being sampled: the processes and threads given, and what they fork. */
#ifndef SPROF_SAMPLER_PERF_MEMBERS_H
#define SPROF_SAMPLER_PERF_MEMBERS_H

#include "sampler/sampler.h"

/* Which records come from targets only, by the way the events were opened. */
enum perf_trust {
    PERF_TRUST_NOTHING, /* per-CPU events: everything on the machine arrives */
    PERF_TRUST_SAMPLES, /* … but samples were filtered in the kernel */
    PERF_TRUST_ALL,     /* per-task events */
};

/* Zero is valid: no members. */
struct perf_members {
    struct sprof_map processes; /* pid → 1, or 0 when another process got the number */
    struct sprof_map threads;   /* tid → pid, or 0 once it ended */
    enum perf_trust trust;
    pid_t command;            /* the launched command, which counts from its execve on; 0: none */
    bool command_runs;        /* the execve was seen */
    uint64_t command_runs_ns; /* … or must have happened by then; 0: not yet known */
    pid_t only_thread;        /* 0: whole processes and their children */
    bool everyone;            /* all that runs on the machine: no list is kept */
};

/* Both return 0 or SPROF_ENOMEM. */
int perf_members_add_process(struct perf_members *members, pid_t pid);
int perf_members_add_thread(struct perf_members *members, pid_t pid, pid_t tid);

/* Whether a record, seen in time order, is a target's; follows forks and exits on the way. */
bool perf_members_admit(struct perf_members *members, const struct model_record *record);

/* Whether a sample of this thread may be a target's, as far as is known now. */
bool perf_members_know(const struct perf_members *members, pid_t pid, pid_t tid);

void perf_members_release(struct perf_members *members);

#endif
