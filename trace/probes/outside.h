/* Measures the time that probed functions spend outside of the traced modules, as in libc and
 * system calls.
 *
 * A GOT slot that code only calls gets a thunk's address. The thunk measures the call, and the
 * agent subtracts it from the caller's self time. Calls through other pointers stay in self time.
 *
 * Until the loader fills a slot, the function is found by a unique name, or later. Slots that are
 * data, too, stay (called_slots.h). Functions that need their return address, have a probe, or read
 * a clock get no thunk. */
#ifndef SPROF_TRACE_PROBES_OUTSIDE_H
#define SPROF_TRACE_PROBES_OUTSIDE_H

#include "base/base.h"

#include <stdbool.h>
#include <stdint.h>

struct probe_stat;
struct trace_session;

/* Call it when the shared memory's size is known. */
void trace_outside_number(struct trace_session *session);

uint32_t trace_outside_room(const struct trace_session *session);

/* Returns 0 or SPROF_ENOMEM; failures leave time in self. */
int trace_outside_place(struct trace_session *session);

/* Handles new modules and slots now and then. */
int trace_outside_serve(struct trace_session *session);

void trace_outside_switch(struct trace_session *session, bool are_on);

/* == Figures (trace/figures/outside.c) == */

/* `ends`: the slab is given back. */
int trace_outside_read(struct trace_session *session, uint32_t slab, bool ends);

int trace_outside_write(struct trace_session *session);

int trace_outside_clear(struct trace_session *session);

/* Returns ticks. */
double trace_outside_spent(const struct trace_session *session);

/* Switches off probes of the shortest calls until the rest costs at most `limit_ns` since the last
 * time. Returns that cost. *lowered: switched off. */
double trace_outside_lower(struct trace_session *session, double limit_ns, size_t *lowered);

void trace_outside_free(struct trace_session *session);

#endif
