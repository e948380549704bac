/* Finds the type and configuration of an event by its name. */
#include "sampler/perf/event_names.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
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

static bool read_raw(const char *name, uint64_t *config)
{
    char *end;
    const size_t digits = *name == 'r' ? strspn(name + 1, "0123456789abcdefABCDEF") : 0;
    if (!digits || digits > 16 || name[digits + 1])
        return false;
    *config = strtoull(name + 1, &end, 16);
    return true;
}

/* CACHE-OPERATIONs or CACHE-OPERATION-misses. */
static const char *const caches[] = {
    [PERF_COUNT_HW_CACHE_L1D] = "L1-dcache-", [PERF_COUNT_HW_CACHE_L1I] = "L1-icache-",
    [PERF_COUNT_HW_CACHE_LL] = "LLC-",        [PERF_COUNT_HW_CACHE_DTLB] = "dTLB-",
    [PERF_COUNT_HW_CACHE_ITLB] = "iTLB-",     [PERF_COUNT_HW_CACHE_BPU] = "branch-",
    [PERF_COUNT_HW_CACHE_NODE] = "node-"};
static const struct {
    const char *text;
    unsigned operation, result;
} ends[] = {
    {"loads", PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
    {"load-misses", PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS},
    {"stores", PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
    {"store-misses", PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_MISS},
    {"prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
    {"prefetch-misses", PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_MISS},
};
enum { CACHE_COUNT = sizeof caches / sizeof *caches, END_COUNT = sizeof ends / sizeof *ends };

static bool read_cache(const char *name, uint64_t *config)
{
    for (unsigned c = 0; c < CACHE_COUNT; c++)
        for (size_t e = 0; e < END_COUNT; e++)
            if (!strncmp(name, caches[c], strlen(caches[c])) &&
                !strcmp(name + strlen(caches[c]), ends[e].text)) {
                *config = c | ends[e].operation << 8 | ends[e].result << 16;
                return true;
            }
    return false;
}

int perf_event_counter_each(int (*put)(void *context, const char *name), void *context)
{
    int result = 0;
    for (unsigned c = 0; c < CACHE_COUNT; c++)
        for (size_t e = 0; e < END_COUNT && !result; e++) {
            char name[48];
            snprintf(name, sizeof name, "%s%s", caches[c], ends[e].text);
            result = put(context, name);
        }
    return result;
}

bool perf_event_counter_find(const char *name, uint32_t *type, uint64_t *config)
{
    const bool is_raw = read_raw(name, config);
    *type = is_raw ? PERF_TYPE_RAW : PERF_TYPE_HW_CACHE;
    return is_raw || read_cache(name, config);
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
