/* The functions of libarchive that are used. It brings a dozen libraries along, whose relocation
 * every start of sprof would pay: it is loaded by the commands that need it. */
#ifndef SPROF_ARCHIVE_LIBARCHIVE_H
#define SPROF_ARCHIVE_LIBARCHIVE_H

#include "base/base.h"

#include <archive.h>
#include <archive_entry.h>

#define LIBARCHIVE_FUNCTIONS(X)                                                                    \
    X(archive_error_string)                                                                        \
    X(archive_read_new)                                                                            \
    X(archive_read_support_filter_gzip)                                                            \
    X(archive_read_support_filter_zstd)                                                            \
    X(archive_read_support_format_tar)                                                             \
    X(archive_read_open_fd)                                                                        \
    X(archive_read_next_header)                                                                    \
    X(archive_read_data)                                                                           \
    X(archive_read_free)                                                                           \
    X(archive_write_new)                                                                           \
    X(archive_write_add_filter_zstd)                                                               \
    X(archive_write_set_format_pax_restricted)                                                     \
    X(archive_write_set_format_option)                                                             \
    X(archive_write_set_bytes_in_last_block)                                                       \
    X(archive_write_open_fd)                                                                       \
    X(archive_write_header)                                                                        \
    X(archive_write_data)                                                                          \
    X(archive_write_close)                                                                         \
    X(archive_write_free)                                                                          \
    X(archive_entry_new)                                                                           \
    X(archive_entry_free)                                                                          \
    X(archive_entry_clear)                                                                         \
    X(archive_entry_set_pathname)                                                                  \
    X(archive_entry_set_size)                                                                      \
    X(archive_entry_set_filetype)                                                                  \
    X(archive_entry_set_perm)                                                                      \
    X(archive_entry_set_mtime)                                                                     \
    X(archive_entry_pathname)                                                                      \
    X(archive_entry_hardlink)                                                                      \
    X(archive_entry_symlink)                                                                       \
    X(archive_entry_filetype)                                                                      \
    X(archive_entry_size)                                                                          \
    X(archive_entry_sparse_count)                                                                  \
    X(archive_entry_mtime)                                                                         \
    X(archive_entry_mtime_nsec)

struct libarchive {
    void *library;
#define LIBARCHIVE_POINTER(name) __typeof__(&name) name;
    LIBARCHIVE_FUNCTIONS(LIBARCHIVE_POINTER)
#undef LIBARCHIVE_POINTER
};

/* 0, or SPROF_EUNSUPPORTED where the library is missing. */
int libarchive_load(struct libarchive *libarchive, struct sprof_error *error);
void libarchive_release(struct libarchive *libarchive);

#endif
