/* Runs the keeper: when its socket to the tracer ends, the tracer is dead, and the keeper cleans
 * up. */
#include "inject/keeper.h"
#include "base/command.h"
#include "base/compat.h"
#include "inject/leaving.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    TRIES = 20, /* to take probes out */
    BETWEEN_MS = 500,
    RENEW_MS = 500, /* between two renewals of leases */
};

enum message_kind {
    MESSAGE_WATCH, /* with the lock's descriptor */
    MESSAGE_SHARE, /* with the shared memory's */
    MESSAGE_FORGET,
    MESSAGE_FILE,
};

struct message {
    uint32_t kind;
    int32_t pid;
    uint32_t is_running;
    char file[INJECT_KEEPER_FILE_MAX];
};

struct watched {
    pid_t pid;
    uint64_t start; /* as pids are reused */
    bool is_running;
    int lock_fd, memory_fd;      /* or -1 */
    struct probe_shared *shared; /* first page, or NULL */
};

struct watch {
    struct inject_tracer tracer;
    SPROF_VEC(struct watched) processes;
    char file[INJECT_KEEPER_FILE_MAX];
};

static uint64_t start_of(pid_t pid)
{
    struct sprof_proc_stat stat;
    return sprof_proc_stat_read(pid, &stat) ? stat.start_ticks : 0;
}

/* == The keeper's life == */

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

static struct watched *find(struct watch *watch, pid_t pid)
{
    for (size_t i = 0; i < watch->processes.count; i++)
        if (watch->processes.items[i].pid == pid)
            return &watch->processes.items[i];
    return NULL;
}

/* Probes go on while the tracer stands still, as at Ctrl-Z. */
_Static_assert(offsetof(struct probe_shared, renewal.deadline) + sizeof(uint64_t) <= PROBE_PAGE,
               "the first page has all that a lease needs");

static void release(struct watched *process)
{
    close_fd(process->lock_fd);
    close_fd(process->memory_fd);
    if (process->shared)
        munmap(process->shared, PROBE_PAGE);
}

static void share(struct watched *process, int fd)
{
    close_fd(process->memory_fd);
    if (process->shared)
        munmap(process->shared, PROBE_PAGE);
    void *mapped = mmap(NULL, PROBE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    process->memory_fd = fd;
    process->shared = mapped == MAP_FAILED ? NULL : mapped;
}

/* Takes over `fd`. */
static void take_note(struct watch *watch, const struct message *message, int fd)
{
    struct watched *process = find(watch, message->pid);
    const struct watched new = {message->pid, start_of(message->pid), message->is_running, fd, -1,
                                NULL};
    if (message->kind == MESSAGE_WATCH && !process && !sprof_vec_push(&watch->processes, new))
        return;
    if (message->kind == MESSAGE_SHARE && process) {
        share(process, fd);
        return;
    }
    if (message->kind == MESSAGE_FORGET && process) {
        release(process);
        *process = watch->processes.items[--watch->processes.count];
    }
    if (message->kind == MESSAGE_FILE)
        memcpy(watch->file, message->file, sizeof watch->file);
    close_fd(fd);
}

static void renew_leases(const struct watch *watch)
{
    for (size_t i = 0; i < watch->processes.count; i++)
        if (watch->processes.items[i].shared)
            probe_lease_renew(watch->processes.items[i].shared, probe_ticks());
}

static void wait_for_death(struct watch *watch, int socket_fd)
{
    struct pollfd ready = {.fd = socket_fd, .events = POLLIN};
    struct message message;
    uint64_t next_ns = 0;
    for (int fd;;) {
        if (poll(&ready, 1, RENEW_MS) > 0) {
            if (!sprof_message_receive(socket_fd, &message, sizeof message, &fd))
                return;
            take_note(watch, &message, fd);
        }
        const uint64_t now_ns = sprof_clock_monotonic_ns();
        if (now_ns < next_ns)
            continue;
        renew_leases(watch);
        next_ns = now_ns + RENEW_MS * UINT64_C(1000000);
    }
}

static void pause_ms(long milliseconds)
{
    const struct timespec time = {.tv_nsec = milliseconds * 1000000};
    nanosleep(&time, NULL);
}

/* Thunks pass through at once, and the loader does not wait. */
static void switch_off(const struct watched *process)
{
    static const uint8_t off[PROBE_THUNKS];
    const uint32_t closed = PROBE_LOADING_CLOSED;
    if (process->memory_fd >= 0 &&
        (pwrite(process->memory_fd, off, sizeof off, offsetof(struct probe_shared, tiers)) < 0 ||
         pwrite(process->memory_fd, &closed, sizeof closed,
                offsetof(struct probe_shared, loading.state)) < 0))
        return; /* the size is sealed */
}

/* Another tracer may stop the threads, or one may not stop. */
static void take_out(const struct watch *watch, const struct watched *process)
{
    for (int tries = 0; tries < TRIES && start_of(process->pid) == process->start; tries++) {
        struct sprof_error error = {0};
        if (inject_clean_up_after(&watch->tracer, process->pid, process->is_running, &error))
            return;
        pause_ms(BETWEEN_MS);
    }
}

/* Signals to the tracer's process group must not end the keeper. */
static void detach_from_tracer(int fd)
{
    static const int ignored[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE, SIGALRM,
                                  SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2, SIGXCPU};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    setsid();
    prctl(PR_SET_NAME, "sprof-keeper");
    if (chdir("/"))
        return;
    if (fd > 3)
        close_range(3, (unsigned)fd - 1, 0);
    close_range((unsigned)fd + 1, ~0U, 0);
    const int nothing = open("/dev/null", O_RDWR);
    for (int i = 0; nothing >= 0 && i < 3; i++)
        dup2(nothing, i);
    if (nothing > 2)
        close(nothing);
}

static _Noreturn void keep(struct watch *watch, int fd)
{
    detach_from_tracer(fd);
    send(fd, "", 1, MSG_NOSIGNAL); /* survives from here on */
    wait_for_death(watch, fd);
    if (watch->file[0])
        unlink(watch->file);
    for (size_t i = 0; i < watch->processes.count; i++)
        switch_off(&watch->processes.items[i]);
    for (size_t i = 0; i < watch->processes.count; i++)
        take_out(watch, &watch->processes.items[i]);
    _exit(0);
}

/* == The tracer's side == */

void inject_keeper_begin(struct inject_keeper *keeper, const struct sprof_log *log)
{
    int ends[2] = {-1, -1};
    struct watch watch = {.tracer = {getpid(), start_of(getpid())}};
    *keeper = (struct inject_keeper){0};
    const bool made = !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
    const pid_t pid = made ? fork() : -1;
    char ready;
    if (!pid) {
        close(ends[0]);
        keep(&watch, ends[1]);
    }
    if (pid < 0)
        sprof_log_message(log, SPROF_LOG_WARNING,
                          "probes stay in the program should sprof be killed: %s; see "
                          "`ulimit -u` and `ulimit -n`",
                          strerror(errno));
    if (made)
        close(ends[1]);
    if (pid > 0)
        *keeper = (struct inject_keeper){.pid = pid, .fd = ends[0]};
    while (pid > 0 && recv(ends[0], &ready, 1, 0) < 0 && errno == EINTR)
        ;
    if (pid < 0 && made)
        close(ends[0]);
}

/* A stopped keeper must not stop the trace. */
static void send_note(const struct inject_keeper *keeper, const struct message *message, int fd)
{
    if (keeper->pid)
        sprof_message_send(keeper->fd, message, sizeof *message, fd, MSG_DONTWAIT);
}

void inject_keeper_watch(const struct inject_keeper *keeper, pid_t pid, bool is_running,
                         int lock_fd)
{
    send_note(keeper,
              &(struct message){.kind = MESSAGE_WATCH, .pid = pid, .is_running = is_running},
              lock_fd);
}

void inject_keeper_share(const struct inject_keeper *keeper, pid_t pid, int memory_fd)
{
    send_note(keeper, &(struct message){.kind = MESSAGE_SHARE, .pid = pid}, memory_fd);
}

void inject_keeper_forget(const struct inject_keeper *keeper, pid_t pid)
{
    send_note(keeper, &(struct message){.kind = MESSAGE_FORGET, .pid = pid}, -1);
}

void inject_keeper_note_file(const struct inject_keeper *keeper, const char *file)
{
    struct message message = {.kind = MESSAGE_FILE};
    snprintf(message.file, sizeof message.file, "%s", file);
    send_note(keeper, &message, -1);
}

void inject_keeper_end(struct inject_keeper *keeper)
{
    if (!keeper->pid)
        return;
    kill(keeper->pid, SIGKILL);
    close(keeper->fd);
    sprof_command_wait(keeper->pid);
    *keeper = (struct inject_keeper){0};
}
