/* Finding the file that is mapped, among those that carry its name. */
#include "image/elf_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

/* An unreadable link below /proc is less informative than an unreadable file. */
static bool is_below_proc(const char *file)
{
    return !strncmp(file, "/proc/", 6);
}

static int open_failed(const char *file, int errnum, struct sprof_error *error)
{
    if (errnum == EACCES || errnum == EPERM)
        return sprof_error_set(
            error, SPROF_EPERMISSION, errnum, "cannot read %s: %s; %s", file, strerror(errnum),
            is_below_proc(file) ? "run sprof as the owner of the process, or as root"
                                : "make it readable, or run sprof as its owner or as root");
    if (errnum == ENOENT || errnum == ENOTDIR || errnum == ESRCH)
        return sprof_error_set(error, SPROF_ENOTFOUND, errnum, "%s is gone", file);
    if (errnum == EWOULDBLOCK)
        return sprof_error_set(error, SPROF_EIO, errnum,
                               "cannot read %s: another process has a lease on it", file);
    return sprof_error_set(error, SPROF_EIO, errnum, "cannot read %s: %s", file, strerror(errnum));
}

/* Nothing is opened for reading before it is known to be a regular file: the open of a device may
 * act, that of a pipe wait. The name may lead to another file at any time. The owner of a file may
 * hold a lease on it, for which an open waits by default. */
int image_open_file(const char *file, int *out, struct sprof_error *error)
{
    struct stat status;
    char link[64];
    *out = -1;
    const int place = open(file, O_PATH | O_CLOEXEC);
    if (place < 0)
        return open_failed(file, errno, error);
    if (fstat(place, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(place);
        return sprof_error_set(error, SPROF_EFORMAT, 0, "%s is not a regular file", file);
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    *out = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    const int errnum = errno;
    close(place);
    return *out < 0 ? open_failed(file, errnum, error) : 0;
}

/* stat and the kernel's mapping records name different devices on these, but the same inode. */
static bool device_is_virtual(int fd)
{
    struct statfs filesystem;
    if (fstatfs(fd, &filesystem) != 0)
        return false;
    return filesystem.f_type == OVERLAYFS_SUPER_MAGIC ||
           (unsigned long)filesystem.f_type == BTRFS_SUPER_MAGIC;
}

static bool same_inode(const struct image *image, const struct image_request *request)
{
    struct stat status;
    if (fstat(image->fd, &status) != 0)
        return false;
    if ((uint64_t)status.st_ino != request->file.inode)
        return false;
    return (major(status.st_dev) == request->file.device_major &&
            minor(status.st_dev) == request->file.device_minor) ||
           device_is_virtual(image->fd);
}

static bool is_identified(const struct image_request *request)
{
    return request->file.build_id_size || request->file.inode;
}

static bool is_requested(const struct image *image, const struct image_request *request)
{
    if (request->file.build_id_size)
        return image->build_id_size == request->file.build_id_size &&
               !memcmp(image->build_id, request->file.build_id, request->file.build_id_size);
    return !request->file.inode || same_inode(image, request);
}

/* The search, and the most informative of the failures on its way. */
struct search {
    const struct image_request *request;
    const char *path; /* without " (deleted)" */
    struct image *found;
    struct sprof_error worst;
    int rank;
};

/* "Replaced" is more informative than "not permitted", and that than "gone". */
static int rank_of(int code, bool replaced)
{
    static const struct {
        int code, rank;
    } ranks[] = {
        {SPROF_ENOTFOUND, 1}, {SPROF_EIO, 2},          {SPROF_EPERMISSION, 3},
        {SPROF_EFORMAT, 5},   {SPROF_EUNSUPPORTED, 6}, {SPROF_ENOMEM, 7},
    };
    if (replaced)
        return 4;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        if (ranks[i].code == code)
            return ranks[i].rank;
    return 0;
}

static void remember(struct search *search, const struct sprof_error *error, bool replaced)
{
    const int rank = rank_of(error->code, replaced);
    if (rank > search->rank) {
        search->rank = rank;
        search->worst = *error;
    }
}

/* Returns true when the file is the one that is wanted. */
static bool try_file(struct search *search, const char *file, const char *root)
{
    struct sprof_error error = {0};
    int fd;
    struct image *image;
    if (image_open_file(file, &fd, &error) || image_open_fd(&image, fd, search->path, &error)) {
        remember(search, &error, false);
        if (search->rank == rank_of(SPROF_EPERMISSION, false) && is_below_proc(file))
            search->rank--;
        return false;
    }
    if (!is_requested(image, search->request)) {
        sprof_error_set(&error, SPROF_ENOTFOUND, 0,
                        "%s was replaced since it was run: the file there now has another %s",
                        search->path, search->request->file.build_id_size ? "build id" : "inode");
        remember(search, &error, true);
        image_free(image);
        return false;
    }
    free(image->root);
    image->root = strdup(root);
    if (!image->root) {
        sprof_error_memory(&error);
        remember(search, &error, false);
        image_free(image);
        return false;
    }
    search->found = image;
    return true;
}

/* The links below /proc/PID lead to the very file, deleted or not; the process may have mapped or
 * executed something else meanwhile, so without an identity only a link of the same name counts. */
static bool try_link(struct search *search, const char *link, const char *root)
{
    char target[4096];
    const ssize_t length = readlink(link, target, sizeof target - 1);
    if (length < 0)
        return false;
    target[length] = '\0';
    const size_t path_length = strlen(search->path);
    const char *rest = target + path_length;
    const bool same_name =
        !strncmp(target, search->path, path_length) && (!*rest || !strcmp(rest, " (deleted)"));
    if (same_name)
        return try_file(search, link, root);
    /* Under another name it may be anything: a mismatch says nothing about our file. */
    struct search other = *search;
    if (!is_identified(search->request) || !try_file(&other, link, root))
        return false;
    search->found = other.found;
    return true;
}

/* Files without a name, as of memfd_create, that the process has open. */
static bool try_descriptors(struct search *search, const char *root)
{
    char path[64], link[128], target[4096];
    bool found = false;
    sprof_proc_shared_path(path, sizeof path, (pid_t)search->request->pid, "fd");
    DIR *directory = opendir(path);
    const struct dirent *entry;
    while (directory && !found && (entry = readdir(directory))) {
        snprintf(link, sizeof link, "%s/%.16s", path, entry->d_name);
        const ssize_t length = readlink(link, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        target[sprof_file_path_length(target)] = '\0';
        found = !strcmp(target, search->path) && try_file(search, link, root);
    }
    if (directory)
        closedir(directory);
    return found;
}

static bool try_process(struct search *search)
{
    const struct image_request *request = search->request;
    char root[64], link[128];
    const pid_t pid = sprof_proc_sharing_task((pid_t)request->pid);
    sprof_proc_shared_path(root, sizeof root, pid, "root");
    snprintf(link, sizeof link, "/proc/%d/map_files/%llx-%llx", pid,
             (unsigned long long)request->map_start, (unsigned long long)request->map_end);
    if (request->map_end && try_link(search, link, root))
        return true;
    struct sprof_str file = {0};
    sprof_str_appendf(&file, "%s%s", root, search->path);
    const bool found = !file.failed && file.text && try_file(search, file.text, root);
    sprof_str_release(&file);
    if (found)
        return true;
    /* map_files needs privileges, exe does not: a deleted program can still be read. */
    sprof_proc_shared_path(link, sizeof link, pid, "exe");
    if (try_link(search, link, root) || try_descriptors(search, root))
        return true;
    const char *mapped = search->request->file.path;
    if (search->worst.code == SPROF_EPERMISSION && mapped[sprof_file_path_length(mapped)])
        sprof_error_set(&search->worst, SPROF_EPERMISSION, EPERM,
                        "cannot read %s, which has no name any more: as the process has it open no "
                        "longer, only root can",
                        search->path);
    return false;
}

/* A process that has ended leaves its root directory to its ancestor. That may be another one, so
 * only an identity counts. */
static bool try_ancestor(struct search *search)
{
    char root[64];
    struct sprof_str file = {0};
    struct search other = *search;
    if (!is_identified(search->request))
        return false;
    sprof_proc_shared_path(root, sizeof root,
                           sprof_proc_sharing_task((pid_t)search->request->ancestor), "root");
    sprof_str_appendf(&file, "%s%s", root, search->path);
    const bool found = !file.failed && file.text && try_file(&other, file.text, root);
    sprof_str_release(&file);
    search->found = found ? other.found : NULL;
    return found;
}

static bool try_living(struct search *search)
{
    const struct image_request *request = search->request;
    return search->path[0] == '/' && ((request->pid > 0 && try_process(search)) ||
                                      (request->ancestor > 0 && try_ancestor(search)));
}

/* The name of a file may really end like that of one that was deleted. */
static void try_whole_path(struct search *search)
{
    const char *path = search->request->file.path, *root = search->request->root;
    struct sprof_str file = {0};
    if (!path[sprof_file_path_length(path)])
        return;
    struct search whole = {.request = search->request, .path = path};
    sprof_str_appendf(&file, "%s%s", root ? root : "", path);
    if (!file.failed && !(root && try_file(&whole, file.text, root)))
        try_file(&whole, path, "");
    search->found = whole.found;
    sprof_str_release(&file);
}

int image_open(struct image **image, const struct image_request *request, struct sprof_error *error)
{
    *image = NULL;
    char *path = strndup(request->file.path, sprof_file_path_length(request->file.path));
    if (!path)
        return sprof_error_memory(error);
    struct search search = {.request = request, .path = path};
    if (request->root && path[0] == '/') {
        struct sprof_str file = {0};
        sprof_str_appendf(&file, "%s%s", request->root, path);
        if (!file.failed && file.text)
            try_file(&search, file.text, request->root);
        sprof_str_release(&file);
    }
    if (!search.found && !try_living(&search))
        try_file(&search, path, "");
    if (!search.found)
        try_whole_path(&search);
    free(path);
    *image = search.found;
    if (search.found)
        return 0;
    if (error)
        *error = search.worst;
    return search.worst.code;
}
