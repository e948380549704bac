/* The compilers that have left room for no probes, and what can be asked of them. */
#ifndef SPROF_CLI_PRODUCERS_H
#define SPROF_CLI_PRODUCERS_H

/* Prints a line for each compiler other than those of C that the file of a module names. Says
 * nothing of files that cannot be read. */
void cli_print_producers(const char *module, const char *path, int room);

#endif
