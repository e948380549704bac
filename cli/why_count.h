/* sprof why: counts calls of the functions that it names, by probes. */
#ifndef SPROF_CLI_WHY_COUNT_H
#define SPROF_CLI_WHY_COUNT_H

#include "cli/values.h"
#include "why/why.h"

/* What a verdict names is looked at for so long: a wait is rarer than a call that computes. */
struct cli_why_count {
    const struct cli_pids *pids;
    const char *output; /* the recording of the counts, which is made anew */
    const char *sprof_version;
};

/* Puts probes into the processes for a moment, and adds to the verdict what they counted. Returns
 * 0, 1 where the verdict has no function that can be counted, or a negative code and an error: the
 * verdict is then what it was. Ctrl-C ends the count early. Sets *stopped_ns to the longest time
 * for which threads stood still. */
int cli_why_count(const struct cli_why_count *count, const struct why_table *table,
                  struct why_verdict *verdict, uint64_t *stopped_ns, struct sprof_error *error);

#endif
