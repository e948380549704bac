/* Calls that were logged or kept, as `sprof script` prints them. */
#ifndef SPROF_CLI_FLOW_H
#define SPROF_CLI_FLOW_H

#include "report/report.h"

/* What the selected run, or the newest, has. *run: its number. Returns a CLI_… below, or a negative
 * code. */
enum { CLI_NO_FLOW, CLI_LOGGED_FLOW, CLI_KEPT_FLOW };
int cli_has_flow(struct store *store, uint32_t selected, uint32_t *run, struct sprof_error *error);

/* Which calls, and how they are shown. */
struct cli_flow_options {
    const struct report_format *format; /* NULL: text */
    uint64_t limit;                     /* 0: all */
    uint64_t over_ns; /* only calls that took at least so long, or have not ended; 0: all */
    bool full_names;
};

/* Each thread's calls as they began, indented by what called them. Of the selection run and thread
 * count; SPROF_EUSAGE where it holds more. `limit`: so many calls; 0: all. */
int cli_show_flow(FILE *out, struct store *store, uint32_t run,
                  const struct report_selection *selection, const struct cli_flow_options *options,
                  struct sprof_error *error);

/* The same of calls that rules have kept; the selection's process counts, too. */
int cli_show_kept_flow(FILE *out, struct store *store, const struct report_selection *selection,
                       const struct cli_flow_options *options, struct sprof_error *error);

#endif
