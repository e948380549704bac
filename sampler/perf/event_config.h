/* Makes the attributes of events from the options. */
#ifndef SPROF_SAMPLER_PERF_EVENT_CONFIG_H
#define SPROF_SAMPLER_PERF_EVENT_CONFIG_H

#include "sampler/decode.h"
#include "sampler/perf/event_list.h"
#include "sampler/perf/events.h"
#include "sampler/sampler.h"

/* Copies of it share the list of events. */
struct perf_config {
    struct perf_event_list events; /* at least one */
    enum sampler_capture capture;
    enum sampler_clock clock;
    bool beside_waits;             /* threads without a CPU are sampled beside these events … */
    bool takes_switches;           /* … or measured by context switches */
    uint64_t frequency_hz, period; /* of events that have none of their own; one of them is 0 */
    bool lowered;             /* the rate that is used by default is above the kernel's limit */
    bool exclude_kernel;      /* of all events */
    size_t stack_bytes_asked; /* where samples carry stacks */
    size_t stack_bytes_wanted, stack_bytes;
    struct sampler_layout layout;
};

/* Checks the options: fails as perf_event_list_parse does, and with SPROF_EUSAGE for an impossible
 * rate, SPROF_EUNSUPPORTED for an event this machine does not have. Whether the kernel may be
 * sampled is not asked here. The caller releases the configuration where this succeeds. */
int perf_config_make(struct perf_config *config, const struct sampler_options *options,
                     struct sprof_error *error);

void perf_config_release(struct perf_config *config);

/* Leaves the kernel out of all events; SPROF_EUSAGE where one of them has nothing else. */
int perf_config_exclude_kernel(struct perf_config *config, struct sprof_error *error);

/* Changes the rate of events that have none of their own: SPROF_EUSAGE for an impossible one, or
 * where there is no such event. */
int perf_config_set_rate(struct perf_config *config, uint64_t frequency_hz,
                         struct sprof_error *error);

/* Changes what each sample carries; the slice is the one that was asked for. */
void perf_config_set_capture(struct perf_config *config, enum sampler_capture capture);

/* Makes the slice smaller than the one asked for, or larger again. */
void perf_config_set_slice(struct perf_config *config, size_t stack_bytes);

/* How much ring a sample may take, with everything asked for and a stack slice of that size. */
size_t perf_config_sample_bytes(const struct perf_config *config, size_t stack_bytes);

/* The rate of an event, 0 where it has a period; whether it is the recording's. */
uint64_t perf_config_frequency(const struct perf_config *config, const struct perf_event *event);
bool perf_config_follows(const struct perf_event *event);

/* Events between two samples: of a clock nanoseconds. Not of a frequency that is no clock's: 0. */
uint64_t perf_config_period(const struct perf_config *config, const struct perf_event *event);

/* Whether one of the list is a tracepoint. */
bool perf_config_has_tracepoint(const struct perf_config *config);

/* How many samples a busy CPU gives in a second, of all events: asked for, or a guess for fixed
 * periods. */
uint64_t perf_config_samples_per_second(const struct perf_config *config);

/* The ring size (a power of two) that holds what one CPU may write in a tenth of a second, and at
 * any rate as many samples as perf_config_fit_stack needs, within `limit` bytes but not below
 * perf_config_ring_least. */
size_t perf_config_ring_bytes(const struct perf_config *config, size_t limit);
size_t perf_config_ring_least(const struct perf_config *config);

/* Makes the stack slice fit rings of that size: each holds at least 64 samples. */
void perf_config_fit_stack(struct perf_config *config, size_t ring_bytes);

/* An event that owns a ring and counts nothing; with `track`, it reports mappings, names, forks and
 * exits. */
void perf_config_ring_event(struct perf_event_attr *attr, bool track);

/* Has an event that tracks report context switches, too, where they are taken. */
void perf_config_take_switches(const struct perf_config *config, struct perf_event_attr *attr);

/* The sampling event at an index of the list, disabled; with `track` as above. */
void perf_config_sampling_event(const struct perf_config *config, size_t index,
                                struct perf_event_attr *attr, bool cpu_wide, bool track);

/* A clock that samples the kernel, for trying whether that is permitted. */
void perf_config_kernel_clock(struct perf_event_attr *attr);

/* A counter of CPU time, disabled. */
void perf_config_counter(struct perf_event_attr *attr);

#endif
