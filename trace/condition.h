/* trace: the conditions of a drill-down, under which what a function calls gets probes. */
#ifndef SPROF_TRACE_CONDITION_H
#define SPROF_TRACE_CONDITION_H

#include "base/base.h"

#include <stdbool.h>

enum trace_condition_kind {
    TRACE_ALWAYS,   /* no condition was given */
    TRACE_OVER,     /* the average time of a call, ns */
    TRACE_SELF,     /* the average self time of a call, ns */
    TRACE_QUANTILE, /* so many of its calls take at most that time, ns */
    TRACE_ERRORS,   /* percent of its calls that are left without a return */
    TRACE_RATE,     /* its calls in a second */
    TRACE_TIMES,    /* its average by the median of those before */
    TRACE_SIBLINGS, /* its average in one thread by the median of all threads */
    TRACE_CPU,      /* percent of the processes' CPU time */
    TRACE_SIGNAL,   /* a command says so */
};

struct trace_condition {
    enum trace_condition_kind kind;
    double limit;
    double quantile;      /* 0.99 of p99 */
    const char *text;     /* as it was given; borrowed. NULL: none was */
    const char *function; /* for which roots, a regular expression: an end of `text`; NULL: all */
};

/* Reads "COND[:RE]": `10ms`, `self > T`, `p99 > T`, `errors > N %`, `calls/s > N`, `3x`,
 * `2x siblings`, `cpu > N %` or `signal`. SPROF_EUSAGE: the message says what fits. `text` is
 * borrowed as long as the condition. */
int trace_condition_parse(struct trace_condition *condition, const char *text,
                          struct sprof_error *error);

/* Ended calls of one function in a window. */
struct trace_window_calls {
    uint64_t calls, failed;
    double total_ns, self_ns;
    double quantile_ns; /* of condition->quantile */
    double usual_ns;    /* median of the averages of windows before; 0: there were too few */
    double thread_ns;   /* the highest average of a thread with enough calls */
    double threads_ns;  /* the median of theirs; 0: there are fewer than two */
    double seconds;     /* of the window */
    double cpu_ns;      /* of the processes */
};

/* What the condition looks at, in its own unit; negative: these calls are too few. */
double trace_condition_measure(const struct trace_condition *condition,
                               const struct trace_window_calls *calls);

bool trace_condition_holds(const struct trace_condition *condition,
                           const struct trace_window_calls *calls);

/* Appends a measured value: "1.2 ms", "3 %", "812/s", "2.4x". */
void trace_condition_append(const struct trace_condition *condition, double measured,
                            struct sprof_str *out);

/* Appends a time in its unit, by three digits. */
void trace_append_time(struct sprof_str *out, double ns);

#endif
