/* Keeps batches in a directory until they are sent. */
#include "fleet/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ASIDE_MAX = 16 };
static const char temporary[] = "new";
static const char refused[] = ".refused", damaged[] = ".damaged";

static bool ends_with(const char *text, const char *ending)
{
    const size_t length = strlen(text), tail = strlen(ending);
    return length > tail && !strcmp(text + length - tail, ending);
}

/* == Names == */

static void write_name(const struct fleet_spool *spool, struct fleet_waiting *waiting)
{
    snprintf(waiting->name, sizeof waiting->name, "%013" PRIu64 "-%016" PRIx64 "-%u.%s",
             waiting->time_ms, waiting->key, waiting->sent, fleet_kind_text(spool->kind));
}

/* Whether a name is one that write_name writes. */
static bool parse_name(const struct fleet_spool *spool, const char *name,
                       struct fleet_waiting *waiting)
{
    *waiting = (struct fleet_waiting){.time_ms = 0};
    if (sscanf(name, "%13" SCNu64 "-%16" SCNx64 "-%9u.", &waiting->time_ms, &waiting->key,
               &waiting->sent) != 3)
        return false;
    write_name(spool, waiting);
    return !strcmp(name, waiting->name);
}

static int by_time(const void *left, const void *right)
{
    const struct fleet_waiting *a = left, *b = right;
    return strcmp(a->name, b->name);
}

/* Calls for each name in the directory. */
static int each_name(const struct fleet_spool *spool,
                     int (*call)(void *context, const char *name, uint64_t bytes), void *context,
                     struct sprof_error *error)
{
    const int fd = openat(spool->directory.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    int result = 0;
    if (!entries) {
        if (fd >= 0)
            close(fd);
        return sprof_system_error(error, "read the directory", spool->path);
    }
    for (const struct dirent *entry; !result && (entry = readdir(entries));) {
        struct stat facts;
        if (!fstatat(fd, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) && S_ISREG(facts.st_mode))
            result = call(context, entry->d_name, (uint64_t)facts.st_size);
    }
    closedir(entries);
    return result;
}

struct listing {
    const struct fleet_spool *spool;
    struct fleet_waiting_list *list;
    const char *ending; /* NULL: batches that wait */
};

static int note_name(void *context, const char *name, uint64_t bytes)
{
    const struct listing *listing = context;
    struct fleet_waiting waiting = {.bytes = bytes};
    if (listing->ending) {
        if (!ends_with(name, listing->ending) || strlen(name) >= sizeof waiting.name)
            return 0;
        strcpy(waiting.name, name);
    } else if (!parse_name(listing->spool, name, &waiting)) {
        return 0;
    }
    waiting.bytes = bytes;
    return sprof_vec_push(&listing->list->items, waiting);
}

static int list_names(const struct fleet_spool *spool, const char *ending,
                      struct fleet_waiting_list *list, struct sprof_error *error)
{
    struct listing listing = {spool, list, ending};
    *list = (struct fleet_waiting_list){.items = {0}};
    const int result = each_name(spool, note_name, &listing, error);
    if (list->items.count && !result)
        qsort(list->items.items, list->items.count, sizeof *list->items.items, by_time);
    if (result)
        sprof_vec_release(&list->items);
    return result == SPROF_ENOMEM ? sprof_error_memory(error) : result;
}

int fleet_spool_list(const struct fleet_spool *spool, struct fleet_waiting_list *list,
                     struct sprof_error *error)
{
    return list_names(spool, NULL, list, error);
}

/* == The directory == */

int fleet_spool_open(struct fleet_spool *spool, const char *path, enum fleet_kind kind,
                     uint64_t most_bytes, const struct sprof_log *log, struct sprof_error *error)
{
    struct sprof_str busy = {0};
    *spool = (struct fleet_spool){.directory = SPROF_OWN_DIRECTORY_NONE,
                                  .path = strdup(path),
                                  .kind = kind,
                                  .most_bytes = most_bytes,
                                  .log = log};
    int result = !spool->path || sprof_str_appendf(&busy,
                                                   "another sprof sends from %s; name another "
                                                   "directory with --spool",
                                                   path)
                     ? sprof_error_memory(error)
                     : sprof_own_directory_take(&spool->directory, path, busy.text, error);
    sprof_str_release(&busy);
    if (result)
        fleet_spool_close(spool);
    else
        unlinkat(spool->directory.fd, temporary, 0);
    return result;
}

void fleet_spool_close(struct fleet_spool *spool)
{
    sprof_own_directory_release(&spool->directory);
    free(spool->path);
    spool->path = NULL;
}

/* == Numbers == */

uint64_t fleet_spool_number(const struct fleet_spool *spool, const char *name)
{
    char text[32] = "";
    const int fd = openat(spool->directory.fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return 0;
    const ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    return size > 0 ? strtoull(text, NULL, 10) : 0;
}

/* Gives a file that was written in full its name. */
static int put_in_place(const struct fleet_spool *spool, FILE *file, const char *name,
                        struct sprof_error *error)
{
    bool good = !fflush(file) && !ferror(file) && !fdatasync(fileno(file));
    const int number = errno;
    good = !fclose(file) && good;
    if (good && !renameat(spool->directory.fd, temporary, spool->directory.fd, name))
        return fsync(spool->directory.fd) ? sprof_system_error(error, "write", spool->path) : 0;
    if (!good)
        errno = number;
    return sprof_system_error(error, "write into", spool->path);
}

static FILE *open_new(const struct fleet_spool *spool, struct sprof_error *error)
{
    const int fd = openat(spool->directory.fd, temporary,
                          O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        sprof_system_error(error, "make a file in", spool->path);
        if (fd >= 0)
            close(fd);
    }
    return file;
}

static int set_number(const struct fleet_spool *spool, const char *name, uint64_t number,
                      struct sprof_error *error)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64 "\n", number);
    return fleet_spool_set_lines(spool, name, text, error);
}

int fleet_spool_lines(const struct fleet_spool *spool, const char *name, struct sprof_str *lines,
                      struct sprof_error *error)
{
    char bytes[4096];
    ssize_t size;
    int result = sprof_str_append(lines, "");
    const int fd = openat(spool->directory.fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno != ENOENT)
        return sprof_system_error(error, "open", name);
    while (fd >= 0 && !result && (size = read(fd, bytes, sizeof bytes)) > 0)
        result = sprof_str_append_bytes(lines, bytes, (size_t)size);
    if (fd >= 0)
        close(fd);
    return result ? sprof_error_memory(error) : 0;
}

int fleet_spool_set_lines(const struct fleet_spool *spool, const char *name, const char *lines,
                          struct sprof_error *error)
{
    FILE *file = open_new(spool, error);
    if (!file)
        return error->code;
    fputs(lines, file);
    return put_in_place(spool, file, name, error);
}

/* == Adding == */

/* Drops the oldest. Returns 1, or 0 where there is none. */
static int drop_oldest(struct fleet_spool *spool, const struct fleet_waiting_list *list, size_t at,
                       const char *why, struct sprof_error *error)
{
    if (at >= list->items.count)
        return 0;
    const int result = fleet_spool_remove(spool, &list->items.items[at], error);
    if (result)
        return result;
    const uint64_t dropped = fleet_spool_number(spool, FLEET_SPOOL_DROPPED) + 1;
    sprof_log_message(spool->log, SPROF_LOG_WARNING,
                      "%s: the oldest batch in %s was dropped, unsent; %" PRIu64 " so far", why,
                      spool->path, dropped);
    if (set_number(spool, FLEET_SPOOL_DROPPED, dropped, &(struct sprof_error){0})) {
        /* A full disk: the message has said it. */
    }
    return 1;
}

static int write_batch(const struct fleet_spool *spool, const struct fleet_batch *batch,
                       const char *name, struct sprof_error *error)
{
    FILE *file = open_new(spool, error);
    if (!file)
        return error->code;
    if (fleet_batch_write(batch, file)) {
        fclose(file);
        return sprof_error_memory(error);
    }
    return put_in_place(spool, file, name, error);
}

/* Whether it waits already, with whatever is sent of it. */
static bool is_waiting(const struct fleet_waiting_list *list, const struct fleet_waiting *waiting)
{
    for (size_t i = 0; i < list->items.count; i++)
        if (list->items.items[i].key == waiting->key &&
            list->items.items[i].time_ms == waiting->time_ms)
            return true;
    return false;
}

int fleet_spool_add(struct fleet_spool *spool, const struct fleet_batch *batch,
                    struct sprof_error *error)
{
    struct fleet_waiting waiting = {.time_ms = batch->time_ns / 1000000, .key = batch->key};
    struct fleet_waiting_list list;
    uint64_t bytes = 0;
    size_t oldest = 0;
    int result = fleet_spool_list(spool, &list, error);
    write_name(spool, &waiting);
    for (size_t i = 0; i < batch->pieces.count; i++)
        bytes += batch->pieces.items[i].body.size;
    for (size_t i = 0; !result && i < list.items.count; i++)
        bytes += list.items.items[i].bytes;
    const bool again = !result && is_waiting(&list, &waiting);
    while (!result && !again && bytes > spool->most_bytes && oldest < list.items.count) {
        bytes -= list.items.items[oldest].bytes;
        const int dropped = drop_oldest(spool, &list, oldest++, "the spool is full", error);
        result = dropped < 0 ? dropped : 0;
    }
    while (!result && !again &&
           (result = write_batch(spool, batch, waiting.name, error)) == SPROF_EFULL) {
        const int dropped = drop_oldest(spool, &list, oldest++, "the disk is full", error);
        result = dropped == 1 ? 0 : dropped ? dropped : SPROF_EFULL;
        if (dropped != 1)
            break;
    }
    if (result < 0)
        unlinkat(spool->directory.fd, temporary, 0);
    sprof_vec_release(&list.items);
    return result;
}

/* == Sending == */

int fleet_spool_load(const struct fleet_spool *spool, const struct fleet_waiting *waiting,
                     struct fleet_loaded *loaded, struct sprof_error *error)
{
    *loaded = (struct fleet_loaded){.mapping = NULL};
    struct stat facts;
    const int fd = openat(spool->directory.fd, waiting->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return sprof_system_error(error, "open", waiting->name);
    void *mapping = MAP_FAILED;
    if (!fstat(fd, &facts) && facts.st_size)
        mapping = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (mapping != MAP_FAILED) {
        loaded->mapping = mapping;
        loaded->size = (size_t)facts.st_size;
    }
    const int result = fleet_batch_parse(
        &loaded->batch, (struct sprof_bytes){loaded->mapping, loaded->size}, error);
    loaded->batch.time_ns = waiting->time_ms * 1000000;
    loaded->batch.key = waiting->key;
    if (result)
        fleet_spool_unload(loaded);
    return result;
}

void fleet_spool_unload(struct fleet_loaded *loaded)
{
    fleet_batch_release(&loaded->batch);
    if (loaded->mapping)
        munmap(loaded->mapping, loaded->size);
    loaded->mapping = NULL;
}

int fleet_spool_note_sent(const struct fleet_spool *spool, struct fleet_waiting *waiting,
                          unsigned sent, struct sprof_error *error)
{
    char before[sizeof waiting->name];
    strcpy(before, waiting->name);
    waiting->sent = sent;
    write_name(spool, waiting);
    return renameat(spool->directory.fd, before, spool->directory.fd, waiting->name)
               ? sprof_system_error(error, "rename", before)
               : 0;
}

int fleet_spool_remove(const struct fleet_spool *spool, const struct fleet_waiting *waiting,
                       struct sprof_error *error)
{
    return unlinkat(spool->directory.fd, waiting->name, 0) && errno != ENOENT
               ? sprof_system_error(error, "remove", waiting->name)
               : 0;
}

/* Of what was set aside, the newest stay. */
static int trim_aside(const struct fleet_spool *spool, const char *ending,
                      struct sprof_error *error)
{
    struct fleet_waiting_list list;
    int result = list_names(spool, ending, &list, error);
    for (size_t i = 0; !result && i + ASIDE_MAX < list.items.count; i++)
        result = fleet_spool_remove(spool, &list.items.items[i], error);
    sprof_vec_release(&list.items);
    return result;
}

int fleet_spool_set_aside(const struct fleet_spool *spool, const struct fleet_waiting *waiting,
                          bool is_refused, const char *why, struct sprof_error *error)
{
    char aside[sizeof waiting->name + sizeof damaged];
    const char *ending = is_refused ? refused : damaged;
    snprintf(aside, sizeof aside, "%s%s", waiting->name, ending);
    if (renameat(spool->directory.fd, waiting->name, spool->directory.fd, aside))
        return sprof_system_error(error, "rename", waiting->name);
    sprof_log_message(spool->log, SPROF_LOG_WARNING, "%s/%s is set aside as %s: %s", spool->path,
                      waiting->name, aside, why);
    return trim_aside(spool, ending, error);
}
