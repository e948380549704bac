/* Turns recordings into batches for a receiver. */
#ifndef SPROF_CLI_SPOOLING_H
#define SPROF_CLI_SPOOLING_H

#include "cli/terminal.h"
#include "fleet/fleet.h"
#include "report/report.h"

struct cli_spooling {
    struct cli_terminal *terminal;
    struct fleet_spool *spool;
    struct report_rows_options rows; /* window and labels */
    bool native;                     /* ClickHouse's format where all its versions take it */
};

/* Adds the names of the functions of a recording, for rows that came without them. */
int cli_spool_names(const struct cli_spooling *spooling, const char *path,
                    struct sprof_error *error);

/* Adds each run of a recording that is complete. SPROF_ESTATE where it is being recorded. */
int cli_spool_recording(const struct cli_spooling *spooling, const char *path,
                        struct sprof_error *error);

/* Adds the segments of `sprof record --loop` that have ended since the last call, also by an
 * earlier process. Those being written are left for the next time. */
int cli_spool_segments(const struct cli_spooling *spooling, const char *directory,
                       struct sprof_error *error);

#endif
