/* The directory of a continuous recording: a recording a segment, named by the time at which it
 * begins. */
#ifndef SPROF_RECORD_SEGMENTS_H
#define SPROF_RECORD_SEGMENTS_H

#include "base/base.h"

#include <stdbool.h>

struct record_segment {
    char name[32];     /* 20261128T185300.123Z.db, in UTC */
    uint64_t start_ns; /* since 1970 */
    uint64_t bytes;    /* with its log, where there is one */
};

/* Zero is a valid empty list. */
struct record_segments {
    SPROF_VEC(struct record_segment) list; /* oldest first */
};

/* Writes the name of the segment that begins at a time, to the millisecond. */
void record_segment_name(uint64_t start_ns, char name[static 32]);

/* False where the name is not that of a segment. */
bool record_segment_parse(const char *name, uint64_t *start_ns);

/* Lists the segments that a directory holds. The caller releases the list. SPROF_ENOTFOUND: there
 * is no such directory. */
int record_segments_list(struct record_segments *segments, const char *directory,
                         struct sprof_error *error);
void record_segments_release(struct record_segments *segments);

/* Makes and takes the directory, as sprof_own_directory_take. */
int record_segments_lock(const char *path, struct sprof_own_directory *directory,
                         struct sprof_error *error);

/* What is kept: segments that began less than `ns` ago and that have at most `bytes` together;
 * 0: no bound. */
struct record_keep {
    uint64_t ns, bytes;
};

/* Removes the oldest segments of what is more than that. Those that begin at `from_ns` (since 1970)
 * or later are still written: they count, and stay. Adds to *removed. */
int record_segments_trim(const char *directory, const struct record_keep *keep, uint64_t from_ns,
                         size_t *removed, struct sprof_error *error);

/* Removes the oldest segment that begins before `from_ns`. Returns 1, or 0 where there is none. */
int record_segments_drop_oldest(const char *directory, uint64_t from_ns, struct sprof_error *error);

/* Finishes what a recorder that was killed has left, as `sprof report` would. A segment that cannot
 * be read is renamed to NAME.damaged, and named in the log. */
int record_segments_finish(const char *directory, bool no_cache, const struct sprof_log *log,
                           struct sprof_error *error);

#endif
