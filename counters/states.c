/* Holds the gaps of a thread, and adds up those between two moments. */
#include "counters/states.h"

enum {
    FEW = 4096,            /* gaps are not joined while they are fewer */
    PART = 1024,           /* joined gaps are at most this part of the time since then */
    YOUNG_NS = 1000000000, /* calls are read so soon after they have ended */
};

static const struct counters_gap none;

static const struct counters_gap *before(const struct counters_states *states, size_t index)
{
    return index ? &states->gaps.items[index - 1] : &none;
}

/* Whether it is one gap, without time on a CPU. */
static bool is_single(const struct counters_gap *gap, const struct counters_gap *earlier)
{
    return gap->waiting_ns - earlier->waiting_ns + gap->ready_ns - earlier->ready_ns ==
           gap->ended_ns - gap->begun_ns;
}

/* Joins neighbours, the older the more. */
static void compact(struct counters_states *states)
{
    struct counters_gap *gaps = states->gaps.items;
    const uint64_t now_ns = gaps[states->gaps.count - 1].ended_ns;
    size_t kept = 1;
    for (size_t i = 1; i < states->gaps.count; i++) {
        struct counters_gap *last = &gaps[kept - 1];
        const uint64_t age_ns = now_ns - last->begun_ns;
        if (age_ns > YOUNG_NS && gaps[i].ended_ns - last->begun_ns < (age_ns - YOUNG_NS) / PART) {
            last->ended_ns = gaps[i].ended_ns;
            last->waiting_ns = gaps[i].waiting_ns;
            last->ready_ns = gaps[i].ready_ns;
        } else {
            gaps[kept++] = gaps[i];
        }
    }
    states->gaps.count = kept;
    states->compact_at = kept < FEW / 2 ? FEW : 2 * kept;
}

int counters_states_add(struct counters_states *states, const struct counters_gap *gap)
{
    const struct counters_gap *last = before(states, states->gaps.count);
    const bool is_anew =
        gap->waiting_ns < states->seen_waiting_ns || gap->ready_ns < states->seen_ready_ns;
    struct counters_gap next = *gap;
    next.waiting_ns = last->waiting_ns + gap->waiting_ns - (is_anew ? 0 : states->seen_waiting_ns);
    next.ready_ns = last->ready_ns + gap->ready_ns - (is_anew ? 0 : states->seen_ready_ns);
    states->seen_waiting_ns = gap->waiting_ns;
    states->seen_ready_ns = gap->ready_ns;
    if (next.ended_ns < next.begun_ns || next.begun_ns < last->ended_ns)
        return 0; /* a clock does not go back */
    if (!is_single(&next, last))
        next.begun_ns = last->ended_ns;
    if (states->gaps.count >= (states->compact_at ? states->compact_at : FEW))
        compact(states);
    return sprof_vec_push(&states->gaps, next) ? SPROF_ENOMEM : 0;
}

/* The first gap that ends behind a moment. */
static size_t gap_behind(const struct counters_states *states, uint64_t ns)
{
    size_t low = 0, high = states->gaps.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (states->gaps.items[middle].ended_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t part_of(uint64_t whole, uint64_t past_ns, uint64_t length_ns)
{
    return (uint64_t)((double)whole * ((double)past_ns / (double)length_ns));
}

/* The sums up to a moment. */
static struct counters_gap sums_at(const struct counters_states *states, uint64_t ns)
{
    const size_t index = gap_behind(states, ns);
    const struct counters_gap *earlier = before(states, index), *gap = earlier;
    if (index == states->gaps.count || states->gaps.items[index].begun_ns >= ns)
        return *earlier;
    gap = &states->gaps.items[index];
    const uint64_t past_ns = ns - gap->begun_ns, length_ns = gap->ended_ns - gap->begun_ns;
    if (is_single(gap, earlier))
        return past_ns > length_ns / 2 ? *gap : *earlier;
    return (struct counters_gap){
        .waiting_ns = earlier->waiting_ns +
                      part_of(gap->waiting_ns - earlier->waiting_ns, past_ns, length_ns),
        .ready_ns =
            earlier->ready_ns + part_of(gap->ready_ns - earlier->ready_ns, past_ns, length_ns)};
}

void counters_states_between(const struct counters_states *states, uint64_t from_ns, uint64_t to_ns,
                             uint64_t *waiting_ns, uint64_t *ready_ns)
{
    const struct counters_gap from = sums_at(states, from_ns),
                              to = sums_at(states, to_ns > from_ns ? to_ns : from_ns);
    *waiting_ns = to.waiting_ns - from.waiting_ns;
    *ready_ns = to.ready_ns - from.ready_ns;
}

void counters_states_limit(uint64_t duration_ns, uint64_t *waiting_ns, uint64_t *ready_ns)
{
    *waiting_ns = *waiting_ns < duration_ns ? *waiting_ns : duration_ns;
    const uint64_t rest_ns = duration_ns - *waiting_ns;
    *ready_ns = *ready_ns < rest_ns ? *ready_ns : rest_ns;
}

/* Whether the sums at a moment are those of whole gaps, or what was lost was lost before. */
static bool is_exact_at(const struct counters_states *states, uint64_t ns, uint64_t lost_ns)
{
    const size_t index = gap_behind(states, ns);
    if (index == states->gaps.count)
        return true;
    const struct counters_gap *gap = &states->gaps.items[index];
    return gap->begun_ns >= ns || gap->begun_ns >= lost_ns || is_single(gap, before(states, index));
}

bool counters_states_are_known(const struct counters_states *states, uint64_t from_ns,
                               uint64_t to_ns, uint64_t lost_ns)
{
    return !lost_ns ||
           ((from_ns >= lost_ns || before(states, states->gaps.count)->ended_ns > lost_ns) &&
            is_exact_at(states, from_ns, lost_ns) && is_exact_at(states, to_ns, lost_ns));
}

void counters_states_release(struct counters_states *states)
{
    sprof_vec_release(&states->gaps);
    *states = (struct counters_states){0};
}
