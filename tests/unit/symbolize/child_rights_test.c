/* What a process that reads foreign files can still do: nothing but read. */
#include "symbolize/child_rights.h"
#include "tests/unit/image/fixture.h"
#include "tests/unit/sanitized.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_refused(long result)
{
    return result < 0 && errno == EPERM;
}

/* In the place of the process that is asked for files: one is there. */
static int answer(const char *path)
{
    return path[0] == '!' ? fcntl(0, F_DUPFD_CLOEXEC, 0) : -ENOENT;
}

static void *add(void *number)
{
    free(malloc(1 << 20));
    ++*(int *)number;
    return NULL;
}

/* The first thing that is not as it should be; 0: all is. */
static int first_wrong(void)
{
    int number = 0, step = 1;
    pthread_t thread;
    char *const nothing[] = {NULL};
    const bool results[] = {
        is_refused(socket(AF_INET, SOCK_STREAM, 0)),
        is_refused(socket(AF_UNIX, SOCK_STREAM, 0)),
        is_refused(syscall(SYS_execve, "/bin/true", nothing, nothing)),
        is_refused(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)),
        is_refused(kill(getppid(), 0)),
        is_refused(syscall(SYS_tgkill, getppid(), getppid(), 0)),
        is_refused(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL)),
        is_refused(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0)),
        is_refused(unlink("/tmp/none")),
        is_refused(chmod("/tmp", 0755)),
        is_refused(syscall(SYS_bpf, 0, NULL, 0)),
        is_refused(syscall(SYS_ioctl, 0, 0x5412, "x")), /* TIOCSTI: types into a terminal */
        is_refused(fcntl(0, F_SETOWN, getppid())),
        is_refused(
            (long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        open("/tmp/none", O_RDWR | O_CREAT, 0600) < 0 && errno == EACCES,
        open("/dev/null", O_WRONLY) < 0 && errno == EACCES,
        open("/etc/passwd", O_RDONLY) < 0 && errno == ENOENT,
        open("!", O_RDONLY) > 2,
        open("/proc/self/fd/0", O_RDONLY) > 2,
        open("/proc/self/status", O_RDONLY) < 0 && errno == EACCES,
        !pthread_create(&thread, NULL, add, &number) && !pthread_join(thread, NULL) && number == 1,
        SPROF_TEST_SANITIZED || malloc(UINT64_C(1) << 33) == NULL,
    };
    for (size_t i = 0; i < sizeof results / sizeof *results; i++, step++)
        if (!results[i])
            return step;
    return 0;
}

static int run_child(int (*body)(void), uint64_t cpu_s)
{
    int status = 0;
    const pid_t child = fork();
    if (!child) {
        const bool confined = !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
                              symbolize_child_confine(cpu_s, UINT64_C(1) << 32, answer);
        _exit(confined ? body() : 255);
    }
    CU_ASSERT_TRUE_FATAL(child > 0);
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    return status;
}

static void test_only_reading_is_left(void)
{
    const int status = run_child(first_wrong, 60);
    CU_ASSERT_TRUE(WIFEXITED(status));
    CU_ASSERT_EQUAL(WEXITSTATUS(status), 0);
}

static int loop(void)
{
    for (volatile unsigned i = 1; i; i |= 1)
        ;
    return 0;
}

static void test_loops_end(void)
{
    const int status = run_child(loop, 1);
    CU_ASSERT_TRUE(WIFSIGNALED(status));
    CU_ASSERT_TRUE(WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGXCPU);
}

void sprof_suite_symbolize_child_rights(void);
void sprof_suite_symbolize_child_rights(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/child_rights", NULL, NULL);
    CU_add_test(suite, "only reading is left", test_only_reading_is_left);
    CU_add_test(suite, "loops end", test_loops_end);
}
