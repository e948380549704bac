/* Reads the memory of live processes, and where their programs begin. */
#include "base/proc.h"
#include "target/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

size_t target_read_memory(pid_t pid, uint64_t address, void *buffer, size_t size)
{
    struct iovec local = {.iov_base = buffer, .iov_len = size};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};
    ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (got < 0 && errno == ESRCH)
        got = process_vm_readv(sprof_proc_sharing_task(pid), &local, 1, &remote, 1, 0);
    return got > 0 ? (size_t)got : 0;
}

/* How many bytes from an address on lie in pages that are present or swapped, by the two highest
 * bits of their entries: see proc(5). All, where the kernel does not say. */
static size_t existing_bytes(pid_t pid, uint64_t address, size_t size)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end = address + size;
    uint64_t entries[32], at = address / page * page;
    char path[64];
    sprof_proc_shared_path(path, sizeof path, pid, "pagemap");
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool exists = fd >= 0;
    while (exists && at < end) {
        const ssize_t got =
            pread(fd, entries, sizeof entries, (off_t)(at / page * sizeof *entries));
        const size_t count = got > 0 ? (size_t)got / sizeof *entries : 0;
        size_t there = 0;
        while (there < count && entries[there] >> 62)
            there++;
        at += there * page;
        exists = there && there == count;
    }
    if (fd < 0)
        return size;
    close(fd);
    return at >= end ? size : at > address ? (size_t)(at - address) : 0;
}

size_t target_read_existing(pid_t pid, uint64_t address, void *buffer, size_t size)
{
    const size_t bytes = existing_bytes(pid, address, size);
    return bytes ? target_read_memory(pid, address, buffer, bytes) : 0;
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

uint64_t target_entry(pid_t pid)
{
    char path[64];
    Elf64_auxv_t pair;
    uint64_t entry = 0;
    sprof_proc_shared_path(path, sizeof path, pid, "auxv");
    FILE *file = fopen(path, "re");
    while (file && !entry && fread(&pair, sizeof pair, 1, file) == 1 && pair.a_type != AT_NULL)
        entry = pair.a_type == AT_ENTRY ? pair.a_un.a_val : 0;
    if (file)
        fclose(file);
    return entry;
}
