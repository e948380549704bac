/* The compilers that have left room for no probes, and the options that make them leave it. */
#ifndef SPROF_CLI_PRODUCERS_H
#define SPROF_CLI_PRODUCERS_H

/* Prints what made the units of a module's file, where it has debug information, and a line for
 * each compiler other than the given one (gcc or clang) and its kin that the file was made by. Says
 * nothing of files that cannot be read. */
void cli_print_producers(const char *module, const char *path, const char *compiler, int room);

#endif
