/* trace, inside: probes at rest: the original bytes are back at their sites. */
#ifndef SPROF_TRACE_PROBES_REST_H
#define SPROF_TRACE_PROBES_REST_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>

struct trace_probe;
struct trace_session;

struct trace_resting {
    bool at_once;                  /* probes that are placed now are to be at rest */
    size_t asleep;                 /* probes that are to be on and are still at rest */
    uint64_t next_wake_ns;         /* the next try to wake them */
    uint64_t woken_ns, stopped_ns; /* the last try, and its longest stop */
    uint64_t next_ns;              /* when probes are put to rest next */
};

/* Puts probes to rest that have been off for long enough or cost too much, and wakes those that
 * could not be woken before. */
void trace_rest_refresh(struct trace_session *session);

/* The same, but wakes none, and does not wait since the last stop. What cannot be stopped now is
 * tried again later. */
void trace_rest_now(struct trace_session *session);

/* Notes that a probe's jump is gone; the next one leads to its thunk. */
void trace_note_rest(struct trace_probe *probe);

/* Places resting probes that are to be on. session->resting.asleep counts failures. */
void trace_wake(struct trace_session *session);

/* The longest stop of all programs that woke probes since then; 0: none was needed. */
uint64_t trace_woken_ns(const struct trace_session *session, uint64_t since_ns);

/* SPROF_ESTATE where probes that are to be on still rest. */
int trace_check_awake(const struct trace_session *session, struct sprof_error *error);

#endif
