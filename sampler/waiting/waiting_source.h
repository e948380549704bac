/* The source of samples of threads that wait, beside perf events, which see those that work. */
#ifndef SPROF_SAMPLER_WAITING_SOURCE_H
#define SPROF_SAMPLER_WAITING_SOURCE_H

#include "sampler/source.h"

/* Its samples weigh, in nanoseconds, what a thread had no CPU: blocked, or ready to run. Opened for
 * SAMPLER_CLOCK_WALL only. */
extern const struct source_kind sampler_waiting_kind;

#endif
