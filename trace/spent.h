/* trace, inside: an estimate of what probes take, and which of them do less. */
#ifndef SPROF_TRACE_SPENT_H
#define SPROF_TRACE_SPENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the governor leaves of a probe, the most first. */
enum trace_governed {
    TRACE_GOVERNED_NOT,   /* all */
    TRACE_GOVERNED_COUNT, /* counting */
    TRACE_GOVERNED_OFF,   /* nothing: the probe is removed */
};

/* A function that was called since the last look. */
struct trace_spent {
    uint32_t probe;
    enum trace_governed does, becomes; /* before and after the decision */
    bool must_count;                   /* it may not be off */
    double calls;
    double self_ns; /* of a timed call; 0: none was timed */
    /* Filled by trace_spent_ns: the cost of all its calls as they are, if timed, if only counted.
     */
    double ns, timed_ns, counted_ns;
};

/* The cost of a call in a loop, and how long the program ran, on all processors together. */
struct trace_call_cost {
    double timed_ns, counted_ns, cpu_ns;
};

/* Fills the costs. Returns the sum, at most cpu_ns. */
double trace_spent_ns(struct trace_spent *list, size_t count, const struct trace_call_cost *cost);

/* Decides which probes do less (`becomes`), so that all together take at most `limit_ns` for as
 * many calls, where that can be reached. Sorts the list. */
void trace_spent_lower(struct trace_spent *list, size_t count, double limit_ns);

/* What probes took in the last second of CPU time. cpu_ns have passed since `recent_ns`; older time
 * fades. */
double trace_spent_recent(double recent_ns, double ns, double cpu_ns);

/* The part of the limit that they may use, from 0.2 to 1: less where nearly twice the limit of a
 * second, `limit_ns`, was taken. */
double trace_spent_room(double recent_ns, double limit_ns);

/* How much faster time was spent in the last `last_ns` than in all time since a look: from 1 to 8.
 */
double trace_spent_lately(double ns, double time_ns, double last_spent_ns, double last_ns);

#endif
