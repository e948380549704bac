/* CPUs that go offline and come back while they are sampled. */
#ifndef SPROF_SAMPLER_PERF_HOTPLUG_H
#define SPROF_SAMPLER_PERF_HOTPLUG_H

#include "base/base.h"

#include <stdint.h>

struct perf_source;

/* Zero is valid. */
struct perf_hotplug {
    uint64_t next_ns;         /* when the list of CPUs is read next */
    uint64_t asleep_ns;       /* what the machine had slept when it was read last */
    SPROF_VEC(size_t) absent; /* indices of CPUs that were offline then */
};

/* The kernel drops the events of a CPU that goes offline, for good. Opens them anew, from time to
 * time, on those that are back; also after the machine slept, when all but the first CPU were
 * offline unseen. What runs there until then is not sampled. Where the kernel refuses, it is tried
 * again. Nothing where events are on threads: these live on. */
void perf_hotplug_look(struct perf_source *source, uint64_t now_ns);
void perf_hotplug_release(struct perf_hotplug *hotplug);

#endif
