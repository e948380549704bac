/* Writes rows that show what was in force when: options of phases, ranges, states of probes.
 * Functions return 0 or SPROF_ENOMEM. */
#ifndef SPROF_CALLS_HISTORY_H
#define SPROF_CALLS_HISTORY_H

#include "base/base.h"

#include <stdbool.h>

struct calls_program;

/* A range that is on. */
struct calls_history_range {
    uint32_t number;
    uint64_t since_ns; /* in time of the run */
    bool is_first;     /* it is from the command line */
};

struct calls_history {
    uint32_t events;         /* last number given to a row */
    struct sprof_map probes; /* nodes whose probe has a row */
    SPROF_VEC(struct calls_history_range) ranges;
    bool has_ranges;
};

/* The last recorded state of each probe of a program. */
struct calls_history_states {
    uint8_t *states;
    size_t count;
    bool is_begun;
};

int calls_history_serve(struct calls_program *program);

/* Records which ranges are on. `program` is the common one. */
int calls_history_ranges(struct calls_program *program);

void calls_history_release(struct calls_history *history);

/* == history_rows.c == */

struct store_probe_event;

/* Converts to time of the run. */
uint64_t calls_history_time(const struct calls_program *program, uint64_t now_ns);

/* Writes an event of a probe. Sets its time and node. */
int calls_history_put(struct calls_program *program, uint32_t number, uint64_t now_ns,
                      const struct store_probe_event *event);

int calls_history_phase(struct calls_program *program, const char *mode);

/* Records what a probe does from now on: "timed", "counted", "off" … For `share` see struct
 * store_probe_event. */
int calls_history_probe(struct calls_program *program, uint32_t number, const char *what,
                        const char *cause, double share);

/* Does so for all probes, with the number of open calls. */
int calls_history_all(struct calls_program *program, const char *what, const char *cause);

/* Writes a probe's row, once. */
int calls_history_describe(struct calls_program *program, uint32_t number);

#endif
