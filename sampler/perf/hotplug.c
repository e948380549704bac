/* Opens the events of CPUs that come back, in place of those that the kernel has dropped. */
#include "sampler/perf/hotplug.h"

#include "sampler/perf/perf_source.h"

#include <time.h>
#include <unistd.h>

enum { INTERVAL_NS = 200000000 };

/* == Which CPUs == */

static bool holds(const struct sprof_id_list *list, int id)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == id)
            return true;
    return false;
}

static struct perf_absent_cpu *find_absent(const struct perf_hotplug *hotplug, size_t index)
{
    for (size_t i = 0; i < hotplug->absent.count; i++)
        if (hotplug->absent.items[i].index == index)
            return &hotplug->absent.items[i];
    return NULL;
}

int perf_hotplug_note(struct perf_hotplug *hotplug, const struct sprof_id_list *cpus,
                      const struct sprof_id_list *online, bool slept)
{
    for (size_t i = 0; i < cpus->count; i++) {
        struct perf_absent_cpu *absent = find_absent(hotplug, i);
        const bool is_online = holds(online, cpus->items[i]);
        const bool was_away = slept && online->count && cpus->items[i] != online->items[0];
        const struct perf_absent_cpu noted = {i, is_online};
        if (absent)
            absent->is_back = is_online;
        else if ((!is_online || was_away) && sprof_vec_push(&hotplug->absent, noted))
            return SPROF_ENOMEM;
    }
    return 0;
}

void perf_hotplug_release(struct perf_hotplug *hotplug)
{
    sprof_vec_release(&hotplug->absent);
    sprof_vec_release(&hotplug->trackers);
}

/* == Their events == */

static void close_all(struct sprof_id_list *fds)
{
    for (size_t i = 0; i < fds->count; i++)
        close(fds->items[i]);
    sprof_vec_release(fds);
}

static int open_tracker(const struct perf_source *source, size_t cpu)
{
    struct perf_event_attr attr;
    perf_config_ring_event(&attr, true);
    perf_config_take_switches(&source->config, &attr);
    return perf_open_dropping(&attr, -1, source->cpus.items[cpu],
                              source->rings.merge.rings.items[cpu].fd);
}

/* The CPU's sampling events, disabled, and behind them the one that reports mappings. */
static bool open_events(struct perf_source *source, size_t cpu, struct sprof_id_list *fds)
{
    for (size_t i = cpu; i < source->events.count + source->cpus.count; i += source->cpus.count) {
        const bool samples = i < source->events.count;
        const int fd =
            samples ? perf_source_open_cpu_event(source, i, 0) : open_tracker(source, cpu);
        if (fd < 0)
            return false;
        if (sprof_vec_push(fds, fd)) {
            close(fd);
            return false;
        }
        const size_t number = perf_source_event_of(source, i);
        if (samples && source->programs.filter.programs &&
            !perf_event_is_tracepoint(&source->config.events.items[number]) &&
            perf_filter_bpf_attach(&source->programs.filter, fd))
            return false;
    }
    return true;
}

/* An event that the kernel has dropped gives way to one like it. */
static int replace_event(struct perf_source *source, size_t index, int fd, int layout)
{
    const int former = source->events.items[index];
    if (perf_jitter_bind(source, fd, index) ||
        perf_source_number_event(source, fd, perf_source_event_of(source, index)) ||
        sampler_layouts_bind(&source->layouts, perf_event_id(fd), layout))
        return SPROF_ENOMEM;
    if (!source->pauses.now)
        perf_jitter_pause(source, index, true);
    source->events.items[index] = fd;
    perf_losses_close_event(source, index, former);
    close(former);
    if (!source->pauses.now)
        perf_jitter_pause(source, index, false);
    return 0;
}

/* The ring's owner stays open, for its ring goes on; what came in its place before is closed. */
static int replace_tracker(struct perf_source *source, size_t cpu, int fd)
{
    struct perf_hotplug *hotplug = &source->hotplug;
    struct perf_cpu_tracker *former = NULL;
    for (size_t i = 0; i < hotplug->trackers.count && !former; i++)
        if (hotplug->trackers.items[i].index == cpu)
            former = &hotplug->trackers.items[i];
    if (former) {
        for (size_t i = 0; i < source->trackers.count; i++)
            if (source->trackers.items[i] == former->fd)
                source->trackers.items[i] = fd;
        perf_event_enable(fd);
        perf_losses_close_event(source, SIZE_MAX, former->fd);
        close(former->fd);
        former->fd = fd;
        return 0;
    }
    const struct perf_cpu_tracker tracker = {cpu, fd};
    if (sprof_vec_reserve(&source->trackers, source->trackers.count + 1) ||
        sprof_vec_push(&hotplug->trackers, tracker))
        return SPROF_ENOMEM;
    source->trackers.items[source->trackers.count++] = fd;
    perf_event_enable(fd);
    perf_event_disable(source->rings.merge.rings.items[cpu].fd);
    return 0;
}

/* False where the kernel refuses one of them: all stay as they are. */
static bool take_back(struct perf_source *source, size_t cpu)
{
    struct sprof_id_list fds = {0};
    const int layout = sampler_layouts_add(&source->layouts, source->config.layout);
    if (!open_events(source, cpu, &fds)) {
        close_all(&fds);
        return false;
    }
    size_t taken = 0;
    int result = 0;
    for (size_t i = cpu; !result && i < source->events.count; i += source->cpus.count) {
        result = replace_event(source, i, fds.items[taken], layout);
        taken += !result;
    }
    result = result || replace_tracker(source, cpu, fds.items[taken]);
    taken += !result;
    for (; taken < fds.count; taken++)
        close(fds.items[taken]);
    sprof_vec_release(&fds);
    return !result;
}

/* == Looking == */

/* How long the machine has been asleep: then CLOCK_MONOTONIC stands still (clock_gettime(2)). */
static uint64_t asleep_ns(void)
{
    struct timespec boot;
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    clock_gettime(CLOCK_BOOTTIME, &boot);
    const uint64_t boot_ns = (uint64_t)boot.tv_sec * 1000000000 + (uint64_t)boot.tv_nsec;
    return boot_ns > now_ns ? boot_ns - now_ns : 0;
}

void perf_hotplug_look(struct perf_source *source, uint64_t now_ns)
{
    struct perf_hotplug *hotplug = &source->hotplug;
    if (source->scope == SAMPLER_SCOPE_TASK || source->programs.come || now_ns < hotplug->next_ns)
        return;
    struct sprof_id_list online = {0};
    const uint64_t asleep = asleep_ns();
    /* The two clocks are read one after the other. */
    const bool slept = hotplug->next_ns && asleep > hotplug->asleep_ns + INTERVAL_NS;
    hotplug->next_ns = now_ns + INTERVAL_NS;
    if (!sprof_proc_online_cpus(&online) &&
        !perf_hotplug_note(hotplug, &source->cpus, &online, slept))
        hotplug->asleep_ns = asleep;
    sprof_vec_release(&online);
    for (size_t i = hotplug->absent.count; i-- > 0;)
        if (hotplug->absent.items[i].is_back && take_back(source, hotplug->absent.items[i].index))
            hotplug->absent.items[i] = hotplug->absent.items[--hotplug->absent.count];
}
