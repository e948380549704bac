#include "target/launch.h"

#include <CUnit/CUnit.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *const true_command[] = {"true", NULL};

static int run(char *const *command, int *status, struct sprof_error *error)
{
    struct target_launch launch;
    int result = target_launch_open(&launch, command, NULL, error);
    if (!result)
        result = target_launch_go(&launch, error);
    while (!result && !target_launch_ended(&launch))
        usleep(1000);
    *status = launch.wait_status;
    target_launch_close(&launch);
    return result;
}

static void test_status_is_the_commands(void)
{
    char *const seven[] = {"sh", "-c", "exit 7", NULL}, *const killed[] = {"sh", "-c", "kill -9 $$",
                                                                           NULL};
    int status;
    CU_ASSERT_EQUAL(run(true_command, &status, NULL), 0);
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT_EQUAL(run(seven, &status, NULL), 0);
    CU_ASSERT_EQUAL(WEXITSTATUS(status), 7);
    CU_ASSERT_EQUAL(run(killed, &status, NULL), 0);
    CU_ASSERT_EQUAL(WTERMSIG(status), SIGKILL);
}

static void test_what_cannot_be_run(void)
{
    static const struct {
        const char *command;
        int code;
        const char *word;
    } cases[] = {
        {"no-such-command-here", SPROF_ENOCOMMAND, "PATH"},
        {"/no/such/file", SPROF_ENOCOMMAND, "command not found"},
        {"no-such-command 1 | wc", SPROF_ENOCOMMAND, "sh -c 'no-such-command 1 | wc'"},
        {"echo 'a b' $x", SPROF_ENOCOMMAND, "sh -c 'echo '\\''a b'\\'' $x'"},
        {"/no/such/file with blanks", SPROF_ENOCOMMAND, "no such file"},
        {"", SPROF_ENOCOMMAND, "not found"},
        {"/etc/passwd", SPROF_ENOEXEC, "chmod +x"},
        {"/etc", SPROF_ENOEXEC, "not executable, it is a directory"},
        {"/etc/passwd/x", SPROF_ENOCOMMAND, "not found"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s", cases[i].command);
        char *const command[] = {name, NULL};
        struct sprof_error error = {0};
        int status;
        CU_ASSERT_EQUAL(run(command, &status, &error), cases[i].code);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, cases[i].word));
    }
}

static void write_script(const char *path, const char *text)
{
    const int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0755);
    CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* As a shell does: a text without "#!" is a script; an interpreter that is missing is told after
 * the start, when the execve fails. */
static void test_scripts(void)
{
    char path[] = "/tmp/sprof-launch-XXXXXX";
    close(mkstemp(path));
    char *const command[] = {path, NULL};
    int status;
    struct sprof_error error = {0};
    chmod(path, 0755);
    write_script(path, "exit 9\n");
    CU_ASSERT_EQUAL(run(command, &status, &error), 0);
    CU_ASSERT_EQUAL(WEXITSTATUS(status), 9);
    write_script(path, "#!/no/such/interpreter\n");
    CU_ASSERT_EQUAL(run(command, &status, &error), SPROF_ENOCOMMAND);
    unlink(path);
}

/* A program for another system is not given to a shell. */
static void test_foreign_programs(void)
{
    char path[] = "/tmp/sprof-launch-XXXXXX";
    close(mkstemp(path));
    char *const command[] = {path, NULL}, *const by_name[] = {strrchr(path, '/') + 1, NULL};
    char *const before = strdup(getenv("PATH"));
    int status;
    chmod(path, 0755);
    write_script(path, "\177ELF\nexit 9\n");
    setenv("PATH", "/no/such/directory:/tmp", 1);
    for (int i = 0; i < 2; i++) {
        struct sprof_error error = {0};
        CU_ASSERT_EQUAL(run(i ? by_name : command, &status, &error), SPROF_ENOEXEC);
        CU_ASSERT_EQUAL(error.errnum, ENOEXEC);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "cannot run this ELF file"));
    }
    setenv("PATH", before, 1);
    free(before);
    unlink(path);
}

static void test_one_never_started_is_gone(void)
{
    struct target_launch launch;
    CU_ASSERT_EQUAL_FATAL(target_launch_open(&launch, true_command, NULL, NULL), 0);
    const pid_t pid = launch.pid;
    CU_ASSERT_EQUAL(kill(pid, 0), 0);
    target_launch_close(&launch);
    CU_ASSERT_EQUAL(kill(pid, 0), -1);
    CU_ASSERT_EQUAL(errno, ESRCH);
}

static void test_a_running_one_is_left_alone(void)
{
    char *const command[] = {"sleep", "100", NULL};
    struct target_launch launch;
    CU_ASSERT_EQUAL_FATAL(target_launch_open(&launch, command, NULL, NULL), 0);
    CU_ASSERT_EQUAL(target_launch_go(&launch, NULL), 0);
    const pid_t pid = launch.pid;
    CU_ASSERT_FALSE(target_launch_ended(&launch));
    target_launch_close(&launch);
    CU_ASSERT_EQUAL(kill(pid, 0), 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void put_variable(void)
{
    setenv("SPROF_IN_CHILD", "in the child", true);
}

/* Texts that were added for the command alone, one of them over what it would have inherited. */
static void test_the_environment_is_added_to(void)
{
    char *const command[] = {"sh", "-c",
                             "test \"$SPROF_A\" = 'b c=d' && test \"$SPROF_HERE\" = new && "
                             "test \"$SPROF_IN_CHILD\" = 'in the child'",
                             NULL};
    struct target_launch launch;
    setenv("SPROF_HERE", "old", true);
    CU_ASSERT_EQUAL_FATAL(target_launch_open(&launch, command, put_variable, NULL), 0);
    CU_ASSERT_EQUAL(
        sprof_str_append_bytes(&launch.environment, "SPROF_A=b c=d\0SPROF_HERE=new", 29), 0);
    CU_ASSERT_EQUAL(target_launch_go(&launch, NULL), 0);
    while (!target_launch_ended(&launch))
        usleep(1000);
    CU_ASSERT_EQUAL(launch.wait_status, 0);
    CU_ASSERT_STRING_EQUAL(getenv("SPROF_HERE"), "old");
    CU_ASSERT_PTR_NULL(getenv("SPROF_A"));
    CU_ASSERT_PTR_NULL(getenv("SPROF_IN_CHILD"));
    target_launch_close(&launch);
    unsetenv("SPROF_HERE");
}

static void on_signal(int number)
{
    (void)number;
}

/* Signals blocked or ignored by whoever launches are so in the command; what is handled is not. */
static void test_signals_are_the_callers(void)
{
    char *const command[] = {
        "sh", "-c",
        "while read name value; do case $name in SigBlk:) b=$value;; "
        "SigIgn:) i=$value;; SigCgt:) c=$value;; esac; done </proc/self/status; "
        "test $b = 0000000000000000 && test $((0x$i & 0x200)) = 0 && "
        "test $((0x$i & 0x800)) = 2048 && test $((0x$c & 0x200)) = 0",
        NULL};
    struct sigaction handled = {.sa_handler = on_signal}, ignored = {.sa_handler = SIG_IGN}, old[2];
    sigaction(SIGUSR1, &handled, &old[0]);
    sigaction(SIGUSR2, &ignored, &old[1]);
    int status;
    CU_ASSERT_EQUAL(run(command, &status, NULL), 0);
    CU_ASSERT_EQUAL(status, 0);
    sigaction(SIGUSR1, &old[0], NULL);
    sigaction(SIGUSR2, &old[1], NULL);
}

void sprof_suite_target_launch(void);
void sprof_suite_target_launch(void)
{
    CU_pSuite suite = CU_add_suite("target/launch", NULL, NULL);
    CU_add_test(suite, "the status is the command's", test_status_is_the_commands);
    CU_add_test(suite, "what cannot be run", test_what_cannot_be_run);
    CU_add_test(suite, "scripts", test_scripts);
    CU_add_test(suite, "programs for other systems", test_foreign_programs);
    CU_add_test(suite, "one never started is gone", test_one_never_started_is_gone);
    CU_add_test(suite, "a running one is left alone", test_a_running_one_is_left_alone);
    CU_add_test(suite, "the environment is added to", test_the_environment_is_added_to);
    CU_add_test(suite, "signals are the caller's", test_signals_are_the_callers);
}
