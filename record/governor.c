/* Decides at which rate a recording costs no more than it may. */
#include "record/governor.h"

static const uint64_t least_target_ns = 100000000; /* before that a decision would be a guess */
static const uint64_t least_hz = 10;
static const double step_down = 4, step_up = 1.5;        /* at most, at once */
static const double near_above = 1.1, near_below = 0.75; /* of what is wanted: left as it is */

/* Measured by the gaps in a target's own clock, with and without profiler: 15 µs a sample of
 * addresses, 16 with 8 KiB of stack, 24 with 64 KiB; the agent's signals 8 µs and 11. */
uint64_t record_governor_sample_ns(bool is_agent, size_t stack_bytes)
{
    const uint64_t kib = stack_bytes / 1024;
    return is_agent ? 8000 + kib * 47 : 15000 + kib * 140;
}

void record_governor_begin(struct record_governor *governor, double most, uint64_t asked_hz)
{
    *governor = (struct record_governor){
        .most = most, .asked_hz = asked_hz, .lowest_hz = asked_hz, .highest_hz = asked_hz};
}

void record_governor_ask(struct record_governor *governor, uint64_t asked_hz)
{
    governor->asked_hz = asked_hz;
    if (asked_hz < governor->lowest_hz)
        governor->lowest_hz = asked_hz;
    if (asked_hz > governor->highest_hz)
        governor->highest_hz = asked_hz;
}

static double cost_ns(const struct record_governor *governor, const struct record_use *use,
                      uint64_t sample_ns)
{
    const double own_ns = (double)(use->own_ns - governor->decided.own_ns);
    return own_ns + (double)(use->samples - governor->decided.samples) * (double)sample_ns;
}

double record_governor_share(const struct record_governor *governor, const struct record_use *use,
                             uint64_t sample_ns)
{
    const double before_ns = (double)governor->decided.own_ns + governor->total_ns;
    return use->target_ns ? (before_ns + cost_ns(governor, use, sample_ns)) / (double)use->target_ns
                          : 0;
}

static uint64_t rate_for(const struct record_governor *governor, double share, uint64_t hz)
{
    if (share <= governor->most * near_above && share >= governor->most * near_below)
        return hz;
    double factor = share > 0 ? governor->most / share : step_up;
    factor = factor < 1 / step_down ? 1 / step_down : factor > step_up ? step_up : factor;
    uint64_t wanted = (uint64_t)((double)hz * factor + 0.5);
    if (wanted < least_hz)
        wanted = least_hz;
    return wanted < governor->asked_hz ? wanted : governor->asked_hz;
}

uint64_t record_governor_decide(struct record_governor *governor, const struct record_use *use,
                                uint64_t sample_ns, uint64_t hz)
{
    const uint64_t target_ns = use->target_ns - governor->decided.target_ns;
    if (!governor->most || use->target_ns < governor->decided.target_ns ||
        target_ns < least_target_ns)
        return hz;
    const double share = cost_ns(governor, use, sample_ns) / (double)target_ns;
    const uint64_t wanted = rate_for(governor, share, hz);
    governor->total_ns += (double)(use->samples - governor->decided.samples) * (double)sample_ns;
    governor->decided = *use;
    if (wanted < governor->lowest_hz)
        governor->lowest_hz = wanted;
    if (wanted > governor->highest_hz)
        governor->highest_hz = wanted;
    return wanted;
}
