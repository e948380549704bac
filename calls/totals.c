/* Sums calls, and counts probes by state. */
#include "calls/program.h"
#include "probing/probing.h"

#include <unistd.h>

/* Shortest times per event, below the real ones; SLACK_NS covers a time that was taken seconds
 * ago. */
enum { THREAD_LEAST_NS = 1000, WARNING_LEAST_NS = 10, CALL_LEAST_NS = 1 };
#define SLACK_NS UINT64_C(4000000000)

static uint64_t most_within(uint64_t passed_ns, uint64_t least_ns)
{
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    return (passed_ns + SLACK_NS) / least_ns * (processors > 0 ? (uint64_t)processors : 1);
}

bool calls_are_possible(uint64_t calls, uint64_t passed_ns)
{
    return calls <= most_within(passed_ns, CALL_LEAST_NS);
}

/* Returns a count from shared memory, or 0 if only the program can have written it. */
static uint64_t possible(const struct calls_program *program, uint64_t count, uint64_t least_ns,
                         struct calls_sums *sums)
{
    const bool is_possible =
        count <= most_within(program->times.now_ns - program->times.start.ns, least_ns);
    sums->are_impossible |= !is_possible;
    return is_possible ? count : 0;
}

struct probe_cost calls_cost_of(const struct calls_program *program)
{
    enum { MOST = 1 << 20 }; /* as in agent/probe/calibrate.c */
    const struct probe_cost cost = program->process.shared->cost;
    const bool is_possible = cost.inside < MOST && cost.whole < MOST && cost.count < MOST;
    return is_possible ? cost : (struct probe_cost){0};
}

uint64_t calls_measured_ns(const struct calls_program *program)
{
    return program->times.now_ns - (program->times.cleared.ns > program->times.start.ns
                                        ? program->times.cleared.ns
                                        : program->times.start.ns);
}

void calls_program_add_up(const struct calls_program *program, struct calls_sums *sums)
{
    const struct probing_calls calls = probing_calls_sum(&program->probing);
    sums->calls += calls.calls;
    sums->in_flight += calls.in_flight;
    sums->abnormal += calls.abnormal;
    sums->unlogged += calls.unlogged;
    sums->logged += program->log.logged;
    sums->untracked +=
        possible(program, atomic_load(&program->process.shared->untracked), THREAD_LEAST_NS, sums);
    sums->warnings_lost += possible(program, atomic_load(&program->process.shared->warnings.lost),
                                    WARNING_LEAST_NS, sums) +
                           program->counts.unplaced_warnings;
    sums->unplaced_calls += program->counts.unplaced_calls;
    for (size_t i = 0; program->outside && i < program->outside->targets.count; i++)
        sums->unplaced += program->outside->targets.items[i].is_unplaced;
    for (size_t i = 0; i < program->probes.count; i++) {
        sums->unplaced += program->probes.items[i].is_unplaced;
        sums->probes += program->probes.items[i].is_chosen;
        sums->probes_on += program->probes.items[i].is_chosen && program->probes.items[i].is_on;
        sums->probes_resting +=
            program->probes.items[i].is_chosen && program->probes.items[i].rests;
    }
}

void calls_add_up(const struct calls_program *program, struct calls_sums *sums)
{
    *sums = program->all->ended.calls;
    for (size_t i = 0; i < program->all->programs.count; i++)
        calls_program_add_up(calls_program_at(program->all, i), sums);
}

void calls_add_ended(struct calls_sums *to, const struct calls_sums *sums)
{
    to->calls += sums->calls;
    to->in_flight += sums->in_flight;
    to->abnormal += sums->abnormal;
    to->logged += sums->logged;
    to->unlogged += sums->unlogged;
    to->untracked += sums->untracked;
    to->warnings_lost += sums->warnings_lost;
    to->unplaced_calls += sums->unplaced_calls;
    to->are_impossible |= sums->are_impossible;
    to->unplaced += sums->unplaced;
}
