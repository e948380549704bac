/* sprof export -f rows: four tables for a fleet's database. */
#ifndef SPROF_CLI_EXPORT_ROWS_H
#define SPROF_CLI_EXPORT_ROWS_H

#include "cli/terminal.h"
#include "report/report.h"

struct cli_export_rows {
    struct cli_terminal *terminal;
    struct store *store;
    const char *input, *path;
    bool native; /* files in ClickHouse's format instead of tab-separated values */
    const struct report_selection *selection;
    struct report_rows_options options;
};

/* Writes the rows of the recording `input`, which `store` is, to files in the directory `path`,
 * which is made where it is missing, or as one stream for "-" (not native). An export that was
 * there before is replaced when the new one is whole. Errors as report_rows and cli_output_open. */
int cli_export_rows(const struct cli_export_rows *wanted, struct sprof_error *error);

#endif
