/* What stands below the table of sprof stats. */
#ifndef SPROF_CLI_STATS_FOOTER_H
#define SPROF_CLI_STATS_FOOTER_H

#include "base/base.h"
#include "store/store.h"

#include <stdio.h>

enum { CLI_STATS_NAMES = 5 }; /* of functions that a line tells */

/* What of the table the lines below it speak of. */
struct cli_stats_shown {
    bool has_total_percent;           /* as a column */
    bool by_caller;                   /* rows are of callers, too */
    size_t uncertain;                 /* rows whose self time may hold what is not theirs … */
    struct sprof_str uncertain_names; /* … and functions of the first of them */
};

/* "1.34 µs": three digits, in the largest unit that has one before the point. Returns the buffer.
 */
const char *cli_time_text(char buffer[32], const char *nanoseconds);

/* Writes the lines that a run has; 0 or a code of store_query. */
int cli_show_stats_footer(FILE *out, struct store *store, uint64_t run,
                          const struct cli_stats_shown *shown, struct sprof_error *error);

#endif
