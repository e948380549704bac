/* What follows from how a source is set up: what it says of itself, and how often its rings are
 * emptied. */
#include "sampler/perf/perf_source.h"

#include <stdio.h>

enum {
    INTERVAL_STACK_NS = 4000000,
    INTERVAL_CAPTURED_NS = 10000000, /* where tails are captured with their samples */
    INTERVAL_PC_NS = 20000000,
    RING_FRACTION = 8, /* of a ring may fill during an interval */
};

static void describe(const struct perf_source *source, char *text, size_t size)
{
    bool in_step = false; /* asked for a rate, but not for a fixed interval */
    for (size_t i = 0; i < source->config.events.count; i++) {
        const struct perf_event *event = &source->config.events.items[i];
        in_step |= event->is_clock && perf_config_frequency(&source->config, event) &&
                   !perf_jitter_varies(source, event);
    }
    const struct perf_filter_bpf *filter = &source->programs.filter;
    char most[64] = "";
    if (source->config.lowered)
        snprintf(most, sizeof most, MODEL_SOURCE_AT_MOST "%llu Hz",
                 (unsigned long long)source->config.frequency_hz);
    snprintf(text, size, "%s%s%s%s%s%s%s%s%s%s%s",
             source->scope == SAMPLER_SCOPE_TASK ? MODEL_SOURCE_PERF_THREADS
                                                 : MODEL_SOURCE_PERF_CPUS,
             source->machine.is_wanted                     ? PERF_MACHINE_SOURCE
             : perf_config_has_tracepoint(&source->config) ? MODEL_SOURCE_TRACEPOINTS
                                                           : "",
             source->scope == SAMPLER_SCOPE_CPU_FILTERED ? MODEL_SOURCE_FILTERED : "",
             filter->refuses_weights ? MODEL_SOURCE_NO_WEIGHTS : "",
             filter->refuses_captures ? MODEL_SOURCE_NO_CAPTURES : "",
             source->programs.missing_why ? MODEL_SOURCE_NO_BPF : "",
             source->programs.missing_why ? source->programs.missing_why : "",
             source->programs.missing_why ? ")" : "", most, in_step ? ", at a fixed interval" : "",
             source->config.clock == SAMPLER_CLOCK_WALL ? MODEL_SOURCE_LOOKS
             : source->switches.wanted                  ? "; waits by context switches"
             : source->config.beside_waits              ? "; waits by BPF"
                                                        : "");
}

void perf_source_state_facts(struct perf_source *source)
{
    struct sampler_facts *facts = &source->facts;
    const struct perf_config *config = &source->config;
    describe(source, facts->source, sizeof facts->source);
    /* Of threads' lives there is no sum to hold samples against. */
    facts->may_miss_threads =
        source->scope == SAMPLER_SCOPE_TASK && config->clock == SAMPLER_CLOCK_CPU;
    facts->weights = SAMPLER_WEIGHTS_EXACT;
    const bool wall = config->clock == SAMPLER_CLOCK_WALL;
    const struct perf_event *first = config->events.items;
    for (size_t i = 0; i < config->events.count; i++)
        if (perf_config_follows(&config->events.items[i])) {
            first = &config->events.items[i];
            break;
        }
    /* Of the wall clock a thread may have more, or fewer. */
    facts->frequency_hz = wall ? 0 : perf_config_frequency(config, first);
    facts->kernel_excluded = config->exclude_kernel;
    facts->stack_bytes = config->stack_bytes;
    facts->stack_bytes_wanted = config->stack_bytes_wanted;
}

uint64_t perf_source_batch_interval_ns(const struct perf_source *source)
{
    const struct perf_config *config = &source->config;
    const uint64_t longest = config->capture == SAMPLER_CAPTURE_PC ? INTERVAL_PC_NS
                             : source->tails.bpf.wake_fd >= 0      ? INTERVAL_CAPTURED_NS
                                                                   : INTERVAL_STACK_NS;
    const uint64_t samples = source->rings.merge.rings.items[source->rings.of_events].size /
                             RING_FRACTION / perf_config_sample_bytes(config, config->stack_bytes);
    const uint64_t fill_ns =
        samples * UINT64_C(1000000000) / perf_config_samples_per_second(config);
    return fill_ns < longest ? fill_ns : longest;
}
