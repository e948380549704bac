/* Makes the records that only the end of a recording brings: the last losses, and the CPU time of
 * threads that go on. */
#include "sampler/perf/perf_source.h"

static int push_cpu_time(struct perf_source *source, pid_t pid, pid_t tid, uint64_t cpu_time_ns)
{
    struct model_record record = {.type = MODEL_RECORD_CPU_TIME,
                                  .time_ns = sprof_clock_monotonic_ns(),
                                  .pid = pid,
                                  .tid = tid,
                                  .cpu = -1};
    record.cpu_time.cpu_time_ns = cpu_time_ns;
    return sprof_vec_push(&source->end_records.items, record);
}

/* The kernel writes LOST with the next record that fits: what was lost last is only in the events.
 */
static int push_untold_loss(struct perf_source *source)
{
    uint64_t *lost = calloc(source->config.events.count, sizeof *lost);
    if (!lost)
        return SPROF_ENOMEM;
    perf_losses_at_the_end(source, lost);
    int result = 0;
    for (size_t i = 0; i < source->config.events.count && !result; i++) {
        struct model_record record = {.type = MODEL_RECORD_LOST,
                                      .time_ns = sprof_clock_monotonic_ns(),
                                      .event = (uint32_t)i,
                                      .pid = -1,
                                      .tid = -1,
                                      .cpu = -1};
        record.lost.count = lost[i];
        source->counts.lost += lost[i];
        result = lost[i] ? sprof_vec_push(&source->end_records.items, record) : 0;
    }
    free(lost);
    return result;
}

/* A thread without a counter began during the recording, and all it used counts; or it was there
 * before, and there were too many to count. */
static uint64_t uncounted_ns(const struct perf_source *source, pid_t pid, pid_t tid)
{
    const uint64_t *before = sprof_map_get(&source->taken_in.cpu_before_start, (uint64_t)tid);
    const uint64_t before_ns = before ? *before : 0, now_ns = sprof_proc_cpu_time_ns(pid, tid);
    return now_ns > before_ns ? now_ns - before_ns : 0;
}

uint64_t perf_end_records_thread_cpu_ns(struct source *opened, pid_t pid, pid_t tid)
{
    struct perf_source *source = (struct perf_source *)opened;
    uint64_t cpu_time_ns;
    return perf_counters_thread_ns(&source->counters, tid, false, &cpu_time_ns)
               ? cpu_time_ns
               : uncounted_ns(source, pid, tid);
}

/* What it waits for now counts up to now. */
static int push_wait(struct perf_source *source, pid_t pid, pid_t tid, uint64_t cpu_time_ns)
{
    struct model_record record = {.type = MODEL_RECORD_SWITCH,
                                  .time_ns = source->progress.seen_ns,
                                  .pid = pid,
                                  .tid = tid,
                                  .cpu = -1};
    const int result =
        source->switches.wanted ? perf_switches_end(&source->switches, cpu_time_ns, &record) : 1;
    if (result)
        return result < 0 ? result : 0;
    source->counts.samples++;
    record.event += (uint32_t)source->config.events.count;
    return sprof_vec_push(&source->end_records.items, record);
}

int perf_end_records_make(struct perf_source *source)
{
    const struct sprof_map *threads = &source->members.threads;
    source->end_records_made = true;
    int result = push_untold_loss(source);
    for (size_t i = 0; !result && i < threads->capacity; i++) {
        const pid_t tid = (pid_t)threads->slots[i].key, pid = (pid_t)threads->slots[i].value;
        if (!tid || !pid)
            continue;
        const uint64_t cpu_time_ns = perf_end_records_thread_cpu_ns(&source->source, pid, tid);
        result = push_wait(source, pid, tid, cpu_time_ns);
        if (cpu_time_ns && !result)
            result = push_cpu_time(source, pid, tid, cpu_time_ns);
    }
    return result;
}
