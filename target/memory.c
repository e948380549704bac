/* Reads the memory of live processes. */
#include "base/proc.h"
#include "target/target.h"

#include <errno.h>
#include <sys/uio.h>

size_t target_read_memory(pid_t pid, uint64_t address, void *buffer, size_t size)
{
    struct iovec local = {.iov_base = buffer, .iov_len = size};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};
    ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (got < 0 && errno == ESRCH)
        got = process_vm_readv(sprof_proc_sharing_task(pid), &local, 1, &remote, 1, 0);
    return got > 0 ? (size_t)got : 0;
}

/* The permission is checked before the address is looked at, and nothing is mapped at 0. */
int target_may_read(pid_t pid)
{
    char byte;
    struct iovec local = {.iov_base = &byte, .iov_len = 1};
    struct iovec remote = {.iov_base = NULL, .iov_len = 1};
    if (process_vm_readv(sprof_proc_sharing_task(pid), &local, 1, &remote, 1, 0) >= 0 ||
        errno == EFAULT)
        return 0;
    return errno == ESRCH ? -ESRCH : -EPERM;
}
