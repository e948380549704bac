/* What processes of the target have used, and what their agents counted. */
#include "sampler/agent/sigprof_source.h"

#define BLOCKED_MOST_NS UINT64_C(1000000000000) /* CPU time between two looks */

/* A number that a target counted; what it cannot have counted meanwhile is a one. */
static uint64_t believable(uint64_t number)
{
    enum { MOST = 1000000 };
    return number <= MOST ? number : 1;
}

void sigprof_count_standing(struct sigprof_source *source, uint32_t standing)
{
    source->counts.agents_standing_back += standing == AGENT_HAS_HANDLER;
    source->counts.agents_without_memory += standing == AGENT_NO_MEMORY;
}

/* Samples that found no room, threads that got no timer, and programs that were started without an
 * agent, since the last time. */
int sigprof_tell_losses(struct sigprof_source *source, struct sigprof_process *process,
                        uint64_t now_ns)
{
    const struct agent_control *control = &process->shared->control;
    const uint64_t lost = atomic_load_explicit(&control->lost, memory_order_relaxed);
    struct model_record record = sigprof_record_of(MODEL_RECORD_LOST, -1, -1, now_ns);
    record.lost.count = believable(lost - process->lost);
    record.lost.since_ns = process->lost_until_ns;
    process->lost = lost;
    process->lost_until_ns = now_ns;
    const uint64_t blocked_ns = atomic_load_explicit(&control->blocked_ns, memory_order_relaxed);
    if (blocked_ns - process->blocked_ns < BLOCKED_MOST_NS)
        source->counts.blocked_ns += blocked_ns - process->blocked_ns;
    process->blocked_ns = blocked_ns;
    for (size_t why = 0; why < AGENT_REFUSALS; why++) {
        const uint64_t refused = atomic_load_explicit(&control->refused[why], memory_order_relaxed);
        source->counts.unsampled_threads += believable(refused - process->refused[why]);
        process->refused[why] = refused;
    }
    uint64_t *const left_out[] = {
        [AGENT_LEFT_OUT_KIND] = &source->counts.programs_left_out,
        [AGENT_LEFT_OUT_PLACE] = &source->counts.programs_out_of_reach,
        [AGENT_LEFT_OUT_DESCRIPTORS] = &source->counts.programs_without_descriptors,
    };
    for (size_t why = 0; why < AGENT_LEFT_OUT_REASONS; why++) {
        const uint64_t count = atomic_load_explicit(&control->left_out[why], memory_order_relaxed);
        *left_out[why] += believable(count - process->left_out[why]);
        process->left_out[why] = count;
    }
    const uint32_t standing = atomic_load_explicit(&control->standing, memory_order_relaxed);
    if (process->standing == AGENT_SAMPLES)
        sigprof_count_standing(source, standing);
    process->standing = standing;
    source->counts.lost += record.lost.count;
    return record.lost.count ? sigprof_events_add(&source->events, &record) : 0;
}

void sigprof_look_at_clock(struct sigprof_process *process)
{
    const uint64_t end_ns =
        atomic_load_explicit(&process->shared->control.end_cpu_ns, memory_order_relaxed);
    uint64_t now_ns = process->ended ? 0 : sigprof_process_clock_ns(process->pid);
    if (!now_ns && end_ns < sprof_clock_monotonic_ns()) /* or it lies, or has many busy threads */
        now_ns = end_ns;
    const uint64_t helper_ns = sigprof_process_helper_ns(process);
    now_ns = now_ns > helper_ns ? now_ns - helper_ns : 0;
    if (now_ns > process->cpu_base_ns + process->cpu_ns)
        process->cpu_ns = now_ns - process->cpu_base_ns;
}

uint64_t sigprof_used_ns(struct sigprof_source *source)
{
    uint64_t sum_ns = source->dead_cpu_ns;
    for (size_t i = 0; i < source->processes.count; i++) {
        struct sigprof_process *process = source->processes.items[i];
        if (!process->has_cpu)
            continue;
        sigprof_look_at_clock(process);
        sum_ns += process->cpu_ns;
    }
    return sum_ns;
}
