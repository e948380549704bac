/* Call points, for --all-points: instructions that call functions get probes, too. So a call is
 * seen four times, which shows that probes at entries are enough.
 *
 * A call point leads to a thunk in the agent's second area, which calls the function. Its bytes are
 * written before the command runs, and stay until it ends. The time between call point and function
 * is the caller's own. */
#ifndef SPROF_TRACE_PROBES_POINTS_H
#define SPROF_TRACE_PROBES_POINTS_H

#include "trace/tracing.h"

/* Lists the call points of chosen functions, whose code no thread runs yet, and makes room for
 * their figures. Calls that cannot be probed safely are none. Returns 0 or a negative code. Those
 * beyond the number of thunks are left out, which is reported. */
int trace_points_find(struct trace_session *session, struct sprof_error *error);

/* How many numbers they take. */
uint32_t trace_points_count(const struct trace_session *session);

/* Numbers them behind all functions, from `first` on. */
void trace_points_number(struct trace_session *session, uint32_t first);

/* Writes their code. */
int trace_points_place(struct trace_session *session, struct sprof_error *error);

/* Switches them. */
void trace_points_switch(struct trace_session *session, bool are_on);

/* The function of a call point; another number stays as it is. */
uint32_t trace_points_caller(const struct trace_session *session, uint32_t number);

/* Adds up the calls of an ended thread through them. */
void trace_points_collect(struct trace_session *session, const struct probe_stat *stats);

uint64_t trace_points_calls(const struct trace_session *session);

void trace_points_free(struct trace_session *session);

#endif
