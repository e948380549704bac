/* trace, inside: how long calls with rows of their own ran, waited and were ready. */
#ifndef SPROF_TRACE_FIGURES_STATES_H
#define SPROF_TRACE_FIGURES_STATES_H

#include "base/base.h"

#include <stdbool.h>
#include <stdint.h>

struct trace_session;
struct trace_states;
struct trace_thread;

/* Parts of the time of a call. */
struct trace_call_states {
    bool is_known;
    uint64_t waiting_ns, ready_ns; /* the rest it ran */
};

/* Begins to take in gaps of the command, before it is executed, or of the processes, where calls
 * are to have rows of their own; a reason why that cannot be is reported and recorded. Does nothing
 * where that was done before. Returns 0 or SPROF_ENOMEM. */
int trace_states_begin(struct trace_session *session);

/* Takes in the gaps that have ended: often, as the kernel has room for few. Returns 0 or
 * SPROF_ENOMEM. */
int trace_states_read(struct trace_session *session);

/* The states of a thread between two moments of the run at which it ran. */
struct trace_call_states trace_states_between(const struct trace_session *session,
                                              const struct trace_thread *thread, uint64_t from_ns,
                                              uint64_t to_ns);

void trace_states_free(struct trace_states *states);

#endif
