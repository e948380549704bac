/* Estimates the cost of probes, and selects those that must do less. */
#ifndef SPROF_TRACE_SPENT_H
#define SPROF_TRACE_SPENT_H

#include "probing/probing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function that was called since the last look. */
struct trace_spent {
    uint32_t probe;
    enum probing_governed does, becomes; /* before and after the decision */
    bool must_count;                     /* it may not become PROBING_GOVERNED_OFF */
    double calls;
    double self_ns; /* per timed call; 0: unknown */
    /* Set by trace_spent_ns: cost of its calls as they are, if timed, if counted. */
    double ns, timed_ns, counted_ns;
};

/* Cost of one call in a loop; cpu_ns: CPU time of the program on all processors. */
struct trace_call_cost {
    double timed_ns, counted_ns, cpu_ns;
};

/* Fills the costs. Returns their sum, at most cpu_ns. */
double trace_spent_ns(struct trace_spent *list, size_t count, const struct trace_call_cost *cost);

/* Lowers `becomes` until as many calls cost at most `limit_ns`, if possible. Sorts the list. */
void trace_spent_lower(struct trace_spent *list, size_t count, double limit_ns);

/* Returns the cost in the last second of CPU time, after `cpu_ns` with cost `ns`. Older cost
 * fades. */
double trace_spent_recent(double recent_ns, double ns, double cpu_ns);

/* Returns the usable part of `limit_ns`, from 0.2 to 1. It shrinks when the last second cost nearly
 * twice the limit. */
double trace_spent_room(double recent_ns, double limit_ns);

/* Returns the rate of cost in the last `last_ns`, divided by that since the look: 1 to 8. */
double trace_spent_lately(double ns, double time_ns, double last_spent_ns, double last_ns);

#endif
