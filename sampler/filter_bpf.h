/* Dropping foreign samples in the kernel: a set of thread ids in a BPF map, a program on each
 * sampling event that looks the current thread up in it, and two on scheduler tracepoints that add
 * the children of members and take away who ended. */
#ifndef SPROF_SAMPLER_FILTER_BPF_H
#define SPROF_SAMPLER_FILTER_BPF_H

#include <stdbool.h>
#include <sys/types.h>

struct filter_bpf {
    int map_fd;
    int slot_fd; /* room for a program to go on to */
    int sample_program_fd;
    int tracepoint_fds[2]; /* fork, free: they work as long as they are open */
};

#define FILTER_BPF_NONE ((struct filter_bpf){-1, -1, -1, {-1, -1}})

/* Loads the programs; with follow_forks, children of members become members from then on. Works in
 * the first pid namespace only, since programs see the system's own thread ids.
 * Returns 0, a negative errno, or -ENOENT where the kernel's type information is missing. */
int filter_bpf_open(struct filter_bpf *filter, bool follow_forks);

/* Makes a thread a member. Returns 0 or a negative errno. */
int filter_bpf_add(const struct filter_bpf *filter, pid_t tid);

/* Puts the program on a sampling event. Returns 0 or a negative errno. */
int filter_bpf_attach(const struct filter_bpf *filter, int event_fd);

/* From now on the program of every member's sample ends with this one, which must keep the sample.
 * Returns 0 or a negative errno. */
int filter_bpf_go_on_to(const struct filter_bpf *filter, int program_fd);

void filter_bpf_close(struct filter_bpf *filter);

#endif
