/* Mode coverage. Functions return 0 or SPROF_ENOMEM. */
#ifndef SPROF_CALLS_COVERAGE_H
#define SPROF_CALLS_COVERAGE_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>

struct calls_program;

struct calls_covered {
    size_t functions; /* looked for: one may have several probes */
    size_t called;
};

struct calls_coverage {
    uint64_t next_removal_ns;
    bool keeps_probes; /* the process cannot be stopped */
};

/* Adds rows of functions that can be covered. */
int calls_coverage_begin(struct calls_program *program);

int calls_coverage_collect(struct calls_program *program);

/* Drops results. Probes must be placed again first. */
void calls_coverage_clear(struct calls_program *program);

/* Records calls and new functions. Now and then it removes probes of called functions, which may
 * fail. */
int calls_coverage_serve(struct calls_program *program);

/* *left: functions whose probe was removed. */
void calls_coverage_count(const struct calls_program *program, size_t *covered, size_t *left);

/* Reads from the finished recording how many functions it lists, and how many of them were called,
 * as reports do. Two entries of one function are one there. */
int calls_coverage_listed(struct calls_program *program, struct calls_covered *covered,
                          struct sprof_error *error);

#endif
