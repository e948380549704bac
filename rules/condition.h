/* The conditions of a drill-down. When one holds, a function's callees get probes. */
#ifndef SPROF_RULES_CONDITION_H
#define SPROF_RULES_CONDITION_H

#include "base/base.h"

#include <stdbool.h>

enum rules_condition_kind {
    RULES_ALWAYS,
    RULES_OVER,     /* average time, ns */
    RULES_SELF,     /* average self time, ns */
    RULES_QUANTILE, /* quantile of the time, ns */
    RULES_ERRORS,   /* percent without a return */
    RULES_RATE,     /* calls per second */
    RULES_TIMES,    /* average / median of earlier ones */
    RULES_SIBLINGS, /* highest average of a thread / median of all threads */
    RULES_CPU,      /* percent of the processes' CPU time */
    RULES_SIGNAL,   /* a command starts it */
};

struct rules_condition {
    enum rules_condition_kind kind;
    double limit;
    double quantile;      /* 0.99 for p99 */
    const char *text;     /* borrowed; NULL: no condition given */
    const char *function; /* regular expression for roots, in `text`; NULL: all */
};

/* Parses "COND[:RE]": `10ms`, `self > T`, `p99 > T`, `errors > N %`, `calls/s > N`, `3x`, `2x
 * siblings`, `cpu > N %` or `signal`. SPROF_EUSAGE: the message lists what fits. Borrows `text` for
 * the condition's life. */
int rules_condition_parse(struct rules_condition *condition, const char *text,
                          struct sprof_error *error);

/* Calls of one function that ended within a window. */
struct rules_window_calls {
    uint64_t calls, failed;
    double total_ns, self_ns;
    double quantile_ns;
    double usual_ns;   /* median of earlier averages; 0: too few */
    double thread_ns;  /* highest average of a thread that has enough calls */
    double threads_ns; /* median of these; 0: fewer than two */
    double seconds;
    double cpu_ns; /* of the processes */
};

/* Returns the value to compare, in the condition's unit; negative: too few calls. */
double rules_condition_measure(const struct rules_condition *condition,
                               const struct rules_window_calls *calls);

bool rules_condition_holds(const struct rules_condition *condition,
                           const struct rules_window_calls *calls);

/* Appends a value such as "1.2 ms", "3 %", "812/s", "2.4x". */
void rules_condition_append(const struct rules_condition *condition, double measured,
                            struct sprof_str *out);

/* Appends three digits and the unit. */
void rules_append_time(struct sprof_str *out, double ns);

#endif
