/* The process that sends what a continuous recording has recorded: `sprof push --follow`. */
#ifndef SPROF_CLI_PUSHER_H
#define SPROF_CLI_PUSHER_H

#include "cli/values.h"

#include <signal.h>

struct cli_pusher_options {
    const char *to, *credentials; /* as of `sprof push`; `to` NULL: nothing is sent */
    struct cli_texts labels;
    unsigned without;
};

/* Starts it for the segments in `directory`, which is made where it does not exist; its spool is
 * `spool` in there. Signals of the terminal do not reach it, and it ends with this process.
 * Returns its number, or a negative code. */
pid_t cli_pusher_start(const struct cli_pusher_options *options, const char *directory,
                       const sigset_t *mask, struct sprof_error *error);

/* Lets it send what there is, once, and waits for its end. */
void cli_pusher_end(pid_t pusher);

#endif
