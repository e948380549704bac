/* Works out the weights of samples of clock events whose periods change. */
#include "sampler/perf/clock_period.h"

#include <math.h>

void perf_clock_start(struct perf_clock *clock, uint64_t now_ns, uint64_t period_ns)
{
    *clock = (struct perf_clock){.mirrored = clock->mirrored,
                                 .weighed = clock->weighed,
                                 .period_ns = period_ns,
                                 .anchor_ns = now_ns,
                                 .fired_ns = now_ns,
                                 .at_change = true,
                                 .newest_period_ns = period_ns};
}

bool perf_clock_has_room(const struct perf_clock *clock)
{
    return clock->count < PERF_CLOCK_CHANGES_MAX;
}

void perf_clock_change(struct perf_clock *clock, uint64_t before_ns, uint64_t after_ns,
                       uint64_t period_ns)
{
    if (!perf_clock_has_room(clock))
        return;
    clock->changes[(clock->first + clock->count++) % PERF_CLOCK_CHANGES_MAX] =
        (struct perf_clock_change){before_ns, after_ns, period_ns};
    clock->newest_period_ns = period_ns;
    clock->delivered = false;
}

/* The timer may have fired, for another thread, between the anchor and the change. */
static void pass_change(struct perf_clock *clock, const struct perf_clock_change *change)
{
    const uint64_t ran_ns =
        change->before_ns > clock->anchor_ns ? change->before_ns - clock->anchor_ns : 0;
    const uint64_t fired = clock->period_ns ? ran_ns / clock->period_ns : 0;
    if (fired)
        clock->fired_ns = clock->anchor_ns + fired * clock->period_ns;
    if (!clock->period_ns) /* it was paused: what is to be weighed begins here */
        clock->fired_ns = change->after_ns;
    clock->anchor_ns = change->after_ns;
    clock->period_ns = change->period_ns;
    clock->at_change = true;
}

void perf_clock_settle(struct perf_clock *clock, uint64_t time_ns)
{
    while (clock->count && time_ns >= clock->changes[clock->first].after_ns) {
        pass_change(clock, &clock->changes[clock->first]);
        clock->first = (clock->first + 1) % PERF_CLOCK_CHANGES_MAX;
        clock->count--;
    }
}

uint64_t perf_clock_weigh(struct perf_clock *clock, uint64_t time_ns)
{
    perf_clock_settle(clock, time_ns);
    const uint64_t period_ns = clock->period_ns ? clock->period_ns : clock->newest_period_ns;
    const uint64_t since_ns = time_ns > clock->anchor_ns ? time_ns - clock->anchor_ns : 0;
    const bool is_first = clock->at_change && since_ns < period_ns + period_ns / 2;
    const uint64_t weight_ns =
        is_first && time_ns > clock->fired_ns ? time_ns - clock->fired_ns : period_ns;
    clock->anchor_ns = clock->fired_ns = time_ns;
    clock->at_change = false;
    clock->delivered = true;
    return weight_ns;
}

/* Marsaglia, "Xorshift RNGs" (2003), with the triple 13, 7, 17. */
static uint64_t random_word(uint64_t *state)
{
    uint64_t word = *state;
    word ^= word << 13;
    word ^= word >> 7;
    word ^= word << 17;
    return *state = word;
}

uint64_t perf_clock_jitter(struct perf_clock *clock, uint64_t mean_ns, uint64_t *state)
{
    const uint64_t shortest = mean_ns * 7 / 10, longest = mean_ns * 13 / 10;
    const double squares = (double)shortest * (double)shortest + (double)longest * (double)longest;
    const double mirrored = (double)clock->mirrored;
    if (clock->mirrored >= shortest && clock->mirrored <= longest) {
        /* The quantiles add up to one: so do the squares, for a density that grows linearly. */
        clock->mirrored = 0;
        return (uint64_t)sqrt(squares - mirrored * mirrored);
    }
    do /* a period is taken with a probability that is its part of the longest */
        clock->mirrored = longest - random_word(state) % (longest - shortest + 1);
    while (random_word(state) % longest >= clock->mirrored);
    return clock->mirrored;
}
