/* Adds up calls and probes, of one program and of all. */
#ifndef SPROF_CALLS_TOTALS_H
#define SPROF_CALLS_TOTALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct probe_cost;
struct calls_program;

struct calls_sums {
    uint64_t calls, in_flight, abnormal, logged, unlogged, untracked, warnings_lost;
    uint64_t unplaced_calls;
    bool are_impossible; /* impossible figures of a program count as 0 */
    size_t unplaced;
    size_t probes, probes_on, probes_resting; /* of running programs */
};

/* Time since the start or the last clear. */
uint64_t calls_measured_ns(const struct calls_program *program);

/* The agent measures this. 0: not measured. */
struct probe_cost calls_cost_of(const struct calls_program *program);

bool calls_are_possible(uint64_t calls, uint64_t passed_ns);

void calls_add_up(const struct calls_program *program, struct calls_sums *sums);
void calls_program_add_up(const struct calls_program *program, struct calls_sums *sums);

/* An ended program has no probes any more. */
void calls_add_ended(struct calls_sums *to, const struct calls_sums *sums);

#endif
