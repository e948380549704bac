/* trace, inside: what probes take of the program's time, and which of them are to do less. */
#ifndef SPROF_TRACE_SPENT_H
#define SPROF_TRACE_SPENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the governor leaves of a probe; what does more comes first. */
enum trace_governed {
    TRACE_GOVERNED_NOT,   /* all */
    TRACE_GOVERNED_COUNT, /* counting */
    TRACE_GOVERNED_OFF,   /* nothing: it is taken back */
};

/* A function that was called since the last look. */
struct trace_spent {
    uint32_t probe;
    enum trace_governed does, becomes; /* before and after the decision */
    bool must_count;                   /* it may not be off */
    double calls;
    double self_ns; /* of one that was timed; 0: none was */
    /* What trace_spent_ns fills: nanoseconds that all calls take as it is, if it times them, or
     * only counts them. */
    double ns, timed_ns, counted_ns;
};

/* What a call takes where it is made in a loop, and how long the program ran meanwhile, on all
 * processors together. */
struct trace_call_cost {
    double timed_ns, counted_ns, cpu_ns;
};

/* Fills what the calls took. Returns the sum, which is at most cpu_ns. */
double trace_spent_ns(struct trace_spent *list, size_t count, const struct trace_call_cost *cost);

/* Decides which probes do less (`becomes`), so that all together take `limit_ns` at most for as
 * many calls, where that can be reached. Sorts the list. */
void trace_spent_lower(struct trace_spent *list, size_t count, double limit_ns);

/* What probes took in the last second of CPU time, of which cpu_ns have passed since `recent_ns`
 * was true; older time fades. */
double trace_spent_recent(double recent_ns, double ns, double cpu_ns);

/* How much of the limit they may use: less where twice the limit of a second, `limit_ns`, is nearly
 * reached. From 0.2 to 1. */
double trace_spent_room(double recent_ns, double limit_ns);

/* How many times as fast it was spent in the last `last_ns` of all time since a look: from 1 to 8.
 */
double trace_spent_lately(double ns, double time_ns, double last_spent_ns, double last_ns);

#endif
