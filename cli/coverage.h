/* Which functions were called, as `sprof stats --coverage` shows it. */
#ifndef SPROF_CLI_COVERAGE_H
#define SPROF_CLI_COVERAGE_H

#include "cli/listing.h"
#include "store/store.h"

struct cli_coverage_options {
    uint64_t run;    /* 0: all runs together */
    bool unexecuted; /* those alone that were not called */
    uint64_t limit;  /* rows; 0: all, or 40 for people */
    enum cli_format format;
    bool full_names;
};

/* SPROF_ENOTFOUND where no run looked for that. */
int cli_show_coverage(FILE *out, struct store *store, const struct cli_coverage_options *options,
                      struct sprof_error *error);

#endif
