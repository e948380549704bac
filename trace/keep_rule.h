/* trace: the rules of `--keep`, which say of which calls rows are kept. */
#ifndef SPROF_TRACE_KEEP_RULE_H
#define SPROF_TRACE_KEEP_RULE_H

#include "base/base.h"

#include <stdbool.h>

enum { TRACE_KEEP_TESTS = 4 };

/* Whether a value lies in a range, or not. */
struct trace_keep_test {
    const char *name; /* of a parameter, in `text`, not ended; NULL: the result */
    uint32_t name_length;
    int64_t low, high; /* as an integer; INT64_MIN, INT64_MAX: no bound */
    double low_real, high_real;
    bool is_outside;
};

/* What the program must be doing. */
enum trace_keep_load {
    TRACE_LOAD_ANY,
    TRACE_LOAD_CPU,      /* CPU time by time; 1 is one processor */
    TRACE_LOAD_CALLS,    /* calls of probed functions a second */
    TRACE_LOAD_OPEN,     /* of these, open ones */
    TRACE_LOAD_RSS,      /* bytes in memory */
    TRACE_LOAD_QUANTILE, /* ns that a part of the calls take at most, of the rule's functions */
};

/* A call meets a rule that meets all of its conditions. Conditions that are 0 are none. */
struct trace_keep_rule {
    const char *text;          /* as it was given; borrowed */
    const char *function;      /* a regular expression; NULL: all chosen functions. Borrowed: an
                                  end of `text`, or `quoted` */
    char *quoted;              /* owned */
    uint64_t over_ns, self_ns; /* at least */
    uint64_t every;            /* of those that meet all before, each so-many-th of a program */
    uint64_t first;            /* of those that meet all before, so many a second of a program */
    uint64_t slowest;          /* it is among so many longest calls of its function so far */
    uint64_t next;             /* of those that meet all before, so many and no more */
    bool has_over, has_self, throws;
    char *thrown;              /* a regular expression for the exception's type; NULL: any; owned */
    enum trace_keep_load load; /* while this is above the bound */
    double load_over;
    double quantile; /* 0.99 of p99 */
    struct trace_keep_test tests[TRACE_KEEP_TESTS];
    uint32_t test_count;
};

/* Reads "COND [and COND …] [: RE]". COND is `over T`, `self over T`, `throws`, `slowest N`,
 * `every N`, `first N a second`, `next N`, `returns OP V`, `errno OP V` or `NAME OP V`. ` while
 * LOAD` may follow: `cpu > N %`, `calls/s > N`, `open > N`, `rss > SIZE` or `p99 > T`.
 * SPROF_EUSAGE: the message shows the place, and says what fits there. Nothing is to be released
 * then. `text` is borrowed as long as the rule. */
int trace_keep_rule_parse(struct trace_keep_rule *rule, const char *text,
                          struct sprof_error *error);

/* Whether a test is about errno when the call returns. */
bool trace_keep_is_errno(const struct trace_keep_test *test);

void trace_keep_rule_release(struct trace_keep_rule *rule);

#endif
