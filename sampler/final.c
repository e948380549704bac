/* What the end of the recording says of threads that go on. */
#include "sampler/session.h"

static int push_cpu_time(struct sampler *sampler, pid_t pid, pid_t tid, uint64_t cpu_time_ns)
{
    struct model_record record = {.type = MODEL_RECORD_CPU_TIME,
                                  .time_ns = sprof_clock_monotonic_ns(),
                                  .pid = pid,
                                  .tid = tid,
                                  .cpu = -1};
    record.cpu_time.cpu_time_ns = cpu_time_ns;
    return sprof_vec_push(&sampler->final.records, record);
}

static uint64_t lost_of(const struct sprof_id_list *fds)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < fds->count; i++)
        lost += perf_event_lost(fds->items[i]);
    return lost;
}

/* The kernel writes LOST with the next record that fits: what was lost last is only in the events.
 */
static int push_untold_loss(struct sampler *sampler)
{
    uint64_t lost = lost_of(&sampler->events) + lost_of(&sampler->trackers);
    for (size_t i = 0; i < sampler->cpu_rings; i++)
        lost += perf_event_lost(sampler->merge.rings.items[i].fd);
    if (lost <= sampler->lost_told)
        return 0;
    struct model_record record = {.type = MODEL_RECORD_LOST,
                                  .time_ns = sprof_clock_monotonic_ns(),
                                  .pid = -1,
                                  .tid = -1,
                                  .cpu = -1};
    record.lost.count = lost - sampler->lost_told;
    sampler->counts.lost += record.lost.count;
    return sprof_vec_push(&sampler->final.records, record);
}

/* A thread without a counter began during the recording, and all it used counts; or it was there
 * before, and there were too many to count. */
static uint64_t uncounted_ns(const struct sampler *sampler, pid_t pid, pid_t tid)
{
    const uint64_t *before = sprof_map_get(&sampler->uncounted, (uint64_t)tid);
    const uint64_t before_ns = before ? *before : 0, now_ns = sprof_proc_cpu_time_ns(pid, tid);
    return now_ns > before_ns ? now_ns - before_ns : 0;
}

int session_make_final(struct sampler *sampler)
{
    const struct sprof_map *threads = &sampler->targets.threads;
    int result = push_untold_loss(sampler);
    for (size_t i = 0; !result && i < threads->capacity; i++) {
        const pid_t tid = (pid_t)threads->slots[i].key, pid = (pid_t)threads->slots[i].value;
        if (!tid || !pid)
            continue;
        uint64_t cpu_time_ns;
        if (!counters_thread_ns(&sampler->cpu_time, tid, false, &cpu_time_ns))
            cpu_time_ns = uncounted_ns(sampler, pid, tid);
        if (cpu_time_ns)
            result = push_cpu_time(sampler, pid, tid, cpu_time_ns);
    }
    return result;
}
