/* Options of `record` for continuous recording. */
#ifndef SPROF_CLI_LOOPING_H
#define SPROF_CLI_LOOPING_H

#include "cli/pusher.h"
#include "cli/terminal.h"
#include "record/record.h"

#define CLI_DEFAULT_SEGMENTS "sprof.loop"

struct cli_looping {
    uint64_t segment_ns; /* 0: --loop was not given */
    struct record_keep keep;
    double chance; /* percent; 0: not given */
    uint64_t budget;
    struct cli_pusher_options pusher;
};

/* struct record_keep: "24h" or "2G"; given twice it holds both. */
int cli_set_keep(void *field, const char *value, struct sprof_error *error);

/* double, percent: "10%" or "0.1". */
int cli_set_chance(void *field, const char *value, struct sprof_error *error);

/* The first option here that needs --loop; NULL: none was given. */
const char *cli_looping_option(const struct cli_looping *looping);

/* Records until a signal, the end of the targets or the duration. Returns 0 or a negative code with
 * *error filled. */
int cli_loop(struct cli_terminal *terminal, const struct cli_looping *looping,
             const struct record_options *record, struct sprof_error *error);

#endif
