/* Lists the events that can be recorded, and what this machine lacks for them. */
#include "sampler/perf/event_config.h"
#include "sampler/perf/event_names.h"
#include "sampler/perf/pmu.h"
#include "sampler/perf/tracefs.h"
#include "sampler/sampler.h"

#include <errno.h>
#include <unistd.h>

struct listing {
    int (*put)(void *context, const struct sampler_known_event *event);
    void *context;
};

/* Whether the kernel opens such an event on this process: 0 or a negative errno. */
static int try_to_open(uint32_t type, uint64_t config, bool with_kernel)
{
    struct perf_event_attr attr;
    perf_config_counter(&attr);
    attr.type = type;
    attr.config = config;
    attr.exclude_kernel = !with_kernel;
    const int fd = perf_open(&attr, 0, -1, -1);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? fd : 0;
}

static const char *lack_of(const struct perf_event_name *named)
{
    switch (try_to_open(named->type, named->config, named->is_of_kernel)) {
    case 0: return NULL;
    case -EACCES:
    case -EPERM: return "not permitted: needs kernel.perf_event_paranoid=1, or root";
    default: return "not on this machine: it has no counter for it";
    }
}

static int put_named(const struct listing *listing)
{
    const struct perf_event_name *named;
    int result = 0;
    for (size_t i = 0; !result && (named = perf_event_name_at(i)); i++) {
        const struct sampler_known_event event = {
            .name = named->name,
            .samples = named->is_clock ? "997 a second of CPU time"
                                       : "997 a second, or each with /period=1/",
            .lacks = lack_of(named),
        };
        result = listing->put(listing->context, &event);
    }
    return result;
}

static int put_counter(void *context, const char *name)
{
    const struct listing *listing = context;
    uint32_t type;
    uint64_t config;
    if (!perf_event_counter_find(name, &type, &config))
        return 0;
    const struct perf_event_name named = {name, type, config, false, false};
    const struct sampler_known_event event = {
        .name = name, .samples = "997 a second, or each with /period=1/", .lacks = lack_of(&named)};
    return listing->put(listing->context, &event);
}

/* What sysfs lists of counters that can be sampled. */
static int put_pmu_event(void *context, const char *name)
{
    const struct listing *listing = context;
    struct perf_event_list events = {0};
    struct perf_event_attr attr;
    perf_config_counter(&attr);
    if (perf_event_list_parse(&events, name, NULL) || events.count != 1) {
        perf_event_list_release(&events);
        return 0;
    }
    attr.type = events.items->type;
    attr.config = events.items->config;
    attr.config1 = events.items->config1;
    attr.config2 = events.items->config2;
    attr.sample_period = 1000000;
    perf_event_list_release(&events);
    const int fd = perf_open(&attr, 0, -1, -1);
    if (fd >= 0)
        close(fd);
    const struct sampler_known_event event = {
        .name = name,
        .samples = "997 a second",
        .lacks = fd >= 0 ? NULL
                 : fd == -EACCES || fd == -EPERM
                     ? "not permitted: needs root"
                     : "counts for the whole machine: gives no samples"};
    return listing->put(listing->context, &event);
}

/* The first tracepoint stands for all: permission does not depend on which. */
static const char *lack_of_tracepoints(const struct perf_tracefs *tracefs, const char *name)
{
    uint64_t id;
    const int result = perf_tracefs_id(tracefs, name, &id);
    const int opened = result ? result : try_to_open(PERF_TYPE_TRACEPOINT, id, true);
    return opened == -EACCES || opened == -EPERM ? "not permitted: needs root" : NULL;
}

static int put_tracepoints(const struct listing *listing, const struct perf_tracefs *tracefs,
                           const struct perf_tracepoints *names)
{
    const char *lacks = names->count ? lack_of_tracepoints(tracefs, names->items[0]) : NULL;
    int result = 0;
    for (size_t i = 0; i < names->count && !result; i++) {
        const struct sampler_known_event event = {
            .name = names->items[i], .samples = "each time it is passed", .lacks = lacks};
        result = listing->put(listing->context, &event);
    }
    return result;
}

int sampler_known_events(int (*put)(void *context, const struct sampler_known_event *event),
                         void *context, struct sprof_error *tracepoints)
{
    const struct listing listing = {put, context};
    struct perf_tracefs tracefs = PERF_TRACEFS_NONE;
    struct perf_tracepoints names = {0};
    int result = put_named(&listing);
    result = result ? result : perf_event_counter_each(put_counter, (void *)&listing);
    result = result ? result : perf_pmu_each(PERF_PMU_ROOT, put_pmu_event, (void *)&listing);
    if (!result && !perf_tracefs_open(&tracefs, tracepoints)) {
        result = perf_tracefs_match(&tracefs, "*:*", &names);
        result = result ? result : put_tracepoints(&listing, &tracefs, &names);
    }
    perf_tracepoints_release(&names);
    perf_tracefs_close(&tracefs);
    return result;
}
