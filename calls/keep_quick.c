/* Makes quick comparisons of time and one value for the agent. */
#include "calls/keep_quick.h"
#include "calls/program.h"
#include "calls/values.h"

/* == One comparison == */

/* Signed numbers modulo 2^64. */
struct bounds {
    uint64_t low, high;
    bool are_none;
};

static struct bounds bounds_of(const struct probe_binding *binding,
                               const struct probe_keep_test *test)
{
    const unsigned unused = 64 - 8u * binding->bytes;
    if (binding->number == PROBE_SIGNED) {
        const int64_t most = INT64_MAX >> unused, least = -most - 1,
                      low = test->low < least ? least : test->low,
                      high = test->high > most ? most : test->high;
        return (struct bounds){(uint64_t)low, (uint64_t)high, low > high};
    }
    const uint64_t most = UINT64_MAX >> unused, low = test->low < 0 ? 0 : (uint64_t)test->low,
                   high = test->high == INT64_MAX || (uint64_t)test->high > most
                              ? most
                              : (uint64_t)test->high;
    return (struct bounds){low, high, test->high < 0 || low > high};
}

enum calls_keep_range calls_keep_compare(const struct probe_binding *binding,
                                         const struct probe_keep_test *test,
                                         struct probe_keep_quick *quick)
{
    if (binding->number != PROBE_SIGNED && binding->number != PROBE_UNSIGNED)
        return CALLS_RANGE_ALL;
    const unsigned unused = (64 - 8u * binding->bytes) & 63;
    struct bounds bounds = bounds_of(binding, test);
    const bool are_all = !bounds.are_none && (bounds.high + 1) << unused == bounds.low << unused;
    if (bounds.are_none || are_all)
        return bounds.are_none != (test->is_outside != 0) ? CALLS_RANGE_NONE : CALLS_RANGE_ALL;
    if (test->is_outside)
        bounds = (struct bounds){bounds.high + 1, bounds.low - 1, false};
    quick->low = bounds.low << unused;
    quick->span = (bounds.high - bounds.low) << unused;
    quick->shift = (uint8_t)unused;
    quick->word = (uint8_t)(binding->word + 1);
    return binding->word <= PROBE_WORD_RAX ? CALLS_RANGE_SOME : CALLS_RANGE_ALL;
}

/* == Rules of a function == */

static const struct probe_binding *binding_of(const struct calls_noted *noted, uint32_t rule,
                                              uint32_t test)
{
    for (uint32_t i = 0; noted && i < noted->binding_count; i++)
        if (noted->bindings[i].rule == rule && noted->bindings[i].test == test)
            return &noted->bindings[i];
    return NULL;
}

/* Returns NONE if no call can pass. */
static enum calls_keep_range range_of(const struct probe_keep_rule *rule,
                                      const struct calls_noted *noted, uint32_t number,
                                      struct probe_keep_quick *quick)
{
    enum calls_keep_range all = CALLS_RANGE_ALL;
    for (uint32_t i = 0; i < rule->test_count; i++) {
        const struct probe_binding *binding = binding_of(noted, number, i);
        struct probe_keep_quick one = {0};
        const enum calls_keep_range range =
            binding ? calls_keep_compare(binding, &rule->tests[i], &one) : CALLS_RANGE_NONE;
        if (range == CALLS_RANGE_NONE)
            return range;
        if (range == CALLS_RANGE_SOME && all == CALLS_RANGE_ALL) {
            *quick = one;
            all = range;
        }
    }
    return all;
}

/* Whether the comparison decides the function's only rule. */
static bool is_exact(const struct probe_keep_rule *rule, enum calls_keep_range range)
{
    const bool is_one = range == CALLS_RANGE_SOME ? rule->test_count == 1 && rule->over == INT64_MIN
                                                  : !rule->test_count;
    return is_one && rule->self == INT64_MIN && !rule->every && !rule->first && !rule->throws &&
           !rule->slowest && !rule->since && !rule->next;
}

/* Returns what the agent writes for a call without reading memory, or 0. */
static uint8_t units_of(const struct calls_noted *noted)
{
    if (!noted || noted->is_hidden)
        return PROBE_KEPT_UNITS;
    return noted->piece_count ? 0 : PROBE_KEPT_UNITS + PROBE_VALUES_UNITS;
}

static bool has_list(const struct probe_keep *keep, uint64_t mask)
{
    bool has = false;
    for (; mask; mask &= mask - 1)
        has |= keep->rules[__builtin_ctzll(mask)].slowest != 0;
    return has;
}

static struct probe_keep_quick find_quick(const struct probe_shared *shared,
                                          const struct calls_noted *noted, uint64_t mask)
{
    const struct probe_keep *keep = &shared->keep;
    struct probe_keep_quick quick = {.least = INT64_MAX};
    const bool is_listed = has_list(keep, mask);
    for (uint64_t left = mask; left; left &= left - 1) {
        const uint32_t number = (uint32_t)__builtin_ctzll(left);
        const struct probe_keep_rule *rule = &keep->rules[number];
        struct probe_keep_quick one = {0};
        const enum calls_keep_range range = range_of(rule, noted, number, &one);
        const int64_t least = rule->over > rule->self ? rule->over : rule->self;
        if (rule->throws || range == CALLS_RANGE_NONE)
            continue;
        if (range == CALLS_RANGE_SOME && !quick.word && !is_listed) {
            one.least = quick.least;
            one.rule = (uint8_t)number;
            quick = one;
        } else if (least < quick.least) {
            quick.least = least;
        }
        quick.units = !(mask & (mask - 1)) && is_exact(rule, range) &&
                              !(shared->keep_within.rules >> number & 1)
                          ? units_of(noted)
                          : 0;
        if (!quick.word)
            quick.rule = (uint8_t)number;
    }
    return quick;
}

/* Other rules that rest come back without the tracer. */
static uint64_t rests_by_load(const struct probe_shared *shared)
{
    const uint64_t resting = atomic_load(&shared->keep.resting);
    uint64_t rests = 0;
    for (uint64_t left = resting; left; left &= left - 1) {
        const uint32_t number = (uint32_t)__builtin_ctzll(left);
        rests |= (uint64_t)(shared->keep.rules[number].rests_by_load != 0) << number;
    }
    return rests;
}

/* Disables the comparison while it changes. */
void calls_keep_write(struct calls_program *program, uint32_t function, uint64_t mask)
{
    struct probe_shared *shared = program->process.shared;
    struct probe_keep_quick *to = &shared->keep_of.quick[function];
    const struct calls_noted *noted = calls_values_noted(&program->values, function, 0);
    const struct probe_keep_quick quick = find_quick(shared, noted, mask & ~rests_by_load(shared));
    if (mask && function >= atomic_load(&shared->keep_functions))
        atomic_store(&shared->keep_functions, function + 1);
    atomic_store(&shared->keep_of.masks[function], mask);
    to->units = 0;
    atomic_store(&to->least, INT64_MIN);
    to->low = quick.low;
    to->span = quick.span;
    to->shift = quick.shift;
    to->word = quick.word;
    to->rule = quick.rule;
    atomic_store(&to->least, quick.least == INT64_MIN ? probe_keep_lowest(to) : quick.least);
    atomic_thread_fence(memory_order_seq_cst);
    to->units = quick.units;
}

void calls_keep_clear_slowest(struct calls_program *program)
{
    struct probe_shared *shared = program->process.shared;
    for (size_t i = 0; i < program->probes.count; i++) {
        const uint64_t mask = atomic_load(&shared->keep_of.masks[i]);
        bool has_list = false;
        for (uint64_t left = mask; left; left &= left - 1)
            has_list |= shared->keep.rules[__builtin_ctzll(left)].slowest != 0;
        for (size_t k = 0; has_list && k < PROBE_KEEP_SLOWEST; k++)
            atomic_store(&shared->keep_of.slowest[i].ticks[k], 0);
        if (has_list)
            calls_keep_write(program, (uint32_t)i, mask);
    }
}
