/* Finds out what probes take of the program's time, in this program, on this processor: an empty
 * function is called through a thunk and without one, some hundred times in a row, and of many such
 * rows the median counts, so that what interrupts a few of them does not matter. */
#include "agent/probe/inside.h"

enum { ROWS = 33, CALLS = 256 };

static uint64_t time_of_calls(void (*volatile function)(void))
{
    const uint64_t begin = probe_ticks();
    for (int i = 0; i < CALLS; i++)
        function();
    return probe_ticks() - begin;
}

static void sort(int64_t values[ROWS])
{
    for (int i = 1; i < ROWS; i++)
        for (int k = i; k > 0 && values[k] < values[k - 1]; k--) {
            const int64_t value = values[k];
            values[k] = values[k - 1];
            values[k - 1] = value;
        }
}

/* Of one call, rounded. */
static uint32_t median_of(int64_t rows[ROWS])
{
    sort(rows);
    const int64_t ticks = (rows[ROWS / 2] + CALLS / 2) / CALLS;
    return ticks > 0 && ticks < 1 << 20 ? (uint32_t)ticks : 0;
}

/* What calls through the thunk take more than others, and what the thunk itself says of them. */
static void measure(int64_t whole[ROWS], int64_t inside[ROWS], const struct probe_stat *stat)
{
    void (*thunk)(void) =
        (void (*)(void))(uintptr_t)(probe_thunks + (uint64_t)probe_inside.shared->function_count *
                                                       PROBE_THUNK_BYTES);
    for (int i = 0; i < ROWS; i++) {
        const int64_t plain = (int64_t)time_of_calls(probe_nothing);
        const int64_t before = stat->total;
        whole[i] = (int64_t)time_of_calls(thunk) - plain;
        inside[i] = stat->total - before;
    }
}

void probe_calibrate(void)
{
    struct probe_shared *shared = probe_inside.shared;
    const uint32_t number = shared->function_count;
    int64_t whole[ROWS], inside[ROWS];
    struct probe_cost cost = {0};
    shared->tiers[number] = PROBE_COUNT;
    const struct probe_stat *stat = probe_stat_of(number);
    if (!stat)
        return;
    measure(whole, inside, stat);
    cost.count = median_of(whole);
    shared->tiers[number] = PROBE_FULL;
    measure(whole, inside, stat);
    cost.whole = median_of(whole);
    cost.inside = median_of(inside);
    shared->tiers[number] = PROBE_OFF;
    if (cost.inside <= cost.whole)
        shared->cost = cost;
}
