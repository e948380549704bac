/* Commands of all kinds that are held where their main begins: what they do is the same as
 * otherwise, also where who holds them is killed at whatever moment. */
#include "inject/inject.h"
#include "target/launch.h"
#include "target/target.h"
#include "tests/unit/skip.h"

#include <CUnit/CUnit.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    OUTPUT_BYTES = 4096,
    EXIT_STATUS = 7,
    EXIT_NOT_STARTED = 127,
    KILLS = 150,
    KILL_STEP_US = 40,
    KILL_LAST_US = 5000000, /* by when all is done, also on a busy machine */
    PATIENCE_S = 20,
    COMMAND_BYTES = 1024,
};

/* Says what it can see of itself. Its first argument names the file for that. */
static const char source[] =
    "#include <fcntl.h>\n#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    "#include <string.h>\n#include <unistd.h>\n"
    "static int constructed;\n"
    "static void handle(int number) { (void)number; }\n"
    "__attribute__((constructor)) static void construct(void)\n"
    "{\n"
    "    struct sigaction action;\n"
    "    memset(&action, 0, sizeof action);\n"
    "    action.sa_handler = handle;\n"
    "    sigaction(SIGUSR1, &action, 0);\n"
    "    constructed++;\n"
    "}\n"
    "#ifdef __cplusplus\n"
    "struct object { object() { constructed += 10; } ~object() { constructed--; } } object;\n"
    "#endif\n"
    "int main(int count, char **arguments, char **environment)\n"
    "{\n"
    "    struct sigaction trap;\n"
    "    stack_t stack;\n"
    "    sigset_t mask;\n"
    "    int descriptors = 0;\n"
    "    FILE *out = fopen(arguments[1], \"w\");\n"
    "    if (!out) return 1;\n"
    "    for (int i = 0; i < 2000; i++) descriptors += fcntl(i, F_GETFD) >= 0 ? 1000 + i : 0;\n"
    "    sigaction(SIGTRAP, 0, &trap);\n"
    "    sigaltstack(0, &stack);\n"
    "    sigprocmask(SIG_BLOCK, 0, &mask);\n"
    "    fprintf(out, \"%d %d %s %d %d %d %d %d\\n\", count, constructed, arguments[count - 1],\n"
    "            arguments + count + 1 == environment, trap.sa_handler == SIG_DFL,\n"
    "            stack.ss_flags, sigismember(&mask, SIGTRAP), sigismember(&mask, SIGINT));\n"
    "    fprintf(out, \"%d\\n\", descriptors);\n"
    "    return fclose(out) ? 1 : 7;\n"
    "}\n";

static char directory[] = "/tmp/sprof-hold-XXXXXX";
static char source_path[64], program[64], output[64];

#define MUSL "/usr/lib/x86_64-linux-musl/"

/* Kinds of programs. The last has start code that relocates it before it comes to what hands over
 * main. */
static const struct {
    const char *compiler, *options, *libraries;
} kinds[] = {
    {"gcc", "-O1", ""},
    {"gcc", "-O1 -no-pie", ""},
    {"gcc", "-O1 -static", ""},
    {"gcc", "-O2 -static-pie", ""},
    {"gcc", "-O2 -static -s", ""},
    {"gcc", "-O1 -static-pie -s", ""},
    {"gcc", "-O1 -static -fcf-protection=full -ffunction-sections -Wl,--gc-sections", ""},
    {"gcc", "-O1 -static -fuse-ld=gold", ""},
    {"g++", "-O1 -static -x c++", ""},
    {"g++", "-O2 -static-pie -s -x c++", ""},
    {"clang", "-O2 -static", ""},
    {"clang", "-O2 -static -fuse-ld=lld", ""},
    {"musl-gcc", "-O1", ""},
    {"musl-gcc", "-O1 -s", ""},
    {"musl-gcc", "-O1 -static", ""},
    {"musl-gcc", "-O2 -static -s", ""},
    {"gcc -isystem /usr/include/x86_64-linux-musl",
     "-O1 -fPIE -static-pie -nostdlib " MUSL "rcrt1.o " MUSL "crti.o",
     MUSL "libc.a -lgcc " MUSL "crtn.o"},
};

static bool compile(const char *compiler, const char *options, const char *libraries)
{
    char line[COMMAND_BYTES];
    snprintf(line, sizeof line, "%s %s -o %s %s %s >/dev/null 2>&1", compiler, options, program,
             source_path, libraries);
    return !system(line);
}

static bool write_source(const char *text)
{
    FILE *file = fopen(source_path, "w");
    return file && fputs(text, file) >= 0 && !fclose(file);
}

static int begin(void)
{
    if (!mkdtemp(directory))
        return 1;
    snprintf(source_path, sizeof source_path, "%s/source.c", directory);
    snprintf(program, sizeof program, "%s/program", directory);
    snprintf(output, sizeof output, "%s/output", directory);
    return !write_source(source);
}

static int end(void)
{
    char line[COMMAND_BYTES];
    snprintf(line, sizeof line, "rm -r %s", directory);
    return system(line);
}

/* == What it does == */

struct done {
    int wait_status;
    char text[OUTPUT_BYTES]; /* "": it has written nothing */
};

static void read_output(struct done *done)
{
    FILE *file = fopen(output, "r");
    const size_t got = file ? fread(done->text, 1, sizeof done->text - 1, file) : 0;
    done->text[got] = '\0';
    if (file)
        fclose(file);
}

static char *words[] = {program, output, "last", NULL};

static void launch(struct target_launch *launched, struct inject_hold *hold)
{
    struct sprof_error error = {0};
    unlink(output);
    CU_ASSERT_EQUAL_FATAL(target_launch_open(launched, words, NULL, &error), 0);
    launched->meanwhile = hold ? inject_hold_pass_signals : NULL;
    launched->meanwhile_context = hold;
}

static void wait_for(struct target_launch *launched, struct done *done)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int tries = 0; tries < PATIENCE_S * 1000 && !target_launch_ended(launched); tries++)
        nanosleep(&pause, NULL);
    CU_ASSERT_TRUE(target_launch_ended(launched));
    if (!target_launch_ended(launched))
        kill(launched->pid, SIGKILL);
    done->wait_status = launched->wait_status;
    read_output(done);
    target_launch_close(launched);
}

static void run_alone(struct done *done)
{
    struct target_launch launched;
    struct sprof_error error = {0};
    launch(&launched, NULL);
    CU_ASSERT_EQUAL_FATAL(target_launch_go(&launched, &error), 0);
    wait_for(&launched, done);
    CU_ASSERT_EQUAL(WEXITSTATUS(done->wait_status), EXIT_STATUS);
    CU_ASSERT_TRUE(*done->text);
}

static int hold_command(struct inject_hold *hold, struct target_launch *launched,
                        struct sprof_error *error)
{
    if (inject_hold_open(hold, error))
        return error->code;
    launch(launched, hold);
    int result = inject_hold_seize(hold, launched->pid, error);
    if (!result)
        result = target_launch_go(launched, error);
    return result ? result : inject_hold_at_main(hold, "program", error);
}

/* == Where it waits == */

struct begun {
    pid_t pid;
    uint64_t entry;
    bool is_same, is_seen;
};

/* Whether start code is as the file has it. */
static int look_at_start(void *context, const struct model_mmap *mapping)
{
    enum { BYTES = 256 };
    struct begun *begun = context;
    uint8_t there[BYTES], file[BYTES];
    const uint64_t offset = begun->entry - mapping->address;
    if (offset >= mapping->size)
        return 0;
    const int fd = open(program, O_RDONLY | O_CLOEXEC);
    const uint64_t left = mapping->size - offset;
    const size_t size = left < BYTES ? (size_t)left : BYTES;
    begun->is_seen = true;
    begun->is_same =
        pread(fd, file, size, (off_t)(mapping->file_offset + offset)) == (ssize_t)size &&
        target_read_memory(begun->pid, begun->entry, there, size) == size &&
        !memcmp(there, file, size);
    close(fd);
    return 0;
}

static void check_held(pid_t pid)
{
    char path[64], line[256];
    struct stat status;
    struct begun begun = {.pid = pid, .entry = target_entry(pid)};
    const struct timespec pause = {.tv_nsec = 3000000};
    kill(pid, SIGUSR1); /* its handler cuts the wait short */
    nanosleep(&pause, NULL);
    CU_ASSERT_NOT_EQUAL(stat(output, &status), 0);
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    bool is_free = false;
    while (fgets(line, sizeof line, file))
        is_free |= !strcmp(line, "TracerPid:\t0\n");
    fclose(file);
    CU_ASSERT_TRUE(is_free);
    CU_ASSERT_EQUAL(target_each_mapping(pid, look_at_start, &begun), 0);
    CU_ASSERT_TRUE(begun.is_seen);
    CU_ASSERT_TRUE(begun.is_same);
}

static void check_kind(const char *compiler, const char *options)
{
    struct done alone, held;
    struct inject_hold hold;
    struct target_launch launched;
    struct sprof_error error = {0};
    run_alone(&alone);
    const int result = hold_command(&hold, &launched, &error);
    if (result)
        printf("\n    %s %s: %s", compiler, options, error.message);
    CU_ASSERT_EQUAL(result, 0);
    if (!result)
        check_held(launched.pid);
    else
        kill(launched.pid, SIGKILL);
    inject_hold_release(&hold);
    wait_for(&launched, &held);
    CU_ASSERT_EQUAL(held.wait_status, alone.wait_status);
    CU_ASSERT_STRING_EQUAL(held.text, alone.text);
}

static void test_kinds(void)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (compile(kinds[i].compiler, kinds[i].options, kinds[i].libraries))
            check_kind(kinds[i].compiler, kinds[i].options);
        else
            sprof_test_skip("no %s %s", kinds[i].compiler, kinds[i].options);
}

/* == What cannot be held == */

static void check_refused(const char *text, const char *options, const char *says, int code)
{
    struct inject_hold hold;
    struct target_launch launched;
    struct sprof_error error = {0};
    struct done done;
    CU_ASSERT_TRUE_FATAL(write_source(text));
    CU_ASSERT_TRUE_FATAL(compile("gcc", options, ""));
    const int result = hold_command(&hold, &launched, &error);
    CU_ASSERT_EQUAL(result, code);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, says));
    if (!strstr(error.message, says))
        printf("\n    %s", error.message);
    kill(launched.pid, SIGKILL);
    wait_for(&launched, &done);
    CU_ASSERT_FALSE(*done.text);
    inject_hold_release(&hold);
    CU_ASSERT_TRUE_FATAL(write_source(source));
}

static void test_refused(void)
{
    check_refused(
        "__asm__(\".globl _start\\n_start: mov $60, %eax\\nxor %edi, %edi\\nsyscall\");\n",
        "-static -nostdlib", "do not show where", SPROF_EUNSUPPORTED);
    check_refused(
        "#include <stdlib.h>\n__attribute__((constructor)) static void f(void) { exit(3); "
        "}\nint main(void) { return 0; }\n",
        "-static", "ended before it could", SPROF_ESTATE);
    check_refused("#include <unistd.h>\n__attribute__((constructor)) static void f(void) "
                  "{ execl(\"/bin/sleep\", \"sleep\", \"60\", (char *)0); }\n"
                  "int main(void) { return 0; }\n",
                  "-static", "executed another program", SPROF_ESTATE);
    check_refused("#include <unistd.h>\n__attribute__((constructor)) static void f(void) "
                  "{ for (int i = 3; i < 2000; i++) close(i); }\n"
                  "int main(void) { sleep(60); return 0; }\n",
                  "-static", "has closed the descriptor", SPROF_ESTATE);
}

/* == Signals == */

/* One that comes between the seizure and the execve, or while it waits. */
static void test_signals(void)
{
    struct inject_hold hold;
    struct target_launch launched;
    struct sprof_error error = {0};
    struct done done;
    CU_ASSERT_TRUE_FATAL(compile("gcc", "-O1 -static", ""));
    CU_ASSERT_EQUAL_FATAL(inject_hold_open(&hold, &error), 0);
    launch(&launched, &hold);
    CU_ASSERT_EQUAL_FATAL(inject_hold_seize(&hold, launched.pid, &error), 0);
    kill(launched.pid, SIGWINCH);
    CU_ASSERT_EQUAL_FATAL(target_launch_go(&launched, &error), 0);
    CU_ASSERT_EQUAL(inject_hold_at_main(&hold, "program", &error), 0);
    kill(launched.pid, SIGSTOP);
    kill(launched.pid, SIGCONT);
    usleep(1000);
    CU_ASSERT_FALSE(target_launch_ended(&launched));
    kill(launched.pid, SIGINT);
    wait_for(&launched, &done);
    CU_ASSERT_TRUE(WIFSIGNALED(done.wait_status) && WTERMSIG(done.wait_status) == SIGINT);
    CU_ASSERT_FALSE(*done.text);
    inject_hold_release(&hold);
}

/* == Killed == */

static _Noreturn void hold_until_killed(void)
{
    struct inject_hold hold;
    struct target_launch launched;
    struct sprof_error error = {0};
    if (hold_command(&hold, &launched, &error))
        _exit(1);
    for (;;)
        pause();
}

/* All children of ours, which those of who was killed are, too. Returns the status of the last that
 * was not killed by us; -1: some did not end. */
static int wait_for_all(pid_t killed)
{
    const struct timespec pause = {.tv_nsec = 200000};
    int status, result = -1;
    for (int tries = 0; tries < PATIENCE_S * 5000; tries++) {
        const pid_t ended = waitpid(-1, &status, WNOHANG);
        if (ended < 0)
            return errno == ECHILD ? result : -1;
        if (!ended)
            nanosleep(&pause, NULL);
        else if (ended != killed)
            result = status;
    }
    return -1;
}

/* At first each is a little later than the one before; then they grow. */
static long next_kill_us(long i, long last_us)
{
    return i < KILLS ? i * KILL_STEP_US : last_us + last_us / 8;
}

static void test_killed(void)
{
    enum { WANTED = KILLS / 10 };
    struct done alone;
    long begun = 0, killed = 0;
    CU_ASSERT_TRUE_FATAL(compile("gcc", "-O1 -static", ""));
    run_alone(&alone);
    CU_ASSERT_EQUAL_FATAL(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    for (long us = 0; killed < KILLS || (begun <= WANTED && us < KILL_LAST_US); killed++) {
        us = next_kill_us(killed, us);
        const struct timespec before = {us / 1000000, us % 1000000 * 1000};
        struct done done;
        unlink(output);
        const pid_t holder = fork();
        if (!holder)
            hold_until_killed();
        nanosleep(&before, NULL);
        kill(holder, SIGKILL);
        const int status = wait_for_all(holder);
        read_output(&done);
        /* It was not let go, or it does all. Where there was no command yet, none has ended. Killed
         * about the execve, who was to hold it may leave it the descriptor: in the second line. */
        const bool is_whole = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_STATUS;
        const bool is_right =
            is_whole ? !strncmp(done.text, alone.text, strcspn(alone.text, "\n") + 1)
                     : !*done.text && (status == -1 || WEXITSTATUS(status) == EXIT_NOT_STARTED);
        if (!is_right)
            printf("\n    after %ld us: status %d: %s", us, status, done.text);
        CU_ASSERT_TRUE(is_right);
        begun += is_whole;
    }
    CU_ASSERT_TRUE(begun > WANTED && begun < killed);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

void sprof_suite_inject_hold(void);
void sprof_suite_inject_hold(void)
{
    CU_pSuite suite = CU_add_suite("inject/hold", begin, end);
    CU_add_test(suite, "kinds", test_kinds);
    CU_add_test(suite, "refused", test_refused);
    CU_add_test(suite, "signals", test_signals);
    CU_add_test(suite, "killed", test_killed);
}
