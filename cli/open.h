/* How the reading commands open a recording. */
#ifndef SPROF_CLI_OPEN_H
#define SPROF_CLI_OPEN_H

#include "cli/terminal.h"
#include "store/store.h"

/* Opens `path` (NULL: sprof.db) read-only. A recording that was left unfinished, by --no-symbolize
 * or because its recorder was killed, is finished first, and that is said. One whose recorder is at
 * work is read through cli_open_running. A URL (clickhouse+http://…?service=S) is a selection of a
 * fleet, which is fetched. Errors as store_open_read and recording_derive. The caller
 * closes with store_close. */
int cli_open_recording(struct store **store, const char *path, struct cli_terminal *terminal,
                       struct sprof_error *error);

/* Opens what a recording holds at this moment, with names and costs that this process finds for
 * itself: the file stays as it is. store_running says whether a recorder is at work. Errors as
 * store_open_copy and recording_derive. */
int cli_open_running(struct store **store, const char *path, const struct sprof_log *log,
                     struct sprof_error *error);

/* Whether every run of the recording is complete: 1, 0, or a negative code. */
int cli_recording_complete(struct store *store, struct sprof_error *error);

#endif
