/* Takes a process's rights away: user, capabilities, limits, system calls (seccomp(2)). */
#include "symbolize/child_rights.h"

#include "arch/arch.h"
#include "symbolize/child_wire.h"
#include "symbolize/symbolize.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>

/* The shadow memory of sanitizers is larger than any limit. */
#ifdef __has_feature /* clang's */
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED false
#endif

enum { NOBODY = 65534 };

/* == The user == */

/* A terminal would be a way out. */
static void close_inherited(void)
{
    enum { FILES_MAX = 1024 };
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < CHILD_SOCKET && nothing >= 0; fd++)
        dup2(nothing, fd);
#ifdef SYS_close_range /* Linux 5.9 */
    if (!syscall(SYS_close_range, CHILD_SOCKET + 1, UINT_MAX, 0))
        return;
#endif
    for (int fd = CHILD_SOCKET + 1; fd < FILES_MAX; fd++)
        close(fd);
}

/* Where a user namespace has no such user, the user stays and only the capabilities go. */
static bool become_nobody(void)
{
    if (geteuid() == 0 && syscall(SYS_setgroups, 0, NULL) == 0 &&
        setresgid(NOBODY, NOBODY, NOBODY) == 0)
        if (setresuid(NOBODY, NOBODY, NOBODY) != 0 && errno != EINVAL)
            return false;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    return syscall(SYS_capset, &header, none) == 0;
}

/* Where memory runs out, this process goes first. */
static void go_first(void)
{
    const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0 && write(file, "1000", 4) == 4)
        close(file);
}

bool symbolize_child_drop_rights(void)
{
    go_first();
    close_inherited();
    prctl(PR_SET_NAME, SYMBOLIZE_CHILD_NAME, 0, 0, 0);
    return become_nobody() && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* == Limits == */

static bool limit(__rlimit_resource_t what, uint64_t most)
{
    struct rlimit now;
    if (getrlimit(what, &now))
        return false;
    const rlim_t least = most < now.rlim_max ? (rlim_t)most : now.rlim_max;
    return !setrlimit(what, &(struct rlimit){least, least});
}

static bool limit_all(uint64_t cpu_s, uint64_t memory_bytes)
{
    enum { FILES = 64 };
    return limit(RLIMIT_CPU, cpu_s) && limit(RLIMIT_FSIZE, 0) && limit(RLIMIT_CORE, 0) &&
           limit(RLIMIT_NOFILE, FILES) && (IS_SANITIZED || limit(RLIMIT_AS, memory_bytes));
}

/* == System calls == */

/* The handler has nothing but this to find its way by; it is written once, before the filter. */
static symbolize_child_opener *opener;

/* Files below /proc/self/fd are open for reading already. Others of /proc and /sys are looked for
 * by libc alone, which does without. */
static long open_for(const char *path, uint64_t flags)
{
    static const char own[] = "/proc/self/fd/";
    if (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC) || !path)
        return -EACCES;
    if (!strncmp(path, own, sizeof own - 1)) {
        const int copy = fcntl(atoi(path + sizeof own - 1), F_DUPFD_CLOEXEC, 0);
        return copy < 0 ? -EBADF : copy;
    }
    if (!strncmp(path, "/proc/self/", 11) || !strncmp(path, "/proc/sys/", 10) ||
        !strncmp(path, "/sys/", 5))
        return -EACCES;
    return opener(path);
}

static void handle_call(int number, siginfo_t *info, void *context)
{
    const int before = errno;
    const char *path = (const char *)(uintptr_t)arch_trap_argument(context, 1);
    (void)number;
    arch_trap_return(context, info->si_syscall == SYS_openat
                                  ? open_for(path, arch_trap_argument(context, 2))
                                  : -EPERM);
    errno = before;
}

#define NUMBER offsetof(struct seccomp_data, nr)
#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + (n) * sizeof(uint64_t))
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offset))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define REFUSE RETURN(SECCOMP_RET_ERRNO | EPERM)
#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), RETURN(SECCOMP_RET_ALLOW)
/* Allowed where an argument has none of the bits. */
#define ALLOW_WITHOUT(call, argument, bits)                                                        \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 4), LOAD(ARGUMENT(argument)),                   \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 0, 1), REFUSE, RETURN(SECCOMP_RET_ALLOW)
/* … where it has one of them. */
#define ALLOW_WITH(call, argument, bits)                                                           \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 4), LOAD(ARGUMENT(argument)),                   \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 1, 0), REFUSE, RETURN(SECCOMP_RET_ALLOW)
/* … where it is this. */
#define ALLOW_EQUAL(call, argument, value)                                                         \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 4), LOAD(ARGUMENT(argument)),                   \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 1, 0), REFUSE, RETURN(SECCOMP_RET_ALLOW)

/* Without an answer to clone3 libc takes clone, whose flags can be seen. */
enum { MACHINE = 1 }; /* its place */
static const struct sock_filter filter[] = {
    LOAD(offsetof(struct seccomp_data, arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0), /* the processor's number */
    RETURN(SECCOMP_RET_KILL_PROCESS),
    LOAD(NUMBER),
    ALLOW(SYS_futex),
    ALLOW(SYS_pread64),
    ALLOW(SYS_read),
    ALLOW(SYS_recvmsg),
    ALLOW(SYS_recvfrom),
    ALLOW(SYS_sendmsg),
    ALLOW(SYS_write), /* nothing but the socket is open for it */
    ALLOW(SYS_close),
    ALLOW(SYS_lseek),
    ALLOW(SYS_fstat),
    ALLOW(SYS_newfstatat),
    ALLOW(SYS_brk),
    ALLOW(SYS_munmap),
    ALLOW(SYS_mremap),
    ALLOW(SYS_madvise),
    ALLOW(SYS_clock_gettime),
    ALLOW(SYS_getrandom),
    ALLOW(SYS_gettid),
    ALLOW(SYS_getpid),
    ALLOW(SYS_geteuid),
    ALLOW(SYS_sched_getaffinity),
    ALLOW(SYS_sched_yield),
    ALLOW(SYS_rt_sigaction),
    ALLOW(SYS_rt_sigprocmask),
    ALLOW(SYS_rt_sigreturn),
    ALLOW(SYS_sigaltstack),
    ALLOW(SYS_restart_syscall),
    ALLOW(SYS_rseq),
    ALLOW(SYS_set_robust_list),
    ALLOW(SYS_exit),
    ALLOW(SYS_exit_group),
    ALLOW_WITHOUT(SYS_mmap, 2, PROT_EXEC),
    ALLOW_WITHOUT(SYS_mprotect, 2, PROT_EXEC),
    ALLOW_WITH(SYS_clone, 0, CLONE_THREAD),
    ALLOW_EQUAL(SYS_fcntl, 1, F_DUPFD_CLOEXEC),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
    RETURN(SECCOMP_RET_ERRNO | ENOSYS),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
    RETURN(SECCOMP_RET_TRAP),
    REFUSE,
};

bool symbolize_child_confine(uint64_t cpu_s, uint64_t memory_bytes, symbolize_child_opener *open)
{
    const struct sigaction action = {.sa_sigaction = handle_call,
                                     .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct sock_filter own[sizeof filter / sizeof *filter];
    const struct sock_fprog program = {sizeof filter / sizeof *filter, own};
    memcpy(own, filter, sizeof filter);
    own[MACHINE].k = arch_trap_machine();
    opener = open;
    return !sigaction(SIGSYS, &action, NULL) && limit_all(cpu_s, memory_bytes) &&
           !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
