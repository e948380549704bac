/* The files of a continuous recording: names, the lock, what is kept, and what a killed recorder
 * has left. */
#include "record/segments.h"

#include "recording/recording.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_MS = 1000000, LEFT_AT_MOST = 4 }; /* segments that one recorder writes at once */
static const uint64_t ns_per_s = 1000000000;

void record_segment_name(uint64_t start_ns, char name[static 32])
{
    const time_t seconds = (time_t)(start_ns / ns_per_s);
    struct tm utc;
    char date[24];
    gmtime_r(&seconds, &utc);
    strftime(date, sizeof date, "%Y%m%dT%H%M%S", &utc);
    snprintf(name, 32, "%s.%03uZ.db", date, (unsigned)(start_ns % ns_per_s / NS_PER_MS));
}

bool record_segment_parse(const char *name, uint64_t *start_ns)
{
    struct tm utc = {0};
    unsigned milliseconds;
    char again[32];
    if (sscanf(name, "%4d%2d%2dT%2d%2d%2d.%3uZ.db", &utc.tm_year, &utc.tm_mon, &utc.tm_mday,
               &utc.tm_hour, &utc.tm_min, &utc.tm_sec, &milliseconds) != 7)
        return false;
    utc.tm_year -= 1900;
    utc.tm_mon--;
    const time_t seconds = timegm(&utc);
    if (seconds < 0)
        return false;
    *start_ns = (uint64_t)seconds * ns_per_s + (uint64_t)milliseconds * NS_PER_MS;
    record_segment_name(*start_ns, again);
    return !strcmp(name, again);
}

/* == The list == */

static int by_start(const void *left, const void *right)
{
    const struct record_segment *a = left, *b = right;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static void measure(struct record_segment *segment, int directory_fd)
{
    static const char *const ends[] = {"", "-shm", "-wal"};
    bool is_there = false;
    segment->bytes = 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char file[48];
        struct stat facts;
        snprintf(file, sizeof file, "%s%s", segment->name, ends[i]);
        is_there = !fstatat(directory_fd, file, &facts, AT_SYMLINK_NOFOLLOW);
        if (is_there && S_ISREG(facts.st_mode))
            segment->bytes += (uint64_t)facts.st_size;
    }
    segment->has_log = is_there;
}

/* Closes the entries; NULL: they could not be read. */
static int list(struct record_segments *segments, DIR *entries, const char *directory,
                struct sprof_error *error)
{
    *segments = (struct record_segments){0};
    if (!entries)
        return sprof_system_error(error, "read the directory", directory);
    int result = 0;
    for (const struct dirent *entry; !result && (entry = readdir(entries));) {
        struct record_segment segment;
        if (!record_segment_parse(entry->d_name, &segment.start_ns))
            continue;
        record_segment_name(segment.start_ns, segment.name);
        measure(&segment, dirfd(entries));
        result = sprof_vec_push(&segments->list, segment);
    }
    closedir(entries);
    if (result) {
        record_segments_release(segments);
        return sprof_error_memory(error);
    }
    if (segments->list.count)
        qsort(segments->list.items, segments->list.count, sizeof *segments->list.items, by_start);
    return 0;
}

int record_segments_list(struct record_segments *segments, const char *directory,
                         struct sprof_error *error)
{
    return list(segments, opendir(directory), directory, error);
}

/* The recorder's own directory: whatever its path leads to meanwhile. */
static int list_own(struct record_segments *segments, int fd, const char *directory,
                    struct sprof_error *error)
{
    const int entries_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = entries_fd < 0 ? NULL : fdopendir(entries_fd);
    if (!entries && entries_fd >= 0)
        close(entries_fd);
    return list(segments, entries, directory, error);
}

void record_segments_release(struct record_segments *segments)
{
    sprof_vec_release(&segments->list);
}

/* == The lock == */

int record_segments_lock(const char *path, struct sprof_own_directory *directory,
                         struct sprof_error *error)
{
    struct sprof_str busy = {0};
    const int result =
        sprof_str_appendf(&busy, "another sprof records into %s; name another directory with -o",
                          path)
            ? sprof_error_memory(error)
            : sprof_own_directory_take(directory, path, busy.text, error);
    sprof_str_release(&busy);
    return result;
}

/* == What is kept == */

static int drop(int directory_fd, const struct record_segment *segment, struct sprof_error *error)
{
    static const char *const ends[] = {"-wal", "-shm", ""};
    int result = 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends && !result; i++) {
        char file[48];
        snprintf(file, sizeof file, "%s%s", segment->name, ends[i]);
        if (unlinkat(directory_fd, file, 0) && errno != ENOENT)
            result = sprof_system_error(error, "remove", file);
    }
    return result;
}

static int by_age(const void *left, const void *right, void *now)
{
    const struct record_segment *a = left, *b = right;
    const uint64_t now_ns = *(const uint64_t *)now;
    const bool ahead = a->start_ns > now_ns, other_ahead = b->start_ns > now_ns;
    return ahead != other_ahead ? other_ahead - ahead : by_start(a, b);
}

static int list_by_age(struct record_segments *segments, int fd, const char *directory,
                       uint64_t now_ns, struct sprof_error *error)
{
    const int result = list_own(segments, fd, directory, error);
    if (segments->list.count)
        qsort_r(segments->list.items, segments->list.count, sizeof *segments->list.items, by_age,
                &now_ns);
    return result;
}

static bool is_written(const struct record_segment *segment, const struct record_written *written)
{
    for (size_t i = 0; i < written->count; i++)
        if (segment->start_ns == written->start_ns[i])
            return true;
    return false;
}

int record_segments_trim(const char *directory, const struct record_keep *keep,
                         const struct record_written *written, size_t *removed,
                         struct sprof_error *error)
{
    const uint64_t now_ns = sprof_clock_realtime_ns();
    struct record_segments segments = {0};
    uint64_t bytes = 0;
    const int fd = sprof_own_directory_open(directory, error);
    if (fd < 0)
        return fd;
    int result = list_by_age(&segments, fd, directory, now_ns, error);
    for (size_t i = 0; i < segments.list.count; i++)
        bytes += segments.list.items[i].bytes;
    for (size_t i = 0; i < segments.list.count && !result; i++) {
        const struct record_segment *segment = &segments.list.items[i];
        const bool old = keep->ns && segment->start_ns + keep->ns < now_ns;
        const bool large = keep->bytes && bytes > keep->bytes;
        if ((!old && !large) || is_written(segment, written))
            continue;
        result = drop(fd, segment, error);
        bytes -= segment->bytes;
        *removed += !result;
    }
    record_segments_release(&segments);
    close(fd);
    return result;
}

int record_segments_drop_oldest(const char *directory, const struct record_written *written,
                                struct sprof_error *error)
{
    struct record_segments segments = {0};
    size_t oldest = 0;
    const int fd = sprof_own_directory_open(directory, error);
    if (fd < 0)
        return fd;
    int result = list_by_age(&segments, fd, directory, sprof_clock_realtime_ns(), error);
    while (oldest < segments.list.count && is_written(&segments.list.items[oldest], written))
        oldest++;
    if (!result && oldest < segments.list.count) {
        result = drop(fd, &segments.list.items[oldest], error);
        result = result ? result : 1;
    }
    record_segments_release(&segments);
    close(fd);
    return result;
}

/* == What a killed recorder has left == */

static int set_aside(int directory_fd, const char *path, const struct sprof_error *why,
                     const struct sprof_log *log, struct sprof_error *error)
{
    struct sprof_str aside = {0};
    const size_t name = (size_t)(strrchr(path, '/') + 1 - path);
    int result = sprof_str_appendf(&aside, "%s.damaged", path) ? sprof_error_memory(error) : 0;
    if (!result && renameat(directory_fd, path + name, directory_fd, aside.text + name))
        result = sprof_system_error(error, "rename", path);
    if (!result)
        sprof_log_message(log, SPROF_LOG_WARNING, "%s is set aside as %s", why->message,
                          aside.text);
    sprof_str_release(&aside);
    return result;
}

static int finish(int directory_fd, const char *path,
                  const struct recording_derive_options *options, struct sprof_error *error)
{
    struct sprof_error why = {0};
    const int result = recording_derive(path, options, &why);
    if (result == SPROF_EFORMAT)
        return set_aside(directory_fd, path, &why, options->log, error);
    if (result)
        sprof_log_message(options->log, SPROF_LOG_WARNING, "%s", why.message);
    return result == SPROF_ENOMEM ? sprof_error_memory(error) : 0;
}

int record_segments_finish(const char *directory, bool no_cache, const struct sprof_log *log,
                           struct sprof_error *error)
{
    const struct recording_derive_options options = {.no_cache = no_cache, .log = log};
    struct record_segments segments = {0};
    const int fd = sprof_own_directory_open(directory, error);
    if (fd < 0)
        return fd;
    int result = list_own(&segments, fd, directory, error);
    const size_t count = segments.list.count;
    for (size_t i = 0; i < count && !result; i++) {
        if (i + LEFT_AT_MOST < count && !segments.list.items[i].has_log)
            continue;
        struct sprof_str path = {0};
        result = sprof_str_appendf(&path, "%s/%s", directory, segments.list.items[i].name)
                     ? sprof_error_memory(error)
                     : finish(fd, path.text, &options, error);
        sprof_str_release(&path);
    }
    record_segments_release(&segments);
    close(fd);
    return result;
}
