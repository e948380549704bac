/* Probes at rest, whose functions have their original bytes. */
#ifndef SPROF_PROBING_REST_H
#define SPROF_PROBING_REST_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>

struct probing_probe;
struct probing_program;

struct probing_resting {
    bool at_once;  /* new probes begin at rest */
    size_t asleep; /* probes to be woken */
    uint64_t next_wake_ns;
    uint64_t woken_ns, stopped_ns; /* the last wake, its longest stop */
    uint64_t next_ns;
};

/* Puts probes to rest after a time, and retries failed wakes. */
void probing_rest_refresh(struct probing_program *program);

/* Puts probes to rest without the wait after the last stop; wakes none. If threads do not stop,
 * probing_rest_refresh tries again. */
void probing_rest_now(struct probing_program *program);

/* Marks the jump as gone. The next one leads to the thunk. */
void probing_note_rest(struct probing_probe *probe);

/* Writes jumps of probes that must be on. Counts failures in program->resting.asleep. */
void probing_wake(struct probing_program *program);

/* Returns the longest stop since then, of all programs; 0: none. */
uint64_t probing_woken_ns(const struct probing_program *program, uint64_t since_ns);

/* SPROF_ESTATE: some probes still rest that must be on. */
int probing_check_awake(const struct probing_program *program, struct sprof_error *error);

#endif
