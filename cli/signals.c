/* What signals do to a recording and its command. */
#include "cli/signals.h"

#include "base/compat.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Two signals closer than this are one: `timeout` sends to its child and to its group. */
#define SAME_KEYSTROKE_NS 300000000u

/* What the end of a recording may take after a second signal, in seconds. */
enum { HURRY_S = 3 };

/* A handler is given no context, so what it needs stands here: the only variable of its kind. */
static struct {
    _Atomic(struct record_session *) session;
    atomic_int command_pid;    /* 0: none */
    atomic_int command_fd;     /* its pidfd; -1: none, or a kernel before Linux 5.3 */
    atomic_int end_fd;         /* an eventfd: what goes on after the command is to end; -1: none */
    _Atomic uint64_t first_ns; /* of the first signal; 0: none yet */
    atomic_bool hurried;       /* a second one came */
} caught = {.command_fd = -1, .end_fd = -1};

/* Whether the command is a child that was not reaped yet: until then its number is no other
 * process's. */
static bool is_unreaped(pid_t pid)
{
    siginfo_t end;
    return pid > 0 && !waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT);
}

/* Sends the signal to the command, or only checks whether it lives (signal 0). */
static bool send_to_command(int number)
{
    const int fd = atomic_load(&caught.command_fd);
    const pid_t pid = atomic_load(&caught.command_pid);
    if (fd >= 0)
        return !syscall(SYS_pidfd_send_signal, fd, number, NULL, 0);
    return is_unreaped(pid) && !kill(pid, number);
}

/* What is left to do is left to `sprof report`. */
static void give_up(int number)
{
    static const char text[] = "\nsprof: stopped before everything was done: the samples are safe, "
                               "`sprof report` finishes the recording\n";
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        errno = 0; /* there is no way to report it */
    signal(number, SIG_DFL);
    raise(number);
}

static bool is_keystroke(int number)
{
    return number == SIGINT || number == SIGQUIT;
}

/* The end in order takes too long, too: a file that cannot be read, a disk that does not answer. */
static void on_deadline(int number)
{
    (void)number;
    give_up(SIGTERM);
}

/* A second signal ends the recording without waiting for what takes long; where only names are
 * missing, or that has been tried, it ends sprof. */
static void end_soon(struct record_session *session, int number)
{
    if (atomic_exchange(&caught.hurried, true) || !record_hurry(session))
        give_up(number);
    else
        alarm(HURRY_S);
}

static void on_signal(int number, siginfo_t *info, void *machine_context)
{
    (void)machine_context;
    const int saved_errno = errno;
    const bool sent_to_both = is_keystroke(number) && info->si_code == SI_KERNEL;
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    const uint64_t first_ns = atomic_load(&caught.first_ns);
    const bool command_lives = send_to_command(sent_to_both ? 0 : number);
    if (!first_ns)
        atomic_store(&caught.first_ns, now_ns);
    struct record_session *session = atomic_load(&caught.session);
    const uint64_t one = 1;
    const int end_fd = atomic_load(&caught.end_fd);
    if (!command_lives && end_fd >= 0 && write(end_fd, &one, sizeof one) < 0)
        give_up(number);
    if (!command_lives && session) {
        if (first_ns && now_ns - first_ns > SAME_KEYSTROKE_NS)
            end_soon(session, number);
        else
            record_interrupt(session);
    }
    errno = saved_errno;
}

/* nohup is respected. Not so SIGINT: shells ignore it for background jobs, and it is how scripts
 * end a recording. */
static bool stays_ignored(int number)
{
    struct sigaction before;
    return number == SIGHUP && !sigaction(number, NULL, &before) && before.sa_handler == SIG_IGN;
}

void cli_signals_catch(struct record_session *session, pid_t command)
{
    static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    atomic_store(&caught.session, session);
    atomic_store(&caught.command_pid, command > 0 ? command : 0);
    atomic_store(&caught.command_fd, command > 0 ? (int)syscall(SYS_pidfd_open, command, 0) : -1);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!stays_ignored(numbers[i]))
            sigaction(numbers[i], &action, NULL);
    signal(SIGALRM, on_deadline);
    signal(SIGPIPE, SIG_IGN);
}

void cli_signals_end_by(int fd)
{
    atomic_store(&caught.end_fd, fd);
}

int cli_signals_end_fd(void)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGQUIT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    return signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

void cli_signals_forget_session(void)
{
    atomic_store(&caught.session, NULL);
    alarm(0);
}

int cli_signals_open(sigset_t *before)
{
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGQUIT);
    if (!stays_ignored(SIGHUP))
        sigaddset(&ending, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &ending, before);
    return signalfd(-1, &ending, SFD_CLOEXEC);
}

int cli_end_as(int wait_status)
{
    if (!WIFSIGNALED(wait_status))
        return WEXITSTATUS(wait_status);
    const int number = WTERMSIG(wait_status);
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_DUMPABLE, 0); /* a core pattern that is a pipe does not look at the limit */
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    signal(number, SIG_DFL);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    return 128 + number;
}
