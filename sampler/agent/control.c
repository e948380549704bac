/* Pauses the agents, and changes how often and what they sample, while they run. */
#include "sampler/agent/sigprof_source.h"

/* A thread that is interrupted more often than this gets nowhere with its waiting, or its work. */
int sigprof_most_hz(enum sampler_clock clock, bool fine)
{
    return clock == SAMPLER_CLOCK_WALL ? SAMPLER_WALL_HZ_MAX : fine ? 10000 : 1000000;
}

/* A timer fires in the first tick that finds it expired. One whose period is near the tick is set
 * to less than it, see agent_timer_set. */
uint64_t sigprof_due_ns(const struct sigprof_source *source)
{
    const uint64_t period_ns = source->period_ns, tick_ns = source->tick_ns;
    if (source->clock == SAMPLER_CLOCK_WALL)
        return 0;
    if (source->fine && period_ns < tick_ns)
        return period_ns;
    return period_ns < tick_ns * 3 / 2 ? tick_ns : period_ns;
}

void sigprof_control_process(const struct sigprof_source *source, struct sigprof_process *process)
{
    struct agent_control *control = &process->shared->control;
    atomic_store(&control->slice_bytes, (uint32_t)source->slice_bytes);
    atomic_store(&control->period_ns, source->period_ns);
    atomic_store(&control->clock, source->clock == SAMPLER_CLOCK_WALL ? AGENT_CLOCK_WALL
                                  : source->fine                      ? AGENT_CLOCK_FINE
                                                                      : AGENT_CLOCK_CPU);
    atomic_store(&control->state, source->paused ? AGENT_PAUSE : AGENT_RUN);
}

static void control_all(struct sigprof_source *source)
{
    for (size_t i = 0; i < source->processes.count; i++)
        if (!source->processes.items[i]->left)
            sigprof_control_process(source, source->processes.items[i]);
}

/* A handler that has begun when the pause does may still write its sample: its time shows the
 * reader that it is of the pause. */
int sigprof_set_paused(struct source *base, bool paused, struct sprof_error *error)
{
    struct sigprof_source *source = (struct sigprof_source *)base;
    if (source->paused == paused)
        return 0;
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    if (paused && sprof_vec_push(&source->pauses, (struct sigprof_pause){now_ns, UINT64_MAX}))
        return sprof_error_memory(error);
    const uint64_t used_ns = sigprof_used_ns(source);
    if (paused)
        source->paused_at_cpu_ns = used_ns;
    else
        source->paused_cpu_ns += used_ns - source->paused_at_cpu_ns;
    source->paused = paused;
    control_all(source);
    struct sigprof_pause *pause = &source->pauses.items[source->pauses.count - 1];
    *(paused ? &pause->from_ns : &pause->to_ns) = paused ? sprof_clock_monotonic_ns() : now_ns;
    return 0;
}

int sigprof_set_rate(struct source *base, uint64_t frequency_hz, struct sprof_error *error)
{
    struct sigprof_source *source = (struct sigprof_source *)base;
    const int most = sigprof_most_hz(source->clock, source->fine);
    if (!frequency_hz || frequency_hz > (uint64_t)most)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "%llu samples a second are impossible: 1 to %d",
                               (unsigned long long)frequency_hz, most);
    source->frequency_hz = frequency_hz;
    source->period_ns = UINT64_C(1000000000) / frequency_hz;
    control_all(source);
    return 0;
}

int sigprof_set_capture(struct source *base, enum sampler_capture capture,
                        struct sprof_error *error)
{
    (void)error;
    struct sigprof_source *source = (struct sigprof_source *)base;
    const size_t most = AGENT_SLICE_MAX;
    source->slice_bytes = capture == SAMPLER_CAPTURE_PC ? 0
                          : source->slice_wanted < most ? source->slice_wanted
                                                        : most;
    control_all(source);
    return 0;
}

int sigprof_set_slice(struct source *base, size_t stack_bytes, struct sprof_error *error)
{
    (void)error;
    struct sigprof_source *source = (struct sigprof_source *)base;
    const size_t wanted = source->slice_wanted, most = AGENT_SLICE_MAX;
    if (!source->slice_bytes)
        return 0;
    source->slice_bytes = (stack_bytes < wanted ? stack_bytes : wanted) & ~(size_t)7;
    if (source->slice_bytes > most)
        source->slice_bytes = most;
    control_all(source);
    return 0;
}

/* Whether a sample is of a pause. The first one after a pause weighs nothing of it: no more than
 * the time since. */
bool sigprof_is_paused(const struct sigprof_source *source, struct model_record *sample)
{
    for (size_t i = source->pauses.count; i-- > 0;) {
        const struct sigprof_pause *pause = &source->pauses.items[i];
        if (sample->time_ns > pause->from_ns && sample->time_ns < pause->to_ns)
            return true;
        if (sample->time_ns < pause->to_ns)
            continue;
        const uint64_t since_ns = sample->time_ns - pause->to_ns;
        if (sample->sample.weight > since_ns)
            sample->sample.weight = since_ns;
        return false;
    }
    return false;
}
