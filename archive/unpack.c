/* Unpacks archives, which are untrusted: only what their list announces, as it announces it. */
#include "archive/archive.h"
#include "archive/libarchive.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Debug files shrink to a fifth, texts to a tenth: what shrinks to a two-hundredth is made for it.
 */
enum { MOST_GROWTH = 200, LEAST_LIMIT = 64 << 20, LIST_MAX = 16 << 20 };

struct announced {
    uint64_t size;
    bool unpacked;
};

struct unpacking {
    struct libarchive libarchive;
    struct archive *archive;
    const char *path; /* of the archive */
    int directory;
    uint64_t packed; /* its size */
    char *list;
    struct sprof_intern names;             /* the paths of the list, numbered from 1 */
    SPROF_VEC(struct announced) announced; /* [number - 1] */
};

static int refuse(const struct unpacking *unpacking, struct sprof_error *error, const char *name,
                  const char *what)
{
    char clean[256];
    size_t length = 0;
    for (; *name && length + 1 < sizeof clean; name++)
        clean[length++] = (unsigned char)*name < ' ' || *name == 0x7f ? '?' : *name;
    clean[length] = '\0';
    return sprof_error_set(error, SPROF_EFORMAT, 0, "%s is refused: %s%s%s", unpacking->path, clean,
                           length ? " " : "", what);
}

static int unreadable(const struct unpacking *unpacking, struct sprof_error *error)
{
    const char *why = unpacking->libarchive.archive_error_string(unpacking->archive);
    return sprof_error_set(error, SPROF_EFORMAT, 0,
                           "%s is no archive of sprof, or it is damaged or was cut: %s",
                           unpacking->path, why ? why : "nothing is known of its form");
}

/* == The list == */

static int add_announced(struct unpacking *unpacking, char *line, uint64_t *total,
                         struct sprof_error *error)
{
    char *end;
    uint32_t number;
    errno = 0;
    const uint64_t size = strtoull(line, &end, 10);
    if (!isdigit((unsigned char)*line) || errno || *end != ' ' || size > INT64_MAX - *total)
        return refuse(unpacking, error, "", "its list is damaged");
    const char *path = end + 1;
    if (!archive_path_is_clean(path))
        return refuse(unpacking, error, path, "in its list leads elsewhere");
    if (sprof_intern_find(&unpacking->names, path))
        return refuse(unpacking, error, path, "comes twice");
    *total += size;
    return sprof_intern_put(&unpacking->names, path, &number) ||
                   sprof_vec_push(&unpacking->announced, (struct announced){.size = size})
               ? sprof_error_memory(error)
               : 0;
}

static int check_room(const struct unpacking *unpacking, uint64_t total, struct sprof_error *error)
{
    struct statvfs facts;
    const uint64_t limit = unpacking->packed > LEAST_LIMIT / MOST_GROWTH
                               ? unpacking->packed * MOST_GROWTH
                               : LEAST_LIMIT;
    if (total > limit)
        return sprof_error_set(
            error, SPROF_ELIMIT, 0, "%s is refused: its %llu bytes would unpack to %llu",
            unpacking->path, (unsigned long long)unpacking->packed, (unsigned long long)total);
    if (!fstatvfs(unpacking->directory, &facts) && total > facts.f_bavail * facts.f_frsize)
        return sprof_error_set(
            error, SPROF_ELIMIT, 0,
            "%s needs %llu bytes, for which there is no room: set TMPDIR to where "
            "there is",
            unpacking->path, (unsigned long long)total);
    return 0;
}

static int read_list(struct unpacking *unpacking, struct sprof_error *error)
{
    const struct libarchive *libarchive = &unpacking->libarchive;
    struct archive_entry *entry;
    const int status = libarchive->archive_read_next_header(unpacking->archive, &entry);
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
        return unreadable(unpacking, error);
    const char *name = libarchive->archive_entry_pathname(entry);
    const int64_t size = libarchive->archive_entry_size(entry);
    if (!name || strcmp(name, "sprof-archive") != 0 || size < 0 || size > LIST_MAX)
        return refuse(unpacking, error, "",
                      "it does not begin with the list of an archive of sprof");
    unpacking->list = calloc(1, (size_t)size + 1);
    if (!unpacking->list)
        return sprof_error_memory(error);
    if (libarchive->archive_read_data(unpacking->archive, unpacking->list, (size_t)size) != size)
        return unreadable(unpacking, error);
    char *rest = unpacking->list;
    const char *first = strsep(&rest, "\n");
    if (strcmp(first, "sprof-archive 1") != 0)
        return refuse(unpacking, error, "", "it is of a version that this sprof cannot read");
    uint64_t total = 0;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        const int result = *line ? add_announced(unpacking, line, &total, error) : 0;
        if (result)
            return result;
    }
    return check_room(unpacking, total, error);
}

/* == Files == */

/* Makes the directories of "files/a/b" below that of the archive; none of them is a link. */
static int make_directories(const struct unpacking *unpacking, const char *name,
                            struct sprof_error *error)
{
    struct sprof_str part = {0};
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        sprof_str_clear(&part);
        if (sprof_str_append_bytes(&part, name, (size_t)(slash - name))) {
            sprof_str_release(&part);
            return sprof_error_memory(error);
        }
        if (mkdirat(unpacking->directory, part.text, 0700) && errno != EEXIST) {
            sprof_error_set(error, errno == ENOSPC ? SPROF_EFULL : SPROF_EIO, errno,
                            "cannot unpack %s: %s", name, strerror(errno));
            sprof_str_release(&part);
            return SPROF_EIO;
        }
    }
    sprof_str_release(&part);
    return 0;
}

static int copy_data(struct unpacking *unpacking, int descriptor, const char *name, uint64_t size,
                     struct sprof_error *error)
{
    uint8_t piece[1 << 16];
    uint64_t done = 0;
    for (;;) {
        const ssize_t got =
            unpacking->libarchive.archive_read_data(unpacking->archive, piece, sizeof piece);
        if (got < 0)
            return unreadable(unpacking, error);
        if (!got)
            break;
        done += (size_t)got;
        if (done > size)
            break;
        if (write(descriptor, piece, (size_t)got) != got)
            return sprof_error_set(error, errno == ENOSPC ? SPROF_EFULL : SPROF_EIO, errno,
                                   "cannot unpack %s: %s; set TMPDIR to where there is room", name,
                                   strerror(errno));
    }
    return done == size ? 0 : refuse(unpacking, error, name, "has another size than its list says");
}

static int unpack_file(struct unpacking *unpacking, struct archive_entry *entry,
                       struct sprof_error *error)
{
    const struct libarchive *libarchive = &unpacking->libarchive;
    const char *name = libarchive->archive_entry_pathname(entry);
    if (!name)
        return refuse(unpacking, error, "", "a file has no name");
    if (libarchive->archive_entry_filetype(entry) != AE_IFREG ||
        libarchive->archive_entry_hardlink(entry) || libarchive->archive_entry_symlink(entry))
        return refuse(unpacking, error, name, "is a link, or no regular file");
    if (strncmp(name, "files/", 6) != 0 || !archive_path_is_clean(name + 5))
        return refuse(unpacking, error, name, "leads elsewhere");
    const uint32_t number = sprof_intern_find(&unpacking->names, name + 5);
    if (!number)
        return refuse(unpacking, error, name, "is not in its list");
    struct announced *announced = &unpacking->announced.items[number - 1];
    if (announced->unpacked)
        return refuse(unpacking, error, name, "comes twice");
    if (libarchive->archive_entry_sparse_count(entry) ||
        libarchive->archive_entry_size(entry) != (int64_t)announced->size)
        return refuse(unpacking, error, name, "has another size than its list says");
    announced->unpacked = true;
    int result = make_directories(unpacking, name, error);
    if (result)
        return result;
    const int descriptor = openat(unpacking->directory, name,
                                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor < 0 && errno == ENOTDIR)
        return refuse(unpacking, error, name, "lies below a file");
    if (descriptor < 0)
        return sprof_error_set(error, SPROF_EIO, errno, "cannot unpack %s: %s", name,
                               strerror(errno));
    result = copy_data(unpacking, descriptor, name, announced->size, error);
    const struct timespec times[] = {
        {.tv_nsec = UTIME_OMIT},
        {libarchive->archive_entry_mtime(entry), libarchive->archive_entry_mtime_nsec(entry)}};
    futimens(descriptor, times);
    close(descriptor);
    return result;
}

static int unpack_files(struct unpacking *unpacking, struct sprof_error *error)
{
    struct archive_entry *entry;
    int status, result = 0;
    while (!result && (status = unpacking->libarchive.archive_read_next_header(
                           unpacking->archive, &entry)) != ARCHIVE_EOF)
        result = status == ARCHIVE_OK || status == ARCHIVE_WARN
                     ? unpack_file(unpacking, entry, error)
                     : unreadable(unpacking, error);
    for (size_t i = 0; i < unpacking->announced.count && !result; i++)
        if (!unpacking->announced.items[i].unpacked)
            result = refuse(unpacking, error, sprof_intern_text(&unpacking->names, (uint32_t)i + 1),
                            "is in its list and not there: it was cut");
    return result;
}

static int unpack(struct unpacking *unpacking, int descriptor, struct sprof_error *error)
{
    const struct libarchive *libarchive = &unpacking->libarchive;
    unpacking->archive = libarchive->archive_read_new();
    if (!unpacking->archive)
        return sprof_error_memory(error);
    libarchive->archive_read_support_filter_gzip(unpacking->archive);
    libarchive->archive_read_support_filter_zstd(unpacking->archive);
    libarchive->archive_read_support_format_tar(unpacking->archive);
    if (libarchive->archive_read_open_fd(unpacking->archive, descriptor, 1 << 16) != ARCHIVE_OK)
        return unreadable(unpacking, error);
    const int result = read_list(unpacking, error);
    return result ? result : unpack_files(unpacking, error);
}

int archive_unpack(const char *path, const char *directory, struct sprof_error *error)
{
    struct unpacking unpacking = {.path = path};
    struct stat facts;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0 || fstat(descriptor, &facts) || !S_ISREG(facts.st_mode)) {
        const int errnum = descriptor < 0 ? errno : EINVAL;
        if (descriptor >= 0)
            close(descriptor);
        return sprof_error_set(error, SPROF_ENOTFOUND, errnum, "cannot read the archive %s: %s",
                               path, descriptor < 0 ? strerror(errnum) : "it is no regular file");
    }
    unpacking.packed = (uint64_t)facts.st_size;
    unpacking.directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = unpacking.directory < 0
                     ? sprof_error_set(error, SPROF_EIO, errno, "cannot open %s: %s", directory,
                                       strerror(errno))
                     : libarchive_load(&unpacking.libarchive, error);
    if (!result)
        result = unpack(&unpacking, descriptor, error);
    if (unpacking.archive)
        unpacking.libarchive.archive_read_free(unpacking.archive);
    libarchive_release(&unpacking.libarchive);
    if (unpacking.directory >= 0)
        close(unpacking.directory);
    close(descriptor);
    free(unpacking.list);
    sprof_intern_release(&unpacking.names);
    sprof_vec_release(&unpacking.announced);
    return result;
}
