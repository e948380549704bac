/* The thread that writes batches to the database, so that the draining thread never waits for a
 * disk. Two batches: one is filled while the other is written. */
#ifndef SPROF_RECORDING_WRITER_H
#define SPROF_RECORDING_WRITER_H

#include "store/store.h"

#include <pthread.h>

struct recording_filled {
    struct store_batch rows;
    struct sprof_arena arena; /* blobs of the rows */
};

struct recording_writer {
    struct store *store; /* borrowed; the thread's while it runs */
    struct recording_filled batches[2];
    int filling; /* index of the batch the draining thread fills */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool running, busy, stopping;
    int result; /* of the first write that failed */
    struct sprof_error error;
};

/* Starts the thread. Rows that are in the batch already are kept; zero is an empty writer. `store`
 * is borrowed until recording_writer_finish. */
int recording_writer_start(struct recording_writer *writer, struct store *store,
                           struct sprof_error *error);

/* The batch to fill. Texts put into its rows must live until the recording ends, or be in its
 * arena. */
struct recording_filled *recording_writer_batch(struct recording_writer *writer);

/* Hands the filled batch over when the thread is idle, and gives the draining thread the other one;
 * else leaves everything as it is. Returns 0, or what the first failed write returned. */
int recording_writer_submit(struct recording_writer *writer, struct sprof_error *error);

bool recording_writer_is_busy(struct recording_writer *writer);

/* Waits until the thread is idle. Returns as recording_writer_submit. */
int recording_writer_wait(struct recording_writer *writer, struct sprof_error *error);

/* Writes what is left and ends the thread. Returns as recording_writer_submit. Zero is fine. */
int recording_writer_finish(struct recording_writer *writer, struct sprof_error *error);

#endif
