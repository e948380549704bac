/* Traces a process that listens, through its agent's socket. */
#include "inject/listening.h"
#include "inject/attach.h"
#include "inject/inside.h"
#include "inject/lock.h"

#include "base/proc.h"
#include "inject/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

enum {
    HELLO_MS = 10000,
};

/* == Connecting == */

/* Any process may have taken the name. */
static bool is_its_own(int fd, pid_t pid)
{
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    struct sprof_proc_status status;
    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && peer.pid == pid &&
           sprof_proc_status_read(pid, &status) && (!peer.uid || peer.uid == status.user);
}

static int connect_to(pid_t pid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s%d",
                                PROBE_LISTENS, (int)pid);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd >= 0 &&
        !connect(fd, (struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

bool inject_listens(pid_t pid)
{
    const int fd = connect_to(pid);
    const bool does = fd >= 0 && is_its_own(fd, pid);
    if (fd >= 0)
        close(fd);
    return does;
}

int inject_listening_connect(pid_t pid, int *agent_fd, int *lock_fd, struct sprof_error *error)
{
    const int fd = connect_to(pid);
    int result = 0;
    if (fd < 0)
        return 0;
    if (!is_its_own(fd, pid)) {
        close(fd);
        return 0;
    }
    if (inject_is_filtered(pid))
        result = sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                                 "cannot trace process %d: seccomp restricts its system calls, and "
                                 "what the tracing agent needs could end it",
                                 (int)pid);
    if (!result)
        result = inject_lock_alone(pid, lock_fd, error);
    if (result) {
        close(fd);
        return result;
    }
    *agent_fd = fd;
    return 1;
}

/* == Meeting == */

/* The process may send any descriptor: name and file must match. */
static bool is_memory(int fd, pid_t pid)
{
    char link[64], name[128], wanted[64];
    struct stat named, facts;
    struct statfs system;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    snprintf(wanted, sizeof wanted, "/proc/%d/", (int)pid);
    const ssize_t length = readlink(link, name, sizeof name - 1);
    name[length > 0 ? length : 0] = '\0';
    return length > 4 && !strncmp(name, wanted, strlen(wanted)) &&
           !strcmp(name + length - 4, "/mem") && !fstatfs(fd, &system) &&
           system.f_type == PROC_SUPER_MAGIC && !fstat(fd, &facts) && !stat(name, &named) &&
           named.st_dev == facts.st_dev && named.st_ino == facts.st_ino;
}

/* The sent descriptor is for users who may not open one; a write checks their rights. */
static void choose_memory(struct inject_process *process)
{
    char path[64];
    sprof_proc_shared_path(path, sizeof path, process->pid, "mem");
    const int own = open(path, O_RDWR | O_CLOEXEC);
    if (own >= 0 || !is_memory(process->code_fd, process->pid)) {
        close(process->code_fd);
        process->code_fd = own;
    }
}

static bool receive_hello(struct inject_process *process)
{
    struct pollfd readable = {.fd = process->agent_fd, .events = POLLIN};
    if (poll(&readable, 1, HELLO_MS) != 1 ||
        !sprof_message_receive(process->agent_fd, &process->hello, sizeof process->hello,
                               &process->code_fd) ||
        process->code_fd < 0)
        return false;
    choose_memory(process);
    return process->code_fd >= 0;
}

int inject_listening_meet(struct inject_process *process, struct sprof_error *error)
{
    if (!receive_hello(process))
        return sprof_error_set(
            error, SPROF_ESTATE, 0,
            "process %d listens, but its tracing agent does not answer: it may "
            "be stopped, another user's, or not allowed to open its own memory%s",
            (int)process->pid, inject_lock_advice(process->pid));
    return inject_hello_check(process, error);
}

/* == Beginning == */

int inject_listening_go(struct inject_process *process, struct sprof_error *error)
{
    const struct probe_request go = {.kind = PROBE_GO};
    struct probe_answer answer;
    struct pollfd readable = {.fd = process->agent_fd, .events = POLLIN};
    return send(process->agent_fd, &go, sizeof go, MSG_NOSIGNAL) == sizeof go &&
                   poll(&readable, 1, HELLO_MS) == 1 &&
                   recv(process->agent_fd, &answer, sizeof answer, 0) == sizeof answer
               ? 0
               : sprof_error_set(error, SPROF_ESTATE, 0, "the tracing agent of process %d is gone",
                                 (int)process->pid);
}
