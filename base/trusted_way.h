/* Whether what a path leads to is in the hands of the caller and root alone. */
#ifndef SPROF_BASE_TRUSTED_WAY_H
#define SPROF_BASE_TRUSTED_WAY_H

#include <stdbool.h>

/* Whether no other user can exchange the directory `path` or put something into it. Of one that
 * does not exist that holds for the last directory on the way. The owner of / counts as root. */
bool sprof_trusted_way(const char *path);

#endif
