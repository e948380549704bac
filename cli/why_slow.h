/* sprof why --slow: samples a program while a trace keeps calls of some of its functions. */
#ifndef SPROF_CLI_WHY_SLOW_H
#define SPROF_CLI_WHY_SLOW_H

#include "record/record.h"

/* How it was looked at a program. Zero is valid and empty. */
struct cli_why_looking {
    struct record_session *session; /* the caller frees it, also on failure; NULL: none */
    struct record_result result;
    struct sprof_error unseen; /* why waits were not recorded */
    uint64_t stopped_ns;       /* for which threads stood still, at most */
};

/* Without a limit all calls are kept that take so long, and some of the others. */
enum { CLI_WHY_LONG_NS = 200000 };

struct cli_why_slow {
    const char *of;       /* an expression for functions */
    uint64_t over_ns;     /* slow calls take longer; 0: that is found out */
    const char *output;   /* the recording of the calls, which is made anew */
    uint64_t duration_ns; /* 0: until the command ends */
};

/* Looks at the processes of `record`, or launches its command, which ends where the time passes
 * before it does. Ctrl-C ends both recordings early. Errors as of record_open and trace_open. */
int cli_why_slow(const struct cli_why_slow *slow, struct record_options *record,
                 struct cli_why_looking *looking, struct sprof_error *error);

#endif
