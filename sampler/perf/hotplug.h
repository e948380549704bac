/* CPUs that go offline and come back while they are sampled. */
#ifndef SPROF_SAMPLER_PERF_HOTPLUG_H
#define SPROF_SAMPLER_PERF_HOTPLUG_H

#include "base/base.h"
#include "base/proc.h"

#include <stdint.h>

struct perf_source;

/* A CPU whose events the kernel dropped. */
struct perf_absent_cpu {
    size_t index; /* in the source's list */
    bool is_back; /* it is online again: its events are to be opened */
};

/* The event that reports mappings and forks in place of the owner of a CPU's ring. */
struct perf_cpu_tracker {
    size_t index;
    int fd;
};

/* Zero is valid. */
struct perf_hotplug {
    uint64_t next_ns;   /* when the list of CPUs is read next */
    uint64_t asleep_ns; /* what the machine had slept when it was read last */
    SPROF_VEC(struct perf_absent_cpu) absent;
    SPROF_VEC(struct perf_cpu_tracker) trackers;
};

/* Notes which of `cpus` are absent, and which of these are back; `slept`: all but the first of
 * those online were offline meanwhile. Returns 0 or SPROF_ENOMEM. */
int perf_hotplug_note(struct perf_hotplug *hotplug, const struct sprof_id_list *cpus,
                      const struct sprof_id_list *online, bool slept);

/* The kernel drops the events of a CPU that goes offline, for good. Opens them anew, from time to
 * time, on those that are back; also after the machine slept, when all but the first CPU were
 * offline unseen. What runs there until then is not sampled, and a CPU that comes back before it
 * was seen to be offline is not sampled any more. Where the kernel refuses, it is tried again.
 * Nothing where events are on threads: these live on. */
void perf_hotplug_look(struct perf_source *source, uint64_t now_ns);
void perf_hotplug_release(struct perf_hotplug *hotplug);

#endif
