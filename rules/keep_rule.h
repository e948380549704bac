/* The rules of `--keep`, which select the calls that get rows. */
#ifndef SPROF_RULES_KEEP_RULE_H
#define SPROF_RULES_KEEP_RULE_H

#include "symbolize/symbolize.h"

#include <stdbool.h>

enum { RULES_KEEP_TESTS = 4, RULES_KEEP_TEXT_BYTES = 255 };

struct rules_keep_test {
    const char *name; /* parameter in `text`, not NUL-terminated; NULL: the result */
    uint32_t name_length;
    int64_t low, high; /* INT64_MIN, INT64_MAX: no bound */
    double low_real, high_real;
    bool is_outside;
};

/* A test that only the tracer can make. The agent sends values of calls, and the tracer drops calls
 * that fail. */
struct rules_keep_late {
    const char *at;             /* position in the rule's text */
    struct symbolize_path path; /* no name: the result */
    bool at_exit;               /* read at the end of the call, else at its start */
    bool has_changed;           /* the value must differ between start and end */
    char *text;                 /* required or, with is_outside, excluded; NULL: number; owned */
    struct rules_keep_test range;
};

enum rules_keep_expression {
    RULES_KEEP_BY_CALL,
    RULES_KEEP_BY_BELOW,  /* function of an enclosing call */
    RULES_KEEP_BY_CLASS,  /* its class or a base class */
    RULES_KEEP_BY_THROWN, /* type of the exception that leaves the call */
    RULES_KEEP_EXPRESSIONS,
};

/* What the program must be doing. */
enum rules_keep_load {
    RULES_LOAD_ANY,
    RULES_LOAD_CPU,      /* 1: one processor */
    RULES_LOAD_CALLS,    /* of probed functions, per second */
    RULES_LOAD_OPEN,     /* open calls */
    RULES_LOAD_RSS,      /* bytes in memory */
    RULES_LOAD_QUANTILE, /* ns, for calls of the rule's functions */
};

/* A call must meet all conditions. 0: no condition. */
struct rules_keep {
    const char *text;     /* borrowed */
    const char *function; /* regular expression in `text` or `quoted`; NULL: all chosen functions */
    char *quoted;         /* owned */
    uint64_t over_ns, self_ns; /* at least so long */
    uint64_t every;            /* each n-th matching call of a program */
    uint64_t first;            /* so many matching calls per second and program */
    uint64_t slowest;          /* among so many longest calls of the function so far */
    uint64_t next;             /* so many matching calls, then no more */
    bool waits;                /* `next` alone: none before the program or a command asks for it */
    bool has_over, has_self, throws;
    char *expressions[RULES_KEEP_EXPRESSIONS]; /* NULL: any; owned */
    enum rules_keep_load load;                 /* must be above load_over */
    double load_over;
    double quantile; /* 0.99 for p99 */
    struct rules_keep_test tests[RULES_KEEP_TESTS];
    uint32_t test_count;
    struct rules_keep_late late[RULES_KEEP_TESTS];
    uint32_t late_count;
};

/* Parses "COND [and COND …] [: RE] [while LOAD]", with LOAD `cpu > N %`, `calls/s > N`, `open > N`,
 * `rss > SIZE` or `p99 > T`. keep_rule.c lists the conditions. SPROF_EUSAGE: the message marks the
 * error and lists what fits; nothing is to be released. Borrows `text` for the rule's life. */
int rules_keep_parse(struct rules_keep *rule, const char *text, struct sprof_error *error);

/* Whether it has a condition on results. */
bool rules_keep_is_of_results(const struct rules_keep *rule);

bool rules_keep_is_errno(const struct rules_keep_test *test);

/* Whether only the tracer can decide the rule. */
bool rules_keep_is_late(const struct rules_keep *rule);

void rules_keep_release(struct rules_keep *rule);

#endif
