/* Opens the memory of a traced process, and says why it cannot be written. */
#include "trace/attach/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool trace_memory_is_gone(pid_t pid)
{
    char path[64], any;
    sprof_proc_shared_path(path, sizeof path, pid, "exe");
    return readlink(path, &any, 1) < 0 && (errno == ENOENT || errno == ESRCH);
}

int trace_memory_open(pid_t pid, int *fd, struct sprof_error *error)
{
    char path[64];
    sprof_proc_shared_path(path, sizeof path, pid, "mem");
    *fd = open(path, O_RDWR | O_CLOEXEC);
    const int errnum = errno;
    if (*fd >= 0)
        return 0;
    if (trace_memory_is_gone(pid)) /* EACCES for an ordinary user, too */
        return sprof_error_set(error, SPROF_ENOTFOUND, 0, "process %d has ended", (int)pid);
    return sprof_error_set(error, SPROF_EPERMISSION, errnum,
                           "the memory of process %d may not be written: %s\n"
                           "run sprof as its owner or as root",
                           (int)pid, strerror(errnum));
}
