/* Reads and writes the entries of the cache's directory. */
#include "cache/cache.h"

#include "cache/directory.h"
#include "cache/maker.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct cache {
    int directory; /* -1: there is a relay */
    struct cache_relay relay;
    uint64_t maker;
    _Atomic uint64_t added_bytes;
    atomic_uint next_name; /* of temporary files */
};

/* What an entry's file begins with. */
struct header {
    char magic[8];
    uint32_t format, kind;
    struct sprof_digest key;
    uint64_t maker;          /* the build that made it */
    uint64_t size, checksum; /* of the payload */
};

static const char magic[8] = {'s', 'p', 'r', 'o', 'f', 'c', '\r', '\n'};

enum { FORMAT = 2, NAME_BYTES = 64 };

static const char *const kind_names[] = {
    [CACHE_IDENTITY] = "identity", [CACHE_TABLE] = "table", [CACHE_STARTUP] = "startup",
    [CACHE_SYMBOLS] = "symbols",   [CACHE_LINES] = "lines", [CACHE_PLAN] = "plan",
};
_Static_assert(sizeof kind_names / sizeof *kind_names == CACHE_KINDS, "a name for each kind");

struct cache *cache_open(const char *directory)
{
    struct cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return NULL;
    cache->directory = cache_directory_open(directory);
    cache->maker = cache_maker();
    if (cache->directory >= 0)
        return cache;
    free(cache);
    return NULL;
}

struct cache *cache_open_relay(const struct cache_relay *relay)
{
    struct cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return NULL;
    *cache = (struct cache){.directory = -1, .relay = *relay, .maker = cache_maker()};
    return cache;
}

struct sprof_digest cache_salted(struct sprof_digest salt, struct sprof_digest key)
{
    sprof_digest_add(&salt, &key, sizeof key);
    return salt;
}

void cache_free(struct cache *cache, uint64_t bytes_max)
{
    if (!cache)
        return;
    if (cache->directory < 0) {
        free(cache);
        return;
    }
    const uint64_t most = bytes_max ? bytes_max : CACHE_BYTES_MAX, added = cache->added_bytes;
    if (added >= most / CACHE_SLACK || (added && cache_directory_is_due(cache->directory)))
        cache_directory_shrink(cache->directory, most);
    close(cache->directory);
    free(cache);
}

static void entry_name(enum cache_kind kind, struct sprof_digest key, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s-%016llx%016llx", kind_names[kind], (unsigned long long)key.high,
             (unsigned long long)key.low);
}

static bool is_ours(const struct cache *cache, const struct header *header, enum cache_kind kind,
                    struct sprof_digest key, uint64_t file_size)
{
    return !memcmp(header->magic, magic, sizeof magic) && header->format == FORMAT &&
           header->maker == cache->maker && header->kind == kind &&
           sprof_digest_equal(header->key, key) && header->size == file_size - sizeof *header;
}

/* The other process has seen to whose file it is. */
static int open_relayed(struct cache *cache, enum cache_kind kind, struct sprof_digest key,
                        struct header *header)
{
    struct stat status;
    const int file = cache->relay.open(cache->relay.context, kind, key);
    if (file < 0)
        return -1;
    if (fstat(file, &status) == 0 &&
        sprof_file_read(file, 0, header, sizeof *header) == sizeof *header &&
        is_ours(cache, header, kind, cache_salted(cache->relay.salt, key),
                (uint64_t)status.st_size))
        return file;
    close(file);
    return -1;
}

/* Opens an entry's file where it is one that the user alone can have written. */
static int open_entry(struct cache *cache, enum cache_kind kind, struct sprof_digest key,
                      struct header *header)
{
    char name[NAME_BYTES];
    struct stat status;
    if (!cache)
        return -1;
    if (cache->directory < 0)
        return open_relayed(cache, kind, key, header);
    entry_name(kind, key, name);
    const int file =
        openat(cache->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return -1;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        !(status.st_mode & (S_IWGRP | S_IWOTH)) && (uint64_t)status.st_size >= sizeof *header &&
        (uint64_t)status.st_size <= CACHE_ENTRY_BYTES_MAX &&
        sprof_file_read(file, 0, header, sizeof *header) == sizeof *header &&
        is_ours(cache, header, kind, key, (uint64_t)status.st_size))
        return file;
    close(file);
    return -1;
}

int cache_open_entry(struct cache *cache, enum cache_kind kind, struct sprof_digest key,
                     uint64_t *offset)
{
    struct header header;
    const int file = open_entry(cache, kind, key, &header);
    if (file >= 0)
        cache_directory_mark_used(file);
    *offset = sizeof header;
    return file;
}

struct sprof_bytes cache_get(struct cache *cache, enum cache_kind kind, struct sprof_digest key)
{
    struct header header;
    const int file = open_entry(cache, kind, key, &header);
    if (file < 0)
        return (struct sprof_bytes){0};
    uint8_t *payload = sprof_bytes_new((size_t)header.size);
    if (payload &&
        (sprof_file_read(file, sizeof header, payload, (size_t)header.size) != header.size ||
         sprof_hash_bytes(payload, (size_t)header.size) != header.checksum)) {
        free(payload);
        payload = NULL;
    }
    if (payload)
        cache_directory_mark_used(file);
    close(file);
    return (struct sprof_bytes){payload, payload ? (size_t)header.size : 0};
}

static bool write_all(int file, const void *data, size_t size)
{
    const char *bytes = data;
    while (size) {
        const ssize_t written = write(file, bytes, size);
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

static bool write_pieces(int file, const struct sprof_bytes *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!write_all(file, pieces[i].data, pieces[i].size))
            return false;
    return true;
}

void cache_put(struct cache *cache, enum cache_kind kind, struct sprof_digest key,
               const struct sprof_bytes *pieces, size_t count)
{
    char name[NAME_BYTES], temporary[NAME_BYTES];
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        if (pieces[i].size > CACHE_ENTRY_BYTES_MAX ||
            (size += pieces[i].size) > CACHE_ENTRY_BYTES_MAX - sizeof(struct header))
            return;
    if (!cache)
        return;
    if (cache->directory < 0) {
        cache->relay.put(cache->relay.context, kind, key, pieces, count);
        return;
    }
    struct header header = {.format = FORMAT,
                            .kind = kind,
                            .key = key,
                            .maker = cache->maker,
                            .size = size,
                            .checksum = sprof_hash_pieces(pieces, count)};
    memcpy(header.magic, magic, sizeof magic);
    entry_name(kind, key, name);
    snprintf(temporary, sizeof temporary, CACHE_TEMPORARY "%d-%u", (int)getpid(),
             cache->next_name++);
    const int file = openat(cache->directory, temporary,
                            O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file >= 0) {
        const bool written =
            write_all(file, &header, sizeof header) && write_pieces(file, pieces, count);
        if (close(file) != 0 || !written ||
            renameat(cache->directory, temporary, cache->directory, name) != 0)
            unlinkat(cache->directory, temporary, 0);
        else
            cache->added_bytes += size;
    }
}
