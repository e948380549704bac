/* Decides which function makes a program slow: the decision tree of docs/design/why.md. */
#include "why/parts.h"

#include <math.h>

/* Shares of useful time. */
static const double least_share = 0.08;  /* what a name must have beyond doubt */
static const double times_second = 2;    /* … and times the next */
static const double large_share = 0.25;  /* from here on two may be as large as each other */
static const double least_next = 0.01;   /* of one that comes next: less may be shown as 0 % */
static const double starved_share = 0.3; /* ready, of the time in which a CPU is wanted */
static const double idle_share = 0.03;   /* useful, of the wall time */
static const double idle_most = 0.5;     /* idle, of what was seen: else too little was */
static const double flat_half = 0.08;    /* "no function has more" needs an interval so small */
static const double burst_ratio = 3;     /* variance over that of independent samples */

static const double unseen_most = 0.5; /* of the run without work, where only work is seen */

/* Independent samples with which 8 % can be distinguished from 20 %. */
enum { ENOUGH_SAMPLES = 300, LEAST_SAMPLES = 24 };

/* … of slow calls, nearly all of whose time is one function's. */
enum { LEAST_OF_CALLS = 6 };
enum { LONGEST_LOOK_S = 600 };

static void sum_up(struct why_verdict *verdict, const struct why_table *table)
{
    uint64_t causes[WHY_CAUSES] = {0};
    for (size_t i = 0; i < table->samples.count; i++) {
        const struct why_sample *sample = &table->samples.items[i];
        verdict->all_ns += sample->weight_ns;
        if (sample->cause == WHY_READY && !(table->by_calls && sample->is_idle))
            verdict->ready_ns += sample->weight_ns;
        else if (sample->is_idle)
            verdict->idle_ns += sample->weight_ns;
        else {
            verdict->useful_ns += sample->weight_ns;
            causes[sample->cause] += sample->weight_ns;
        }
    }
    for (size_t i = 0; i < WHY_CAUSES && verdict->useful_ns; i++)
        verdict->causes[i] = (double)causes[i] / (double)verdict->useful_ns;
    if (verdict->ready_ns)
        verdict->ready_share =
            (double)verdict->ready_ns / (double)(verdict->ready_ns + verdict->useful_ns);
}

/* Where its threads wait for work: the function and wait with the most idle time. */
static int describe_idle(struct why_verdict *verdict, const struct why_table *table)
{
    struct sprof_map sums = {0};
    uint64_t most = 0;
    verdict->answer = WHY_IDLE;
    for (size_t i = 0; i < table->samples.count; i++) {
        const struct why_sample *sample = &table->samples.items[i];
        const uint32_t owner = why_owner(table, sample);
        if (!sample->is_idle)
            continue;
        uint64_t *sum =
            sprof_map_at(&sums, (uint64_t)owner << 32 | (uint64_t)why_kind(sample->cause));
        if (!sum) {
            sprof_map_release(&sums);
            return SPROF_ENOMEM;
        }
        *sum += sample->weight_ns;
        if (*sum > most) {
            most = *sum;
            verdict->function = owner;
            verdict->kind = verdict->cause = why_kind(sample->cause);
        }
    }
    sprof_map_release(&sums);
    return why_describe(verdict, table);
}

/* Takes the waiter of a lock instead of what holds it, and of a wait that is nearly as large. */
static int prefer_lock(const struct why_table *table, const struct why_candidates *candidates,
                       struct why_candidate *chosen, struct why_holder *holder)
{
    const struct why_candidate *lock = NULL;
    for (size_t i = 0; i < candidates->list.count && !lock; i++)
        if (candidates->list.items[i].cause == WHY_LOCK &&
            candidates->list.items[i].share >= least_share)
            lock = &candidates->list.items[i];
    if (!lock)
        return 0;
    struct why_holder found;
    const int result = why_find_holder(table, lock->function, chosen->function, &found);
    const bool is_first = lock == candidates->list.items;
    if (!result && (is_first || (found.function && (found.function == chosen->function ||
                                                    lock->share >= 0.5 * chosen->share)))) {
        *chosen = *lock;
        *holder = found;
    }
    return result;
}

static bool is_below(const struct why_table *table, const struct why_sample *sample,
                     uint32_t function)
{
    const struct why_stack *stack = &table->stacks.items[sample->stack];
    for (size_t i = 0; i < stack->depth; i++)
        if (table->frames.items[stack->first + i].function == function)
            return true;
    return false;
}

/* Whether most of a candidate's time is spent below a function. */
static bool is_work_of(const struct why_table *table, const struct why_candidate *candidate,
                       uint32_t function)
{
    uint64_t below_ns = 0;
    for (size_t i = 0; i < table->samples.count; i++) {
        const struct why_sample *sample = &table->samples.items[i];
        if (why_is_useful(sample) && why_owner(table, sample) == candidate->function &&
            why_kind(sample->cause) == candidate->cause && is_below(table, sample, function))
            below_ns += sample->weight_ns;
    }
    return below_ns * 2 > candidate->weight_ns;
}

/* The share of the largest candidate of another function. The work of a lock's holder is no other:
 * it is what the lock is waited for. */
static double second_share(const struct why_table *table, const struct why_candidates *candidates,
                           const struct why_verdict *verdict)
{
    for (size_t i = 0; i < candidates->list.count; i++) {
        const struct why_candidate *other = &candidates->list.items[i];
        if (other->function != verdict->function &&
            !(verdict->holder.function && is_work_of(table, other, verdict->holder.function)))
            return other->share;
    }
    return 0;
}

static void take_next(struct why_verdict *verdict, const struct why_candidates *candidates)
{
    for (size_t i = 0; i < candidates->list.count && verdict->next_count < WHY_NEXT; i++) {
        const struct why_candidate *other = &candidates->list.items[i];
        if (other->share < least_next)
            break;
        if (verdict->answer != WHY_FUNCTION || other->function != verdict->function ||
            other->cause != verdict->kind)
            verdict->next[verdict->next_count++] = *other;
    }
}

static bool is_clear(const struct why_verdict *verdict, const struct why_table *table)
{
    const struct why_share *share = &verdict->share;
    return share->samples >= (table->by_calls ? LEAST_OF_CALLS : LEAST_SAMPLES) &&
           share->share - share->half >= least_share &&
           (share->share >= times_second * verdict->second || share->share >= large_share);
}

static bool is_in_bursts(const struct why_verdict *verdict)
{
    const struct why_share *share = &verdict->share;
    const double ratio = share->half / share->binomial;
    return share->samples >= LEAST_SAMPLES && share->share - share->binomial >= least_share &&
           share->share >= times_second * verdict->second && ratio * ratio > burst_ratio;
}

static enum why_certainty certainty_of(const struct why_verdict *verdict)
{
    const double least = verdict->share.share - verdict->share.half;
    if (least > 2 * verdict->second)
        return WHY_SURE;
    return least > verdict->second ? WHY_LIKELY : WHY_ONE_OF_TWO;
}

/* No function stands out, or there is too little to say so. */
static int conclude_without(struct why_verdict *verdict, const struct why_table *table)
{
    const bool is_exact = verdict->share.half <= flat_half &&
                          verdict->share.share + verdict->share.half < large_share;
    verdict->answer = is_exact                                                   ? WHY_FLAT
                      : verdict->ready_share > starved_share && !table->by_calls ? WHY_STARVED
                      : verdict->useful_samples < ENOUGH_SAMPLES                 ? WHY_TOO_FEW
                                                                                 : WHY_FLAT;
    const double more =
        verdict->useful_samples > 1 ? ENOUGH_SAMPLES / verdict->useful_samples : LONGEST_LOOK_S;
    const double look_s = ceil((double)table->duration_ns / 1e9 * (more > 2 ? more : 2));
    verdict->look_ns = (uint64_t)(look_s < LONGEST_LOOK_S ? look_s : LONGEST_LOOK_S) * 1000000000;
    const struct why_candidate largest = {
        .function = verdict->function,
        .cause = verdict->kind,
        .weight_ns = (uint64_t)(verdict->share.share * (double)verdict->useful_ns)};
    const int result = why_find_below(verdict, table);
    verdict->is_below = !result && verdict->below && is_work_of(table, &largest, verdict->below);
    return result;
}

static int try_one_thread(struct why_verdict *verdict, const struct why_table *table)
{
    struct why_outlier found;
    int result = why_find_outlier(table, &found);
    if (result || !found.function)
        return result;
    verdict->answer = WHY_FUNCTION;
    verdict->function = found.function;
    verdict->kind = found.kind;
    verdict->only_thread = true;
    verdict->thread = found.thread;
    verdict->threads_alike = found.alike;
    verdict->thread_share = found.share;
    verdict->alike_share = found.others;
    verdict->certainty =
        found.share.share - found.share.half > 2 * least_share ? WHY_SURE : WHY_LIKELY;
    why_share_of(table, &(struct why_picking){found.function, found.kind, UINT32_MAX, 0},
                 &verdict->share);
    return 0;
}

static int conclude(struct why_verdict *verdict, const struct why_table *table,
                    const struct why_candidates *candidates)
{
    struct why_candidate chosen = candidates->list.items[0];
    int result = prefer_lock(table, candidates, &chosen, &verdict->holder);
    if (result)
        return result;
    verdict->function = chosen.function;
    verdict->kind = verdict->cause = chosen.cause;
    why_share_of(table, &(struct why_picking){chosen.function, chosen.cause, UINT32_MAX, 0},
                 &verdict->share);
    verdict->useful_samples = verdict->share.samples;
    verdict->second = second_share(table, candidates, verdict);
    verdict->certainty = certainty_of(verdict);
    if (is_clear(verdict, table))
        verdict->answer = WHY_FUNCTION;
    else if (!table->by_calls && is_in_bursts(verdict)) {
        verdict->answer = WHY_FUNCTION;
        verdict->in_bursts = true;
        verdict->certainty = WHY_LIKELY;
    } else if (!table->by_calls)
        result = try_one_thread(verdict, table);
    if (!result && verdict->answer == WHY_FUNCTION)
        return why_describe(verdict, table);
    return result ? result : conclude_without(verdict, table);
}

/* The share of the largest candidate but for these two functions. */
static double share_beside(const struct why_candidates *candidates, uint32_t function,
                           uint32_t caller)
{
    for (size_t i = 0; i < candidates->list.count; i++) {
        const struct why_candidate *other = &candidates->list.items[i];
        if (other->function != function && other->function != caller)
            return other->share;
    }
    return 0;
}

int why_judge_pair(struct why_verdict *verdict, const struct why_table *table, uint32_t function,
                   uint32_t caller)
{
    struct why_candidates candidates = {0};
    struct why_verdict pair = {0};
    int result = why_rank(table, UINT32_MAX, &candidates);
    if (result)
        goto done;
    why_share_of(table, &(struct why_picking){function, WHY_COMPUTES, UINT32_MAX, caller},
                 &pair.share);
    pair.second = share_beside(&candidates, function, caller);
    if (!is_clear(&pair, table))
        goto done;
    verdict->answer = WHY_FUNCTION;
    verdict->function = function;
    verdict->kind = verdict->cause = WHY_COMPUTES;
    verdict->share = pair.share;
    verdict->second = pair.second;
    verdict->certainty = certainty_of(&pair);
    verdict->below = 0;
    verdict->way.count = verdict->next_count = 0;
    take_next(verdict, &candidates);
    result = why_describe(verdict, table);
done:
    sprof_vec_release(&candidates.list);
    return result;
}

static bool is_idle(const struct why_verdict *verdict, const struct why_table *table)
{
    const double wall = (double)(table->duration_ns ? table->duration_ns : 1);
    return (double)verdict->useful_ns < idle_share * wall &&
           (double)verdict->ready_ns < starved_share * wall &&
           (double)verdict->idle_ns > idle_most * (double)verdict->all_ns;
}

/* The part of the run in which no thread can have computed; 0 where waits are in the table. */
static double unseen_share(const struct why_verdict *verdict, const struct why_table *table)
{
    if (table->sight != WHY_SEES_CPU || table->by_calls || !table->duration_ns ||
        verdict->useful_ns > table->duration_ns)
        return 0;
    return 1 - (double)verdict->useful_ns / (double)table->duration_ns;
}

int why_judge(struct why_verdict *verdict, struct why_table *table)
{
    struct why_candidates candidates = {0};
    *verdict = (struct why_verdict){.answer = WHY_NOTHING_SEEN};
    if (!table->samples.count)
        return 0;
    int result = table->by_calls ? 0 : why_mark_idle(table);
    if (result)
        return result;
    sum_up(verdict, table);
    if (!table->by_calls && is_idle(verdict, table))
        return describe_idle(verdict, table);
    if (!verdict->useful_ns) {
        verdict->answer = verdict->ready_ns ? WHY_STARVED : WHY_TOO_FEW;
        return 0;
    }
    result = why_rank(table, UINT32_MAX, &candidates);
    if (!result)
        result = conclude(verdict, table, &candidates);
    if (unseen_share(verdict, table) > unseen_most) {
        verdict->answer = WHY_UNSEEN;
        verdict->unseen = unseen_share(verdict, table);
    }
    if (!result)
        take_next(verdict, &candidates);
    sprof_vec_release(&candidates.list);
    return result;
}

void why_verdict_release(struct why_verdict *verdict)
{
    sprof_vec_release(&verdict->way);
    *verdict = (struct why_verdict){0};
}
