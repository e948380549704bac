/* The BPF programs of a recording (sampler/bpf/sampling.bpf.c), loaded: one on each sampling event
 * keeps the samples of member threads, and copies what their stacks have beyond the slice; one on
 * the scheduler's tracepoint of new threads adds the children of members, and removes a number that
 * another thread gets. */
#ifndef SPROF_SAMPLER_PERF_FILTER_BPF_H
#define SPROF_SAMPLER_PERF_FILTER_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sampling_bpf;
struct sampling_choice;
struct sampling_clock;
struct sampling_counts;

struct perf_filter_bpf {
    struct sampling_bpf *programs; /* NULL: none */
    uint64_t *members;             /* the kernel's own memory: a bit for each thread id */
    struct sampling_clock *clocks; /* the kernel's own memory: [CPU]; NULL: no weights are kept */
    size_t clock_count;
    bool captures;                          /* stacks beyond their slices, too */
    size_t ring_bytes;                      /* of the ring they go to */
    bool refuses_captures, refuses_weights; /* the kernel does, of what was wanted */
};

#define PERF_FILTER_BPF_NONE ((struct perf_filter_bpf){0})

/* Which stacks to capture beyond their slices. */
struct perf_filter_bpf_tails {
    bool wanted;
    size_t most_bytes; /* of what is captured beyond a slice, at most 1 MiB */
    size_t ring_bytes; /* a power of two */
};

/* Loads the programs; with follow_forks, children of members become members from then on. With
 * `choice`, there are no members: samples of all threads are kept that fit it. With
 * `clock_count` CPUs, the programs keep what each sample weighs: for clock events that do not leave
 * the kernel out. Works in the first pid namespace only, since programs
 * see the system's own thread ids. Kernels that have not all that capturing needs still filter.
 * Returns 0 or a negative errno: -ENOSYS in a build without BPF, -ENOENT in another pid namespace,
 * -EPERM where it is not permitted, -EAGAIN where a signal to this thread broke it off. */
int perf_filter_bpf_open(struct perf_filter_bpf *filter, bool follow_forks,
                         const struct sampling_choice *choice,
                         const struct perf_filter_bpf_tails *tails, size_t clock_count);

/* Makes a thread a member. Returns 0, or -ENOSYS in a build without BPF. */
int perf_filter_bpf_add(const struct perf_filter_bpf *filter, pid_t tid);
bool perf_filter_bpf_has(const struct perf_filter_bpf *filter, pid_t tid);

/* Puts the program on a sampling event. Returns 0 or a negative errno. */
int perf_filter_bpf_attach(const struct perf_filter_bpf *filter, int event_fd);

/* The weight of a kept sample of a CPU. *position is the caller's, 0 at first, one for each CPU;
 * samples of a CPU are passed in their order. Returns false where the program did not see it, or
 * where its weight was overwritten since. */
bool perf_filter_bpf_weigh(const struct perf_filter_bpf *filter, size_t cpu, uint64_t time_ns,
                           uint64_t *position, uint64_t *weight_ns);

/* The period of this CPU's event is going to be changed, now. */
void perf_filter_bpf_note_change(const struct perf_filter_bpf *filter, size_t cpu, uint64_t now_ns);

/* The time until now weighs nothing for this CPU, whose event is disabled. */
void perf_filter_bpf_begin_anew(const struct perf_filter_bpf *filter, size_t cpu);

/* The filter's own: descriptors of the array of known stacks and of the ring of tails, and the
 * count of tails the ring had no room for. */
int perf_filter_bpf_stacks_fd(const struct perf_filter_bpf *filter);
int perf_filter_bpf_tails_fd(const struct perf_filter_bpf *filter);
const struct sampling_counts *perf_filter_bpf_counts(const struct perf_filter_bpf *filter);

void perf_filter_bpf_close(struct perf_filter_bpf *filter);

#endif
