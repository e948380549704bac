/* Joins a verdict with counts of calls: samples name the function in which the time is, but a small
 * one that is called very often is no fault of its own. */
#include "why/why.h"

/* A call of so many others is more than a loop's ordinary fan-out, … */
static const double many_calls = 30;
/* … where each of them is short. */
static const double short_ns = 20000;

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
    for (size_t i = verdict->way.count; i > 0 && count < WAY; i--)
        count = list(table, functions, count, verdict->way.items[i - 1]);
    for (size_t i = 0; i < WHY_CALLERS; i++)
        count = list(table, functions, count, verdict->callers[i]);
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

/* The callers of a function, from the way outwards, until one takes longer. A caller that has not
 * returned all the while counts as one call. */
static void look_at_caller(struct why_verdict *verdict, const struct why_counts *counts,
                           uint32_t caller, uint32_t callee)
{
    const struct why_called *outer = called(counts, caller), *inner = called(counts, callee);
    for (size_t i = 0; i < counts->edges.count; i++) {
        const struct why_edge *edge = &counts->edges.items[i];
        if (edge->caller != caller || edge->callee != callee)
            continue;
        const double each = (double)edge->calls / (double)(outer ? outer->calls : 1);
        if (each >= many_calls && each > verdict->many.each)
            verdict->many = (struct why_many){caller, callee, each, mean_ns(inner)};
    }
}

void why_count(struct why_verdict *verdict, const struct why_counts *counts)
{
    set_rate(verdict, counts);
    for (size_t i = verdict->way.count; i > 1; i--) {
        const uint32_t callee = verdict->way.items[i - 1];
        const struct why_called *inner = called(counts, callee);
        if (!inner || mean_ns(inner) >= short_ns)
            return;
        look_at_caller(verdict, counts, verdict->way.items[i - 2], callee);
    }
}

void why_counts_release(struct why_counts *counts)
{
    sprof_vec_release(&counts->functions);
    sprof_vec_release(&counts->edges);
    *counts = (struct why_counts){0};
}
