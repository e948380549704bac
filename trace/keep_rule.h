/* trace: the rules of `--keep`, which say of which calls rows are kept. */
#ifndef SPROF_TRACE_KEEP_RULE_H
#define SPROF_TRACE_KEEP_RULE_H

#include "symbolize/symbolize.h"

#include <stdbool.h>

enum { TRACE_KEEP_TESTS = 4, TRACE_KEEP_TEXT_BYTES = 255 };

/* Whether a value lies in a range, or not. */
struct trace_keep_test {
    const char *name; /* of a parameter, in `text`, not ended; NULL: the result */
    uint32_t name_length;
    int64_t low, high; /* as an integer; INT64_MIN, INT64_MAX: no bound */
    double low_real, high_real;
    bool is_outside;
};

/* A condition on what only the tracer can read: the calls that may meet it have their values
 * written, and those that do not are dropped then. */
struct trace_keep_late {
    const char *at;             /* where it stands in the rule's text */
    struct symbolize_path path; /* of the value; without a name: the result */
    bool at_exit;               /* it is read when the call ends, else when it begins */
    bool has_changed;           /* it is read at both times, and must differ */
    char *text;                 /* that it must be, or with is_outside not; NULL: a number; owned */
    struct trace_keep_test range;
};

/* Regular expressions of conditions. */
enum trace_keep_expression {
    TRACE_KEEP_BY_CALL,   /* for the function's name */
    TRACE_KEEP_BY_BELOW,  /* for that of a function in whose call it is */
    TRACE_KEEP_BY_CLASS,  /* for the function's class, or one that this derives from */
    TRACE_KEEP_BY_THROWN, /* for the type of the exception that leaves the call */
    TRACE_KEEP_EXPRESSIONS,
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
    char *expressions[TRACE_KEEP_EXPRESSIONS]; /* NULL: any; owned */
    enum trace_keep_load load;                 /* while this is above the bound */
    double load_over;
    double quantile; /* 0.99 of p99 */
    struct trace_keep_test tests[TRACE_KEEP_TESTS];
    uint32_t test_count;
    struct trace_keep_late late[TRACE_KEEP_TESTS];
    uint32_t late_count;
};

/* Reads "COND [and COND …] [: RE] [while LOAD]"; the conditions are those of a table in
 * keep_rule.c, a LOAD is `cpu > N %`, `calls/s > N`, `open > N`, `rss > SIZE` or `p99 > T`.
 * SPROF_EUSAGE: the message shows the place, and says what fits there. Nothing is to be released
 * then. `text` is borrowed as long as the rule. */
int trace_keep_rule_parse(struct trace_keep_rule *rule, const char *text,
                          struct sprof_error *error);

/* Whether a test is about errno when the call returns. */
bool trace_keep_is_errno(const struct trace_keep_test *test);

/* Whether the tracer decides whether calls meet the rule, by their values. */
bool trace_keep_is_late(const struct trace_keep_rule *rule);

void trace_keep_rule_release(struct trace_keep_rule *rule);

#endif
