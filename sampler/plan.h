/* What the options ask for, made into the attributes of events. */
#ifndef SPROF_SAMPLER_PLAN_H
#define SPROF_SAMPLER_PLAN_H

#include "sampler/decode.h"
#include "sampler/event_names.h"
#include "sampler/perf.h"
#include "sampler/sampler.h"

struct plan {
    const struct event_name *event;
    enum sampler_capture capture;
    uint64_t frequency_hz, period; /* one of them is 0 */
    bool exclude_kernel;
    size_t stack_bytes_wanted, stack_bytes;
    struct decode_layout layout;
};

/* Checks the options: SPROF_EUSAGE for an unknown event or an impossible rate, SPROF_EUNSUPPORTED
 * for an event this machine does not have. Whether the kernel may be sampled is not asked here. */
int plan_make(struct plan *plan, const struct sampler_options *options, struct sprof_error *error);

/* How much ring a sample may take, with everything asked for and a stack slice of that size. */
size_t plan_sample_bytes(const struct plan *plan, size_t stack_bytes);

/* How many samples a busy CPU gives in a second: asked for, or a guess for fixed periods. */
uint64_t plan_samples_per_second(const struct plan *plan);

/* The ring size (a power of two) that holds what one CPU may write in a tenth of a second, and at
 * any rate as many samples as plan_fit_stack wants, within `limit` bytes but not below
 * plan_ring_least. */
size_t plan_ring_bytes(const struct plan *plan, size_t limit);
size_t plan_ring_least(const struct plan *plan);

/* Makes the stack slice fit rings of that size: each holds at least 64 samples. */
void plan_fit_stack(struct plan *plan, size_t ring_bytes);

/* An event that owns a ring and counts nothing; with `track`, it reports mappings, names, forks and
 * exits. */
void plan_ring_event(struct perf_event_attr *attr, bool track);

/* The sampling event, disabled; with `track` as above. */
void plan_sampling_event(const struct plan *plan, struct perf_event_attr *attr, bool cpu_wide,
                         bool track);

/* A counter of CPU time, disabled. */
void plan_counter(struct perf_event_attr *attr);

#endif
