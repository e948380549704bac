/* Reads a growing recording in a thread, for `sprof top`. */
#include "cli/top_reader.h"

#include "base/threads.h"
#include "recording/recording.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* Until there are samples it is read more often, for a first screen within a second. A recording
 * that has just begun has no run yet, which is no failure. */
enum { FIRST_INTERVAL_NS = 100000000, FIRST_ATTEMPTS = 30 };

struct cli_top_reader {
    char *path;
    uint64_t interval_ns;
    struct sprof_threads thread;
    int event_fd;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    bool ends, finished, asked; /* asked: read at once */
    unsigned generation;        /* of the selection */
    char *selected_thread, *selected_module;
    struct report_moment *moment;
    struct sprof_error error;
    SPROF_VEC(uint64_t) cpu_ns; /* of each reading */
};

static uint64_t thread_cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static char *copy_of(const char *text)
{
    return text ? strdup(text) : NULL;
}

static int read_moment(struct cli_top_reader *reader, struct recording_live *live,
                       struct report_moment **moment, unsigned *generation,
                       struct sprof_error *error)
{
    struct store *store;
    pthread_mutex_lock(&reader->lock);
    *generation = reader->generation;
    char *thread = copy_of(reader->selected_thread), *module = copy_of(reader->selected_module);
    pthread_mutex_unlock(&reader->lock);
    const struct report_selection selection = {.thread = thread, .module = module};
    *moment = NULL;
    int status = recording_live_look(live, NULL, &store, error);
    if (!status)
        status = report_moment_load(moment, store, &selection, error);
    free(thread);
    free(module);
    return status;
}

/* Hands over what was read, unless another selection came meanwhile. */
static void publish(struct cli_top_reader *reader, struct report_moment *moment,
                    unsigned generation, const struct sprof_error *error)
{
    const uint64_t one = 1;
    pthread_mutex_lock(&reader->lock);
    const bool current = generation == reader->generation;
    if (current && moment) {
        report_moment_free(reader->moment);
        reader->moment = moment;
    }
    if (current)
        reader->error = *error;
    pthread_mutex_unlock(&reader->lock);
    if (!current)
        report_moment_free(moment);
    if (write(reader->event_fd, &one, sizeof one) < 0)
        errno = 0; /* it is readable already */
}

/* Waits for the next reading: false at the end. */
static bool wait_for_turn(struct cli_top_reader *reader, bool last, uint64_t interval_ns)
{
    const uint64_t until_ns = sprof_clock_monotonic_ns() + interval_ns;
    const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
                                   .tv_nsec = (long)(until_ns % 1000000000)};
    pthread_mutex_lock(&reader->lock);
    int waited = 0;
    while (!reader->ends && !reader->asked && waited != ETIMEDOUT)
        waited = last ? pthread_cond_wait(&reader->changed, &reader->lock)
                      : pthread_cond_timedwait(&reader->changed, &reader->lock, &until);
    reader->asked = false;
    const bool goes_on = !reader->ends;
    pthread_mutex_unlock(&reader->lock);
    return goes_on;
}

static void *run(void *context)
{
    struct cli_top_reader *reader = context;
    struct recording_live *live = NULL;
    struct sprof_error error = {0};
    bool any = false, last;
    int attempts = 0;
    int status = recording_live_open(&live, reader->path, false, &error);
    if (status)
        publish(reader, NULL, 0, &error);
    do {
        if (status && !live)
            break;
        const uint64_t before_ns = thread_cpu_ns();
        struct report_moment *moment;
        unsigned generation;
        pthread_mutex_lock(&reader->lock);
        last = reader->finished;
        pthread_mutex_unlock(&reader->lock);
        error = (struct sprof_error){0};
        status = read_moment(reader, live, &moment, &generation, &error);
        any = any || (moment && report_moment_samples(moment));
        if (!any && attempts++ < FIRST_ATTEMPTS)
            error = (struct sprof_error){0};
        publish(reader, moment, generation, &error);
        if (any)
            sprof_vec_push(&reader->cpu_ns, thread_cpu_ns() - before_ns);
    } while (wait_for_turn(reader, last, any ? reader->interval_ns : FIRST_INTERVAL_NS));
    recording_live_free(live);
    return NULL;
}

int cli_top_reader_start(struct cli_top_reader **out, const char *path, uint64_t interval_ns,
                         struct sprof_error *error)
{
    struct cli_top_reader *reader = *out = calloc(1, sizeof *reader);
    pthread_condattr_t monotonic;
    if (!reader || !(reader->path = strdup(path))) {
        free(reader);
        *out = NULL;
        return sprof_error_memory(error);
    }
    reader->interval_ns = interval_ns;
    reader->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&reader->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&reader->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sprof_threads_start(&reader->thread, 1, run, reader);
    if (reader->event_fd >= 0 && reader->thread.count)
        return 0;
    cli_top_reader_free(reader, NULL);
    *out = NULL;
    return sprof_error_set(error, SPROF_EIO, EAGAIN,
                           "there can be no thread that reads the recording: more descriptors and "
                           "threads are needed (`ulimit -n`, `ulimit -u`)");
}

int cli_top_reader_fd(const struct cli_top_reader *reader)
{
    return reader->event_fd;
}

struct report_moment *cli_top_reader_take(struct cli_top_reader *reader, struct sprof_error *error)
{
    uint64_t count;
    if (read(reader->event_fd, &count, sizeof count) < 0)
        errno = 0;
    pthread_mutex_lock(&reader->lock);
    struct report_moment *moment = reader->moment;
    reader->moment = NULL;
    *error = reader->error;
    pthread_mutex_unlock(&reader->lock);
    return moment;
}

void cli_top_reader_select(struct cli_top_reader *reader, const struct report_selection *selection)
{
    pthread_mutex_lock(&reader->lock);
    free(reader->selected_thread);
    free(reader->selected_module);
    reader->selected_thread = copy_of(selection->thread);
    reader->selected_module = copy_of(selection->module);
    reader->generation++;
    report_moment_free(reader->moment);
    reader->moment = NULL;
    reader->asked = true;
    pthread_cond_signal(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
}

/* Sets a flag that the thread waits for. */
static void set(struct cli_top_reader *reader, bool *flag)
{
    pthread_mutex_lock(&reader->lock);
    *flag = reader->asked = true;
    pthread_cond_signal(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
}

void cli_top_reader_finish(struct cli_top_reader *reader)
{
    set(reader, &reader->finished);
}

static int compare_times(const void *a, const void *b)
{
    const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

void cli_top_reader_free(struct cli_top_reader *reader, struct cli_top_readings *readings)
{
    if (!reader)
        return;
    set(reader, &reader->ends);
    sprof_threads_join(&reader->thread);
    const size_t count = reader->cpu_ns.count;
    if (count)
        qsort(reader->cpu_ns.items, count, sizeof *reader->cpu_ns.items, compare_times);
    if (readings)
        *readings = (struct cli_top_readings){count, count ? reader->cpu_ns.items[count / 2] : 0,
                                              count ? reader->cpu_ns.items[count - 1] : 0};
    sprof_vec_release(&reader->cpu_ns);
    report_moment_free(reader->moment);
    pthread_cond_destroy(&reader->changed);
    pthread_mutex_destroy(&reader->lock);
    if (reader->event_fd >= 0)
        close(reader->event_fd);
    free(reader->selected_thread);
    free(reader->selected_module);
    free(reader->path);
    free(reader);
}
