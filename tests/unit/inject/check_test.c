/* What keeps a running process from being traced, before anything is done to it. */
#include "inject/inject.h"
#include "inject/lock.h"
#include "tests/unit/inject/child.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ptrace.h>

static void refuse(pid_t pid, int code, const char *part)
{
    struct sprof_error error = {0};
    int lock_fd = -1;
    CU_ASSERT_EQUAL(inject_check(pid, &lock_fd, NULL, &error), code);
    CU_ASSERT_EQUAL(lock_fd, -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, part));
}

static void test_stopped(void)
{
    struct child child = child_make(NULL);
    child_wait(&child, 1);
    kill(child.pid, SIGSTOP);
    CU_ASSERT_EQUAL(waitpid(child.pid, NULL, WUNTRACED), child.pid);
    refuse(child.pid, SPROF_ESTATE, "it is stopped\ncontinue it first");
    kill(child.pid, SIGCONT);
    CU_ASSERT_EQUAL(child_end(&child), 9);
}

static void test_traced_by_a_debugger(void)
{
    struct child child = child_make(NULL);
    child_wait(&child, 1);
    CU_ASSERT_EQUAL_FATAL(ptrace(PTRACE_SEIZE, child.pid, NULL, NULL), 0);
    refuse(child.pid, SPROF_ESTATE, "traces it already");
    CU_ASSERT_EQUAL(child_end(&child), 9);
}

/* Another tracer holds the lock, and has noted itself in memory that the process maps. */
static void test_traced(void)
{
    struct inject_process process = INJECT_PROCESS_NONE;
    struct sprof_error error = {0};
    int lock_fd = -1;
    process.pid = getpid();
    process.hello = (struct probe_hello){.magic = PROBE_MAGIC, .version = PROBE_VERSION};
    process.shared_bytes = sizeof *process.shared;
    process.memory_fd = memfd_create(PROBE_MEMORY_NAME, MFD_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(ftruncate(process.memory_fd, (off_t)process.shared_bytes), 0);
    process.shared = mmap(NULL, process.shared_bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_NORESERVE, process.memory_fd, 0);
    CU_ASSERT_PTR_NOT_EQUAL_FATAL(process.shared, MAP_FAILED);
    inject_owner_write(&process, "/tmp/calls.db", false);
    struct child child = child_make(NULL);
    child_wait(&child, 1);
    CU_ASSERT_EQUAL_FATAL(inject_lock(child.pid, &lock_fd, &error), 0);
    refuse(child.pid, SPROF_ESTATE, "is being traced already, into /tmp/calls.db");
    char output[INJECT_OUTPUT_BYTES];
    bool is_alive = false;
    CU_ASSERT_EQUAL(inject_find_owner(child.pid, output, &is_alive, &error), 0);
    CU_ASSERT_STRING_EQUAL(output, "/tmp/calls.db");
    CU_ASSERT_TRUE(is_alive);
    process.shared->owner.start++; /* as of a process that had that number before */
    CU_ASSERT_EQUAL(inject_find_owner(child.pid, output, &is_alive, &error), 0);
    CU_ASSERT_FALSE(is_alive);
    close(lock_fd);
    CU_ASSERT_EQUAL(child_end(&child), 9);
    inject_process_release(&process);
}

static void test_not_traced(void)
{
    char output[INJECT_OUTPUT_BYTES];
    bool is_alive = false;
    struct sprof_error error = {0};
    struct child child = child_make(NULL);
    child_wait(&child, 1);
    CU_ASSERT_EQUAL(inject_find_owner(child.pid, output, &is_alive, &error), SPROF_ESTATE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "is not being traced"));
    CU_ASSERT_FALSE(inject_has_left_agent(child.pid));
    CU_ASSERT_FALSE(inject_is_over(child.pid));
    const pid_t pid = child.pid;
    CU_ASSERT_EQUAL(child_end(&child), 9);
    CU_ASSERT_EQUAL(inject_find_owner(pid, output, &is_alive, &error), SPROF_ENOTFOUND);
}

static void allow_all(struct child_shared *shared)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {1, &allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    shared->errnum = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? errno : 0;
}

static void test_filtered(void)
{
    struct child child = child_make(allow_all);
    child_wait(&child, 1);
    const char *obstacle = inject_obstacle(child.pid);
    CU_ASSERT(child.shared->errnum || (obstacle && strstr(obstacle, "is under seccomp")));
    CU_ASSERT_EQUAL(child_end(&child), 9);
}

static void test_gone(void)
{
    struct child child = child_make(NULL);
    child_wait(&child, 1);
    const pid_t pid = child.pid;
    CU_ASSERT_EQUAL(child_end(&child), 9);
    struct sprof_error error = {0};
    int lock_fd = -1;
    CU_ASSERT(inject_check(pid, &lock_fd, NULL, &error) < 0);
    CU_ASSERT_EQUAL(lock_fd, -1);
    CU_ASSERT_EQUAL(inject_refuse_ended(pid, &error), SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "has ended before its probes were in place"));
}

void sprof_suite_inject_check(void);

void sprof_suite_inject_check(void)
{
    CU_pSuite suite = CU_add_suite("inject/check", NULL, NULL);
    CU_add_test(suite, "a process that is stopped", test_stopped);
    CU_add_test(suite, "one under a debugger", test_traced_by_a_debugger);
    CU_add_test(suite, "one that is traced", test_traced);
    CU_add_test(suite, "one that is not", test_not_traced);
    CU_add_test(suite, "one under seccomp", test_filtered);
    CU_add_test(suite, "one that is gone", test_gone);
}
