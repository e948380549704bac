/* The figures of traced functions, for other commands that show them. */
#ifndef SPROF_CLI_STATS_H
#define SPROF_CLI_STATS_H

#include "cli/terminal.h"
#include "report/report.h"

/* Shows what `sprof stats --format` shows of a recording. */
int cli_show_stats(const char *path, const struct report_format *format,
                   struct cli_terminal *terminal, struct sprof_error *error);

#endif
