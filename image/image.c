/* Opening and freeing an image, and its plain facts. */
#include "image/elf_file.h"

#include "base/cut_files.h"

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
    image->cut_files = sprof_cut_files();
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
    const int code = image_read_headers(image, error);
    if (code) {
        image_free(image);
        return code;
    }
    image_read_identity(image);
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

int image_open_descriptor(struct image **image, int fd, const char *path, const char *root,
                          struct sprof_error *error)
{
    char *copy = strdup(root);
    const int code = image_open_fd(image, fd, path, error);
    if (code || !copy) {
        free(copy);
        image_free(*image);
        *image = NULL;
        return code ? code : sprof_error_memory(error);
    }
    free((*image)->root);
    (*image)->root = copy;
    return 0;
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
    sprof_vec_release(&image->segments);
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

uint64_t image_entry(const struct image *image)
{
    return image->entry;
}

bool image_is_cut_off(const struct image *image)
{
    char last;
    for (size_t i = 0; i < image->loads.count; i++) {
        const Elf64_Phdr *load = &image->loads.items[i];
        if (image_read(image, load->p_offset + load->p_filesz - 1, &last, 1) != 1)
            return true;
    }
    return false;
}

bool image_stayed_whole(const struct image *image)
{
    return sprof_cut_files() == image->cut_files;
}

size_t image_text_segments(const struct image *image, const struct image_segment **segments)
{
    *segments = image->text.items;
    return image->text.count;
}
