/* Facts of processes from /proc: what they are allowed, what they run, and which files they see. */
#include "inject/attach.h"
#include "inject/inside.h"
#include "inject/program_file.h"
#include "tests/unit/inject/child.h"
#include "tests/unit/sanitized.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { PAGE = 4096, OTHER_USER = 65534 };

static void test_status(void)
{
    char value[64];
    inject_read_status(getpid(), "Pid", value, sizeof value);
    CU_ASSERT_EQUAL(strtol(value, NULL, 10), getpid());
    inject_read_status(getpid(), "Pi", value, sizeof value); /* no beginning of a name */
    CU_ASSERT_STRING_EQUAL(value, "");
    inject_read_status(0, "Pid", value, sizeof value);
    CU_ASSERT_STRING_EQUAL(value, "");
}

static void allow_all(struct child_shared *shared)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {1, &allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    shared->errnum = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? errno : 0;
}

static void test_filter(void)
{
    struct child plain = child_make(NULL), filtered = child_make(allow_all);
    child_wait(&plain, 1);
    child_wait(&filtered, 1);
    CU_ASSERT_FALSE(inject_is_filtered(plain.pid));
    if (!filtered.shared->errnum) { /* else this kernel has no filters */
        CU_ASSERT_TRUE(inject_is_filtered(filtered.pid));
        CU_ASSERT_FALSE(inject_is_strict(filtered.pid));
        CU_ASSERT_EQUAL(inject_seccomp_of(filtered.pid, filtered.pid), INJECT_SECCOMP_FILTER);
    }
    CU_ASSERT_EQUAL(child_end(&filtered), 9); /* first: it has the other one's descriptor */
    CU_ASSERT_EQUAL(child_end(&plain), 9);
    CU_ASSERT_EQUAL(inject_seccomp_of(plain.pid, plain.pid), INJECT_SECCOMP_NOT); /* it is gone */
}

/* Under strict seccomp a thread may read, write and end by exit(2) alone. */
static void be_strict(struct child_shared *shared)
{
    char byte;
    shared->is_ready++;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
        shared->errnum = EINVAL;
    shared->is_ready++;
    syscall(SYS_exit, read(shared->fd, &byte, 1) == 0 ? 9 : 1);
}

static void test_strict(void)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    struct child_shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(shared, MAP_FAILED);
    shared->fd = ends[0];
    const pid_t pid = fork();
    if (!pid) {
        close(ends[1]);
        be_strict(shared);
    }
    close(ends[0]);
    const struct child child = {.pid = pid, .end = ends[1], .shared = shared};
    child_wait(&child, 2);
    if (!shared->errnum) {
        CU_ASSERT_TRUE(inject_is_strict(pid));
        CU_ASSERT_TRUE(inject_is_filtered(pid));
    }
    struct child ended = child;
    CU_ASSERT_EQUAL(child_end(&ended), 9);
}

static void lock_page(struct child_shared *shared)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    shared->errnum = page == MAP_FAILED || mlock(page, PAGE) ? errno : 0;
}

static void test_locked_memory(void)
{
    struct child plain = child_make(NULL), locked = child_make(lock_page);
    child_wait(&plain, 1);
    child_wait(&locked, 1);
    CU_ASSERT_STRING_EQUAL(inject_lock_advice(plain.pid), "");
    if (!SPROF_TEST_SANITIZED && !locked.shared->errnum) /* else mlock(2) does nothing */
        CU_ASSERT_PTR_NOT_NULL(strstr(inject_lock_advice(locked.pid), "ulimit -l"));
    child_end(&locked);
    child_end(&plain);
}

/* == Programs == */

/* Executes a program, and waits until it runs. */
static pid_t execute(const char *path, char *const arguments[])
{
    int ends[2];
    char byte;
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execv(path, arguments);
        _exit(127);
    }
    close(ends[1]);
    CU_ASSERT_EQUAL(read(ends[0], &byte, 1), 0); /* its end is closed by the exec */
    close(ends[0]);
    return pid;
}

static void end_program(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void test_program(void)
{
    char own[PATH_MAX] = "", found[PATH_MAX], sleeper[PATH_MAX];
    CU_ASSERT(readlink("/proc/self/exe", own, sizeof own - 1) > 0);
    CU_ASSERT_TRUE(inject_program_file(getpid(), found));
    CU_ASSERT_STRING_EQUAL(found, own);
    CU_ASSERT_PTR_NOT_NULL_FATAL(realpath("/bin/sleep", sleeper));
    char *const plain[] = {"sleep", "60", NULL};
    const pid_t pid = execute("/bin/sleep", plain);
    CU_ASSERT_TRUE(inject_program_file(pid, found));
    CU_ASSERT_STRING_EQUAL(found, sleeper);
    end_program(pid);
    CU_ASSERT_FALSE(inject_program_file(pid, found));
    CU_ASSERT_STRING_EQUAL(found, "");
}

/* The program that a loader was given is the one that runs. */
static void test_program_of_loader(void)
{
    static const char loader[] = "/lib64/ld-linux-x86-64.so.2";
    char found[PATH_MAX], sleeper[PATH_MAX];
    if (access(loader, X_OK))
        return;
    CU_ASSERT_PTR_NOT_NULL_FATAL(realpath("/bin/sleep", sleeper));
    char *const arguments[] = {"ld.so", "--inhibit-cache", "/bin/sleep", "60", NULL};
    const pid_t pid = execute(loader, arguments);
    CU_ASSERT_TRUE(inject_program_file(pid, found));
    CU_ASSERT_STRING_EQUAL(found, sleeper);
    end_program(pid);
}

/* == Files == */

static void test_seen(void)
{
    CU_ASSERT_EQUAL(inject_sees(getpid(), "/bin/sleep"), 1);
    CU_ASSERT_EQUAL(inject_sees(getpid(), "/no/such/file"), 0);
    CU_ASSERT_EQUAL(inject_sees(0, "/bin/sleep"), -1);
}

/* The agent's file is where it is mapped to run or to reserve addresses. Any program may read it.
 */
static void test_base(void)
{
    char path[] = "/tmp/sprof-agent-XXXXXX";
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL_FATAL(ftruncate(fd, 2 * PAGE), 0);
    CU_ASSERT_EQUAL(inject_find_base(getpid(), path), 0);
    void *data = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
    CU_ASSERT_EQUAL(inject_find_base(getpid(), path), 0);
    munmap(data, PAGE);
    uint8_t *reserved = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE, fd, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(reserved, MAP_FAILED);
    CU_ASSERT_EQUAL(inject_find_base(getpid(), path), (uintptr_t)reserved);
    /* as a loader maps it: the beginning to read, the code behind it */
    CU_ASSERT_EQUAL(mprotect(reserved, PAGE, PROT_READ), 0);
    CU_ASSERT_EQUAL(mprotect(reserved + PAGE, PAGE, PROT_READ | PROT_EXEC), 0);
    CU_ASSERT_EQUAL(inject_find_base(getpid(), path), (uintptr_t)reserved);
    CU_ASSERT_TRUE(inject_has_mapping(getpid(), path));
    munmap(reserved, 2 * PAGE);
    CU_ASSERT_FALSE(inject_has_mapping(getpid(), path));
    CU_ASSERT_EQUAL(inject_find_asked(getpid(), path), 0);
    close(fd);
    unlink(path);
}

static void become_another(struct child_shared *shared)
{
    shared->errnum = geteuid() ? 0 : setresuid(OTHER_USER, OTHER_USER, OTHER_USER);
}

/* Modes that keep a user from the agent's file are named with the first directory they close. */
static void test_closed(void)
{
    char top[] = "/tmp/sprof-closed-XXXXXX", inner[64], file[80], closed[TARGET_PATH_MAX];
    struct sprof_error error = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(top));
    snprintf(inner, sizeof inner, "%s/inner", top);
    snprintf(file, sizeof file, "%s/library.so", inner);
    CU_ASSERT_EQUAL(chmod(top, 0755), 0);
    CU_ASSERT_EQUAL(mkdir(inner, 0755), 0);
    close(open(file, O_CREAT | O_WRONLY, 0644));
    chmod(inner, 0755);
    chmod(file, 0644);
    struct child child = child_make(become_another);
    child_wait(&child, 1);
    CU_ASSERT_FALSE(inject_is_closed(file, closed));
    CU_ASSERT_EQUAL(inject_explain_closed(child.pid, file, &error), 0);
    chmod(file, 0);
    CU_ASSERT_TRUE(inject_is_closed(file, closed));
    CU_ASSERT_STRING_EQUAL(closed, file);
    CU_ASSERT_EQUAL(inject_explain_closed(child.pid, file, &error), SPROF_EPERMISSION);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "may not read"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "chmod a+r"));
    chmod(inner, 0);
    if (!geteuid()) { /* else the test cannot look behind it either */
        CU_ASSERT_TRUE(inject_is_closed(file, closed));
        CU_ASSERT_STRING_EQUAL(closed, inner);
    }
    CU_ASSERT_EQUAL(inject_explain_closed(child.pid, file, &error), SPROF_EPERMISSION);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "may not enter"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "chmod a+x"));
    child_end(&child);
    chmod(inner, 0755);
    unlink(file);
    rmdir(inner);
    rmdir(top);
}

void sprof_suite_inject_facts(void);

void sprof_suite_inject_facts(void)
{
    CU_pSuite suite = CU_add_suite("inject/facts", NULL, NULL);
    CU_add_test(suite, "status", test_status);
    CU_add_test(suite, "a filter of system calls", test_filter);
    CU_add_test(suite, "strict seccomp", test_strict);
    CU_add_test(suite, "locked memory", test_locked_memory);
    CU_add_test(suite, "the program", test_program);
    CU_add_test(suite, "the program of a loader", test_program_of_loader);
    CU_add_test(suite, "files that a process sees", test_seen);
    CU_add_test(suite, "where the agent is mapped", test_base);
    CU_add_test(suite, "files that a user may not read", test_closed);
}
