/* Which sprof, if any, is recording to a database. */
#ifndef SPROF_STORE_LIVE_H
#define SPROF_STORE_LIVE_H

#include "base/base.h"

struct store;

/* SPROF_ESTATE, naming the process, where a live sprof records to this database. `recording` is the
 * condition on the rows of `run` that its version has for unfinished ones. */
int store_check_live(struct store *store, const char *recording, struct sprof_error *error);

/* Sets `store->running`: a run that another process is recording, or finishing. */
int store_find_running(struct store *store, struct sprof_error *error);

#endif
