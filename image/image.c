#include "image/elf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct image *image_new(const char *path)
{
    struct image *image = calloc(1, sizeof *image);
    if (!image)
        return NULL;
    image->fd = -1;
    image->path = strdup(path);
    image->root = strdup("");
    if (!image->path || !image->root) {
        image_free(image);
        return NULL;
    }
    return image;
}

static int image_finish(struct image **out, struct image *image, struct sprof_error *error)
{
    const int code = image_parse(image, error);
    if (code) {
        image_free(image);
        return code;
    }
    *out = image;
    return 0;
}

int image_open_fd(struct image **out, int fd, const char *path, struct sprof_error *error)
{
    *out = NULL;
    struct image *image = image_new(path);
    if (!image) {
        close(fd);
        return sprof_error_memory(error);
    }
    image->fd = fd;
    struct stat status;
    if (fstat(fd, &status) != 0) {
        const int code =
            sprof_error_set(error, SPROF_EIO, errno, "cannot read %s: %s", path, strerror(errno));
        image_free(image);
        return code;
    }
    image->file_size = (uint64_t)status.st_size;
    return image_finish(out, image, error);
}

int image_open_memory(struct image **out, const char *name, struct sprof_bytes bytes,
                      struct sprof_error *error)
{
    *out = NULL;
    struct image *image = image_new(name);
    uint8_t *copy = malloc(bytes.size ? bytes.size : 1);
    if (!image || !copy) {
        free(copy);
        image_free(image);
        return sprof_error_memory(error);
    }
    if (bytes.size)
        memcpy(copy, bytes.data, bytes.size);
    image->memory = (struct sprof_bytes){copy, bytes.size};
    image->file_size = bytes.size;
    return image_finish(out, image, error);
}

void image_free(struct image *image)
{
    if (!image)
        return;
    image_drop_sections(image);
    for (size_t i = 0; i < image->sections.count; i++)
        free(image->sections.items[i].name);
    sprof_vec_release(&image->sections);
    sprof_vec_release(&image->loaded);
    sprof_vec_release(&image->loads);
    sprof_vec_release(&image->text);
    free((void *)image->memory.data);
    free(image->soname);
    free(image->root);
    free(image->path);
    if (image->fd >= 0)
        close(image->fd);
    free(image);
}

size_t image_read(const struct image *image, uint64_t offset, void *buffer, size_t size)
{
    if (offset >= image->file_size)
        return 0;
    if (size > image->file_size - offset)
        size = (size_t)(image->file_size - offset);
    if (image->fd < 0) {
        memcpy(buffer, image->memory.data + offset, size);
        return size;
    }
    return sprof_file_read(image->fd, offset, buffer, size);
}

struct sprof_bytes image_read_copy(const struct image *image, uint64_t offset, uint64_t size)
{
    const struct sprof_bytes empty = {0};
    if (!size || size > IMAGE_MAX_CONTENT || offset > image->file_size ||
        size > image->file_size - offset)
        return empty;
    uint8_t *copy = malloc((size_t)size + 1);
    if (!copy)
        return empty;
    if (image_read(image, offset, copy, (size_t)size) != size) {
        free(copy);
        return empty;
    }
    copy[size] = 0;
    return (struct sprof_bytes){copy, (size_t)size};
}

const char *image_path(const struct image *image)
{
    return image->path;
}

int image_fd(const struct image *image)
{
    return image->fd;
}

struct sprof_bytes image_memory(const struct image *image)
{
    return image->memory;
}

struct sprof_bytes image_build_id(const struct image *image)
{
    return (struct sprof_bytes){image->build_id, image->build_id_size};
}

const char *image_soname(const struct image *image)
{
    return image->soname;
}

uint64_t image_entry(const struct image *image)
{
    return image->entry;
}

/* libc.so.6 has an interpreter too, so that it can be run; its soname tells it from a program. */
bool image_is_executable(const struct image *image)
{
    if (image->type == ET_EXEC)
        return true;
    return image->type == ET_DYN &&
           (image->flags_1 & DF_1_PIE || (image->has_interpreter && !image->soname));
}

/* Hashed piece by piece, so that a large file needs little memory. */
static uint64_t content_key(const struct image *image)
{
    enum { PIECE = 256 * 1024 };
    uint64_t key = sprof_hash_mix(image->file_size);
    uint8_t *piece = malloc(PIECE);
    if (!piece)
        return key;
    for (uint64_t offset = 0; offset < IMAGE_MAX_CONTENT; offset += PIECE) {
        const size_t got = image_read(image, offset, piece, PIECE);
        if (got)
            key = sprof_hash_pair(key, sprof_hash_bytes(piece, got));
        if (got < PIECE)
            break;
    }
    free(piece);
    return key;
}

uint64_t image_key(struct image *image)
{
    if (!image->has_key) {
        image->key = image->build_id_size ? sprof_hash_bytes(image->build_id, image->build_id_size)
                                          : content_key(image);
        image->has_key = true;
    }
    return image->key;
}

bool image_vaddr_of_offset(const struct image *image, uint64_t offset, uint64_t *vaddr)
{
    for (size_t i = 0; i < image->loads.count; i++) {
        const Elf64_Phdr *load = &image->loads.items[i];
        if (offset >= load->p_offset && offset - load->p_offset < load->p_filesz) {
            *vaddr = load->p_vaddr + (offset - load->p_offset);
            return true;
        }
    }
    return false;
}

bool image_offset_of_vaddr(const struct image *image, uint64_t vaddr, uint64_t *offset)
{
    for (size_t i = 0; i < image->loads.count; i++) {
        const Elf64_Phdr *load = &image->loads.items[i];
        if (vaddr >= load->p_vaddr && vaddr - load->p_vaddr < load->p_filesz) {
            *offset = load->p_offset + (vaddr - load->p_vaddr);
            return true;
        }
    }
    return false;
}

size_t image_text_segments(const struct image *image, const struct image_segment **segments)
{
    *segments = image->text.items;
    return image->text.count;
}
