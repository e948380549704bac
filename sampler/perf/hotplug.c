#include "sampler/perf/hotplug.h"

#include "sampler/perf/perf_source.h"

#include <time.h>
#include <unistd.h>

enum { INTERVAL_NS = 200000000 };

/* How long the machine has been asleep: then CLOCK_MONOTONIC stands still (clock_gettime(2)). */
static uint64_t asleep_ns(uint64_t now_ns)
{
    struct timespec boot;
    clock_gettime(CLOCK_BOOTTIME, &boot);
    const uint64_t boot_ns = (uint64_t)boot.tv_sec * 1000000000 + (uint64_t)boot.tv_nsec;
    return boot_ns > now_ns ? boot_ns - now_ns : 0;
}

static bool holds(const struct sprof_id_list *list, int id)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == id)
            return true;
    return false;
}

static size_t *find_absent(struct perf_hotplug *hotplug, size_t cpu)
{
    for (size_t i = 0; i < hotplug->absent.count; i++)
        if (hotplug->absent.items[i] == cpu)
            return &hotplug->absent.items[i];
    return NULL;
}

/* Reports mappings and forks on the CPU in place of its ring's owner, whose ring goes on. */
static bool open_tracker(struct perf_source *source, size_t cpu)
{
    const int ring = source->rings.merge.rings.items[cpu].fd;
    struct perf_event_attr attr;
    perf_config_ring_event(&attr, true);
    perf_config_take_switches(&source->config, &attr);
    const int fd = perf_open_dropping(&attr, -1, source->cpus.items[cpu], ring);
    if (fd < 0)
        return false;
    if (sprof_vec_push(&source->trackers, fd)) {
        close(fd);
        return false;
    }
    perf_event_enable(fd);
    perf_event_disable(ring);
    return true;
}

/* A sampling event that no kernel's list holds any more gives way to one like it. */
static bool open_again(struct perf_source *source, size_t index)
{
    const int former = source->events.items[index];
    const struct perf_event *event =
        &source->config.events.items[perf_source_event_of(source, index)];
    const int layout = sampler_layouts_add(&source->layouts, source->config.layout);
    const int fd = layout < 0 ? layout : perf_source_open_cpu_event(source, index, 0);
    if (fd < 0)
        return false;
    if (perf_jitter_bind(source, fd, index) ||
        perf_source_number_event(source, fd, perf_source_event_of(source, index)) ||
        sampler_layouts_bind(&source->layouts, perf_event_id(fd), layout) ||
        (source->programs.filter.programs && !perf_event_is_tracepoint(event) &&
         perf_filter_bpf_attach(&source->programs.filter, fd))) {
        close(fd);
        return false;
    }
    if (!source->pauses.now)
        perf_jitter_pause(source, index, true);
    source->events.items[index] = fd;
    perf_losses_close_event(source, index, former);
    close(former);
    if (!source->pauses.now)
        perf_jitter_pause(source, index, false);
    return true;
}

static bool take_back(struct perf_source *source, size_t cpu)
{
    for (size_t i = cpu; i < source->events.count; i += source->cpus.count)
        if (!open_again(source, i))
            return false;
    return open_tracker(source, cpu);
}

void perf_hotplug_look(struct perf_source *source, uint64_t now_ns)
{
    struct perf_hotplug *hotplug = &source->hotplug;
    if (source->scope == SAMPLER_SCOPE_TASK || source->programs.come || now_ns < hotplug->next_ns)
        return;
    struct sprof_id_list online = {0};
    const bool is_first = !hotplug->next_ns;
    const uint64_t asleep = asleep_ns(now_ns);
    /* The difference of two clocks that are read one after the other. */
    const bool slept = !is_first && asleep > hotplug->asleep_ns + INTERVAL_NS;
    hotplug->next_ns = now_ns + INTERVAL_NS;
    hotplug->asleep_ns = asleep;
    const bool read = !sprof_proc_online_cpus(&online);
    for (size_t i = 0; read && i < source->cpus.count; i++) {
        size_t *absent = find_absent(hotplug, i);
        const bool is_online = holds(&online, source->cpus.items[i]);
        if (!is_online && !absent)
            (void)!sprof_vec_push(&hotplug->absent, i);
        if (is_online && (absent || (slept && i > 0)) && take_back(source, i) && absent)
            *absent = hotplug->absent.items[--hotplug->absent.count];
    }
    sprof_vec_release(&online);
}

void perf_hotplug_release(struct perf_hotplug *hotplug)
{
    sprof_vec_release(&hotplug->absent);
}
