/* Reads a growing recording in a thread, for `sprof top`. */
#include "cli/top_reader.h"

#include "base/threads.h"
#include "cli/open.h"
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
    struct selected {
        char *thread, *module, *event;
        bool all_events;
    } selected;
    char *function; /* whose code is to be read; NULL: none */
    unsigned columns;
    char *code; /* that was read */
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

static struct selected selected_copy(const struct selected *selected)
{
    return (struct selected){copy_of(selected->thread), copy_of(selected->module),
                             copy_of(selected->event), selected->all_events};
}

static void selected_release(struct selected *selected)
{
    free(selected->thread);
    free(selected->module);
    free(selected->event);
}

static struct report_selection selection_of(const struct selected *selected)
{
    return (struct report_selection){.thread = selected->thread,
                                     .module = selected->module,
                                     .event = selected->event,
                                     .all_events = selected->all_events};
}

static int read_moment(struct cli_top_reader *reader, struct recording_live *live,
                       struct report_moment **moment, unsigned *generation,
                       struct sprof_error *error)
{
    struct store *store;
    pthread_mutex_lock(&reader->lock);
    *generation = reader->generation;
    struct selected selected = selected_copy(&reader->selected);
    pthread_mutex_unlock(&reader->lock);
    const struct report_selection selection = selection_of(&selected);
    *moment = NULL;
    int status = recording_live_look(live, NULL, &store, error);
    if (!status)
        status = report_moment_load(moment, store, &selection, error);
    selected_release(&selected);
    return status;
}

/* The text of a function's code, or of why there is none. */
static char *code_of(struct cli_top_reader *reader, const char *function, unsigned columns,
                     const struct selected *selected)
{
    struct store *store = NULL;
    struct sprof_error error = {0};
    char *text = NULL;
    size_t length = 0;
    const struct report_selection selection = selection_of(selected);
    const struct report_annotate_options options = {.function = function, .context = 4};
    const struct report_style style = {.columns = columns};
    FILE *out = open_memstream(&text, &length);
    int status = cli_open_running(&store, reader->path, NULL, &error);
    if (!status && out)
        status = report_annotate(out, store, &selection, &options, &style, &error);
    store_close(store, NULL);
    if (out && status)
        fprintf(out, "%s\n", error.message);
    if (out)
        fclose(out);
    return text;
}

/* A whole reading of its own, with what only annotations need. */
static void read_code(struct cli_top_reader *reader)
{
    const uint64_t one = 1;
    pthread_mutex_lock(&reader->lock);
    char *function = reader->function;
    const unsigned columns = reader->columns;
    struct selected selected = selected_copy(&reader->selected);
    reader->function = NULL;
    pthread_mutex_unlock(&reader->lock);
    char *code = function ? code_of(reader, function, columns, &selected) : NULL;
    if (code) {
        pthread_mutex_lock(&reader->lock);
        free(reader->code);
        reader->code = code;
        pthread_mutex_unlock(&reader->lock);
        if (write(reader->event_fd, &one, sizeof one) < 0)
            errno = 0;
    }
    free(function);
    selected_release(&selected);
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
        read_code(reader);
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
    return sprof_error_set(
        error, SPROF_EIO, EAGAIN,
        "cannot start the thread that reads the recording\nsee `ulimit -n` and `ulimit -u`");
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

void cli_top_reader_annotate(struct cli_top_reader *reader, const char *function, unsigned columns)
{
    pthread_mutex_lock(&reader->lock);
    free(reader->function);
    reader->function = copy_of(function);
    reader->columns = columns;
    reader->asked = true;
    pthread_cond_signal(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
}

char *cli_top_reader_take_code(struct cli_top_reader *reader)
{
    pthread_mutex_lock(&reader->lock);
    char *code = reader->code;
    reader->code = NULL;
    pthread_mutex_unlock(&reader->lock);
    return code;
}

void cli_top_reader_select(struct cli_top_reader *reader, const struct report_selection *selection)
{
    pthread_mutex_lock(&reader->lock);
    selected_release(&reader->selected);
    reader->selected = (struct selected){copy_of(selection->thread), copy_of(selection->module),
                                         copy_of(selection->event), selection->all_events};
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
    selected_release(&reader->selected);
    free(reader->function);
    free(reader->code);
    free(reader->path);
    free(reader);
}
