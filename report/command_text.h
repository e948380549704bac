/* Short texts of command lines, in which what they have in common is left out. */
#ifndef SPROF_REPORT_COMMAND_TEXT_H
#define SPROF_REPORT_COMMAND_TEXT_H

#include "base/base.h"

/* Zero is valid and empty. Borrows the command lines. */
struct report_commands {
    SPROF_VEC(struct report_command_start) starts;
    struct sprof_map by_program; /* hash of the program's name → place in `starts` + 1 */
};

/* Takes a command line in, as a shell would read it; NULL is none. Returns 0 or SPROF_ENOMEM. */
int report_commands_add(struct report_commands *commands, const char *command);

/* Appends the short text of a command line that was taken in: the program without its directory,
 * and its arguments from the first on that is not the same in all different command lines of that
 * program; "…" stands for those left out. "" for NULL. Returns 0 or SPROF_ENOMEM. */
int report_commands_short(const struct report_commands *commands, const char *command,
                          struct sprof_str *out);

void report_commands_release(struct report_commands *commands);

#endif
