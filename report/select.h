/* Which run, event, threads and processes a profile is of. */
#ifndef SPROF_REPORT_SELECT_H
#define SPROF_REPORT_SELECT_H

#include "report/profile.h"

/* Chooses run and event, and checks that the thread and process asked for exist. Fills what the
 * profile knows of the run as a whole. */
int profile_select(struct profile *profile, struct store *store,
                   const struct report_options *options, struct sprof_error *error);

#endif
