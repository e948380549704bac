#include "sampler/perf/permission.h"

#include "target/target.h"
#include "tests/unit/sampler/live.h"
#include "tests/unit/skip.h"

#include <CUnit/CUnit.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *const true_command[] = {"/bin/true", NULL};

static int open_on(struct sampler_options options, struct sprof_error *error)
{
    struct sampler *sampler;
    options.event = "cpu-clock";
    const int result = sampler_open(&sampler, &options, error);
    sampler_free(sampler);
    return result;
}

static int attach_to(pid_t pid, struct sprof_error *error)
{
    return open_on((struct sampler_options){.pids = &pid, .pid_count = 1}, error);
}

static void test_what_does_not_live(void)
{
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(attach_to(0x3fffffff, &error), SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "does not exist"));
    const pid_t pid = fork();
    if (!pid)
        _exit(0);
    siginfo_t info;
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    CU_ASSERT_EQUAL(attach_to(pid, &error), SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "zombie"));
    waitpid(pid, NULL, 0);
}

static void test_kernel_threads(void)
{
    struct sprof_error error = {0};
    struct sprof_proc_status status;
    if (!sprof_proc_status_read(2, &status) || !status.kernel_thread) {
        sprof_test_skip("process 2 is no kernel thread here");
        return;
    }
    CU_ASSERT_EQUAL(attach_to(2, &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "kernel"));
}

static void test_targets_exclude_each_other(void)
{
    const struct sampler_options both = {.command = true_command, .tid = 1};
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(open_on(both, &error), SPROF_EUSAGE);
    CU_ASSERT_EQUAL(open_on((struct sampler_options){0}, &error), SPROF_EUSAGE);
}

static int check_foreign_process(void)
{
    struct sprof_error error = {0};
    LIVE_EXPECT(attach_to(getppid(), &error) == SPROF_EPERMISSION);
    LIVE_EXPECT(strstr(error.message, "belongs to user root"));
    char cure[64];
    snprintf(cure, sizeof cure, "sudo sprof record -p %d", getppid());
    LIVE_EXPECT(strstr(error.message, cure));
    LIVE_EXPECT(target_may_read(getppid()) == -EPERM);
    LIVE_EXPECT(target_explain_reading(getppid(), -EPERM, "looked into", "ctl", &error) ==
                SPROF_EPERMISSION);
    LIVE_EXPECT(strstr(error.message, "may not be looked into by you: it belongs to user root"));
    LIVE_EXPECT(strstr(error.message, "run `sudo sprof ctl`"));
    return 0;
}

static void test_a_foreign_process(void)
{
    if (live_is_root())
        CU_ASSERT_EQUAL(live_in_child(check_foreign_process, true), 0);
}

/* As a container's filter does: perf_event_open gives an errno, everything else works. */
static bool forbid_perf(int errnum)
{
    struct sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)errnum),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof instructions / sizeof *instructions, instructions};
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int check_seccomp(int errnum)
{
    LIVE_EXPECT(forbid_perf(errnum));
    struct sprof_error error = {0};
    LIVE_EXPECT(open_on((struct sampler_options){.command = true_command}, &error) ==
                SPROF_EPERMISSION);
    LIVE_EXPECT(error.errnum == errnum);
    LIVE_EXPECT(strstr(error.message, "seccomp"));
    LIVE_EXPECT(strstr(error.message, "kernel.perf_event_paranoid"));
    LIVE_EXPECT(strstr(error.message, "--cap-add PERFMON"));
    LIVE_EXPECT(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD); /* the child is gone, too */
    return 0;
}

/* The whole machine as well: not even a command that is given makes an agent stand in. */
static int check_whole_machine(void)
{
    LIVE_EXPECT(forbid_perf(EPERM));
    const struct sampler_options options = {.command = true_command, .all_cpus = true};
    struct sampler *sampler;
    struct sprof_error error = {0};
    LIVE_EXPECT(sampler_open(&sampler, &options, &error) == SPROF_EPERMISSION);
    LIVE_EXPECT(strstr(error.message, "--cap-add PERFMON"));
    LIVE_EXPECT(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    return 0;
}

static int check_seccomp_enosys(void)
{
    return check_seccomp(ENOSYS);
}

static int check_seccomp_eperm(void)
{
    return check_seccomp(EPERM);
}

static int check_seccomp_eacces(void)
{
    return check_seccomp(EACCES);
}

static void test_a_seccomp_filter(void)
{
    CU_ASSERT_EQUAL(live_in_child(check_seccomp_eperm, false), 0);
    CU_ASSERT_EQUAL(live_in_child(check_seccomp_eacces, false), 0);
    CU_ASSERT_EQUAL(live_in_child(check_seccomp_enosys, false), 0);
    CU_ASSERT_EQUAL(live_in_child(check_whole_machine, false), 0);
}

void sprof_suite_sampler_permission(void);
void sprof_suite_sampler_permission(void)
{
    CU_pSuite suite = CU_add_suite("sampler/permission", NULL, NULL);
    CU_add_test(suite, "what does not live", test_what_does_not_live);
    CU_add_test(suite, "kernel threads", test_kernel_threads);
    CU_add_test(suite, "targets exclude each other", test_targets_exclude_each_other);
    CU_add_test(suite, "a foreign process", test_a_foreign_process);
    CU_add_test(suite, "a seccomp filter", test_a_seccomp_filter);
}
