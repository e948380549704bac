/* cache, inside: the directory that holds the entries. */
#ifndef SPROF_CACHE_DIRECTORY_H
#define SPROF_CACHE_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

/* What the names of files begin with that are not entries yet. */
#define CACHE_TEMPORARY ".new-"

/* Opens (and makes) the directory given, or the user's. -1 where it is not the effective user's
 * own, or others may write to it. */
int cache_directory_open(const char *directory);

/* Notes that an entry was used. */
void cache_directory_mark_used(int file);

/* Whether the last call that returned true is more than ten minutes ago. */
bool cache_directory_is_due(int directory);

/* Removes what a killed process left, and the entries unused for longest while all together take
 * more than `bytes_max`. */
void cache_directory_shrink(int directory, uint64_t bytes_max);

#endif
