/* trace, inside: what programs have called, and what became of their probes. */
#ifndef SPROF_TRACE_TOTALS_H
#define SPROF_TRACE_TOTALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct probe_cost;
struct trace_result;
struct trace_session;

/* What one program has called, as far as rows say. */
struct trace_counts {
    uint64_t calls, in_flight, abnormal;
    uint64_t unplaced_calls, unplaced_warnings; /* without rows, because their module or thread is
                                                   unknown */
    size_t refused;                             /* chosen functions without a probe */
};

/* Sums over all programs. */
struct trace_sums {
    uint64_t calls, in_flight, abnormal, logged, unlogged, untracked, warnings_lost;
    uint64_t unplaced_calls;
    bool are_impossible; /* the program has written some of these itself; they are 0 here */
    size_t unplaced;                          /* functions */
    size_t probes, probes_on, probes_resting; /* of programs that run */
};

/* How long it has measured, since its start or the last clear. */
uint64_t trace_measured_ns(const struct trace_session *session);

/* What probes cost in a program, by its agent. What no agent measures is 0. */
struct probe_cost trace_cost_of(const struct trace_session *program);

/* Whether so many calls fit into the time. */
bool trace_calls_are_possible(uint64_t calls, uint64_t passed_ns);

/* Adds what became of a program's probes. */
void trace_count_probes(const struct trace_session *session, struct trace_result *result);

/* Sums of all programs, and what one program adds to them. */
void trace_add_up(const struct trace_session *session, struct trace_sums *sums);
void trace_program_add_up(const struct trace_session *session, struct trace_sums *sums);

/* Adds the sums of an ended program, which has no probes any more. */
void trace_add_ended(struct trace_sums *to, const struct trace_sums *sums);

#endif
