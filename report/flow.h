/* Calls that were logged or kept, as `sprof script` prints them. */
#ifndef SPROF_REPORT_FLOW_H
#define SPROF_REPORT_FLOW_H

#include "base/base.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct report_format;
struct report_selection;

/* What the selected run, or the newest, has. *run: its number. Returns a REPORT_FLOW_… below, or a
 * negative code. */
enum { REPORT_FLOW_NONE, REPORT_FLOW_LOGGED, REPORT_FLOW_KEPT };
int report_flow_kind(struct store *store, uint32_t selected, uint32_t *run,
                     struct sprof_error *error);

/* Which calls, and how they are shown. */
struct report_flow_options {
    const struct report_format *format; /* NULL: text */
    uint64_t limit;                     /* 0: all */
    uint64_t over_ns; /* only calls that took at least so long, or have not ended; 0: all */
    bool full_names;
};

/* Each thread's calls as they began, indented by what called them. Of the selection run and thread
 * count; SPROF_EUSAGE where it holds more. `limit`: so many calls; 0: all. */
int report_flow_write(FILE *out, struct store *store, uint32_t run,
                      const struct report_selection *selection,
                      const struct report_flow_options *options, struct sprof_error *error);

/* The same of calls that rules have kept; the selection's process counts, too. */
int report_flow_write_kept(FILE *out, struct store *store, const struct report_selection *selection,
                           const struct report_flow_options *options, struct sprof_error *error);

#endif
