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

/* The setter of --without user,cgroup,container: adds to an unsigned of enum report_rows_label. */
int cli_set_left_out(void *left_out, const char *value, struct sprof_error *error);

/* The words of that option. */
extern const char *const cli_left_out_words[];
enum { CLI_LEFT_OUT_WORDS = 3 };

/* Writes the rows of the recording `input`, which `store` is, to files in the directory `path`,
 * which is made where it is missing, or as one stream for "-" (not native). An export that was
 * there before is replaced when the new one is whole. Errors as report_rows and cli_output_open. */
int cli_export_rows(const struct cli_export_rows *wanted, struct sprof_error *error);

#endif
