/* Opening and closing databases that exist. */
#ifndef SPROF_STORE_OPEN_H
#define SPROF_STORE_OPEN_H

#include "base/base.h"
#include "store/former.h"

#include <stdbool.h>
#include <sys/stat.h>

struct store;

/* Opens the file without looking at what it holds. `made` (NULL: any): it must be this one. */
int store_open_file(struct store **store, const char *path, bool writable, const struct stat *made,
                    struct sprof_error *error);

/* A write-ahead log for recording, or a rollback journal where that cannot work. */
void store_start_log(struct store *store);

/* SPROF_EPERMISSION where the path is a symbolic link. */
int store_refuse_link(const char *path, struct sprof_error *error);

/* Makes the path free: an existing recording is set aside (store/former.h), an empty file and logs
 * of a file that is gone are removed. *place: where that is, to be closed by the caller, also after
 * an error. Errors as store_create. */
int store_clear_the_way(const char *path, struct sprof_place *place, struct store_former *former,
                        struct sprof_error *error);

#endif
