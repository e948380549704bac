/* Continuous recording: segment after segment, each a recording of its own in one directory. */
#ifndef SPROF_RECORD_LOOP_H
#define SPROF_RECORD_LOOP_H

#include "record/record.h"
#include "record/segments.h"

/* All is borrowed until record_loop returns. */
struct record_loop_options {
    const struct record_options *record; /* of each segment, but for its output; no command */
    const char *directory;
    uint64_t segment_ns;  /* segments begin at its multiples since 1970, but for the first */
    uint64_t duration_ns; /* of all; 0: no end */
    struct record_keep keep;
    double chance;   /* at which a segment is recorded; 1: all are */
    uint64_t budget; /* samples an hour, for which the chance goes down; 0: none */
    int end_fd;      /* readable once the recording shall end */
};

struct record_loop_result {
    size_t segments, removed; /* recorded, and no longer kept */
    size_t dropped;           /* removed before their time, for want of space */
};

/* Records until the targets end, the duration has passed or end_fd is readable. The next segment's
 * events are enabled before the last one's are taken away, and each sample belongs to one of the
 * two: between segments there is no gap. Where the next one cannot begin, the one at hand goes on,
 * and the log says so. Errors as record_open of the first segment, record_run, and
 * record_segments_lock; where there is no space left the oldest segments go. */
int record_loop(const struct record_loop_options *options, struct record_loop_result *result,
                struct sprof_error *error);

#endif
