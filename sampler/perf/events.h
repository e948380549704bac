/* The perf_event system call and the layout every event of a sampler shares. */
#ifndef SPROF_SAMPLER_PERF_EVENTS_H
#define SPROF_SAMPLER_PERF_EVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What stands at the end of every record that is not a sample, and (in another order, see decode.c)
 * at the start of every sample. All events write the same, so that any ring can be read without
 * distinguishing the events. */
#define PERF_SAMPLE_COMMON                                                                         \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/* perf_event_open(2), close-on-exec. Returns a descriptor or a negative errno. With output_fd ≥ 0
 * the event writes into the ring of that event from its first moment on. */
int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu, int output_fd);

/* The same; drops flags of newer kernels from *attr, one by one, while the kernel refuses them. */
int perf_open_dropping(struct perf_event_attr *attr, pid_t pid, int cpu, int output_fd);

/* The kernel's identifier of the event, as samples carry it; 0 when it cannot be read. */
uint64_t perf_event_id(int fd);

/* The value of a counting event, 0 when it cannot be read. */
uint64_t perf_event_count(int fd);

/* How many records of a PERF_FORMAT_LOST event had no room. False, and *lost as it was, where that
 * cannot be known. */
bool perf_event_lost(int fd, uint64_t *lost);

/* Changes the period of an event, and begins a new one, on all CPUs at once; not of those inherited
 * from it. Returns 0 or a negative errno. */
int perf_event_set_period(int fd, uint64_t period);

/* Opens and closes an event on the calling thread. The first event that is opened on any task waits
 * for all CPUs, some 15 ms (m): a launched command does that while it has nothing else to do, so
 * that the recorder need not. */
void perf_warm_up(void);

/* Enables or disables an event and those inherited from it. */
void perf_event_enable(int fd);
void perf_event_disable(int fd);

#endif
