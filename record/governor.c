/* Decides at which rate, and with how much of each stack, a recording costs no more than it may. */
#include "record/governor.h"

static const uint64_t least_target_ns = 100000000; /* before that a decision would be a guess */
static const uint64_t least_hz = 10;
static const double step_down = 4, step_up = 1.5;        /* at most, at once */
static const double near_above = 1.1, near_below = 0.75; /* of what is wanted: left as it is */
static const double stacks_least = 100;                  /* to find out how deep stacks are */
static const double deeper_to_shrink = 1. / 200; /* of the stacks may go on beyond a slice … */
static const double deeper_to_stay = 1. / 100;   /* … that is chosen, or that there is */
static const double saving_least = 0.05; /* of what samples cost: for less it is left alone */
static const size_t least_slice = 4 << 10;

/* An estimate, from one machine: measured there by the gaps in a target's own clock, with and
 * without profiler, 15 µs a sample of addresses, 16 with 8 KiB of stack, 24 with 64 KiB; the
 * agent's signals 8 µs and 11. */
double record_governor_samples_ns(bool is_agent, uint64_t samples, uint64_t stack_bytes)
{
    const double kib = (double)stack_bytes / 1024, count = (double)samples;
    return is_agent ? count * 8000 + kib * 47 : count * 15000 + kib * 140;
}

/* == Where it has been == */

static void note(struct record_governor *governor, struct record_choice choice)
{
    if (choice.hz < governor->lowest_hz)
        governor->lowest_hz = choice.hz;
    if (choice.hz > governor->highest_hz)
        governor->highest_hz = choice.hz;
    if (choice.slice && (!governor->least_slice || choice.slice < governor->least_slice))
        governor->least_slice = choice.slice;
}

void record_governor_begin(struct record_governor *governor, double most, bool is_agent,
                           struct record_choice asked)
{
    *governor = (struct record_governor){
        .most = most, .is_agent = is_agent, .asked = asked, .lowest_hz = asked.hz};
    note(governor, asked);
}

void record_governor_ask(struct record_governor *governor, struct record_choice asked)
{
    governor->asked = asked;
    note(governor, asked);
}

static double samples_ns(const struct record_governor *governor, const struct record_use *use)
{
    return record_governor_samples_ns(governor->is_agent, use->samples - governor->decided.samples,
                                      use->stack_bytes - governor->decided.stack_bytes);
}

static double cost_ns(const struct record_governor *governor, const struct record_use *use)
{
    return (double)(use->own_ns - governor->decided.own_ns) + samples_ns(governor, use);
}

double record_governor_share(const struct record_governor *governor, const struct record_use *use)
{
    const double before_ns = (double)governor->decided.own_ns + governor->total_ns;
    return use->target_ns ? (before_ns + cost_ns(governor, use)) / (double)use->target_ns : 0;
}

/* == The slice == */

void record_governor_note_stack(struct record_governor *governor, uint64_t used_bytes)
{
    size_t depth = used_bytes ? 0 : RECORD_DEPTHS;
    while (depth < RECORD_DEPTHS && UINT64_C(1024) << depth < used_bytes)
        depth++;
    governor->depths[depth]++;
}

static double stack_count(const struct record_governor *governor)
{
    double count = 0;
    for (size_t i = 0; i <= RECORD_DEPTHS; i++)
        count += governor->depths[i];
    return count;
}

/* The least slice beyond which no more than a share of the stacks of late went on. */
static size_t needed_slice(const struct record_governor *governor, double deeper)
{
    const double most = stack_count(governor) * deeper;
    size_t depth = RECORD_DEPTHS;
    double beyond = governor->depths[depth];
    while (depth && beyond <= most)
        beyond += governor->depths[--depth];
    const size_t bytes = (size_t)1024 << depth;
    return bytes < least_slice ? least_slice : bytes;
}

/* Stacks seen before count half as much after each decision that they were enough for. */
static void grow_old(struct record_governor *governor)
{
    const bool enough = stack_count(governor) >= stacks_least;
    for (size_t i = 0; i <= RECORD_DEPTHS && enough; i++)
        governor->depths[i] /= 2;
}

/* Bytes that the samples since the last decision would not have carried. */
static uint64_t saved_bytes(const struct record_governor *governor, const struct record_use *use,
                            size_t slice)
{
    const uint64_t bytes = use->stack_bytes - governor->decided.stack_bytes;
    const uint64_t left = (use->samples - governor->decided.samples) * slice;
    return bytes > left ? bytes - left : 0;
}

/* Whole stacks come first: the slice is as long as stacks need, and shorter than what was asked for
 * only where that spares samples. */
static size_t slice_for(const struct record_governor *governor, const struct record_use *use,
                        bool is_costly, size_t slice)
{
    if (!slice || stack_count(governor) < stacks_least)
        return slice;
    const size_t grown = needed_slice(governor, deeper_to_stay), most = governor->asked.slice;
    if (grown > slice)
        return grown < most ? grown : most;
    const size_t needed = needed_slice(governor, deeper_to_shrink);
    if (needed >= slice)
        return slice;
    const double saved_ns =
        record_governor_samples_ns(governor->is_agent, 0, saved_bytes(governor, use, needed));
    return is_costly && saved_ns >= saving_least * samples_ns(governor, use) ? needed : slice;
}

/* == The rate == */

static uint64_t rate_for(const struct record_governor *governor, double share, uint64_t hz)
{
    if (share <= governor->most * near_above && share >= governor->most * near_below)
        return hz;
    double factor = share > 0 ? governor->most / share : step_up;
    factor = factor < 1 / step_down ? 1 / step_down : factor > step_up ? step_up : factor;
    uint64_t wanted = (uint64_t)((double)hz * factor + 0.5);
    if (wanted < least_hz)
        wanted = least_hz;
    return wanted < governor->asked.hz ? wanted : governor->asked.hz;
}

struct record_choice record_governor_decide(struct record_governor *governor,
                                            const struct record_use *use, struct record_choice now)
{
    const uint64_t target_ns = use->target_ns - governor->decided.target_ns;
    if (governor->most <= 0 || use->target_ns < governor->decided.target_ns ||
        target_ns < least_target_ns)
        return now;
    const double share = cost_ns(governor, use) / (double)target_ns;
    /* Costly also where the rate is kept low, which it need not be. */
    const bool is_costly = share > governor->most * near_above || now.hz < governor->asked.hz;
    struct record_choice chosen = now;
    chosen.slice = slice_for(governor, use, is_costly, now.slice);
    if (chosen.slice == now.slice)
        chosen.hz = rate_for(governor, share, now.hz);
    governor->total_ns += samples_ns(governor, use);
    governor->decided = *use;
    grow_old(governor);
    note(governor, chosen);
    return chosen;
}
