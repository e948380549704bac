/* Finds the type and configuration of an event by its name. */
#include "sampler/perf/event_names.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

static const struct perf_event_name events[] = {
    {"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true, false},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true, false},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, false},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false, false},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, false, false},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, false, false},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false, false},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, false, false},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false, false},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, false, false},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, false, true},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, false, true},
};
enum { EVENT_COUNT = sizeof events / sizeof *events };

const struct perf_event_name *perf_event_name_find(const char *name)
{
    for (size_t i = 0; i < EVENT_COUNT; i++)
        if (!strcmp(events[i].name, name))
            return &events[i];
    return NULL;
}

const struct perf_event_name *perf_event_name_at(size_t index)
{
    return index < EVENT_COUNT ? &events[index] : NULL;
}

void perf_event_name_list(char *buffer, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < EVENT_COUNT && used < size; i++) {
        const int written =
            snprintf(buffer + used, size - used, "%s%s", i ? ", " : "", events[i].name);
        used += written > 0 ? (size_t)written : 0;
    }
}
