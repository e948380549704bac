/* Compares the processor's counter with the system's clock, and converts times. */
#include "counters/clocks.h"
#include "agent/probe.h"

void counters_read_clocks(uint64_t *ns, uint64_t *ticks)
{
    enum { TRIES = 8, CLOSE_TICKS = 10000 };
    uint64_t closest = UINT64_MAX;
    int tries = 0;
    *ns = *ticks = 0;
    do {
        const uint64_t before = probe_ticks(), now_ns = sprof_clock_monotonic_ns();
        const uint64_t between = probe_ticks() - before;
        if (between < closest) {
            closest = between;
            *ns = now_ns;
            *ticks = before + between / 2;
        }
    } while (closest > CLOSE_TICKS && ++tries < TRIES);
}

static uint64_t limited(double ns)
{
    return ns < 1 ? 1 : ns < 9e18 ? (uint64_t)ns : (uint64_t)9e18;
}

static double time_by(const struct counters_clock *clock, uint64_t ticks)
{
    return (double)clock->ns + (double)(int64_t)(ticks - clock->ticks) * clock->ns_per_tick;
}

/* The two clocks drift apart by some parts in a million. The difference at a comparison is spread
 * over the next second, so times have no steps. Former comparisons stay: of one moment the time is
 * the same whenever it is computed. */
int counters_clocks_compare(struct counters_clocks *clocks, const struct counters_clock *first,
                            uint64_t now_ns, uint64_t ticks)
{
    enum { CLOCKS = 1 << 18, BASE_NS = 1000000000 };
    const size_t count = clocks->list.count;
    if (!count)
        return sprof_vec_push(&clocks->list, *first) ? SPROF_ENOMEM : 0;
    const struct counters_clock *last = &clocks->list.items[count - 1];
    if (now_ns < last->ns + BASE_NS)
        return 0;
    const double shown = time_by(last, ticks), behind = ((double)now_ns - shown) / BASE_NS;
    const double part = behind < -0.5 ? -0.5 : behind > 0.5 ? 0.5 : behind;
    const struct counters_clock clock = {ticks, (uint64_t)shown, first->ns_per_tick * (1 + part)};
    if (count == CLOCKS) /* after three days */
        clocks->list.count--;
    return sprof_vec_push(&clocks->list, clock) ? SPROF_ENOMEM : 0;
}

/* The last comparison before a moment. */
static const struct counters_clock *clock_at(const struct counters_clocks *clocks, uint64_t ticks)
{
    const struct counters_clock *items = clocks->list.items;
    size_t low = 0, high = clocks->list.count;
    if (items[high - 1].ticks <= ticks)
        return &items[high - 1];
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        *(items[middle].ticks <= ticks ? &low : &high) = middle;
    }
    return &items[low];
}

uint64_t counters_time_of(const struct counters_clocks *clocks, uint64_t ticks)
{
    return limited(time_by(clock_at(clocks, ticks), ticks));
}

uint64_t counters_length_of(const struct counters_clocks *clocks, uint64_t ticks)
{
    return limited((double)ticks * clocks->list.items[clocks->list.count - 1].ns_per_tick);
}

void counters_clocks_release(struct counters_clocks *clocks)
{
    sprof_vec_release(&clocks->list);
}
