/* Call points, with --all-points: beside the entries of functions, the places that call them get
 * probes, too, so that a call is seen four times: at its place, at the function's entry, at its
 * exit, and back at its place. Nothing is learnt by it that the entries alone do not tell, which is
 * what it is for: to show that they are enough.
 *
 * A direct call is led to a thunk in the agent's second area, which calls the function; what a slot
 * of the GOT holds is replaced by the address of such a thunk. The bytes are written while the
 * command waits for its first instruction, and stay until it ends. The time between place and
 * function counts as the caller's own. */
#ifndef SPROF_TRACE_PROBES_POINTS_H
#define SPROF_TRACE_PROBES_POINTS_H

#include "trace/tracing.h"

/* Lists the call points of chosen functions, whose code runs in no thread yet, and makes room for
 * their figures. Calls whose target or place could not be probed safely are none. Returns 0 or a
 * negative code; more than there are thunks for are left out, and that is said. */
int trace_points_find(struct trace_session *session, struct sprof_error *error);

/* How many numbers for figures they take. */
uint32_t trace_points_count(const struct trace_session *session);

/* Gives them numbers behind all functions, from `first` on. */
void trace_points_number(struct trace_session *session, uint32_t first);

/* Writes them. */
int trace_points_place(struct trace_session *session, struct sprof_error *error);

/* Whether they measure. */
void trace_points_switch(struct trace_session *session, bool are_on);

/* The function that a place of this number is in; another number as it is. */
uint32_t trace_points_caller(const struct trace_session *session, uint32_t number);

/* Adds up what a thread that has ended has called through them. */
void trace_points_collect(struct trace_session *session, const struct probe_stat *stats);

uint64_t trace_points_calls(const struct trace_session *session);

void trace_points_free(struct trace_session *session);

#endif
