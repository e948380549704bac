/* Continuous recording: a session a segment, each in a thread of its own, which overlap while the
 * next one opens its events and the last one finds its names. */
#include "record/loop.h"

#include "recording/recording.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const uint64_t ns_per_s = 1000000000;

enum {
    CLOSING_AT_MOST = 2, /* segments that find their names; beyond it the one at hand goes on */
    FIRST_LEAD_NS = 300000000,
    NS_PER_MS = 1000000,
};

enum segment_state {
    SEGMENT_OPENING, /* its events */
    SEGMENT_RECORDING,
    SEGMENT_ENDED, /* or it could not begin */
};

struct loop;

struct segment {
    struct loop *loop;
    struct segment *next; /* in the list of all that have not been joined */
    pthread_t thread;
    struct record_options options;
    struct sprof_str path;
    uint64_t start_ns; /* since 1970, as its name says */
    uint64_t asked_ns; /* when it was started (CLOCK_MONOTONIC) */
    /* Under the loop's lock: */
    enum segment_state state;
    struct record_session *session; /* while it may be ended */
    uint64_t begun_ns;              /* CLOCK_MONOTONIC */
    int status;
    uint64_t samples;
    struct sprof_error error;
};

struct loop {
    const struct record_loop_options *options;
    struct record_loop_result *result;
    pthread_mutex_t lock;
    int event_fd; /* a segment's state has changed */
    struct segment *all, *recording, *opening;
    uint64_t begin_ns;    /* CLOCK_MONOTONIC */
    uint64_t boundary_ns; /* when the next segment is to begin */
    uint64_t lead_ns;     /* what opening took */
    double samples;       /* of a recorded segment, on the average; 0: none yet */
    bool ending;
    struct recording_namer *namer; /* of all segments; NULL: no memory */
    struct sprof_log log;          /* the segments' */
    pthread_mutex_t said_lock;
    struct sprof_map said; /* hash of a message → 1 */
};

/* == In the segment's thread == */

/* What holds of every segment is said once. */
static void say_once(void *context, enum sprof_log_level level, const char *text)
{
    struct loop *loop = context;
    pthread_mutex_lock(&loop->said_lock);
    const uint64_t hash = sprof_hash_text(text);
    const bool again = sprof_map_get(&loop->said, hash) != NULL;
    if (!again && sprof_map_put(&loop->said, hash, 1)) {
        /* No memory: then it is said again. */
    }
    pthread_mutex_unlock(&loop->said_lock);
    if (!again)
        sprof_log_message(loop->options->record->log, level, "%s", text);
}

static void set_state(struct segment *segment, enum segment_state state)
{
    const uint64_t one = 1;
    pthread_mutex_lock(&segment->loop->lock);
    segment->state = state;
    if (state == SEGMENT_ENDED)
        segment->session = NULL;
    pthread_mutex_unlock(&segment->loop->lock);
    if (write(segment->loop->event_fd, &one, sizeof one) < 0) {
        /* The counter is at its end: the loop wakes anyway. */
    }
}

/* What the segment before has not taken by now is this one's. */
static void take_over(void *context, uint64_t time_ns)
{
    struct segment *segment = context;
    struct loop *loop = segment->loop;
    pthread_mutex_lock(&loop->lock);
    segment->begun_ns = time_ns;
    if (loop->recording && loop->recording->session)
        record_end_at(loop->recording->session, time_ns);
    if (loop->ending && segment->session)
        record_interrupt(segment->session);
    pthread_mutex_unlock(&loop->lock);
    set_state(segment, SEGMENT_RECORDING);
}

static void *run_segment(void *context)
{
    struct segment *segment = context;
    struct record_session *session = NULL;
    struct record_result result;
    int status = record_open(&session, &segment->options, &segment->error);
    if (!status) {
        pthread_mutex_lock(&segment->loop->lock);
        segment->session = session;
        pthread_mutex_unlock(&segment->loop->lock);
        status = record_run(session, &result, &segment->error);
    }
    segment->samples = status ? 0 : result.samples;
    segment->status = status;
    set_state(segment, SEGMENT_ENDED);
    record_free(session);
    return NULL;
}

/* == In the caller's == */

static enum segment_state state_of(const struct segment *segment)
{
    pthread_mutex_lock(&segment->loop->lock);
    const enum segment_state state = segment->state;
    pthread_mutex_unlock(&segment->loop->lock);
    return state;
}

static const struct sprof_log *log_of(const struct loop *loop)
{
    return loop->options->record->log;
}

static void free_segment(struct segment *segment)
{
    if (segment)
        sprof_str_release(&segment->path);
    free(segment);
}

/* A signal is the caller's, whatever thread is at work. */
static int start_thread(struct segment *segment)
{
    return sprof_thread_create(&segment->thread, run_segment, segment);
}

/* A name may be taken where the clock has been set back: then the next millisecond's. */
static int name_segment(struct segment *segment, const char *directory)
{
    for (;; segment->start_ns += NS_PER_MS) {
        char name[32];
        record_segment_name(segment->start_ns, name);
        sprof_str_clear(&segment->path);
        if (sprof_str_appendf(&segment->path, "%s/%s", directory, name))
            return SPROF_ENOMEM;
        if (access(segment->path.text, F_OK))
            return 0;
    }
}

static int open_segment(struct loop *loop, double chance, struct sprof_error *error)
{
    struct segment *segment = calloc(1, sizeof *segment);
    if (!segment)
        return sprof_error_memory(error);
    segment->loop = loop;
    segment->start_ns = sprof_clock_realtime_ns();
    segment->asked_ns = sprof_clock_monotonic_ns();
    if (loop->boundary_ns > segment->asked_ns && loop->recording)
        segment->start_ns += loop->boundary_ns - segment->asked_ns;
    if (name_segment(segment, loop->options->directory)) {
        free_segment(segment);
        return sprof_error_memory(error);
    }
    segment->options = *loop->options->record;
    segment->options.output = segment->path.text;
    segment->options.began = take_over;
    segment->options.began_context = segment;
    segment->options.chance = chance < 1 ? chance : 0;
    segment->options.namer = loop->namer;
    segment->options.log = &loop->log;
    const int number = start_thread(segment);
    if (number) {
        free_segment(segment);
        return sprof_error_set(error, SPROF_ELIMIT, number, "cannot start a thread: %s",
                               strerror(number));
    }
    segment->next = loop->all;
    loop->all = loop->opening = segment;
    return 0;
}

/* The next multiple of a segment's length since 1970. A first segment of less than a quarter of it
 * is joined to the second. */
static uint64_t next_boundary(const struct loop *loop)
{
    const uint64_t length_ns = loop->options->segment_ns;
    uint64_t left_ns = length_ns - sprof_clock_realtime_ns() % length_ns;
    if (left_ns < length_ns / 4)
        left_ns += length_ns;
    return sprof_clock_monotonic_ns() + left_ns;
}

/* At which chance the next segment is recorded, so that an hour has no more samples than asked for.
 */
static double next_chance(const struct loop *loop)
{
    const struct record_loop_options *options = loop->options;
    double chance = options->chance;
    if (options->budget && loop->samples > 0) {
        const double segments = 3600e9 / (double)options->segment_ns;
        const double most = (double)options->budget / (segments * loop->samples);
        chance = most < chance ? most : chance;
    }
    return chance;
}

/* The same for all hosts' segments of a time would be recorded or left out together: so the host
 * takes part in it. */
static bool is_chosen(const struct loop *loop, double chance)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    const uint64_t time_ns = sprof_clock_realtime_ns() + loop->options->segment_ns / 2;
    const uint64_t hash =
        sprof_hash_pair(sprof_hash_text(host), time_ns / loop->options->segment_ns);
    return chance >= 1 || (double)(hash >> 11) * 0x1p-53 < chance;
}

static size_t closing_count(const struct loop *loop)
{
    size_t count = 0;
    for (const struct segment *segment = loop->all; segment; segment = segment->next)
        count += segment != loop->recording && segment != loop->opening;
    return count;
}

static void end_recording(struct loop *loop, uint64_t time_ns)
{
    pthread_mutex_lock(&loop->lock);
    if (loop->recording && loop->recording->session)
        record_end_at(loop->recording->session, time_ns);
    loop->recording = NULL;
    pthread_mutex_unlock(&loop->lock);
}

/* A boundary has come, or is near enough to open what begins there. */
static int pass_boundary(struct loop *loop, struct sprof_error *error)
{
    const double chance = next_chance(loop);
    if (closing_count(loop) >= CLOSING_AT_MOST) {
        sprof_log_message(log_of(loop), SPROF_LOG_DEBUG,
                          "names are being found for %d segments: this one goes on",
                          CLOSING_AT_MOST);
        loop->boundary_ns += loop->options->segment_ns;
        return 0;
    }
    if (is_chosen(loop, chance))
        return open_segment(loop, chance, error);
    end_recording(loop, loop->boundary_ns);
    loop->boundary_ns += loop->options->segment_ns;
    return 0;
}

/* The segment that was opening is the one at hand. */
static void promote(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    loop->recording = loop->opening;
    loop->opening = NULL;
    pthread_mutex_unlock(&loop->lock);
    loop->lead_ns = loop->recording->begun_ns - loop->recording->asked_ns;
    if (loop->lead_ns > loop->options->segment_ns / 2)
        loop->lead_ns = loop->options->segment_ns / 2;
    loop->boundary_ns = next_boundary(loop);
}

/* Names are of whole milliseconds. */
static struct record_written written_of(const struct loop *loop)
{
    struct record_written written = {0};
    _Static_assert(sizeof written.start_ns / sizeof *written.start_ns >= CLOSING_AT_MOST + 2,
                   "those that close, the one at hand and the one that opens have room");
    for (const struct segment *segment = loop->all; segment; segment = segment->next)
        if (written.count < sizeof written.start_ns / sizeof *written.start_ns)
            written.start_ns[written.count++] = segment->start_ns - segment->start_ns % NS_PER_MS;
    return written;
}

/* The disk is full: the oldest segment goes, and the recording goes on. */
static int make_space(struct loop *loop, const struct sprof_error *why, struct sprof_error *error)
{
    const struct record_written written = written_of(loop);
    const int dropped = record_segments_drop_oldest(loop->options->directory, &written, error);
    if (dropped < 0)
        return dropped;
    if (!dropped) {
        *error = *why;
        return SPROF_EFULL;
    }
    loop->result->dropped++;
    sprof_log_message(log_of(loop), SPROF_LOG_WARNING, "%s: the oldest segment was removed",
                      why->message);
    return 0;
}

/* What came of a segment that ended: 0, or why the whole recording ends. */
static int conclude(struct loop *loop, const struct segment *segment, bool last, bool was_opening,
                    struct sprof_error *error)
{
    if (!segment->status) {
        loop->result->segments++;
        const double samples = (double)segment->samples;
        loop->samples = loop->samples > 0 ? (loop->samples + samples) / 2 : samples;
        sprof_log_message(log_of(loop), SPROF_LOG_DEBUG, "%llu samples in %s",
                          (unsigned long long)segment->samples, segment->path.text);
        loop->ending |= last; /* the targets have ended */
        const struct record_written written = written_of(loop);
        return record_segments_trim(loop->options->directory, &loop->options->keep, &written,
                                    &loop->result->removed, error);
    }
    if (segment->status == SPROF_EFULL) {
        loop->boundary_ns = sprof_clock_monotonic_ns();
        return make_space(loop, &segment->error, error);
    }
    if (was_opening && loop->recording) {
        sprof_log_message(log_of(loop), SPROF_LOG_WARNING,
                          "the next segment cannot begin, and this one goes on: %s",
                          segment->error.message);
        loop->boundary_ns += loop->options->segment_ns;
        return 0;
    }
    if (segment->status == SPROF_ENOTFOUND && loop->result->segments) {
        loop->ending = true;
        return 0;
    }
    *error = segment->error;
    return segment->status;
}

/* Takes leave of the segments that have ended. */
static int reap(struct loop *loop, struct sprof_error *error)
{
    int result = 0;
    for (struct segment **link = &loop->all; *link && !result;) {
        struct segment *segment = *link;
        if (state_of(segment) != SEGMENT_ENDED) {
            link = &segment->next;
            continue;
        }
        *link = segment->next;
        pthread_join(segment->thread, NULL);
        const bool was_recording = segment == loop->recording,
                   was_opening = segment == loop->opening;
        pthread_mutex_lock(&loop->lock);
        if (was_recording)
            loop->recording = NULL;
        pthread_mutex_unlock(&loop->lock);
        if (was_opening)
            loop->opening = NULL;
        const bool last = was_opening || (was_recording && !loop->opening);
        result = conclude(loop, segment, last, was_opening, error);
        free_segment(segment);
        malloc_trim(0);
    }
    return result;
}

static int wait_ms(const struct loop *loop)
{
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    uint64_t until_ns = now_ns + ns_per_s;
    const uint64_t open_ns = loop->boundary_ns - loop->lead_ns;
    const uint64_t end_ns =
        loop->options->duration_ns ? loop->begin_ns + loop->options->duration_ns : UINT64_MAX;
    if (!loop->opening && open_ns < until_ns)
        until_ns = open_ns;
    if (end_ns < until_ns)
        until_ns = end_ns;
    return until_ns > now_ns ? (int)((until_ns - now_ns + 999999) / 1000000) : 0;
}

static bool is_over(struct loop *loop, const struct pollfd *end)
{
    const uint64_t duration_ns = loop->options->duration_ns;
    return end->revents ||
           (duration_ns && sprof_clock_monotonic_ns() >= loop->begin_ns + duration_ns);
}

static int record_segments(struct loop *loop, struct sprof_error *error)
{
    int result = 0;
    while (!result && !loop->ending) {
        struct pollfd fds[] = {{.fd = loop->event_fd, .events = POLLIN},
                               {.fd = loop->options->end_fd, .events = POLLIN}};
        uint64_t count;
        if (poll(fds, 2, wait_ms(loop)) < 0 && errno != EINTR)
            return sprof_error_set(error, SPROF_EIO, errno, "cannot wait: %s", strerror(errno));
        if (fds[0].revents && read(loop->event_fd, &count, sizeof count) < 0) {
            /* An earlier read has taken it. */
        }
        if (loop->opening && state_of(loop->opening) == SEGMENT_RECORDING)
            promote(loop);
        result = reap(loop, error);
        if (!result && is_over(loop, &fds[1]))
            return 0;
        if (!result && !loop->ending && !loop->opening &&
            sprof_clock_monotonic_ns() + loop->lead_ns >= loop->boundary_ns)
            result = pass_boundary(loop, error);
    }
    return result;
}

/* Ends all segments, and waits for their names. */
static int end_all(struct loop *loop, int result, struct sprof_error *error)
{
    pthread_mutex_lock(&loop->lock);
    loop->ending = true;
    for (struct segment *segment = loop->all; segment; segment = segment->next)
        if (segment->session)
            record_interrupt(segment->session);
    pthread_mutex_unlock(&loop->lock);
    while (loop->all) {
        struct segment *segment = loop->all;
        struct sprof_error ignored = {0};
        loop->all = segment->next;
        pthread_join(segment->thread, NULL);
        const bool unused = segment == loop->opening && segment->status;
        const int ended =
            unused ? 0 : conclude(loop, segment, false, false, result ? &ignored : error);
        result = result ? result : ended;
        free_segment(segment);
    }
    return result;
}

static int run(struct loop *loop, struct sprof_error *error)
{
    loop->begin_ns = loop->boundary_ns = sprof_clock_monotonic_ns();
    int result = 0;
    if (is_chosen(loop, loop->options->chance))
        result = open_segment(loop, loop->options->chance, error);
    else
        loop->boundary_ns = next_boundary(loop);
    if (!result)
        result = record_segments(loop, error);
    return end_all(loop, result, error);
}

int record_loop(const struct record_loop_options *options, struct record_loop_result *result,
                struct sprof_error *error)
{
    *result = (struct record_loop_result){0};
    struct loop loop = {.options = options, .result = result, .lead_ns = FIRST_LEAD_NS};
    struct sprof_own_directory directory;
    int status = record_segments_lock(options->directory, &directory, error);
    if (status)
        return status;
    status = record_segments_finish(options->directory, options->record->no_cache,
                                    options->record->log, error);
    loop.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!status && loop.event_fd < 0)
        status = sprof_error_set(error, SPROF_ELIMIT, errno, "cannot make an eventfd: %s",
                                 strerror(errno));
    loop.log = (struct sprof_log){.message = say_once, .context = &loop};
    pthread_mutex_init(&loop.lock, NULL);
    pthread_mutex_init(&loop.said_lock, NULL);
    if (!options->record->no_symbolize)
        loop.namer = recording_namer_open(options->record->no_cache, &loop.log);
    if (!status)
        status = run(&loop, error);
    recording_namer_free(loop.namer);
    pthread_mutex_destroy(&loop.lock);
    pthread_mutex_destroy(&loop.said_lock);
    sprof_map_release(&loop.said);
    if (loop.event_fd >= 0)
        close(loop.event_fd);
    sprof_own_directory_release(&directory);
    return status;
}
