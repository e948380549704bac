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
    bool has_over, has_self, throws;
    struct trace_keep_test tests[TRACE_KEEP_TESTS];
    uint32_t test_count;
};

/* Reads "COND [and COND …] [: RE]". COND is `over T`, `self over T`, `throws`, `slowest N`,
 * `every N`, `first N a second`, `returns OP V` or `NAME OP V`. SPROF_EUSAGE: the message shows the
 * place, and says what fits there. Nothing is to be released then. `text` is borrowed as long as
 * the rule. */
int trace_keep_rule_parse(struct trace_keep_rule *rule, const char *text,
                          struct sprof_error *error);

void trace_keep_rule_release(struct trace_keep_rule *rule);

#endif
