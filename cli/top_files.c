/* Keeps and removes the files of `sprof top`, and holds texts back. */
#include "cli/top_files.h"

#include "recording/recording.h"
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_MOST = 64 << 10 };

/* Names of directories; and of a file in one whose recording could not be saved. */
#define PREFIX "sprof-top-"
#define UNSAVED "unsaved"

/* The directory is sprof's own: all that is in it is of the recording. */
static void remove_all(const char *path)
{
    DIR *directory = opendir(path);
    if (directory) {
        for (const struct dirent *entry; (entry = readdir(directory));)
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                unlinkat(dirfd(directory), entry->d_name, 0);
        closedir(directory);
    }
    rmdir(path);
}

/* Whether a directory was left by a process that is gone: a live one holds a lock on it, or has
 * made it a moment ago. A recording that could not be saved stays. */
static bool is_left(int fd)
{
    enum { LEAST_SECONDS = 60 };
    struct stat facts;
    return !fstat(fd, &facts) && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
           time(NULL) - facts.st_mtime >= LEAST_SECONDS && faccessat(fd, UNSAVED, F_OK, 0) &&
           !flock(fd, LOCK_EX | LOCK_NB);
}

static void remove_left(const char *parent)
{
    DIR *directory = opendir(parent);
    for (const struct dirent *entry; directory && (entry = readdir(directory));) {
        struct sprof_str path = {0};
        if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) != 0)
            continue;
        const int fd = openat(dirfd(directory), entry->d_name,
                              O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && is_left(fd) && !sprof_str_appendf(&path, "%s/%s", parent, entry->d_name))
            remove_all(path.text);
        if (fd >= 0)
            close(fd);
        sprof_str_release(&path);
    }
    if (directory)
        closedir(directory);
}

int cli_top_files_open(struct cli_top_files *files, const char *output, struct sprof_error *error)
{
    const char *asked = getenv("TMPDIR"), *parent = asked && *asked ? asked : "/tmp";
    struct sprof_str directory = {0}, recording = {0};
    *files = (struct cli_top_files){.lock_fd = -1};
    if (output) {
        files->recording = strdup(output);
        return files->recording ? 0 : sprof_error_memory(error);
    }
    remove_left(parent);
    if (sprof_str_appendf(&directory, "%s/" PREFIX "XXXXXX", parent))
        return sprof_error_memory(error);
    if (!mkdtemp(directory.text)) {
        const int errnum = errno;
        sprof_error_set(error, errnum == ENOSPC ? SPROF_EFULL : SPROF_EIO, errnum,
                        "cannot make a directory like %s: %s\nset TMPDIR to another place, or "
                        "give -o FILE",
                        directory.text, strerror(errnum));
        sprof_str_release(&directory);
        return error ? (int)error->code : SPROF_EIO;
    }
    files->lock_fd = open(directory.text, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (files->lock_fd >= 0)
        flock(files->lock_fd, LOCK_EX | LOCK_NB);
    sprof_str_appendf(&recording, "%s/top.db", directory.text);
    files->directory = sprof_str_take(&directory);
    files->recording = sprof_str_take(&recording);
    return files->directory && files->recording ? 0 : sprof_error_memory(error);
}

int cli_top_files_save(struct cli_top_files *files, const char *path, const struct sprof_log *log,
                       struct sprof_error *error)
{
    const char *inputs[] = {files->recording};
    const struct recording_derive_options derive = {.log = log};
    const struct store_merge_options merge = {
        .output = path, .inputs = inputs, .count = 1, .log = log};
    struct store_merge_result result;
    struct sprof_error why = {0};
    int status = recording_derive(files->recording, &derive, &why);
    if (!status)
        status = store_merge(&merge, &result, &why);
    if (!status)
        return 0;
    const int mark = openat(files->lock_fd, UNSAVED, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (mark >= 0)
        close(mark);
    free(files->directory); /* which stays */
    files->directory = NULL;
    return sprof_error_set(error, status, why.errnum,
                           "%.700s\nthe recording is still there: `sprof merge %s -o FILE`",
                           why.message, files->recording);
}

void cli_top_files_close(struct cli_top_files *files)
{
    if (files->directory)
        remove_all(files->directory);
    if (files->recording && files->lock_fd >= 0)
        close(files->lock_fd);
    free(files->directory);
    free(files->recording);
    *files = (struct cli_top_files){.lock_fd = -1};
}

/* Drops what is too old, by half of what is kept, so that it is moved seldom. */
static void cut(struct cli_top_text *text)
{
    struct sprof_str *kept = &text->text;
    if (kept->length <= 2 * TEXT_MOST)
        return;
    const size_t dropped = kept->length - TEXT_MOST;
    memmove(kept->text, kept->text + dropped, TEXT_MOST + 1);
    kept->length = TEXT_MOST;
    text->cut += dropped;
}

/* The last line that ends, of what came from `from` on. */
static const char *last_line(struct cli_top_text *text, size_t from)
{
    const char *all = text->text.text;
    size_t end = text->text.length, begin;
    while (end > from && all[end - 1] != '\n')
        end--;
    if (end <= from)
        return NULL;
    for (begin = --end; begin > 0 && all[begin - 1] != '\n';)
        begin--;
    snprintf(text->last, sizeof text->last, "%.*s", (int)(end - begin), all + begin);
    return text->last;
}

const char *cli_top_text_read(struct cli_top_text *text, int fd)
{
    char buffer[16384];
    const char *line = NULL;
    while (!text->ended && fd >= 0) {
        const ssize_t size = read(fd, buffer, sizeof buffer);
        if (size < 0 && errno == EINTR)
            continue;
        text->ended = !size;
        if (size <= 0)
            break;
        const size_t from = text->text.length;
        sprof_str_append_bytes(&text->text, buffer, (size_t)size);
        const char *came = last_line(text, from);
        line = came ? came : line;
        cut(text);
    }
    return line;
}

void cli_top_text_write(FILE *out, const struct cli_top_text *text)
{
    const size_t length = text->text.length, most = TEXT_MOST;
    const size_t from = length > most ? length - most : 0;
    if (text->cut + from)
        fprintf(out, "… %s bytes before\n", sprof_digits_of(text->cut + from).text);
    if (length)
        fwrite(text->text.text + from, 1, length - from, out);
}

void cli_top_text_release(struct cli_top_text *text)
{
    sprof_str_release(&text->text);
}
