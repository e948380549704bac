/* Runs a command for which the kernel refuses a system call, as container runtimes do (seccomp).
 *     refuse bpf|perf_event_open|pidfd_getfd|seccomp EPERM|EACCES|ENOSYS COMMAND … */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned error_of(const char *name)
{
    return !strcmp(name, "EACCES") ? EACCES : !strcmp(name, "ENOSYS") ? ENOSYS : EPERM;
}

static int number_of(const char *call)
{
    return !strcmp(call, "bpf")               ? SYS_bpf
           : !strcmp(call, "perf_event_open") ? SYS_perf_event_open
           : !strcmp(call, "pidfd_getfd")     ? SYS_pidfd_getfd
           : !strcmp(call, "seccomp")         ? SYS_seccomp
                                              : -1;
}

int main(int argc, char **argv)
{
    if (argc < 4 || number_of(argv[1]) < 0)
        return 2;
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number_of(argv[1]), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error_of(argv[2])),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof program / sizeof *program, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
        perror("refuse");
        return 2;
    }
    execvp(argv[3], argv + 3);
    perror(argv[3]);
    return 2;
}
