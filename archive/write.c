/* Writes archives. */
#include "archive/archive.h"

#include "archive/libarchive.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOLD_MAX = 5 };

bool archive_path_is_clean(const char *path)
{
    if (*path != '/' || strchr(path, '\n')) /* the list has a path a line */
        return false;
    while (*path) {
        const char *part = path + 1;
        const size_t length = strcspn(part, "/");
        if (!length || (length == 1 && *part == '.') || (length == 2 && !strncmp(part, "..", 2)))
            return false;
        path = part + length;
    }
    return true;
}

void archive_files_release(struct archive_files *files)
{
    for (size_t i = 0; i < files->items.count; i++)
        close(files->items.items[i].descriptor);
    sprof_vec_release(&files->items);
}

void archive_tell_missing(struct archive_counts *counts, const struct sprof_log *log,
                          const char *path, const char *why)
{
    struct sprof_str text = {0};
    if (++counts->missing > TOLD_MAX)
        return;
    sprof_utf8_clean(&text, path); /* a line's end, too */
    sprof_log_message(log, SPROF_LOG_NOTE, "left out: %s: %s", text.text ? text.text : "", why);
    sprof_str_release(&text);
}

struct writing {
    struct libarchive libarchive;
    struct archive *archive;
    struct archive_entry *entry;
};

static int failed(const struct writing *writing, struct sprof_error *error)
{
    const bool full = errno == ENOSPC || errno == EDQUOT;
    const char *why = writing->libarchive.archive_error_string(writing->archive);
    return sprof_error_set(error, full ? SPROF_EFULL : SPROF_EIO, errno,
                           "cannot write the archive: %s%s",
                           full  ? strerror(errno)
                           : why ? why
                                 : strerror(errno),
                           full ? "; free some space, or name a file on another file system" : "");
}

static int put_header(struct writing *writing, const char *name, uint64_t size, time_t mtime,
                      long mtime_nsec, struct sprof_error *error)
{
    const struct libarchive *libarchive = &writing->libarchive;
    libarchive->archive_entry_clear(writing->entry);
    libarchive->archive_entry_set_pathname(writing->entry, name);
    libarchive->archive_entry_set_size(writing->entry, (int64_t)size);
    libarchive->archive_entry_set_filetype(writing->entry, AE_IFREG);
    libarchive->archive_entry_set_perm(writing->entry, 0600);
    libarchive->archive_entry_set_mtime(writing->entry, mtime, mtime_nsec);
    return libarchive->archive_write_header(writing->archive, writing->entry) == ARCHIVE_OK
               ? 0
               : failed(writing, error);
}

static int put_data(struct writing *writing, const void *bytes, size_t size,
                    struct sprof_error *error)
{
    return writing->libarchive.archive_write_data(writing->archive, bytes, size) == (ssize_t)size
               ? 0
               : failed(writing, error);
}

static int put_list(struct writing *writing, const struct archive_files *files,
                    struct sprof_error *error)
{
    struct sprof_str list = {0};
    sprof_str_append(&list, "sprof-archive 1\n");
    for (size_t i = 0; i < files->items.count; i++)
        sprof_str_appendf(&list, "%llu %s\n", (unsigned long long)files->items.items[i].size,
                          files->items.items[i].path);
    int result = list.failed ? sprof_error_memory(error) : 0;
    if (!result)
        result = put_header(writing, "sprof-archive", list.length, 0, 0, error);
    if (!result)
        result = put_data(writing, list.text, list.length, error);
    sprof_str_release(&list);
    return result;
}

/* The list, which is written already, says the size: what the file has lost is made up. */
static int put_file(struct writing *writing, const struct archive_file *file, bool *is_cut,
                    struct sprof_error *error)
{
    static const size_t piece = 1 << 16;
    struct sprof_str name = {0};
    struct stat facts;
    uint8_t buffer[1 << 16];
    if (fstat(file->descriptor, &facts))
        return sprof_error_set(error, SPROF_EIO, errno, "cannot read %s: %s", file->path,
                               strerror(errno));
    sprof_str_appendf(&name, "files%s", file->path);
    int result = name.failed ? sprof_error_memory(error)
                             : put_header(writing, name.text, file->size, facts.st_mtim.tv_sec,
                                          facts.st_mtim.tv_nsec, error);
    for (uint64_t at = 0; at < file->size && !result; at += piece) {
        const size_t wanted = file->size - at < piece ? (size_t)(file->size - at) : piece;
        const size_t got = sprof_file_read(file->descriptor, at, buffer, wanted);
        memset(buffer + got, 0, wanted - got);
        *is_cut = *is_cut || got < wanted;
        result = put_data(writing, buffer, wanted, error);
    }
    sprof_str_release(&name);
    return result;
}

static int put_files(struct writing *writing, const struct archive_files *files,
                     struct archive_counts *counts, const struct sprof_log *log,
                     struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < files->items.count && !result; i++) {
        const struct archive_file *file = &files->items.items[i];
        bool is_cut = false;
        result = put_file(writing, file, &is_cut, error);
        if (is_cut)
            archive_tell_missing(counts, log, file->path,
                                 "it became shorter while it was read, and zeroes follow");
    }
    return result;
}

int archive_write(int descriptor, const struct archive_files *files, struct archive_counts *counts,
                  const struct sprof_log *log, struct sprof_error *error)
{
    struct writing writing = {0};
    int result = libarchive_load(&writing.libarchive, error);
    if (result)
        return result;
    const struct libarchive *libarchive = &writing.libarchive;
    writing.archive = libarchive->archive_write_new();
    writing.entry = libarchive->archive_entry_new();
    if (!writing.archive || !writing.entry)
        result = sprof_error_memory(error);
    else if (libarchive->archive_write_set_format_pax_restricted(writing.archive) != ARCHIVE_OK ||
             /* Names are bytes, whatever the locale: some are no UTF-8. */
             libarchive->archive_write_set_format_option(writing.archive, NULL, "hdrcharset",
                                                         "BINARY") != ARCHIVE_OK ||
             libarchive->archive_write_add_filter_zstd(writing.archive) != ARCHIVE_OK ||
             /* Into a pipe it would fill the last block up, which zstd calls damaged. */
             libarchive->archive_write_set_bytes_in_last_block(writing.archive, 1) != ARCHIVE_OK ||
             libarchive->archive_write_open_fd(writing.archive, descriptor) != ARCHIVE_OK)
        result = failed(&writing, error);
    if (!result)
        result = put_list(&writing, files, error);
    if (!result)
        result = put_files(&writing, files, counts, log, error);
    if (!result && libarchive->archive_write_close(writing.archive) != ARCHIVE_OK)
        result = failed(&writing, error);
    if (writing.entry)
        libarchive->archive_entry_free(writing.entry);
    if (writing.archive)
        libarchive->archive_write_free(writing.archive);
    libarchive_release(&writing.libarchive);
    return result;
}
