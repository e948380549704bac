/* Converts ticks to the system clock. */
#include "calls/program.h"

void calls_find_tick(struct calls_program *program)
{
    struct calls_trace *all = program->all;
    if (all->clock.tick_ns > 0)
        return;
    uint64_t ns, ticks;
    counters_read_clocks(&ns, &ticks);
    all->clock.tick_ns =
        ticks > all->clock.opened_ticks
            ? (double)(ns - all->clock.opened_ns) / (double)(ticks - all->clock.opened_ticks)
            : 1;
}

int calls_compare_clocks(struct calls_program *program)
{
    uint64_t ticks, now_ns;
    counters_read_clocks(&now_ns, &ticks);
    const uint64_t begin_ns = program->run->start_monotonic_ns;
    const struct counters_clock first = {
        program->times.start.ticks, program->times.start.ns - begin_ns, program->times.ns_per_tick};
    return counters_clocks_compare(&program->log.clocks, &first, now_ns - begin_ns, ticks);
}

uint64_t calls_time_of(const struct calls_program *program, uint64_t ticks)
{
    return counters_time_of(&program->log.clocks, ticks);
}

uint64_t calls_length_of(const struct calls_program *program, uint64_t ticks)
{
    return counters_length_of(&program->log.clocks, ticks);
}
