/* Separate debug files, where GDB's manual ("Debugging Information in Separate Files") puts them.
 */
#include "image/elf_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char debug_directory[] = "/usr/lib/debug";

/* CRC-32 of the whole file as .gnu_debuglink stores it (polynomial 0xedb88320, reflected). */
static uint32_t file_crc(const struct image *image)
{
    enum { PIECE = 64 * 1024 };
    uint32_t table[256];
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? UINT32_C(0xedb88320) : 0);
    }
    uint8_t *piece = malloc(PIECE);
    uint32_t crc = UINT32_MAX;
    for (uint64_t offset = 0; piece && offset < IMAGE_MAX_CONTENT;) {
        const size_t got = image_read(image, offset, piece, PIECE);
        for (size_t i = 0; i < got; i++)
            crc = crc >> 8 ^ table[(crc ^ piece[i]) & 0xff];
        offset += got;
        if (got < PIECE)
            break;
    }
    free(piece);
    return ~crc;
}

/* What the debug file must be: the build id decides where the image has one, else the CRC. */
struct wanted {
    struct image *image;
    const char *link; /* file name of .gnu_debuglink, NULL where there is none */
    uint32_t crc;
    struct sprof_str other; /* a file that is there, but of another build; no text: none is */
};

static bool is_wanted(const struct image *debug, const struct wanted *wanted)
{
    const struct image *image = wanted->image;
    if (image->build_id_size && debug->build_id_size)
        return image->build_id_size == debug->build_id_size &&
               !memcmp(image->build_id, debug->build_id, image->build_id_size);
    return wanted->link && file_crc(debug) == wanted->crc;
}

static bool try_debug(struct image **debug, struct wanted *wanted, struct sprof_str *file)
{
    int fd;
    struct image *found = NULL;
    if (!file->failed && file->text && !image_open_file(file->text, &fd, NULL))
        image_open_fd(&found, fd, file->text, NULL);
    if (found && is_wanted(found, wanted)) {
        sprof_str_clear(file);
        *debug = found;
        return true;
    }
    if (found && !wanted->other.text)
        sprof_str_append(&wanted->other, file->text);
    sprof_str_clear(file);
    image_free(found);
    return false;
}

static bool try_build_id(struct image **debug, struct wanted *wanted, const char *root,
                         const char *directory, struct sprof_str *file)
{
    const struct image *image = wanted->image;
    if (image->build_id_size < 2)
        return false;
    sprof_str_appendf(file, "%s%s/.build-id/%02x/", root, directory, image->build_id[0]);
    for (size_t i = 1; i < image->build_id_size; i++)
        sprof_str_appendf(file, "%02x", image->build_id[i]);
    sprof_str_append(file, ".debug");
    return try_debug(debug, wanted, file);
}

static bool try_link(struct image **debug, struct wanted *wanted, const char *root,
                     const char *directory, struct sprof_str *file)
{
    const char *path = wanted->image->path;
    const char *slash = strrchr(path, '/');
    if (!wanted->link || !slash)
        return false;
    const int length = (int)(slash - path);
    sprof_str_appendf(file, "%s%.*s/%s", root, length, path, wanted->link);
    if (try_debug(debug, wanted, file))
        return true;
    sprof_str_appendf(file, "%s%.*s/.debug/%s", root, length, path, wanted->link);
    if (try_debug(debug, wanted, file))
        return true;
    sprof_str_appendf(file, "%s%s%.*s/%s", root, directory, length, path, wanted->link);
    return try_debug(debug, wanted, file);
}

/* .gnu_debuglink: a file name, padding to four bytes, the CRC. The name never leaves its directory.
 */
static void read_link(struct wanted *wanted)
{
    const struct sprof_bytes bytes = image_section(wanted->image, ".gnu_debuglink", NULL);
    if (!bytes.size)
        return;
    struct sprof_reader reader = sprof_reader_of(bytes);
    const char *name = sprof_reader_text(&reader);
    sprof_reader_take(&reader, -sprof_reader_offset(&reader) & 3);
    const uint32_t crc = sprof_reader_u32(&reader);
    if (reader.failed || !name[0] || strchr(name, '/'))
        return;
    wanted->link = name;
    wanted->crc = crc;
}

int image_open_debug_below(struct image **debug, struct image *image, const char *directory,
                           struct sprof_error *error)
{
    *debug = NULL;
    if (image->fd < 0)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0, "%s has no debug file", image->path);
    struct wanted wanted = {.image = image};
    struct sprof_str file = {0};
    read_link(&wanted);
    /* The container's own directories first, then those of the machine sprof runs on. */
    const char *const roots[] = {image->root, ""};
    const size_t root_count = image->root[0] ? 2 : 1;
    bool found = false;
    for (size_t i = 0; i < root_count && !found; i++)
        found = try_build_id(debug, &wanted, roots[i], directory, &file) ||
                try_link(debug, &wanted, roots[i], directory, &file);
    sprof_str_release(&file);
    int code = 0;
    if (!found && wanted.other.text)
        code = sprof_error_set(error, SPROF_EFORMAT, 0,
                               "the debug file %s is of another build than %s and was not read; "
                               "install the one of this build",
                               wanted.other.text, image->path);
    else if (!found)
        code = sprof_error_set(error, SPROF_ENOTFOUND, 0, "%s has no debug file below %s",
                               image->path, directory);
    sprof_str_release(&wanted.other);
    return code;
}

int image_open_debug(struct image **debug, struct image *image, struct sprof_error *error)
{
    return image_open_debug_below(debug, image, debug_directory, error);
}

/* == The alternate file == */

/* .gnu_debugaltlink: a file name, and the build id of that file. Programs whose debug information
 * was moved to a file of its own keep the section, and need nothing. */
static const char *read_alternate_link(struct image *file, struct sprof_bytes *build_id)
{
    if (!image_section_header(file, ".debug_info"))
        return NULL;
    const struct sprof_bytes bytes = image_section(file, ".gnu_debugaltlink", NULL);
    struct sprof_reader reader = sprof_reader_of(bytes);
    const char *name = bytes.size ? sprof_reader_text(&reader) : "";
    const size_t offset = bytes.size ? (size_t)sprof_reader_offset(&reader) : 0;
    if (reader.failed || !name[0] || bytes.size <= offset)
        return NULL;
    *build_id = (struct sprof_bytes){bytes.data + offset, bytes.size - offset};
    return name;
}

const char *image_alternate_name(struct image *file)
{
    struct sprof_bytes build_id;
    return read_alternate_link(file, &build_id);
}

static bool try_alternate(struct image **alternate, struct sprof_bytes build_id,
                          struct sprof_str *file)
{
    int fd;
    struct image *found = NULL;
    if (!file->failed && file->text && !image_open_file(file->text, &fd, NULL))
        image_open_fd(&found, fd, file->text, NULL);
    sprof_str_clear(file);
    if (found && found->build_id_size == build_id.size &&
        !memcmp(found->build_id, build_id.data, build_id.size)) {
        *alternate = found;
        return true;
    }
    image_free(found);
    return false;
}

int image_open_alternate(struct image **alternate, struct image *image, struct image *file,
                         struct sprof_error *error)
{
    struct sprof_bytes build_id;
    const char *name = read_alternate_link(file, &build_id), *slash = strrchr(file->path, '/');
    struct sprof_str path = {0};
    bool found = false;
    *alternate = NULL;
    if (!name)
        return 0;
    /* The path of a debug file begins with the root that it was found below; an image's does not.
     */
    const char *const roots[] = {image->root, ""};
    for (size_t i = image->root[0] ? 0 : 1; i < 2 && !found; i++) {
        if (name[0] == '/')
            sprof_str_appendf(&path, "%s%s", roots[i], name);
        else if (slash)
            sprof_str_appendf(&path, "%s%.*s/%s", file == image ? roots[i] : "",
                              (int)(slash - file->path), file->path, name);
        found = try_alternate(alternate, build_id, &path);
        if (found)
            break;
        sprof_str_appendf(&path, "%s%s/.build-id/%02x/", roots[i], debug_directory,
                          build_id.data[0]);
        for (size_t k = 1; k < build_id.size; k++)
            sprof_str_appendf(&path, "%02x", build_id.data[k]);
        sprof_str_append(&path, ".debug");
        found = try_alternate(alternate, build_id, &path);
    }
    sprof_str_release(&path);
    return found ? 0
                 : sprof_error_set(error, SPROF_ENOTFOUND, 0,
                                   "%s refers to %s for its debug information, and no file of "
                                   "that build is there",
                                   file->path, name);
}
