/* Converts ticks to the system clock. */
#include "calls/program.h"

void calls_find_tick(struct calls_program *session)
{
    struct calls_trace *all = session->all;
    if (all->clock.tick_ns > 0)
        return;
    uint64_t ns, ticks;
    counters_read_clocks(&ns, &ticks);
    all->clock.tick_ns =
        ticks > all->clock.opened_ticks
            ? (double)(ns - all->clock.opened_ns) / (double)(ticks - all->clock.opened_ticks)
            : 1;
}

int calls_compare_clocks(struct calls_program *session)
{
    uint64_t ticks, now_ns;
    counters_read_clocks(&now_ns, &ticks);
    const uint64_t begin_ns = session->run->start_monotonic_ns;
    const struct counters_clock first = {
        session->times.start.ticks, session->times.start.ns - begin_ns, session->times.ns_per_tick};
    return counters_clocks_compare(&session->log.clocks, &first, now_ns - begin_ns, ticks);
}

uint64_t calls_time_of(const struct calls_program *session, uint64_t ticks)
{
    return counters_time_of(&session->log.clocks, ticks);
}

uint64_t calls_length_of(const struct calls_program *session, uint64_t ticks)
{
    return counters_length_of(&session->log.clocks, ticks);
}
