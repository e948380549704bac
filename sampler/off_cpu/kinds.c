/* Finds out what a thread waits for, by the number of its system call. */
#include "sampler/off_cpu/kinds.h"

#include "model/model.h"

#include <stdio.h>
#include <sys/syscall.h>

enum kind {
    READY = OFF_CPU_KIND_READY,
    FUTEX,
    SLEEP,
    READ,
    WRITE,
    POLL,
    SELECT,
    EPOLL_WAIT,
    ACCEPT,
    CONNECT,
    RECEIVE,
    SEND,
    SPLICE,
    SYNC,
    FILE_NAME,
    FILE_LOCK,
    CHILD,
    SIGNAL,
    MESSAGE,
    MEMORY,
    PROCESS,
    IO_URING,
    AIO,
    IOCTL,
    OTHER_CALL,
    PAGE_FAULT,
    BLOCK_IO,
    STOPPED,
    OTHER,
    KINDS, /* of waits; behind them, what ends one */
};

static const char *const words[KINDS] = {
    [READY] = MODEL_WAIT_READY,
    [FUTEX] = "futex",
    [SLEEP] = "sleep",
    [READ] = "read",
    [WRITE] = "write",
    [POLL] = "poll",
    [SELECT] = "select",
    [EPOLL_WAIT] = "epoll_wait",
    [ACCEPT] = "accept",
    [CONNECT] = "connect",
    [RECEIVE] = "recv",
    [SEND] = "send",
    [SPLICE] = "splice",
    [SYNC] = "fsync",
    [FILE_NAME] = "file",
    [FILE_LOCK] = "flock",
    [CHILD] = "wait",
    [SIGNAL] = "signal",
    [MESSAGE] = "ipc",
    [MEMORY] = "memory",
    [PROCESS] = "process",
    [IO_URING] = "io_uring",
    [AIO] = "aio",
    [IOCTL] = "ioctl",
    [OTHER_CALL] = "system-call",
    [PAGE_FAULT] = "page-fault",
    [BLOCK_IO] = "block-io",
    [STOPPED] = "stopped",
    [OTHER] = "other",
};

/* System calls that wait, by kind. Not every architecture has all of them. */
static const struct {
    int number;
    enum kind kind;
} calls[] = {
    {SYS_futex, FUTEX},
    {449, FUTEX}, /* futex_waitv: one number everywhere, newer than some headers */
    {455, FUTEX}, /* futex_wait */
    {SYS_nanosleep, SLEEP},
    {SYS_clock_nanosleep, SLEEP},
    {SYS_read, READ},
    {SYS_readv, READ},
    {SYS_pread64, READ},
    {SYS_preadv, READ},
    {SYS_preadv2, READ},
    {SYS_write, WRITE},
    {SYS_writev, WRITE},
    {SYS_pwrite64, WRITE},
    {SYS_pwritev, WRITE},
    {SYS_pwritev2, WRITE},
    {SYS_ppoll, POLL},
    {SYS_pselect6, SELECT},
    {SYS_epoll_pwait, EPOLL_WAIT},
    {441, EPOLL_WAIT}, /* epoll_pwait2 */
    {SYS_accept, ACCEPT},
    {SYS_accept4, ACCEPT},
    {SYS_connect, CONNECT},
    {SYS_recvfrom, RECEIVE},
    {SYS_recvmsg, RECEIVE},
    {SYS_recvmmsg, RECEIVE},
    {SYS_sendto, SEND},
    {SYS_sendmsg, SEND},
    {SYS_sendmmsg, SEND},
    {SYS_sendfile, SPLICE},
    {SYS_splice, SPLICE},
    {SYS_tee, SPLICE},
    {SYS_vmsplice, SPLICE},
    {SYS_copy_file_range, SPLICE},
    {SYS_fsync, SYNC},
    {SYS_fdatasync, SYNC},
    {SYS_sync_file_range, SYNC},
    {SYS_syncfs, SYNC},
    {SYS_sync, SYNC},
    {SYS_msync, SYNC},
    {SYS_openat, FILE_NAME},
    {SYS_newfstatat, FILE_NAME},
    {SYS_statx, FILE_NAME},
    {SYS_unlinkat, FILE_NAME},
    {SYS_mkdirat, FILE_NAME},
    {SYS_renameat2, FILE_NAME},
    {SYS_faccessat, FILE_NAME},
    {SYS_getdents64, FILE_NAME},
    {SYS_close, FILE_NAME},
    {SYS_ftruncate, FILE_NAME},
    {SYS_fallocate, FILE_NAME},
    {SYS_flock, FILE_LOCK},
    {SYS_fcntl, FILE_LOCK},
    {SYS_wait4, CHILD},
    {SYS_waitid, CHILD},
    {SYS_rt_sigsuspend, SIGNAL},
    {SYS_rt_sigtimedwait, SIGNAL},
    {SYS_semop, MESSAGE},
    {SYS_semtimedop, MESSAGE},
    {SYS_msgrcv, MESSAGE},
    {SYS_msgsnd, MESSAGE},
    {SYS_mq_timedreceive, MESSAGE},
    {SYS_mq_timedsend, MESSAGE},
    {SYS_mmap, MEMORY},
    {SYS_munmap, MEMORY},
    {SYS_mprotect, MEMORY},
    {SYS_mremap, MEMORY},
    {SYS_madvise, MEMORY},
    {SYS_brk, MEMORY},
    {SYS_clone, PROCESS},
    {SYS_clone3, PROCESS},
    {SYS_execve, PROCESS},
    {SYS_execveat, PROCESS},
    {SYS_exit, PROCESS},
    {SYS_exit_group, PROCESS},
    {SYS_io_uring_enter, IO_URING},
    {SYS_io_getevents, AIO},
    {SYS_ioctl, IOCTL},
#ifdef SYS_poll
    {SYS_poll, POLL},
#endif
#ifdef SYS_select
    {SYS_select, SELECT},
#endif
#ifdef SYS_epoll_wait
    {SYS_epoll_wait, EPOLL_WAIT},
#endif
#ifdef SYS_pause
    {SYS_pause, SIGNAL},
#endif
#ifdef SYS_open
    {SYS_open, FILE_NAME},
    {SYS_stat, FILE_NAME},
    {SYS_lstat, FILE_NAME},
    {SYS_unlink, FILE_NAME},
    {SYS_rename, FILE_NAME},
    {SYS_mkdir, FILE_NAME},
    {SYS_access, FILE_NAME},
#endif
#ifdef SYS_fork
    {SYS_fork, PROCESS},
    {SYS_vfork, PROCESS},
#endif
};

size_t off_cpu_kind_count(void)
{
    return KINDS;
}

const char *off_cpu_kind_word(size_t kind)
{
    return words[kind];
}

size_t off_cpu_kind_futex(void)
{
    return FUTEX;
}

size_t off_cpu_kind_other(void)
{
    return OTHER;
}

size_t off_cpu_kind_wakeup(void)
{
    return KINDS;
}

static enum kind kind_of_call(int number)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].number == number)
            return calls[i].kind;
    return OTHER_CALL;
}

/* io_uring_enter counts as waiting for a disk in the kernel, whatever it waits for. */
size_t off_cpu_kind_of(int entry, unsigned is)
{
    const enum kind kind = entry >= 0                     ? kind_of_call(entry)
                           : entry == OFF_CPU_ENTRY_FAULT ? PAGE_FAULT
                                                          : OTHER;
    if (is & OFF_CPU_READY)
        return READY;
    if (is & OFF_CPU_STOPPED)
        return STOPPED;
    return is & OFF_CPU_DISK && kind != IO_URING ? BLOCK_IO : kind;
}

int off_cpu_kind_events(struct sampler_event_list *events, const struct model_field *of_futex,
                        size_t of_futex_count)
{
    int result = 0;
    for (size_t i = 0; i < KINDS && !result; i++) {
        struct sampler_event event = {.is_clock = true, .varying_period = true, .is_wait = true};
        if (i == FUTEX) {
            event.fields = of_futex;
            event.field_count = of_futex_count;
        }
        snprintf(event.name, sizeof event.name, "%s%s", MODEL_EVENT_OFF_CPU_PREFIX, words[i]);
        result = sprof_vec_push(events, event);
    }
    return result;
}
