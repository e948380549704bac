/* The threshold from which on each wait is kept, and how it follows the number of waits. */
#ifndef SPROF_SAMPLER_OFF_CPU_THRESHOLD_H
#define SPROF_SAMPLER_OFF_CPU_THRESHOLD_H

#include "sampler/sampler.h"

struct off_cpu_threshold {
    uint64_t ns;
    bool governed; /* it was not asked for */
    uint64_t looked_ns, kept;
};

/* As the options have it. */
struct off_cpu_threshold off_cpu_threshold_of(const struct sampler_options *options);

/* So many waits are kept by now: raises the threshold while there are too many, which changes no
 * sum, and lowers it again. Returns whether it is another one. */
bool off_cpu_threshold_govern(struct off_cpu_threshold *threshold, uint64_t kept, uint64_t now_ns);

#endif
