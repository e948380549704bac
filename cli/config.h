/* Files of options for programs: INI, with a section for each program, and for modules. */
#ifndef SPROF_CLI_CONFIG_H
#define SPROF_CLI_CONFIG_H

#include "cli/options.h"
#include "trace/trace.h"

/* What a file holds beside options. Options borrow its text. */
struct cli_config {
    char *text;
    SPROF_VEC(struct trace_module_rule) modules;
    SPROF_VEC(const char *) programs; /* the patterns of all sections of programs */
};

/* Reads the file, checks all of it, and sets the options of the section for the program in
 * `arguments`, unless they were given (as in struct cli_operands). SPROF_EUSAGE names file, line
 * and what is near; also where no section is for the program, or two are. The caller releases, also
 * on failure, when `arguments` are not used any more. */
int cli_config_read(struct cli_config *config, const char *path, const char *program,
                    const struct cli_command *command, const uint64_t given[2], void *arguments,
                    struct sprof_error *error);

/* Checks the file, and finds for which programs it has sections; without any it is SPROF_EUSAGE.
 * The caller releases, also on failure. */
int cli_config_check(struct cli_config *config, const char *path, const struct cli_command *command,
                     struct sprof_error *error);

/* Whether there is a section for the program in that file. */
bool cli_config_has(const struct cli_config *config, const char *program);

void cli_config_release(struct cli_config *config);

#endif
