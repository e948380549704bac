/* Whose file an image is. */
#include "image/elf_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *image_root(const struct image *image)
{
    return image->root;
}

static bool is_same(const struct stat *left, const struct stat *right)
{
    return left->st_dev == right->st_dev && left->st_ino == right->st_ino;
}

bool image_is_foreign(const struct image *image, const char *root)
{
    struct stat file, own;
    const size_t length = strlen(root);
    const char *path = image->path + (strncmp(image->path, root, length) ? 0 : length);
    if (image->fd < 0)
        return false;
    if (fstat(image->fd, &file))
        return true;
    if (file.st_uid && file.st_uid == geteuid())
        return false;
    return file.st_uid || file.st_mode & (S_IWGRP | S_IWOTH) || stat(path, &own) ||
           !is_same(&file, &own);
}

/* What was unpacked is the caller's. */
static bool is_unpacked(const char *path, const char *root)
{
    const size_t length = strlen(root);
    return length && strncmp(root, "/proc/", 6) && !strncmp(path, root, length) &&
           path[length] == '/' && !strstr(path + length, "/../");
}

int image_open_beside(const char *path, uid_t owner, const char *root)
{
    struct stat file;
    uint8_t magic[SELFMAG];
    struct sprof_error error = {0};
    int fd;
    if (image_open_file(path, &fd, &error))
        return error.errnum ? -error.errnum : -EACCES;
    if (!fstat(fd, &file) &&
        (file.st_mode & S_IROTH || (owner && file.st_uid == owner && file.st_mode & S_IRUSR) ||
         (file.st_uid == geteuid() && is_unpacked(path, root))) &&
        sprof_file_read(fd, 0, magic, sizeof magic) == sizeof magic &&
        !memcmp(magic, ELFMAG, SELFMAG))
        return fd;
    close(fd);
    return -EACCES;
}
