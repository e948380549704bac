/* The table of warnings of a traced run. */
#ifndef SPROF_CLI_WARNINGS_H
#define SPROF_CLI_WARNINGS_H

#include "cli/listing.h"
#include "store/store.h"

struct cli_warnings_options {
    uint64_t run, limit; /* limit 0: 40 for people, else all */
    enum cli_format format;
    bool newest; /* not the first ones but the last, and nothing where there are none */
    bool full_names;
};

/* Writes the warnings of a run in the order of time. */
int cli_show_warnings(FILE *out, struct store *store, const struct cli_warnings_options *options,
                      struct sprof_error *error);

#endif
