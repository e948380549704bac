/* Copies and checks the descriptor of a process's shared memory. */
#include "base/compat.h"
#include "inject/attach.h"
#include "inject/attachment.h"
#include "inject/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#ifndef F_SEAL_EXEC /* Linux 6.3, by vm.memfd_noexec */
#define F_SEAL_EXEC 0x20
#endif
#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

/* An ended first thread has no descriptors; another thread's pidfd needs Linux 6.9. */
static int open_process(pid_t pid)
{
    const pid_t task = sprof_proc_sharing_task(pid);
    return (int)syscall(SYS_pidfd_open, task, task == pid ? 0 : PIDFD_THREAD);
}

/* /proc/PID/fd/N would open, with sprof's rights, any file that the process names. -1 with errno.
 */
static int copy_descriptor(pid_t pid, int there)
{
    const int process = open_process(pid);
    const int fd = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, there, 0);
    const int errnum = errno;
    if (process >= 0)
        close(process);
    errno = errnum;
    return fd;
}

static int refuse_copy(pid_t pid, int errnum, struct sprof_error *error)
{
    if (errnum == ENOSYS)
        return sprof_error_set(
            error, SPROF_EUNSUPPORTED, errnum,
            "cannot trace process %d: to put probes into a process that runs, sprof needs Linux "
            "5.6 or later (pidfd_getfd)\ntrace it from its start: `sprof trace -- COMMAND`; or "
            "`--backend uprobe`, as root, has the kernel count its calls",
            (int)pid);
    if (errnum == EMFILE || errnum == ENFILE)
        return sprof_error_set(error, SPROF_ELIMIT, errnum,
                               "no descriptor is free for the shared memory of process %d: raise "
                               "`ulimit -n`",
                               (int)pid);
    return sprof_error_set(error, SPROF_EPERMISSION, errnum,
                           "the shared memory of process %d cannot be copied (pidfd_getfd): %s\n"
                           "run sprof where seccomp, as of a container, allows that call; or trace "
                           "it from its start: `sprof trace -- COMMAND`",
                           (int)pid, strerror(errnum));
}

/* Only empty, unsealed memory may be extended. */
static bool is_new_memory(int fd)
{
    struct stat facts;
    struct statfs system;
    const int flags = fcntl(fd, F_GETFL), seals = fcntl(fd, F_GET_SEALS);
    return flags >= 0 && !(flags & O_PATH) && (flags & O_ACCMODE) == O_RDWR && seals >= 0 &&
           !(seals & ~F_SEAL_EXEC) && !fstat(fd, &facts) && S_ISREG(facts.st_mode) &&
           !facts.st_size && !facts.st_nlink && !fstatfs(fd, &system) &&
           system.f_type == TMPFS_MAGIC;
}

int inject_memory_copy(struct inject_process *process, int there, struct sprof_error *error)
{
    process->memory_fd = copy_descriptor(process->pid, there);
    process->memory_there = there;
    if (process->memory_fd < 0 && errno == ESRCH)
        return SPROF_ENOTFOUND;
    if (process->memory_fd < 0 && errno != EBADF)
        return refuse_copy(process->pid, errno, error);
    return process->memory_fd >= 0 && is_new_memory(process->memory_fd)
               ? 0
               : inject_refuse_memory(process, error);
}

bool inject_memory_is_sealed(int fd, uint64_t bytes)
{
    enum { WANTED = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };
    struct stat facts;
    const int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & ~F_SEAL_EXEC) == WANTED && !fstat(fd, &facts) &&
           (uint64_t)facts.st_size == bytes;
}

int inject_refuse_memory(const struct inject_process *process, struct sprof_error *error)
{
    return sprof_error_set(
        error, SPROF_EPERMISSION, 0,
        "cannot trace process %d: its descriptor %d is not the new shared memory "
        "that the tracing agent makes, or the process changed its size\nthe "
        "process may be hostile; `--backend uprobe`, as root, writes nothing "
        "that it controls",
        (int)process->pid, process->memory_there);
}
