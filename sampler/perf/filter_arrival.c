/* Puts the BPF programs on the events of a command that was let go while they were loaded. */
#include "sampler/perf/bpf_refusal.h"
#include "sampler/perf/perf_source.h"

static int attach_all(struct perf_source *source)
{
    for (size_t i = 0; i < source->events.count; i++) {
        const int result =
            perf_filter_bpf_attach(&source->programs.filter, source->events.items[i]);
        if (result)
            return result;
    }
    return 0;
}

int perf_filter_arrival_take(struct perf_source *source)
{
    if (!source->programs.come)
        return 0;
    source->programs.come = false;
    const struct perf_filter_bpf_tails tails = perf_stack_tail_wanted(source);
    int result =
        perf_filter_loading_end(&source->programs.loading, &tails, &source->programs.filter);
    perf_early_copies_lock(&source->programs.early_copies);
    const int failed = result ? 0 : perf_attach_filter_later(source);
    perf_early_copies_unlock(&source->programs.early_copies);
    if (!result && !failed)
        result = attach_all(source);
    perf_early_copies_end(source);
    if (failed)
        return failed;
    if (result) { /* sprof goes on filtering, also where some events have the program */
        source->programs.missing_why = perf_bpf_reason(result);
        source->scope = SAMPLER_SCOPE_CPU;
    } else {
        source->programs.filtered_from_ns = sprof_clock_monotonic_ns();
    }
    perf_stack_tail_begin_anew(source);
    source->batch.interval_ns = perf_source_batch_interval_ns(source);
    perf_source_state_facts(source);
    return 0;
}

void perf_filter_arrival_give_up(struct perf_source *source)
{
    if (source->programs.come)
        perf_filter_loading_give_up(&source->programs.loading);
    perf_early_copies_end(source);
    source->programs.come = false;
}
