/* Sessions of the symbolizer: which image they own, and how they are closed beside other work. */
#ifndef SPROF_RECORDING_SESSIONS_H
#define SPROF_RECORDING_SESSIONS_H

#include "symbolize/symbolize.h"

#include <pthread.h>
#include <sys/types.h>

/* Which file an image was opened from, and in which state. */
struct recording_file {
    dev_t device;
    ino_t inode; /* 0: none is known */
    off_t size;
    uint64_t changed_ns;
    uint64_t noted_ns; /* the last change of it or of what is said about it: cannot be set */
};
struct recording_file recording_file_of(const struct image *image);
bool recording_file_equal(const struct recording_file *left, const struct recording_file *right);

/* Zero is a valid empty one. */
struct recording_session {
    struct image *image; /* its own; NULL: it borrows another's */
    struct symbolize_session *session;
    struct recording_namer *namer; /* that gets it back; NULL: it is closed */
    struct recording_file file;    /* … and of which file it is */
    uint64_t began_ns;             /* … and since when (CLOCK_MONOTONIC) */
};
void recording_session_close(struct recording_session *open);

/* Sessions that have answered. To put what they read into the cache takes as long as to add up
 * costs, which need not wait for it. Zero is a valid empty one. */
struct recording_closing {
    SPROF_VEC(struct recording_session) sessions;
    pthread_t thread;
    bool running;
};

/* Takes a session over, which is closed at once where it has nothing to put into the cache. Nothing
 * may be added between recording_closing_begin and recording_closing_end. */
void recording_closing_add(struct recording_closing *closing, struct recording_session *open);

/* Closes them in a thread of its own, where one can be had. */
void recording_closing_begin(struct recording_closing *closing);

/* Waits until all are closed. */
void recording_closing_end(struct recording_closing *closing);

#endif
