/* How long calls ran, waited and were ready. Functions return 0 or SPROF_ENOMEM. */
#ifndef SPROF_CALLS_STATES_H
#define SPROF_CALLS_STATES_H

#include "base/base.h"

#include <stdbool.h>
#include <stdint.h>

struct calls_program;
struct calls_states;
struct calls_thread;

struct calls_call_states {
    bool is_known;
    uint64_t waiting_ns, ready_ns; /* the rest ran */
};

/* Records gaps if calls get rows, from the command's execve or from now. Reports failures. Can be
 * called again. */
int calls_states_begin(struct calls_program *program);

/* Takes in the gaps that have ended: often, as the kernel has room for few. Returns 0 or
 * SPROF_ENOMEM. */
int calls_states_read(struct calls_program *program);

/* The thread must have run at both times. Both parts have at most `duration_ns`. */
struct calls_call_states calls_states_between(const struct calls_program *program,
                                              const struct calls_thread *thread, uint64_t from_ns,
                                              uint64_t to_ns, uint64_t duration_ns);

void calls_states_free(struct calls_states *states);

#endif
