/* archive: what a recording needs of this machine's files, as one file for another machine.
 *
 * A compressed tar file (zstd). Its first member, "sprof-archive", lists the others: a line
 * "sprof-archive 1", then "SIZE PATH" for each. Their names are "files" and the absolute path. */
#ifndef SPROF_ARCHIVE_ARCHIVE_H
#define SPROF_ARCHIVE_ARCHIVE_H

#include "base/base.h"
#include "store/store.h"

/* Files to be put in: absolute paths, clean as archive_path_is_clean says. Each is held open, so
 * that it is there when it is written, whatever happens to its name. Zero is a valid empty value.
 */
struct archive_file {
    const char *path; /* borrowed */
    uint64_t size;
    int descriptor;
};
struct archive_files {
    SPROF_VEC(struct archive_file) items;
};
void archive_files_release(struct archive_files *files);

/* Whether a path is absolute, has no empty, "." or ".." part and no control character. */
bool archive_path_is_clean(const char *path);

/* What was found for a recording, and what was not. */
struct archive_counts {
    size_t binaries, debug_files, sources, missing;
};

/* Counts a file as missing and logs why, the first few times. */
void archive_tell_missing(struct archive_counts *counts, const struct sprof_log *log,
                          const char *path, const char *why);

/* The files that a recording needs, as far as they are here and are those that ran: binaries with
 * samples, their debug files, and with `sources` the source files that all users
 * may read, and those below `source_directory` (NULL: none). Missing files are logged, the first
 * few by name. Paths live in the arena. Returns 0, SPROF_ENOMEM or the store's error. The caller
 * releases the files, also on failure. */
int archive_collect(struct archive_files *files, struct archive_counts *counts,
                    struct sprof_arena *arena, struct store *store, bool sources,
                    const char *source_directory, const struct sprof_log *log,
                    struct sprof_error *error);

/* Writes an archive to a descriptor. What a file lost since it was collected is zeroes: logged, and
 * counted as missing. SPROF_EUNSUPPORTED where libarchive is missing; SPROF_EIO, SPROF_EFULL as the
 * system says. */
int archive_write(int descriptor, const struct archive_files *files, struct archive_counts *counts,
                  const struct sprof_log *log, struct sprof_error *error);

/* Unpacks an archive into an empty directory, the files below DIRECTORY/files. Nothing but regular
 * files with clean names, as the list says and of the sizes that it gives, leaves an archive:
 * everything else is SPROF_EFORMAT, and SPROF_ELIMIT where it unpacks to more than two hundred
 * times its size, or than fits. What was unpacked before stays. Times of change are kept. */
int archive_unpack(const char *path, const char *directory, struct sprof_error *error);

#endif
