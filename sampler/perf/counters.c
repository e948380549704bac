/* Opens counters of CPU time for threads. */
#include "sampler/perf/counters.h"

#include "sampler/perf/event_config.h"

#include <errno.h>
#include <unistd.h>

static int open_own(pid_t tid, bool on_exec, bool has_output)
{
    struct perf_event_attr attr;
    perf_config_counter(&attr);
    attr.enable_on_exec = on_exec;
    attr.watermark = has_output;
    return perf_open(&attr, tid, -1, -1);
}

/* The kernel does not map the ring of an inherited event that is not bound to a CPU, but such an
 * event may write into the ring of another one of the same thread. Threads that end at the very
 * same moment on two CPUs may disturb each other there: the reader checks what it reads, and
 * nothing but these records is in it. */
static int open_family(pid_t tid, bool on_exec, int output_fd)
{
    struct perf_event_attr attr;
    perf_config_counter(&attr);
    attr.inherit = 1;
    attr.inherit_stat = output_fd >= 0;
    attr.enable_on_exec = on_exec;
    return perf_open(&attr, tid, -1, output_fd);
}

int perf_counters_add(struct perf_counters *counters, pid_t pid, pid_t tid, bool follow,
                      bool on_exec, size_t ring_bytes, struct sampler_ring *ring)
{
    *ring = (struct sampler_ring){.fd = -1};
    struct perf_counter counter = {.pid = pid, .tid = tid, .own_fd = -1, .family_fd = -1};
    counter.own_fd = open_own(tid, on_exec, follow);
    if (counter.own_fd < 0)
        return counter.own_fd;
    if (follow) {
        counter.has_ring = ring_bytes && !sampler_ring_open(ring, counter.own_fd, ring_bytes);
        counter.family_fd = open_family(tid, on_exec, counter.has_ring ? counter.own_fd : -1);
    }
    const int failed = follow && counter.family_fd < 0 ? counter.family_fd : 0;
    if (!failed && !sprof_vec_push(&counters->items, counter) &&
        !sprof_map_put(&counters->by_tid, (uint64_t)tid, counters->items.count))
        return 0;
    if (counter.family_fd >= 0)
        close(counter.family_fd);
    if (counter.has_ring)
        sampler_ring_close(ring);
    else
        close(counter.own_fd);
    return failed ? failed : -ENOMEM;
}

static void for_each_fd(const struct perf_counters *counters, void (*act)(int fd))
{
    for (size_t i = 0; i < counters->items.count; i++) {
        const struct perf_counter *counter = &counters->items.items[i];
        act(counter->own_fd);
        if (counter->family_fd >= 0)
            act(counter->family_fd);
    }
}

void perf_counters_enable(const struct perf_counters *counters)
{
    for_each_fd(counters, perf_event_enable);
}

void perf_counters_disable(const struct perf_counters *counters)
{
    for_each_fd(counters, perf_event_disable);
}

uint64_t perf_counters_total_ns(const struct perf_counters *counters)
{
    uint64_t total = 0;
    for (size_t i = 0; i < counters->items.count; i++) {
        const struct perf_counter *counter = &counters->items.items[i];
        total += perf_event_count(counter->family_fd >= 0 ? counter->family_fd : counter->own_fd);
    }
    return total;
}

bool perf_counters_thread_ns(struct perf_counters *counters, pid_t tid, bool ended,
                             uint64_t *cpu_time_ns)
{
    uint64_t *index = sprof_map_get(&counters->by_tid, (uint64_t)tid);
    if (!index || !*index)
        return false;
    *cpu_time_ns = perf_event_count(counters->items.items[*index - 1].own_fd);
    if (ended)
        *index = 0;
    return true;
}

void perf_counters_release(struct perf_counters *counters)
{
    for (size_t i = 0; i < counters->items.count; i++) {
        const struct perf_counter *counter = &counters->items.items[i];
        if (counter->family_fd >= 0)
            close(counter->family_fd);
        if (!counter->has_ring)
            close(counter->own_fd);
    }
    sprof_vec_release(&counters->items);
    sprof_map_release(&counters->by_tid);
}
