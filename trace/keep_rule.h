/* trace: the rules of `--keep`, which say of which calls rows are kept. */
#ifndef SPROF_TRACE_KEEP_RULE_H
#define SPROF_TRACE_KEEP_RULE_H

#include "base/base.h"

#include <stdbool.h>

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
};

/* Reads "COND [and COND …] [: RE]". COND is `over T`, `self over T`, `throws`, `slowest N`,
 * `every N` or `first N a second`. SPROF_EUSAGE: the message shows the place, and says what fits
 * there. Nothing is to be released then. `text` is borrowed as long as the rule. */
int trace_keep_rule_parse(struct trace_keep_rule *rule, const char *text,
                          struct sprof_error *error);

void trace_keep_rule_release(struct trace_keep_rule *rule);

#endif
