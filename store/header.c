/* Reads the head of a database file without SQLite. */
#include "store/header.h"

#include "store/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* https://sqlite.org/fileformat2.html, "The Database Header"; numbers are big endian. */
enum {
    HEADER_SIZE = 100,
    PAGE_SIZE = 16,     /* 2 bytes; 1 means 65536 */
    WRITE_VERSION = 18, /* 2: write-ahead log */
    CHANGE_COUNTER = 24,
    PAGE_COUNT = 28,
    USER_VERSION = 60,
    APPLICATION_ID = 68,
    COUNT_VALID_FOR = 92, /* the change counter that the page count belongs to */
};

static uint32_t number_at(const uint8_t *header, int offset)
{
    const uint8_t *at = header + offset;
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool exists_with(const char *path, const char *suffix)
{
    char beside[4096];
    struct stat facts;
    snprintf(beside, sizeof beside, "%s%s", path, suffix);
    return stat(beside, &facts) == 0 && facts.st_size > 0;
}

/* The size the file should have; 0 where the header does not hold it. */
static uint64_t expected_size(const uint8_t *header)
{
    const uint64_t page = (uint64_t)header[PAGE_SIZE] << 8 | header[PAGE_SIZE + 1];
    if (number_at(header, CHANGE_COUNTER) != number_at(header, COUNT_VALID_FOR))
        return 0;
    return number_at(header, PAGE_COUNT) * (page == 1 ? 65536 : page);
}

/* perf.data, or what is compressed as pprof's files are. */
static bool is_of_another_profiler(const uint8_t *header)
{
    return !memcmp(header, "PERFILE2", 8) || (header[0] == 0x1f && header[1] == 0x8b);
}

static int look_at_header(const char *path, const uint8_t *header, uint64_t size,
                          struct store_file *file, struct sprof_error *error)
{
    if (memcmp(header, "SQLite format 3", 16) ||
        number_at(header, APPLICATION_ID) != STORE_APPLICATION_ID)
        return sprof_error_set(
            error, SPROF_EFORMAT, 0, "%s is not a recording of sprof; name another file%s", path,
            is_of_another_profiler(header) ? ", or make one with `sprof import`" : "");
    const bool beside = exists_with(path, "-wal") || exists_with(path, "-journal");
    if (!beside && size < expected_size(header))
        return sprof_error_set(error, SPROF_EFORMAT, 0,
                               "%s is cut short: it has %llu of %llu bytes; copy it again in full",
                               path, (unsigned long long)size,
                               (unsigned long long)expected_size(header));
    file->kind = STORE_FILE_RECORDING;
    file->version = number_at(header, USER_VERSION);
    file->has_log = beside || header[WRITE_VERSION] == 2;
    return 0;
}

static int look_at_open(const char *path, int descriptor, struct store_file *file,
                        struct sprof_error *error)
{
    struct stat facts;
    uint8_t header[HEADER_SIZE] = {0};
    if (fstat(descriptor, &facts))
        return sprof_error_set(error, SPROF_EIO, errno, "cannot read %s: %s", path,
                               strerror(errno));
    if (!S_ISREG(facts.st_mode))
        return sprof_error_set(error, SPROF_EFORMAT, 0,
                               "%s is not a file that can hold a recording; name another one",
                               path);
    if (!facts.st_size) {
        file->kind = STORE_FILE_EMPTY;
        return 0;
    }
    if (pread(descriptor, header, sizeof header, 0) < 0)
        return sprof_error_set(error, SPROF_EIO, errno, "cannot read %s: %s", path,
                               strerror(errno));
    return look_at_header(path, header, (uint64_t)facts.st_size, file, error);
}

int store_file_look(const char *path, struct store_file *file, struct sprof_error *error)
{
    *file = (struct store_file){.kind = STORE_FILE_ABSENT};
    /* Not blocking: it may be a pipe. */
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG))
        return 0;
    if (descriptor < 0 && (errno == EMFILE || errno == ENFILE))
        return sprof_error_set(error, SPROF_ELIMIT, errno, "cannot read %s: %s; see `ulimit -n`",
                               path, strerror(errno));
    if (descriptor < 0)
        return sprof_error_set(error, errno == EACCES ? SPROF_EPERMISSION : SPROF_EIO, errno,
                               "cannot read %s: %s; run sprof as its owner, or have the file "
                               "copied to you",
                               path, strerror(errno));
    const int status = look_at_open(path, descriptor, file, error);
    close(descriptor);
    return status;
}
