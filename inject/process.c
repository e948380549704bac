/* Opens a traced process's memory, and checks its agent's hello. */
#include "inject/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool inject_memory_is_gone(pid_t pid)
{
    char path[64], any;
    sprof_proc_shared_path(path, sizeof path, pid, "exe");
    return readlink(path, &any, 1) < 0 && (errno == ENOENT || errno == ESRCH);
}

int inject_memory_open(pid_t pid, int *fd, struct sprof_error *error)
{
    char path[64];
    sprof_proc_shared_path(path, sizeof path, pid, "mem");
    *fd = open(path, O_RDWR | O_CLOEXEC);
    const int errnum = errno;
    if (*fd >= 0)
        return 0;
    if (inject_memory_is_gone(pid)) /* EACCES for an ordinary user, too */
        return sprof_error_set(error, SPROF_ENOTFOUND, 0, "process %d has ended", (int)pid);
    return sprof_error_set(error, SPROF_EPERMISSION, errnum,
                           "the memory of process %d may not be written: %s\n"
                           "run sprof as its owner or as root",
                           (int)pid, strerror(errnum));
}

void inject_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

bool inject_span_holds(const struct inject_span *span, uint64_t address)
{
    return address - span->start < span->end - span->start;
}

int inject_hello_check(const struct inject_process *process, struct sprof_error *error)
{
    const struct probe_hello *hello = &process->hello;
    if (hello->magic != PROBE_MAGIC || hello->version != PROBE_VERSION)
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "the tracing agent is of another version than sprof: install both "
                               "together with `cmake --install`");
    if (hello->window_error == EEXIST)
        return sprof_error_set(
            error, SPROF_EUNSUPPORTED, 0,
            "cannot trace process %d: it has memory of its own between %#llx and "
            "%#llx, where its calls would be kept\n`--backend uprobe`, as root, "
            "has the kernel count them; or start it again, as such addresses are "
            "often drawn by lot",
            (int)process->pid, PROBE_RECORDS, PROBE_RECORDS + PROBE_RECORDS_BYTES);
    if (hello->window_error)
        return sprof_error_set(error, SPROF_ELIMIT, hello->window_error,
                               "cannot trace process %d: the addresses for its calls cannot be "
                               "reserved: %s; see `ulimit -v`, `ulimit -d`, "
                               "/proc/sys/vm/overcommit_memory and, after mlockall, `ulimit -l`",
                               (int)process->pid, strerror(hello->window_error));
    return 0;
}
