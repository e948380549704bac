/* Starts a command: a child is forked early, and calls execve at a message from its parent. */
#include "target/launch.h"

#include "base/command.h"
#include "base/compat.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    EXIT_NOT_STARTED = 127,
    MEANWHILE_MS = 1,
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Of a line of the shell that was given as one word. */
static int line_error(struct sprof_error *error, const char *name, int errnum)
{
    struct sprof_arena arena = {0};
    char *const words[] = {"sh", "-c", (char *)(uintptr_t)name, NULL};
    const char *line = sprof_command_text(&arena, words);
    const int status =
        sprof_error_set(error, SPROF_ENOCOMMAND, errnum,
                        "%s: command not found: write it without quotes, or as a line of the "
                        "shell: %s",
                        name, line ? line : "sh -c LINE");
    sprof_arena_release(&arena);
    return status;
}

static int command_error(struct sprof_error *error, const char *name, int errnum)
{
    switch (errnum) {
    case ENOENT:
    case ENOTDIR:
        if (name[strcspn(name, strchr(name, '/') ? "|<>;&*$" : " |<>;&*$")])
            return line_error(error, name, errnum);
        if (strchr(name, '/'))
            return sprof_error_set(error, SPROF_ENOCOMMAND, errnum,
                                   "%s: command not found: no such file", name);
        return sprof_error_set(error, SPROF_ENOCOMMAND, errnum,
                               "%s: command not found in PATH; give its path, such as ./%s, or "
                               "`sh -c '%s …'` if it is a command of the shell",
                               name, name, name);
    case EISDIR:
        return sprof_error_set(error, SPROF_ENOEXEC, errnum,
                               "%s: not executable, it is a directory", name);
    case EACCES:
        return sprof_error_set(error, SPROF_ENOEXEC, errnum,
                               "%s: not executable\nrun `chmod +x %s` if it is a program", name,
                               name);
    case ENOEXEC:
        return sprof_error_set(error, SPROF_ENOEXEC, errnum,
                               "%s: not executable on this system: the kernel cannot run this ELF "
                               "file\n`file %s` names the system that it is for",
                               name, name);
    default:
        return sprof_error_set(error, SPROF_ENOEXEC, errnum, "%s: cannot be executed: %s", name,
                               strerror(errnum));
    }
}

/* 0 when `path` is a file this user may execute, else the errno execve would give. */
static int check_executable(const char *path)
{
    struct stat status;
    if (stat(path, &status))
        return errno;
    if (!S_ISREG(status.st_mode))
        return S_ISDIR(status.st_mode) ? EISDIR : EACCES;
    return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) ? errno : 0;
}

enum { PATH_BYTES = 4096 };

/* Finds the command's file as execvp does, before anything costly is opened. Returns 0 or an errno.
 * The execve itself remains the judge. */
static int find_command(const char *name, char found[static PATH_BYTES])
{
    snprintf(found, PATH_BYTES, "%s", name);
    if (strchr(name, '/'))
        return check_executable(name);
    const char *path = getenv("PATH");
    int result = ENOENT;
    for (const char *next = path ? path : "/bin:/usr/bin"; next;) {
        const size_t length = strcspn(next, ":");
        snprintf(found, PATH_BYTES, "%.*s/%s", length ? (int)length : 1, length ? next : ".", name);
        const int errnum = check_executable(found);
        if (!errnum)
            return 0;
        result = errnum == EACCES ? EACCES : result;
        next = next[length] ? next + length + 1 : NULL;
    }
    return *name ? result : ENOENT;
}

/* Handlers of sprof must not run in the child; what is ignored stays ignored. */
static void reset_handlers(void)
{
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) || action.sa_handler == SIG_IGN ||
            action.sa_handler == SIG_DFL)
            continue;
        action = (struct sigaction){.sa_handler = SIG_DFL};
        sigaction(number, &action, NULL);
    }
}

static bool read_all(int fd, void *buffer, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t got = read(fd, (char *)buffer + done, size - done);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* Waits for the message that lets the child go: a size and so many bytes of "NAME=value" texts, for
 * its environment. False: sprof ended or gave up. */
static bool wait_for_go(int socket_fd)
{
    uint32_t size;
    if (!read_all(socket_fd, &size, sizeof size))
        return false;
    char *texts = malloc(size + 1); /* stays: the environment points into it */
    if (!texts || !read_all(socket_fd, texts, size))
        return false;
    for (char *at = texts; at < texts + size; at += strlen(at) + 1)
        putenv(at);
    return true;
}

static bool is_elf(const char *path)
{
    char magic[4];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool is = fd >= 0 && read_all(fd, magic, sizeof magic) && !memcmp(magic, "\177ELF", 4);
    close_fd(&(int){fd});
    return is;
}

/* Returns only with the errno of a failure. execvp has a shell run each file that the kernel does
 * not, as suits texts without "#!", but not programs for other systems. */
static int execute(char *const *command)
{
    char path[PATH_BYTES];
    if (!find_command(*command, path) && is_elf(path))
        execve(path, command, environ);
    else
        execvp(*command, command);
    return errno;
}

static _Noreturn void run_child(char *const *command, const sigset_t *mask, int socket_fd,
                                void (*in_child)(void))
{
    reset_handlers();
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (in_child)
        in_child();
    if (!wait_for_go(socket_fd))
        _exit(EXIT_NOT_STARTED);
    const int errnum = execute(command);
    while (send(socket_fd, &errnum, sizeof errnum, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
    _exit(EXIT_NOT_STARTED);
}

int target_launch_open(struct target_launch *launch, char *const *command, void (*in_child)(void),
                       struct sprof_error *error)
{
    *launch = TARGET_LAUNCH_NONE;
    snprintf(launch->name, sizeof launch->name, "%s", *command ? *command : "");
    char path[PATH_BYTES];
    const int errnum = find_command(*command ? *command : "", path);
    if (errnum)
        return command_error(error, launch->name, errnum);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return sprof_error_set(error, SPROF_ELIMIT, errno,
                               "cannot make a socket pair: %s\nsee `ulimit -n`", strerror(errno));
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    const pid_t pid = fork();
    const int failed = errno;
    if (!pid) {
        close(ends[0]);
        run_child(command, &mask, ends[1], in_child);
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    close(ends[1]);
    launch->socket_fd = ends[0];
    if (pid < 0) {
        target_launch_close(launch);
        return sprof_error_set(error, SPROF_ELIMIT, failed, "cannot fork: %s\nsee `ulimit -u`",
                               strerror(failed));
    }
    launch->pid = pid;
    launch->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    return 0;
}

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

uint64_t target_thread_ready_ns(pid_t pid, pid_t tid)
{
    char path[64], line[128], *second;
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", pid, tid);
    sprof_proc_line(path, line, sizeof line);
    strtoull(line, &second, 10);
    return strtoull(second, NULL, 10);
}

/* What it waited for a CPU can be read until it is reaped. */
static void take_ready_time(struct target_launch *launch)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)launch->pid, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
        return;
    const uint64_t ready_ns = target_thread_ready_ns(launch->pid, launch->pid);
    if (ready_ns > launch->ready_start_ns)
        launch->ready_ns = ready_ns - launch->ready_start_ns;
}

/* Waits for the command as waitpid does, and takes its account when it has ended. */
static pid_t reap(struct target_launch *launch, int options)
{
    struct rusage usage;
    pid_t ended;
    take_ready_time(launch);
    do
        ended = wait4(launch->pid, &launch->wait_status, options, &usage);
    while (ended < 0 && errno == EINTR);
    if (ended != launch->pid)
        return ended;
    const uint64_t used_ns = timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
    launch->cpu_ns = used_ns > launch->cpu_start_ns ? used_ns - launch->cpu_start_ns : 0;
    return ended;
}

static uint64_t process_cpu_ns(pid_t pid)
{
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &time))
        return 0;
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void send_all(int fd, const void *buffer, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t sent = send(fd, (const char *)buffer + done, size - done, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return;
        done += sent > 0 ? (size_t)sent : 0;
    }
}

int target_launch_go(struct target_launch *launch, struct sprof_error *error)
{
    launch->started = true;
    launch->cpu_start_ns = process_cpu_ns(launch->pid);
    launch->ready_start_ns = target_thread_ready_ns(launch->pid, launch->pid);
    const struct sprof_str *environment = &launch->environment;
    const uint32_t size = (uint32_t)environment->length;
    /* A child that died shows below. */
    send_all(launch->socket_fd, &size, sizeof size);
    send_all(launch->socket_fd, environment->text, environment->length);
    struct pollfd outcome = {.fd = launch->socket_fd, .events = POLLIN};
    while (launch->meanwhile && poll(&outcome, 1, MEANWHILE_MS) <= 0)
        launch->meanwhile(launch->meanwhile_context);
    int errnum = 0;
    ssize_t got;
    while ((got = read(launch->socket_fd, &errnum, sizeof errnum)) < 0 && errno == EINTR)
        ;
    close_fd(&launch->socket_fd);
    if (got != (ssize_t)sizeof errnum)
        return 0;
    reap(launch, 0);
    launch->reaped = true;
    close_fd(&launch->pidfd);
    return command_error(error, launch->name, errnum);
}

bool target_launch_ended(struct target_launch *launch)
{
    if (launch->reaped)
        return true;
    const pid_t ended = reap(launch, WNOHANG);
    /* Where sprof traces it, wait4 reports its stops, too. */
    if (ended == launch->pid && !WIFEXITED(launch->wait_status) &&
        !WIFSIGNALED(launch->wait_status))
        return false;
    /* ECHILD: SIGCHLD is ignored, so the status will never be known. */
    if (ended == launch->pid || (ended < 0 && errno == ECHILD)) {
        launch->reaped = true;
        close_fd(&launch->pidfd);
    }
    return launch->reaped;
}

void target_launch_close(struct target_launch *launch)
{
    if (launch->pid && !launch->started) {
        kill(launch->pid, SIGKILL);
        reap(launch, 0);
    }
    close_fd(&launch->socket_fd);
    close_fd(&launch->pidfd);
    sprof_str_release(&launch->environment);
    launch->pid = 0;
}
