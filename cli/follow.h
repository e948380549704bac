/* A report that is shown anew while its recording goes on. */
#ifndef SPROF_CLI_FOLLOW_H
#define SPROF_CLI_FOLLOW_H

#include "cli/terminal.h"
#include "store/store.h"

/* Shows what `show` writes of a recording every now and then, until it has ended or Ctrl-C; then
 * once more as a whole. On a terminal each takes the place of the one before, as much of it as
 * fits; else one follows the other, with an empty line between. Errors as cli_open_recording and
 * `show`. */
struct cli_follow {
    const char *path;     /* NULL: the usual one */
    uint64_t interval_ns; /* 0: two seconds */
    bool sql;             /* `show` runs SQL of its own */
    bool lines;           /* … or needs costs of source lines */
    int (*show)(void *context, FILE *out, struct store *store, struct sprof_error *error);
    void *context;
};
int cli_follow(const struct cli_follow *follow, struct cli_terminal *terminal,
               struct sprof_error *error);

#endif
