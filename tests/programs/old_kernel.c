/* old_kernel LAST-CALL ERRNO-OF-BPF COMMAND …: runs a command as an older kernel would: system
 * calls of higher numbers are not there, and bpf(2) fails with that error (0: it works). */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int filter(unsigned last_call, unsigned errno_of_bpf)
{
    const unsigned of_bpf =
        errno_of_bpf ? SECCOMP_RET_ERRNO | (errno_of_bpf & SECCOMP_RET_DATA) : SECCOMP_RET_ALLOW;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, of_bpf),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last_call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    /* Root needs no promise, and keeps its rights over what it executes. */
    if (geteuid() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    if (filter((unsigned)atoi(argv[1]), (unsigned)atoi(argv[2]))) {
        perror("old_kernel");
        return 77;
    }
    execvp(argv[3], argv + 3);
    return 127;
}
