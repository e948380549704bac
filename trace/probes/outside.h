/* The time that functions with probes spend outside of the traced modules, as in libc and in system
 * calls.
 *
 * A traced module calls other modules through slots of its GOT. Each slot that serves calls alone
 * gets the address of a thunk, which measures the call; the agent takes the time off the caller's
 * self time.
 * Calls through other pointers are not seen: their time stays in self.
 *
 * The loader may fill a slot at the first call alone. Until then the function is found by its name
 * where one module has it; else the slot is read again later. Slots that are data, too, are left
 * alone (called_slots.h). Functions that need their own return address, have a probe, or read a
 * clock get no thunk. */
#ifndef SPROF_TRACE_PROBES_OUTSIDE_H
#define SPROF_TRACE_PROBES_OUTSIDE_H

#include "base/base.h"

#include <stdbool.h>
#include <stdint.h>

struct probe_stat;
struct trace_session;

/* Reserves numbers for thunks, once the room of the shared memory is known. */
void trace_outside_number(struct trace_session *session);

/* How many numbers are reserved. */
uint32_t trace_outside_room(const struct trace_session *session);

/* Finds slots of traced modules, and writes thunks into those that are filled or whose function is
 * known. A failure leaves the time in self. Returns 0 or SPROF_ENOMEM. */
int trace_outside_place(struct trace_session *session);

/* The same for modules and slots that have come since, now and then. */
int trace_outside_serve(struct trace_session *session);

/* Switches all of them. */
void trace_outside_switch(struct trace_session *session, bool are_on);

/* == Figures (trace/figures/outside.c) == */

/* Adds up what a thread has measured since the last time; `ends`: its slab is given back. */
int trace_outside_read(struct trace_session *session, uint32_t slab, bool ends);

/* Writes a row for each function that was called. */
int trace_outside_write(struct trace_session *session);

/* Forgets what was measured so far. */
int trace_outside_clear(struct trace_session *session);

/* What these probes have cost since the beginning, in ticks, as far as it was read. */
double trace_outside_spent(const struct trace_session *session);

/* Switches off those whose calls are shortest until the rest costs at most `limit_ns` for what has
 * been called since the last time. Their time is self time of their callers from then on. Returns
 * that cost; *lowered: how many were switched off. */
double trace_outside_lower(struct trace_session *session, double limit_ns, size_t *lowered);

void trace_outside_free(struct trace_session *session);

#endif
