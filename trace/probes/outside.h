/* The time that functions with probes spend outside of the traced modules, as in libc and in system
 * calls.
 *
 * A traced module calls other modules through slots of its GOT. Each slot gets the address of a
 * thunk, which measures the call as that of a function. The time is no part of its caller's self
 * time; the agent adds it to the caller's time outside. Only calls by functions with probes are
 * measured. Calls through other pointers are not seen: their time stays in self.
 *
 * A thunk calls the function that the slot has led to. The loader may not have filled the slot yet,
 * and fills it at the first call. So the function is looked up where only one loaded module has it,
 * and else the slot is looked at again. Slots that are used as data, too, are left alone: only
 * those of .rela.plt are used. So are functions that need their own return address, have a probe,
 * or read a clock. */
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
int trace_outside_tick(struct trace_session *session);

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
