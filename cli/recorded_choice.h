/* Chooses functions for probes by a recording. */
#ifndef SPROF_CLI_RECORDED_CHOICE_H
#define SPROF_CLI_RECORDED_CHOICE_H

#include "cli/terminal.h"
#include "cli/values.h"

/* Zero is valid and empty. */
struct cli_recorded_choice {
    struct sprof_arena texts;
    SPROF_VEC(const char *) functions; /* expressions, as of --function */
    size_t count;                      /* functions that these name */
    bool is_traced; /* they were called in a trace; else samples found them hot */
};

/* Chooses the functions of the file `module` that the newest run of a recording found: of a trace
 * those that were called, of samples those with `least_percent` of the CPU time by themselves, or
 * with a fifth of it below them. SPROF_ENOTFOUND: there are none. The caller releases, also on
 * failure. */
int cli_choose_for_embed(struct cli_recorded_choice *choice, const char *recording,
                         const char *module, double least_percent, struct cli_terminal *terminal,
                         struct sprof_error *error);

/* Chooses the functions that the newest run of a trace has kept by a rule, or whose calls were left
 * by an exception; without rows of calls, those whose calls were left without a return. Else as
 * above. */
int cli_choose_for_errors(struct cli_recorded_choice *choice, const char *recording,
                          struct cli_terminal *terminal, struct sprof_error *error);

void cli_recorded_choice_release(struct cli_recorded_choice *choice);

#endif
