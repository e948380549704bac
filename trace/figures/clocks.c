/* Times of calls by two clocks: the processor's counter, and the system's. */
#include "trace/tracing.h"

void trace_read_clocks(uint64_t *ns, uint64_t *ticks)
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

void trace_find_tick(struct trace_session *session)
{
    struct trace_session *common = session->common;
    if (common->trace->clock.tick_ns > 0)
        return;
    uint64_t ns, ticks;
    trace_read_clocks(&ns, &ticks);
    common->trace->clock.tick_ns = ticks > common->trace->clock.opened_ticks
                                       ? (double)(ns - common->trace->clock.opened_ns) /
                                             (double)(ticks - common->trace->clock.opened_ticks)
                                       : 1;
}

static uint64_t limited(double ns)
{
    return ns < 1 ? 1 : ns < 9e18 ? (uint64_t)ns : (uint64_t)9e18;
}

static double time_by(const struct trace_clock *clock, uint64_t ticks)
{
    return (double)clock->ns + (double)(int64_t)(ticks - clock->ticks) * clock->ns_per_tick;
}

/* The two clocks drift apart by some parts in a million. They are compared once a second, and the
 * difference is spread over the next one, so times have no steps. Former comparisons stay: of one
 * moment the time is the same whenever it is computed. */
int trace_compare_clocks(struct trace_session *session)
{
    enum { CLOCKS = 1 << 18, BASE_NS = 1000000000 };
    uint64_t ticks, now_ns;
    trace_read_clocks(&now_ns, &ticks);
    now_ns -= session->run->start_monotonic_ns;
    struct trace_clock clock = {session->start.ticks,
                                session->start.ns - session->run->start_monotonic_ns,
                                session->ns_per_tick};
    const size_t count = session->log.clocks.count;
    if (!count)
        return sprof_vec_push(&session->log.clocks, clock) ? SPROF_ENOMEM : 0;
    const struct trace_clock *last = &session->log.clocks.items[count - 1];
    if (now_ns < last->ns + BASE_NS)
        return 0;
    const double shown = time_by(last, ticks), behind = ((double)now_ns - shown) / BASE_NS;
    clock = (struct trace_clock){ticks, (uint64_t)shown,
                                 session->ns_per_tick * (1 + (behind < -0.5  ? -0.5
                                                              : behind > 0.5 ? 0.5
                                                                             : behind))};
    if (count == CLOCKS) /* after three days */
        session->log.clocks.count--;
    return sprof_vec_push(&session->log.clocks, clock) ? SPROF_ENOMEM : 0;
}

/* The last comparison before a moment. */
static const struct trace_clock *clock_at(const struct trace_session *session, uint64_t ticks)
{
    const struct trace_clock *clocks = session->log.clocks.items;
    size_t low = 0, high = session->log.clocks.count;
    if (clocks[high - 1].ticks <= ticks)
        return &clocks[high - 1];
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        *(clocks[middle].ticks <= ticks ? &low : &high) = middle;
    }
    return &clocks[low];
}

uint64_t trace_time_of(const struct trace_session *session, uint64_t ticks)
{
    return limited(time_by(clock_at(session, ticks), ticks));
}

uint64_t trace_length_of(const struct trace_session *session, uint64_t ticks)
{
    return limited((double)ticks *
                   session->log.clocks.items[session->log.clocks.count - 1].ns_per_tick);
}
