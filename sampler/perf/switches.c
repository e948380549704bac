/* Makes samples of waits from records of context switches. */
#include "sampler/perf/switches.h"

#include "sampler/bpf/off_cpu_weight.h"

#include <stdio.h>

enum { RUNS = 1 }; /* a thread that has a CPU */

int perf_switches_events(struct sampler_event_list *list)
{
    static const char *const words[PERF_SWITCHES_EVENTS] = {
        [PERF_SWITCHES_READY] = MODEL_WAIT_READY, [PERF_SWITCHES_WAITING] = MODEL_WAIT_UNSEEN};
    int result = 0;
    for (size_t i = 0; i < PERF_SWITCHES_EVENTS && !result; i++) {
        struct sampler_event event = {.is_clock = true, .varying_period = true, .is_wait = true};
        snprintf(event.name, sizeof event.name, "%s%s", MODEL_EVENT_OFF_CPU_PREFIX, words[i]);
        result = sprof_vec_push(list, event);
    }
    return result;
}

void perf_switches_open(struct perf_switches *switches, const struct sampler_options *options)
{
    switches->wanted = options->off_cpu.by_switches;
    switches->threshold = off_cpu_threshold_of(options);
    switches->random = sprof_clock_monotonic_ns() | 1;
}

void perf_switches_release(struct perf_switches *switches)
{
    sprof_map_release(&switches->left);
    sprof_vec_release(&switches->pauses);
}

int perf_switches_pause(struct perf_switches *switches, bool paused, uint64_t now_ns)
{
    if (paused)
        return sprof_vec_push(&switches->pauses, (struct perf_pause){now_ns, UINT64_MAX});
    if (switches->pauses.count)
        switches->pauses.items[switches->pauses.count - 1].end_ns = now_ns;
    return 0;
}

/* Of a span, what lies in no pause. */
static uint64_t counted_ns(const struct perf_switches *switches, uint64_t begin_ns, uint64_t end_ns)
{
    if (end_ns <= begin_ns)
        return 0;
    uint64_t counted = end_ns - begin_ns;
    for (size_t i = switches->pauses.count; i > 0; i--) {
        const struct perf_pause pause = switches->pauses.items[i - 1];
        if (pause.end_ns <= begin_ns)
            break;
        const uint64_t from_ns = pause.begin_ns > begin_ns ? pause.begin_ns : begin_ns;
        const uint64_t to_ns = pause.end_ns < end_ns ? pause.end_ns : end_ns;
        counted -= to_ns > from_ns ? to_ns - from_ns : 0;
    }
    return counted;
}

/* xorshift64 */
static uint32_t random_word(struct perf_switches *switches)
{
    switches->random ^= switches->random << 13;
    switches->random ^= switches->random >> 7;
    switches->random ^= switches->random << 17;
    return (uint32_t)(switches->random >> 32);
}

/* Makes the record a sample of a wait that ends with it. Returns 0, or 1: it is not kept. */
static int make_sample(struct perf_switches *switches, uint64_t begin_ns, bool is_ready,
                       struct model_record *record)
{
    const uint64_t least_ns = switches->start_ns > begin_ns ? switches->start_ns : begin_ns;
    const uint64_t waited_ns = counted_ns(switches, least_ns, record->time_ns);
    const uint64_t threshold_ns = switches->threshold.ns;
    if (!waited_ns || !off_cpu_keep(waited_ns, threshold_ns, random_word(switches)))
        return 1;
    record->type = MODEL_RECORD_SAMPLE;
    record->event = is_ready ? PERF_SWITCHES_READY : PERF_SWITCHES_WAITING;
    record->sample = (struct model_sample){
        .pseudo = is_ready ? MODEL_PSEUDO_READY : MODEL_PSEUDO_WAITING,
        .weight = off_cpu_weigh(waited_ns, waited_ns, threshold_ns),
        .lasted_ns = waited_ns,
        .ended_ns = record->time_ns,
    };
    switches->kept++;
    return 0;
}

/* A thread that was not seen before has waited since the start. */
static int arrive(struct perf_switches *switches, struct model_record *record)
{
    const bool waited_before = !switches->lost && record->tid != switches->command;
    uint64_t *left = sprof_map_at(&switches->left, (uint64_t)record->tid);
    if (!left)
        return SPROF_ENOMEM;
    const uint64_t was = *left ? *left : waited_before ? switches->start_ns << 1 : RUNS;
    *left = RUNS;
    return was == RUNS ? 1 : make_sample(switches, was >> 1, was & 1, record);
}

static int note(struct perf_switches *switches, pid_t tid, uint64_t left)
{
    return sprof_map_put(&switches->left, (uint64_t)tid, left);
}

/* A new thread is ready. What was lost may be a switch of any thread. */
int perf_switches_note(struct perf_switches *switches, struct model_record *record)
{
    switch (record->type) {
    case MODEL_RECORD_FORK: return note(switches, record->tid, record->time_ns << 1 | 1);
    case MODEL_RECORD_EXIT: return note(switches, record->tid, RUNS);
    case MODEL_RECORD_LOST:
        switches->lost = true;
        sprof_map_clear(&switches->left);
        return 0;
    case MODEL_RECORD_SWITCH: break;
    default: return 0;
    }
    if (!record->switches.leaves)
        return arrive(switches, record);
    const int result =
        note(switches, record->tid, record->time_ns << 1 | record->switches.is_ready);
    return result ? result : 1;
}

int perf_switches_end(struct perf_switches *switches, uint64_t cpu_ns, struct model_record *record)
{
    const uint64_t *left = sprof_map_get(&switches->left, (uint64_t)record->tid);
    return cpu_ns && !left ? 1 : arrive(switches, record);
}
