/* Writes batches of rows in a thread of its own. */
#include "recording/writer.h"

#include <string.h>

static void *writer_main(void *argument)
{
    struct recording_writer *writer = argument;
    pthread_mutex_lock(&writer->mutex);
    for (;;) {
        while (!writer->busy && !writer->stopping)
            pthread_cond_wait(&writer->changed, &writer->mutex);
        if (!writer->busy)
            break;
        struct recording_filled *batch = &writer->batches[!writer->filling];
        const bool skip = writer->result != 0;
        pthread_mutex_unlock(&writer->mutex);
        struct sprof_error error = {0};
        const int result = skip ? 0 : store_write(writer->store, &batch->rows, &error);
        store_batch_clear(&batch->rows);
        sprof_arena_release(&batch->arena);
        pthread_mutex_lock(&writer->mutex);
        if (result) {
            writer->result = result;
            writer->error = error;
        }
        writer->busy = false;
        pthread_cond_broadcast(&writer->changed);
    }
    pthread_mutex_unlock(&writer->mutex);
    return NULL;
}

int recording_writer_start(struct recording_writer *writer, struct store *store,
                           struct sprof_error *error)
{
    writer->store = store;
    writer->busy = writer->stopping = false;
    writer->result = 0;
    pthread_mutex_init(&writer->mutex, NULL);
    pthread_cond_init(&writer->changed, NULL);
    const int failure = pthread_create(&writer->thread, NULL, writer_main, writer);
    if (failure)
        return sprof_error_set(
            error, SPROF_EIO, failure,
            "cannot start a thread: %s\nsee `ulimit -u`, `ulimit -d` and `ulimit -v`",
            strerror(failure));
    writer->running = true;
    return 0;
}

struct recording_filled *recording_writer_batch(struct recording_writer *writer)
{
    return &writer->batches[writer->filling];
}

int recording_writer_submit(struct recording_writer *writer, struct sprof_error *error)
{
    pthread_mutex_lock(&writer->mutex);
    if (!writer->busy) {
        writer->filling = !writer->filling;
        writer->busy = true;
        pthread_cond_broadcast(&writer->changed);
    }
    const int result = writer->result;
    if (result && error)
        *error = writer->error;
    pthread_mutex_unlock(&writer->mutex);
    return result;
}

bool recording_writer_is_busy(struct recording_writer *writer)
{
    pthread_mutex_lock(&writer->mutex);
    const bool is_busy = writer->busy;
    pthread_mutex_unlock(&writer->mutex);
    return is_busy;
}

int recording_writer_wait(struct recording_writer *writer, struct sprof_error *error)
{
    pthread_mutex_lock(&writer->mutex);
    while (writer->busy)
        pthread_cond_wait(&writer->changed, &writer->mutex);
    const int result = writer->result;
    if (result && error)
        *error = writer->error;
    pthread_mutex_unlock(&writer->mutex);
    return result;
}

static void release_batches(struct recording_writer *writer)
{
    for (int i = 0; i < 2; i++) {
        store_batch_release(&writer->batches[i].rows);
        sprof_arena_release(&writer->batches[i].arena);
    }
}

int recording_writer_finish(struct recording_writer *writer, struct sprof_error *error)
{
    if (!writer->running) {
        release_batches(writer);
        return 0;
    }
    pthread_mutex_lock(&writer->mutex);
    while (writer->busy)
        pthread_cond_wait(&writer->changed, &writer->mutex);
    pthread_mutex_unlock(&writer->mutex);
    recording_writer_submit(writer, NULL);
    pthread_mutex_lock(&writer->mutex);
    writer->stopping = true;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    pthread_join(writer->thread, NULL);
    writer->running = false;
    release_batches(writer);
    pthread_mutex_destroy(&writer->mutex);
    pthread_cond_destroy(&writer->changed);
    if (writer->result && error)
        *error = writer->error;
    return writer->result;
}
