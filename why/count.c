/* Joins a verdict with counts of calls: samples name the function in which the time is, but a small
 * one that is called very often is no fault of its own. */
#include "why/parts.h"

/* A call of so many others is more than a loop's ordinary fan-out, … */
static const double many_calls = 30;
/* … where each of them is short. */
static const double short_ns = 20000;

/* A call that takes more of what a slow call takes beyond others is none of many. */
static const double most_of_excess = 0.2;

/* What a small function takes by itself that is named beside the loop that calls it. */
static const double least_share = 0.08;

enum { WAY = 6 };

static bool is_listed(const uint32_t *functions, size_t count, uint32_t function)
{
    for (size_t i = 0; i < count; i++)
        if (functions[i] == function)
            return true;
    return false;
}

/* What is inlined has no entry, and so no probe. */
static size_t list(const struct why_table *table, uint32_t *functions, size_t count,
                   uint32_t function)
{
    if (!function || table->functions.items[function].is_inlined ||
        is_listed(functions, count, function))
        return count;
    functions[count] = function;
    return count + 1;
}

size_t why_to_count(const struct why_table *table, const struct why_verdict *verdict,
                    uint32_t *functions)
{
    size_t count = 0;
    if (verdict->answer == WHY_FUNCTION) {
        for (size_t i = verdict->way.count; i > 0 && count < WAY; i--)
            count = list(table, functions, count, verdict->way.items[i - 1]);
        for (size_t i = 0; i < WHY_CALLERS; i++)
            count = list(table, functions, count, verdict->callers[i]);
    } else
        count = list(table, functions, count, verdict->function);
    for (size_t i = 0; i < verdict->next_count; i++)
        if (verdict->next[i].cause == WHY_COMPUTES)
            count = list(table, functions, count, verdict->next[i].function);
    return count;
}

static const struct why_called *called(const struct why_counts *counts, uint32_t function)
{
    for (size_t i = 0; i < counts->functions.count; i++)
        if (counts->functions.items[i].function == function && counts->functions.items[i].calls)
            return &counts->functions.items[i];
    return NULL;
}

static double mean_ns(const struct why_called *of)
{
    return (double)of->total_ns / (double)of->calls;
}

static void set_rate(struct why_verdict *verdict, const struct why_counts *counts)
{
    const struct why_called *of = called(counts, verdict->function);
    uint64_t most = 0;
    if (!of || !counts->look_ns)
        return;
    verdict->rate.per_second = (double)of->calls * 1e9 / (double)counts->look_ns;
    verdict->rate.mean_ns = mean_ns(of);
    for (size_t i = 0; i < counts->edges.count; i++) {
        const struct why_edge *edge = &counts->edges.items[i];
        if (edge->callee != verdict->function || edge->calls <= most)
            continue;
        most = edge->calls;
        verdict->rate.by = edge->caller;
        verdict->rate.by_share = (double)edge->calls / (double)of->calls;
    }
}

/* How often a call of the caller calls so short a function; 0: it does not, or for long. A caller
 * that has not returned all the while counts as one call. */
static double calls_in_each(const struct why_counts *counts, const struct why_edge *edge)
{
    const struct why_called *outer = called(counts, edge->caller);
    const struct why_called *inner = called(counts, edge->callee);
    if (!inner || mean_ns(inner) >= short_ns)
        return 0;
    return (double)edge->calls / (double)(outer ? outer->calls : 1);
}

static void set_many(struct why_verdict *verdict, const struct why_counts *counts,
                     const struct why_edge *edge)
{
    const double each = calls_in_each(counts, edge);
    if (each >= many_calls && each > verdict->many.each)
        verdict->many = (struct why_many){edge->caller, edge->callee, each,
                                          mean_ns(called(counts, edge->callee)), false};
}

static const struct why_edge *edge_of(const struct why_counts *counts, uint32_t caller,
                                      uint32_t callee)
{
    for (size_t i = 0; i < counts->edges.count; i++)
        if (counts->edges.items[i].caller == caller && counts->edges.items[i].callee == callee)
            return &counts->edges.items[i];
    return NULL;
}

/* Goes from the function outwards until a call takes longer. */
static void follow_way(struct why_verdict *verdict, const struct why_counts *counts)
{
    for (size_t i = verdict->way.count; i > 1; i--) {
        const uint32_t caller = verdict->way.items[i - 2], callee = verdict->way.items[i - 1];
        const struct why_edge *edge = edge_of(counts, caller, callee);
        if (edge && calls_in_each(counts, edge) <= 0)
            return;
        if (edge)
            set_many(verdict, counts, edge);
    }
}

/* Whether a function is among those that come next, and takes some time by itself. */
static bool is_next(const struct why_verdict *verdict, uint32_t function)
{
    for (size_t i = 0; i < verdict->next_count; i++)
        if (verdict->next[i].function == function && verdict->next[i].share >= least_share)
            return true;
    return false;
}

/* A loop and the small one that it calls all the time are one thing: where no function is clear, or
 * it is the loop that is. */
static int try_pairs(struct why_verdict *verdict, const struct why_table *table,
                     const struct why_counts *counts)
{
    const uint32_t named = verdict->answer == WHY_FUNCTION ? verdict->function : 0;
    int result = 0;
    for (size_t i = 0; i < counts->edges.count && !result && !verdict->many.caller; i++) {
        const struct why_edge *edge = &counts->edges.items[i];
        if (edge->caller == edge->callee || calls_in_each(counts, edge) < many_calls ||
            (named && (edge->caller != named || !is_next(verdict, edge->callee))))
            continue;
        result = why_judge_pair(verdict, table, edge->callee, edge->caller);
        if (verdict->answer != WHY_FUNCTION || verdict->function != edge->callee)
            continue;
        set_many(verdict, counts, edge);
        verdict->many.is_pair = true;
    }
    return result;
}

/* The share of a function that computes, of a verdict that names it or has it next; 0: neither. */
static double share_in(const struct why_verdict *verdict, uint32_t function)
{
    if (function == verdict->function)
        return verdict->kind == WHY_COMPUTES ? verdict->share.share : 0;
    for (size_t i = 0; i < verdict->next_count; i++)
        if (verdict->next[i].function == function && verdict->next[i].cause == WHY_COMPUTES)
            return verdict->next[i].share;
    return 0;
}

/* The calls in a slow call, by the time that these take, for counts are of all calls alike; 0: they
 * are not many, or one long call is most of that time. */
static double calls_in_slow(const struct why_verdict *verdict, const struct why_counts *counts,
                            const struct why_edge *edge)
{
    const struct why_called *of = called(counts, edge->callee);
    const double excess_ns =
        share_in(verdict, edge->callee) * (verdict->slow.slow_ns - verdict->slow.usual_ns);
    if (!of || edge->caller == edge->callee || mean_ns(of) >= short_ns ||
        (double)of->long_ns > most_of_excess * excess_ns || excess_ns < many_calls * mean_ns(of))
        return 0;
    return excess_ns / mean_ns(of);
}

/* A call of the loop may last longer than the count, which then has no edge of it. Samples show the
 * caller of the small function in slow calls. */
static void take_sampled_caller(struct why_verdict *verdict, const struct why_counts *counts)
{
    const struct why_edge edge = {verdict->callers[0], verdict->function, 0};
    const double each =
        verdict->many.caller || !edge.caller ? 0 : calls_in_slow(verdict, counts, &edge);
    if (each > 0)
        verdict->many = (struct why_many){edge.caller, edge.callee, each,
                                          mean_ns(called(counts, edge.callee)), false};
}

/* The small function is named, or the loop that calls it. */
static int count_slow(struct why_verdict *verdict, const struct why_table *table,
                      const struct why_counts *counts)
{
    uint64_t most = 0;
    for (size_t i = 0; i < counts->edges.count; i++) {
        const struct why_edge *edge = &counts->edges.items[i];
        const double each = calls_in_slow(verdict, counts, edge);
        const bool is_of_it = edge->callee == verdict->function ||
                              (edge->caller == verdict->function && is_next(verdict, edge->callee));
        if (!is_of_it || each <= 0 || edge->calls <= most)
            continue;
        most = edge->calls;
        verdict->many = (struct why_many){edge->caller, edge->callee, each,
                                          mean_ns(called(counts, edge->callee)), false};
    }
    take_sampled_caller(verdict, counts);
    const struct why_many *many = &verdict->many;
    if (!many->caller ||
        !is_next(verdict, many->callee == verdict->function ? many->caller : many->callee))
        return 0;
    verdict->many.is_pair = true;
    return why_judge_pair(verdict, table, many->callee, many->caller);
}

int why_count(struct why_verdict *verdict, const struct why_table *table,
              const struct why_counts *counts)
{
    int result = 0;
    if (verdict->slow.of) {
        result = verdict->answer == WHY_FUNCTION ? count_slow(verdict, table, counts) : 0;
        set_rate(verdict, counts);
        return result;
    }
    if (verdict->answer == WHY_FUNCTION)
        follow_way(verdict, counts);
    if (!verdict->many.caller)
        result = try_pairs(verdict, table, counts);
    if (verdict->answer == WHY_FUNCTION)
        set_rate(verdict, counts);
    return result;
}

void why_counts_release(struct why_counts *counts)
{
    sprof_vec_release(&counts->functions);
    sprof_vec_release(&counts->edges);
    *counts = (struct why_counts){0};
}
