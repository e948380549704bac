/* Adds up calls by path, and finds those that are in no path. */
#include "counters/figures.h"

static int64_t difference(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t sum_of(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

struct counters_sum counters_node_read(const volatile struct probe_node *node)
{
    struct counters_sum sum = {.ended = node->ended};
    sum.self = node->self;
    sum.calls = node->calls;
    sum.calls = sum.calls > sum.ended ? sum.calls : sum.ended;
    return sum;
}

void counters_sum_add(struct counters_sum *to, const struct counters_sum *sum)
{
    to->calls += sum->calls;
    to->ended += sum->ended;
    to->self = sum_of(to->self, sum->self);
}

void counters_sum_alone(struct counters_sum *alone, const struct counters_sum *seen,
                        const struct counters_sum *in_paths)
{
    const uint64_t calls = seen->calls > in_paths->calls ? seen->calls - in_paths->calls : 0;
    const uint64_t ended = seen->ended > in_paths->ended ? seen->ended - in_paths->ended : 0;
    const int64_t self = difference(seen->self, in_paths->self);
    alone->calls = calls > alone->calls ? calls : alone->calls;
    alone->ended = ended > alone->ended ? ended : alone->ended;
    alone->self = alone->calls && self > alone->self ? self : alone->self;
}

void counters_sum_replace(struct probe_stat *stat, const struct counters_sum *in_paths,
                          const struct counters_sum *alone)
{
    const uint64_t ended = in_paths->ended + alone->ended;
    stat->calls = in_paths->calls + alone->calls;
    stat->ended = ended < stat->calls ? ended : stat->calls;
    stat->self = sum_of(in_paths->self, alone->self);
}
