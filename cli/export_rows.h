/* sprof export -f rows: four tables for a fleet's database. */
#ifndef SPROF_CLI_EXPORT_ROWS_H
#define SPROF_CLI_EXPORT_ROWS_H

#include "cli/terminal.h"
#include "report/report.h"

/* Writes the rows of the recording `input`, which `store` is, to files in the directory `path`,
 * which is made where it is missing, or as one stream for "-". An export that was there before is
 * replaced when the new one is whole. Errors as report_rows and cli_output_open. */
int cli_export_rows(struct cli_terminal *terminal, struct store *store, const char *input,
                    const char *path, const struct report_selection *selection,
                    const struct report_rows_options *options, struct sprof_error *error);

#endif
