/* Opening and closing databases that exist. */
#ifndef SPROF_STORE_OPEN_H
#define SPROF_STORE_OPEN_H

#include "base/base.h"

#include <stdbool.h>

struct store;

/* Opens the file without looking at what it holds. */
int store_open_file(struct store **store, const char *path, bool writable,
                    struct sprof_error *error);

/* A write-ahead log for recording, or a rollback journal where that cannot work. */
void store_start_log(struct store *store);

#endif
