/* What users of other profilers type, and how it is said here. */
#ifndef SPROF_CLI_FOREIGN_H
#define SPROF_CLI_FOREIGN_H

/* The answer to a command's option, such as `-g` of `record`; NULL where there is none. A value
 * behind `=` does not matter. */
const char *cli_foreign_option(const char *command, const char *word);

/* The answer to a word in a command's place, such as `flamegraph`; NULL where there is none. */
const char *cli_foreign_command(const char *word);

#endif
