/* Reads the lines of source files, where they are now. */
#include "report/source_text.h"

#include "image/image.h"
#include "report/utf8_text.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A program names any file as its source: the text, and its lines as shown, are both held. */
enum { TAB = 8, LINES_MOST = 1000000, LINE_MIB_MOST = 1, MIB_MOST = 64 };
static const size_t mib = 1 << 20;

void report_source_release(struct report_source *source)
{
    sprof_vec_release(&source->lines);
}

/* The file as named, below the root first; else the directory with ever less of the beginning of
 * its path. What root may read says nothing of the user whose program, or whose recording, names
 * the file: there only what these users may read is shown, and what lies below the directories that
 * are named. Returns a descriptor or a negative errno, of the file as named where there is one. */
static int open_source(const char *path, const struct report_source_places *places)
{
    const char *root = places->root, *directory = places->directory;
    const bool is_by_rights = geteuid() != 0;
    const struct image_source_access below_root = {is_by_rights, root, places->users};
    const struct image_source_access access = {is_by_rights, directory, places->users};
    struct sprof_str place = {0};
    int fd = -ENOENT;
    if (root && *path == '/' && !sprof_str_appendf(&place, "%s%s", root, path))
        fd = image_source_open(place.text, &below_root);
    if (fd < 0)
        fd = image_source_open(path, &access);
    const int why = fd;
    for (const char *rest = path; fd < 0 && directory && rest; rest = strchr(rest, '/')) {
        rest += strspn(rest, "/");
        sprof_str_clear(&place);
        if (sprof_str_appendf(&place, "%s/%s", directory, rest))
            break;
        fd = image_source_open(place.text, &access);
    }
    sprof_str_release(&place);
    return fd < 0 && why != -ENOENT ? why : fd;
}

static int refuse(const char *bytes, struct sprof_arena *arena, bool is_of_users, int errnum,
                  struct sprof_error *error)
{
    const char *path = report_utf8_copy(arena, bytes);
    if (!path)
        return SPROF_ENOMEM;
    if (errnum == EINVAL)
        return sprof_error_set(error, SPROF_EFORMAT, 0, "the source %s is not a text file", path);
    if (errnum == EFBIG)
        return sprof_error_set(error, SPROF_ELIMIT, 0,
                               "the source %s is not shown: it has more than %d lines, %d MiB, or "
                               "%d MiB in one line",
                               path, LINES_MOST, MIB_MOST, LINE_MIB_MOST);
    if (errnum == EPERM)
        return sprof_error_set(error, SPROF_EPERMISSION, errnum,
                               "the source %s may not be read by all users%s, and root shows no "
                               "others: name its directory with --source",
                               path, is_of_users ? " that were sampled or traced" : "");
    return sprof_error_set(error, SPROF_ENOTFOUND, errnum,
                           "the source %s cannot be read (%s): name its directory with --source",
                           path, strerror(errnum));
}

/* Adds the bytes that it takes to *bytes. 0, SPROF_ENOMEM or SPROF_ELIMIT. */
static int add_line(struct report_source *source, struct sprof_arena *arena, const char *text,
                    size_t length, size_t *bytes)
{
    struct sprof_str line = {0};
    size_t column = 0;
    sprof_str_append(&line, "");
    for (size_t i = 0; i < length && line.length <= LINE_MIB_MOST * mib; i++) {
        const bool tab = text[i] == '\t';
        const size_t width = tab ? TAB - column % TAB : 1;
        sprof_str_append_bytes(&line, tab ? "        " : text + i, tab ? width : 1);
        column += width;
    }
    const bool is_long = line.length > LINE_MIB_MOST * mib;
    while (line.length && strchr(" \r", line.text[line.length - 1]))
        line.text[--line.length] = '\0';
    const char *clean = line.failed || is_long ? NULL : report_utf8_copy(arena, line.text);
    sprof_str_release(&line);
    if (clean)
        *bytes += strlen(clean) + 1;
    if (is_long || *bytes > MIB_MOST * mib || source->lines.count == LINES_MOST)
        return SPROF_ELIMIT;
    return clean ? sprof_vec_push(&source->lines, clean) : SPROF_ENOMEM;
}

static int split(struct report_source *source, struct sprof_arena *arena, const char *text,
                 size_t size)
{
    size_t bytes = 0;
    int result = 0;
    while (size && !result) {
        const char *end = memchr(text, '\n', size);
        const size_t length = end ? (size_t)(end - text) : size;
        result = add_line(source, arena, text, length, &bytes);
        text += length + (end != NULL);
        size -= length + (end != NULL);
    }
    return result;
}

int report_source_read(struct report_source *source, struct sprof_arena *arena, const char *path,
                       const struct report_source_places *places, uint64_t since_ns,
                       struct sprof_error *error)
{
    struct stat status;
    *source = (struct report_source){0};
    const int fd = open_source(path, places);
    if (fd < 0)
        return refuse(path, arena, places->users && places->users->count, -fd, error);
    const int errnum = fstat(fd, &status) || !S_ISREG(status.st_mode) ? EINVAL
                       : (uint64_t)status.st_size > MIB_MOST * mib    ? EFBIG
                                                                      : 0;
    if (errnum) {
        close(fd);
        return refuse(path, arena, false, errnum, error);
    }
    char *text = malloc((size_t)status.st_size + 1);
    const size_t size = text ? sprof_file_read(fd, 0, text, (size_t)status.st_size) : 0;
    close(fd);
    /* cut short meanwhile, or written since */
    source->changed =
        size < (size_t)status.st_size || (since_ns && (uint64_t)status.st_mtim.tv_sec * 1000000000 +
                                                              (uint64_t)status.st_mtim.tv_nsec >
                                                          since_ns);
    const int result = text ? split(source, arena, text, size) : SPROF_ENOMEM;
    free(text);
    return result == SPROF_ELIMIT ? refuse(path, arena, false, EFBIG, error) : result;
}
