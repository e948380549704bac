/* Estimates the cost of probes in a program, and decides which do less. */
#include "trace/spent.h"

#include <stdlib.h>

/* A call's cost is measured in a loop through the thunk alone; a program has two more jumps. Code
 * that runs between two calls evicts the probe's code, figures and branches from caches. So the
 * cost grows with the time between calls, by half the maximum at cold_half_ns. Measured by hand:
 * cc1plus (42 500 functions, 974 million calls) took 48 to 57 ns per timed call (loop: 36) and 8 to
 * 12 per counted one (loop: 2.3). redis took 6 to 9 ns more with 12 µs between; up to 4096
 * functions in turn 1 to 3 ns more every 3 µs, 18 to 21 every 27 to 64, 50 to 57 every 270 to 430.
 * A probe that is off costs a tenth of this. */
static const double jumps_ns = 1.5, cold_ns = 85, cold_half_ns = 140000, pass_ns = 1,
                    pass_share = 0.1;

static void set_costs(struct trace_spent *spent, const struct trace_call_cost *cost)
{
    const double between_ns = cost->cpu_ns / spent->calls;
    const double more_ns = cold_ns * between_ns / (between_ns + cold_half_ns);
    spent->timed_ns = spent->calls * (cost->timed_ns + jumps_ns + more_ns);
    spent->counted_ns = spent->calls * (cost->counted_ns + jumps_ns + more_ns);
    spent->ns = spent->does == PROBING_GOVERNED_NOT ? spent->timed_ns
                : spent->does == PROBING_GOVERNED_COUNT
                    ? spent->counted_ns
                    : spent->calls * (pass_ns + pass_share * more_ns);
}

static void shrink(struct trace_spent *spent, double share)
{
    spent->ns *= share;
    spent->timed_ns *= share;
    spent->counted_ns *= share;
}

double trace_spent_ns(struct trace_spent *list, size_t count, const struct trace_call_cost *cost)
{
    double sum_ns = 0;
    for (size_t i = 0; i < count; i++) {
        set_costs(&list[i], cost);
        sum_ns += list[i].ns;
    }
    for (size_t i = 0; i < count && sum_ns > cost->cpu_ns; i++)
        shrink(&list[i], cost->cpu_ns / sum_ns);
    return sum_ns < cost->cpu_ns ? sum_ns : cost->cpu_ns;
}

/* == Doing less == */

static double ns_of(const struct trace_spent *spent)
{
    return spent->becomes == spent->does              ? spent->ns
           : spent->becomes == PROBING_GOVERNED_COUNT ? spent->counted_ns
                                                      : 0;
}

static int by_worth(const void *left, const void *right)
{
    const struct trace_spent *a = left, *b = right;
    if (a->self_ns != b->self_ns)
        return a->self_ns < b->self_ns ? -1 : 1;
    return a->ns > b->ns ? -1 : a->ns < b->ns;
}

static int by_cost(const void *left, const void *right)
{
    const double a = ns_of(left), b = ns_of(right);
    return a > b ? -1 : a < b;
}

/* Goes one step down, or straight to off if counting exceeds the limit. */
static void lower_one(struct trace_spent *spent, double limit_ns)
{
    const bool may_be_counted = spent->becomes == PROBING_GOVERNED_NOT;
    if (may_be_counted && (spent->counted_ns <= limit_ns || spent->must_count))
        spent->becomes = PROBING_GOVERNED_COUNT;
    else if (!spent->must_count)
        spent->becomes = PROBING_GOVERNED_OFF;
}

struct step {
    int (*order)(const void *, const void *);
    enum probing_governed most; /* only functions that do at most this */
    double least_ns;
};

static double take_step(struct trace_spent *list, size_t count, const struct step *step,
                        double limit_ns, double sum_ns)
{
    qsort(list, count, sizeof *list, step->order);
    for (size_t i = 0; i < count && sum_ns > limit_ns; i++) {
        const double ns = ns_of(&list[i]);
        if (list[i].becomes == PROBING_GOVERNED_OFF || list[i].becomes < step->most ||
            ns < step->least_ns)
            continue;
        lower_one(&list[i], limit_ns);
        sum_ns -= ns - ns_of(&list[i]);
    }
    return sum_ns;
}

/* Rarely called functions, which may be many, come last. Counted functions differ only by cost. */
void trace_spent_lower(struct trace_spent *list, size_t count, double limit_ns)
{
    const struct step steps[] = {{by_worth, PROBING_GOVERNED_NOT, limit_ns / 100},
                                 {by_cost, PROBING_GOVERNED_COUNT, limit_ns / 100},
                                 {by_cost, PROBING_GOVERNED_NOT, 0},
                                 {by_cost, PROBING_GOVERNED_COUNT, 0}};
    double sum_ns = 0;
    for (size_t i = 0; i < count; i++) {
        list[i].becomes = list[i].does;
        sum_ns += list[i].ns;
    }
    for (size_t i = 0; i < sizeof steps / sizeof *steps && sum_ns > limit_ns; i++)
        sum_ns = take_step(list, count, &steps[i], limit_ns, sum_ns);
}

/* == When == */

double trace_spent_recent(double recent_ns, double ns, double cpu_ns)
{
    const double second_ns = 1e9;
    return ns + (cpu_ns < second_ns ? recent_ns * (1 - cpu_ns / second_ns) : 0);
}

double trace_spent_room(double recent_ns, double limit_ns)
{
    const double room = (2 - recent_ns / limit_ns) / 0.75;
    return room > 1 ? 1 : room < 0.2 ? 0.2 : room;
}

double trace_spent_lately(double ns, double time_ns, double last_spent_ns, double last_ns)
{
    const double times = ns > 0 && last_ns > 0 ? last_spent_ns / last_ns / (ns / time_ns) : 1;
    return times < 1 ? 1 : times > 8 ? 8 : times;
}
