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
    bool has_log;      /* as while it is written, or after its recorder was killed */
};

/* Zero is a valid empty list. */
struct record_segments {
    SPROF_VEC(struct record_segment) list; /* by the time at which they begin */
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

/* When the segments begin that are being written, as their names say. They need not be those of
 * one range: the clock may have been set back between two of them. */
struct record_written {
    uint64_t start_ns[8]; /* since 1970 */
    size_t count;
};

/* Removes the oldest segments of what is more than that. Those that are being written count, and
 * stay. The oldest of all are those that begin in the future: the clock has been set back since.
 * Adds to *removed. */
int record_segments_trim(const char *directory, const struct record_keep *keep,
                         const struct record_written *written, size_t *removed,
                         struct sprof_error *error);

/* Removes the oldest segment that is not being written. Returns 1, or 0 where there is none. */
int record_segments_drop_oldest(const char *directory, const struct record_written *written,
                                struct sprof_error *error);

/* Finishes what a recorder that was killed has left, as `sprof report` would. A segment that cannot
 * be read is renamed to NAME.damaged, and named in the log. */
int record_segments_finish(const char *directory, bool no_cache, const struct sprof_log *log,
                           struct sprof_error *error);

#endif
