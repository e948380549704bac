/* Directories for files that a command makes beside its output and removes at its end. */
#ifndef SPROF_IMPORT_MADE_DIRECTORY_H
#define SPROF_IMPORT_MADE_DIRECTORY_H

#include "base/base.h"

/* Makes a new directory of mode 0700 beside the place, and writes its name. Returns its descriptor
 * or a negative errno. */
int import_made_directory_make(const struct sprof_place *place, char name[NAME_MAX + 1]);

/* Removes the directory and the files in it, which are found by its descriptor: another one that
 * has taken its name keeps its files. Closes the descriptor. */
void import_made_directory_remove(const struct sprof_place *place, const char *name, int fd);

#endif
