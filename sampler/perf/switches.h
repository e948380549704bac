/* How long threads are without a CPU, by the kernel's records of context switches: where BPF, which
 * shows where and for what they wait, is refused. */
#ifndef SPROF_SAMPLER_PERF_SWITCHES_H
#define SPROF_SAMPLER_PERF_SWITCHES_H

#include "sampler/off_cpu/threshold.h"
#include "sampler/sampler.h"

/* A span in which no samples were wanted. */
struct perf_pause {
    uint64_t begin_ns, end_ns;
};

/* Zero is valid: no switches are looked at. */
struct perf_switches {
    bool wanted;
    struct off_cpu_threshold threshold;
    uint64_t kept, random;
    uint64_t start_ns; /* nothing before it counts */
    pid_t command;     /* a launched one did not wait before it began; 0: none */
    bool lost;         /* switches were lost: a thread may have had a CPU unseen */
    struct sprof_map
        left; /* tid → when it left its CPU, times two, and 1 where it is ready; RUNS */
    SPROF_VEC(struct perf_pause) pauses;
};

/* Its events behind those of perf: threads that are ready, and threads that wait. Appends both.
 * Returns 0 or SPROF_ENOMEM. */
enum { PERF_SWITCHES_READY, PERF_SWITCHES_WAITING, PERF_SWITCHES_EVENTS };
int perf_switches_events(struct sampler_event_list *list);

/* Begins to look, with the threshold that the options have. */
void perf_switches_open(struct perf_switches *switches, const struct sampler_options *options);
void perf_switches_release(struct perf_switches *switches);

/* Of a record in the order of time. A switch that ends a wait which is kept becomes a sample of it,
 * whose event is one of the two; *record of another switch is none to hand out. Returns 0,
 * 1 for such a switch, or SPROF_ENOMEM. */
int perf_switches_note(struct perf_switches *switches, struct model_record *record);

/* A thread that lives at the end, and has used so much CPU time since the start: as above, of the
 * wait that goes on. Where it was never seen it has waited all along, if it used none. */
int perf_switches_end(struct perf_switches *switches, uint64_t cpu_ns, struct model_record *record);

/* A pause begins, or ends. Returns 0 or SPROF_ENOMEM. */
int perf_switches_pause(struct perf_switches *switches, bool paused, uint64_t now_ns);

#endif
