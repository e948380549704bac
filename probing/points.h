/* Call points (--all-points): probes at call instructions. Each call is seen four times, to verify
 * that probes at entries suffice.
 *
 * A call point leads to a thunk that calls the function. It is written before the command runs, and
 * stays. Time before the function is the caller's. */
#ifndef SPROF_PROBING_POINTS_H
#define SPROF_PROBING_POINTS_H

#include "probing/program.h"

/* Lists call points that are safe to probe, in code that does not run. Reports those beyond the
 * limit. Returns 0 or a negative code. */
int probing_points_find(struct probing_program *program, struct sprof_error *error);

uint32_t probing_points_count(const struct probing_program *program);

void probing_points_number(struct probing_program *program, uint32_t first);

int probing_points_place(struct probing_program *program, struct sprof_error *error);

void probing_points_switch(struct probing_program *program, bool are_on);

/* Returns the function of a call point; other numbers unchanged. */
uint32_t probing_points_caller(const struct probing_program *program, uint32_t number);

void probing_points_collect(struct probing_program *program, const struct probe_stat *stats);

uint64_t probing_points_calls(const struct probing_program *program);

void probing_points_free(struct probing_program *program);

#endif
