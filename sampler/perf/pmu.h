/* Events of the processor's and the machine's own counters, as sysfs describes them:
 * "cpu/event=0xa8,umask=0x1/", "cpu_atom/mem-loads/". */
#ifndef SPROF_SAMPLER_PERF_PMU_H
#define SPROF_SAMPLER_PERF_PMU_H

#include "base/base.h"

#define PERF_PMU_ROOT "/sys/bus/event_source/devices"

/* What perf_event_open(2) takes. */
struct perf_pmu_event {
    uint32_t type;
    uint64_t config[3]; /* config, config1, config2 */
};

/* Whether there is a PMU of that name below the directory `root`; sets its type. */
bool perf_pmu_find(const char *root, const char *name, uint32_t *type);

/* Adds a term to an event of the PMU: "event=0xa8", "edge" (1), "config=N", "config1=N",
 * "config2=N", or the name of an event that sysfs lists, which stands for terms. The files of its
 * directory `format` say which bits a term is. Fails with SPROF_EUSAGE: no such term (with the
 * names near it), or a value that does not fit. */
int perf_pmu_term(const char *root, const char *pmu, const char *term, struct perf_pmu_event *event,
                  struct sprof_error *error);

/* Calls `put` for each event that sysfs lists, as "PMU/EVENT/", sorted, until it returns non-zero,
 * which is returned. Returns 0 or SPROF_ENOMEM else. */
int perf_pmu_each(const char *root, int (*put)(void *context, const char *name), void *context);

#endif
