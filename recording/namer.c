/* Keeps sessions of the symbolizer from one recording to the next. */
#include "recording/namer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SESSIONS_MAX = 64 }; /* each keeps files open */
static const uint64_t bytes_max = UINT64_C(96) << 20;

/* A debug file that comes later is found after this time, and the cache gets what was read. */
static const uint64_t age_max_ns = UINT64_C(600) * 1000000000;

struct kept {
    struct recording_session open;
    uint64_t bytes;
};

struct recording_namer {
    pthread_mutex_t mutex;
    struct cache *cache; /* NULL: none */
    const struct sprof_log *log;
    SPROF_VEC(struct kept) kept; /* in the order in which they were given */
    uint64_t bytes;              /* of these */
};

struct recording_namer *recording_namer_open(bool no_cache, const struct sprof_log *log)
{
    struct recording_namer *namer = calloc(1, sizeof *namer);
    if (!namer)
        return NULL;
    pthread_mutex_init(&namer->mutex, NULL);
    namer->cache = no_cache ? NULL : cache_open(NULL);
    namer->log = log;
    return namer;
}

/* Under the mutex. */
static struct recording_session take_at(struct recording_namer *namer, size_t at)
{
    const struct kept kept = namer->kept.items[at];
    namer->bytes -= kept.bytes;
    namer->kept.count--;
    memmove(&namer->kept.items[at], &namer->kept.items[at + 1],
            (namer->kept.count - at) * sizeof kept);
    return kept.open;
}

/* Under the mutex; SIZE_MAX: there is none. */
static size_t find(const struct recording_namer *namer, const struct recording_file *file)
{
    for (size_t i = 0; i < namer->kept.count; i++)
        if (recording_file_equal(&namer->kept.items[i].open.file, file))
            return i;
    return SIZE_MAX;
}

/* The image is opened again: the recording's does not live as long. */
static int open_session(const struct recording_namer *namer, const struct image *image,
                        struct recording_session *open)
{
    const struct symbolize_options options = {.cache = namer->cache, .log = namer->log};
    const int copy = fcntl(image_fd(image), F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return SPROF_EIO;
    int failed =
        image_open_descriptor(&open->image, copy, image_path(image), image_root(image), NULL);
    if (!failed) {
        image_identify(open->image, namer->cache);
        open->began_ns = sprof_clock_monotonic_ns();
        failed = symbolize_session_open(&open->session, open->image, &options, NULL);
    }
    if (failed)
        recording_session_close(open);
    return failed;
}

int recording_namer_take(struct recording_namer *namer, const struct image *image,
                         struct recording_session *open)
{
    const struct recording_file file = recording_file_of(image);
    *open = (struct recording_session){0};
    pthread_mutex_lock(&namer->mutex);
    const size_t at = find(namer, &file);
    if (at != SIZE_MAX)
        *open = take_at(namer, at);
    pthread_mutex_unlock(&namer->mutex);
    if (open->session)
        return 0;
    const int failed = open_session(namer, image, open);
    if (failed)
        return failed;
    open->namer = namer;
    open->file = file;
    return 0;
}

/* One that has to go: it is too old, or there are too many; SIZE_MAX: none. Under the mutex. */
static size_t find_surplus(const struct recording_namer *namer, uint64_t now_ns)
{
    for (size_t i = 0; i < namer->kept.count; i++)
        if (now_ns > namer->kept.items[i].open.began_ns + age_max_ns)
            return i;
    return namer->kept.count > SESSIONS_MAX || namer->bytes > bytes_max ? 0 : SIZE_MAX;
}

static void close_surplus(struct recording_namer *namer, uint64_t now_ns)
{
    for (;;) {
        pthread_mutex_lock(&namer->mutex);
        const size_t at = find_surplus(namer, now_ns);
        struct recording_session surplus =
            at != SIZE_MAX ? take_at(namer, at) : (struct recording_session){0};
        pthread_mutex_unlock(&namer->mutex);
        if (at == SIZE_MAX)
            return;
        recording_session_close(&surplus); /* takes long: without the mutex */
    }
}

void recording_namer_give(struct recording_namer *namer, struct recording_session *open)
{
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    const struct kept kept = {.open = *open, .bytes = symbolize_session_bytes(open->session)};
    *open = (struct recording_session){0};
    pthread_mutex_lock(&namer->mutex);
    const bool keeps = kept.bytes < bytes_max && now_ns - kept.open.began_ns < age_max_ns &&
                       !symbolize_session_problem(kept.open.session) &&
                       find(namer, &kept.open.file) == SIZE_MAX &&
                       !sprof_vec_push(&namer->kept, kept);
    namer->bytes += keeps ? kept.bytes : 0;
    pthread_mutex_unlock(&namer->mutex);
    if (!keeps) {
        struct recording_session closed = kept.open;
        recording_session_close(&closed);
    }
    close_surplus(namer, now_ns);
}

void recording_namer_free(struct recording_namer *namer)
{
    if (!namer)
        return;
    for (size_t i = 0; i < namer->kept.count; i++)
        recording_session_close(&namer->kept.items[i].open);
    sprof_vec_release(&namer->kept);
    pthread_mutex_destroy(&namer->mutex);
    cache_free(namer->cache, 0);
    free(namer);
}
