/* trace, inside: what was in force when, as rows: options of phases, ranges of functions, and what
 * became of probes. */
#ifndef SPROF_TRACE_HISTORY_H
#define SPROF_TRACE_HISTORY_H

#include "base/base.h"

#include <stdbool.h>

struct trace_session;

/* A range that is on, and since when. */
struct trace_history_range {
    uint32_t number;
    uint64_t since_ns; /* of the run */
    bool is_first;     /* the one of the command line */
};

/* Of all programs. */
struct trace_history {
    uint32_t events;         /* numbers that rows have */
    struct sprof_map probes; /* by node: its function has a row of its probe */
    SPROF_VEC(struct trace_history_range) ranges;
    bool has_ranges; /* one was noted */
};

/* Of one program: what was noted of each probe last. */
struct trace_history_states {
    uint8_t *states;
    size_t count;
    bool is_begun; /* the first probes are noted */
};

/* Notes what has become of probes since the last time. Returns 0 or SPROF_ENOMEM. */
int trace_history_serve(struct trace_session *program);

/* Notes which ranges are on. `session` is the common one. Returns 0 or SPROF_ENOMEM. */
int trace_history_ranges(struct trace_session *session);

void trace_history_release(struct trace_history *history);

/* == history_rows.c == */

struct store_probe_event;

/* A moment as a time of the run. */
uint64_t trace_history_time(const struct trace_session *session, uint64_t now_ns);

/* Writes an event of a probe; its time and its node are filled in. Returns 0 or SPROF_ENOMEM. */
int trace_history_put(struct trace_session *program, uint32_t number, uint64_t now_ns,
                      const struct store_probe_event *event);

/* Notes the options of the phase that has begun. Returns 0 or SPROF_ENOMEM. */
int trace_history_phase(struct trace_session *session, const char *mode);

/* Notes that a probe does something else from now on: "timed", "counted", "off" … `share` as in
 * struct store_probe_event. Returns 0 or SPROF_ENOMEM. */
int trace_history_probe(struct trace_session *program, uint32_t number, const char *what,
                        const char *cause, double share);

/* The same of all probes, and how many calls are open. */
int trace_history_all(struct trace_session *session, const char *what, const char *cause);

/* Writes the row of a probe, the first time. Returns 0 or SPROF_ENOMEM. */
int trace_history_describe(struct trace_session *program, uint32_t number);

#endif
