/* Decides how to wait for the records of rings. */
#include "sampler/perf/wait_plan.h"

struct perf_wait_plan perf_wait_plan(const struct perf_wait_state *state, uint64_t now_ns)
{
    const bool deep = now_ns < state->deep_until_ns;
    /* Each record must be looked at as it comes: what follows its slice is changing already. */
    const bool listens =
        deep && !state->rings_unpollable && state->samples_per_second <= PERF_LISTEN_HZ_MAX;
    if (state->active && !listens) {
        const bool hurries = deep && state->batch_interval_ns > PERF_BATCH_DEEP_NS;
        const uint64_t pause_ns = hurries ? PERF_BATCH_DEEP_NS : state->batch_interval_ns;
        return (struct perf_wait_plan){.deadline_ns = now_ns + pause_ns};
    }
    if (state->has_record) {
        const uint64_t patience_ns = listens ? 2 * PERF_BATCH_DEEP_NS : PERF_SLACK_NS;
        return (struct perf_wait_plan){.polls_rings = listens,
                                       .deadline_ns = state->first_ns + patience_ns};
    }
    if (state->rings_unpollable)
        return (struct perf_wait_plan){.deadline_ns = now_ns + state->batch_interval_ns};
    return (struct perf_wait_plan){.polls_rings = true, .deadline_ns = UINT64_MAX};
}
