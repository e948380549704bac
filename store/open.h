/* Opening and closing databases that exist. */
#ifndef SPROF_STORE_OPEN_H
#define SPROF_STORE_OPEN_H

#include "base/base.h"

#include <stdbool.h>

struct store;

/* Opens the file without looking at what it holds. */
int store_open_file(struct store **store, const char *path, bool writable,
                    struct sprof_error *error);

/* Journal and synchronization for recording. Before it, what is written survives only when this
 * process does. */
int store_start_log(struct store *store, struct sprof_error *error);

#endif
