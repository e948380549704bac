/* The source of waits of threads, beside perf events, which see threads that have a CPU. */
#ifndef SPROF_SAMPLER_OFF_CPU_SOURCE_H
#define SPROF_SAMPLER_OFF_CPU_SOURCE_H

#include "sampler/source.h"

/* Measures each time in which a thread has no CPU, and keeps some, which weigh for all: in
 * nanoseconds. Each kind of wait is an event of its own (sampler/off_cpu/kinds.h). Opened where
 * options->off_cpu says so. */
extern const struct source_kind sampler_off_cpu_kind;

#endif
