/* Opens perf maps and jitdump files: which file may speak for a process, and in which format. */
#include "symbolize/jit.h"

#include "base/compat.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_failed(const char *path, struct sprof_error *error)
{
    const int errnum = errno;
    if (errnum == ENOENT || errnum == ENOTDIR)
        return sprof_error_set(
            error, SPROF_ENOTFOUND, errnum,
            "there is no %s; the runtime must write it (node: --perf-basic-prof)", path);
    if (errnum == ELOOP)
        return sprof_error_set(error, SPROF_EPERMISSION, errnum,
                               "%s is a symbolic link and was not followed", path);
    if (errnum == ENODEV)
        return sprof_error_set(error, SPROF_EFORMAT, 0, "%s is not a regular file", path);
    if (errnum == EACCES || errnum == EPERM)
        return sprof_error_set(error, SPROF_EPERMISSION, errnum,
                               "cannot read %s: %s; run sprof as its owner, or as root", path,
                               strerror(errnum));
    return sprof_error_set(error, SPROF_EIO, errnum, "cannot read %s: %s", path, strerror(errnum));
}

/* The open of a device may act, and a process can have mounted one there: it is found first, and
 * opened as a regular file, without waiting for a lease. Owns `place`, which was opened by these
 * flags; -1 with errno stays. */
enum { PLACE_FLAGS = O_PATH | O_CLOEXEC | O_NOFOLLOW };

static int open_place(int place)
{
    struct stat status;
    char link[64];
    int fd = -1;
    if (place < 0)
        return -1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    const bool is_known = !fstat(place, &status);
    if (is_known && S_ISREG(status.st_mode))
        fd = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    else if (is_known)
        errno = S_ISLNK(status.st_mode) ? ELOOP : ENODEV;
    const int errnum = errno;
    close(place);
    errno = errnum;
    return fd;
}

static int read_any(struct symbolize_jit *jit, int fd, const char *path, struct sprof_error *error)
{
    uint32_t magic = 0;
    if (pread(fd, &magic, sizeof magic, 0) == sizeof magic &&
        (magic == JIT_DUMP_MAGIC || magic == JIT_DUMP_OTHER_MAGIC))
        return symbolize_jit_read_dump(jit, fd, path, error);
    return symbolize_jit_read_perf_map(jit, fd, path, error);
}

/* Where a process began by the clock of files, which goes by up to a hundredth of a second. */
static bool is_older(const struct stat *status, uint64_t start_ns)
{
    static const uint64_t granularity_ns = 10000000;
    const uint64_t written_ns =
        (uint64_t)status->st_mtim.tv_sec * 1000000000 + (uint64_t)status->st_mtim.tv_nsec;
    return start_ns > granularity_ns && written_ns < start_ns - granularity_ns;
}

/* Every user may write into /tmp. So the file must belong to the process's own user, or root, and
 * must not be older than the process: its number was another's then. In a namespace of its own a
 * user can mount any file in the map's place, so root's must be one that everybody may read. */
static int check_owner(int fd, const char *path, const uid_t *uid, uint64_t start_ns,
                       struct sprof_error *error)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return open_failed(path, error);
    if (uid && status.st_uid != *uid && status.st_uid != 0)
        return sprof_error_set(error, SPROF_EPERMISSION, 0,
                               "%s belongs to user %u, not to the process's user %u, and was not "
                               "read",
                               path, (unsigned)status.st_uid, (unsigned)*uid);
    if (uid && status.st_uid != *uid && !(status.st_mode & S_IROTH))
        return sprof_error_set(error, SPROF_EPERMISSION, 0,
                               "%s belongs to root and may not be read by all users, and was not "
                               "read: it may have been mounted in the map's place",
                               path);
    if (is_older(&status, start_ns))
        return sprof_error_set(
            error, SPROF_ENOTFOUND, 0,
            "%s is older than the process, so another process wrote it: it is not read", path);
    return 0;
}

/* Owns fd. */
static int open_fd(struct symbolize_jit **out, int fd, const char *path, const uid_t *uid,
                   uint64_t start_ns, struct sprof_error *error)
{
    struct symbolize_jit *jit = NULL;
    int code = check_owner(fd, path, uid, start_ns, error);
    if (!code) {
        jit = calloc(1, sizeof *jit);
        code = jit ? read_any(jit, fd, path, error) : sprof_error_memory(error);
    }
    close(fd);
    if (code)
        symbolize_jit_free(jit);
    else
        *out = jit;
    return code;
}

int symbolize_jit_open_file(struct symbolize_jit **jit, const char *path, struct sprof_error *error)
{
    *jit = NULL;
    const int fd = open_place(open(path, PLACE_FLAGS));
    return fd < 0 ? open_failed(path, error) : open_fd(jit, fd, path, NULL, 0, error);
}

/* Inside the process's root, whose symbolic links must not lead out of it. */
static int open_in_root(pid_t pid, const char *path)
{
    char root[64];
    sprof_proc_shared_path(root, sizeof root, pid, "root");
    const int directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return -1;
    const struct open_how how = {
        .flags = PLACE_FLAGS,
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
    };
    const int place = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
    const int errnum = errno;
    close(directory);
    errno = errnum;
    return open_place(place);
}

static void map_path(char *path, size_t size, pid_t ns_pid)
{
    snprintf(path, size, "/tmp/perf-%d.map", (int)ns_pid);
}

int symbolize_jit_find(pid_t pid, pid_t ns_pid, const char *dump)
{
    char path[64];
    map_path(path, sizeof path, ns_pid);
    return pid > 0 ? open_in_root(pid, dump ? dump : path) : -1;
}

int symbolize_jit_open_found(struct symbolize_jit **jit, int fd, const char *path, uid_t uid,
                             uint64_t start_ns, struct sprof_error *error)
{
    *jit = NULL;
    const int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return own < 0 ? open_failed(path, error) : open_fd(jit, own, path, &uid, start_ns, error);
}

int symbolize_jit_open(struct symbolize_jit **jit, pid_t pid, pid_t ns_pid, uid_t uid,
                       uint64_t start_ns, struct sprof_error *error)
{
    char path[64];
    *jit = NULL;
    map_path(path, sizeof path, ns_pid > 0 ? ns_pid : pid);
    int fd = pid > 0 ? open_in_root(pid, path) : -1;
    if (fd < 0 && ns_pid == pid)
        fd = open_place(open(path, PLACE_FLAGS));
    return fd < 0 ? open_failed(path, error) : open_fd(jit, fd, path, &uid, start_ns, error);
}
