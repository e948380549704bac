/* Traces a process that listens, through its agent's socket. */
#include "trace/attach/listening.h"
#include "trace/attach/attach.h"
#include "trace/attach/inside.h"
#include "trace/attach/lock.h"
#include "trace/probes/probes.h"

#include "base/proc.h"
#include "plan/plan.h"
#include "trace/attach/owner.h"
#include "trace/meet.h"

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
    JUMP = 0xe9,
    NO_CODE = 0xcc,                       /* fills the agent's area */
    FAR_OPCODE = PLAN_FAR_JUMP_BYTES - 8, /* bytes before its target */
};

/* == Connecting == */

/* Whether the peer is the process itself: any process may have taken the name. */
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

bool trace_listens(pid_t pid)
{
    const int fd = connect_to(pid);
    const bool does = fd >= 0 && is_its_own(fd, pid);
    if (fd >= 0)
        close(fd);
    return does;
}

int trace_listening_connect(pid_t pid, int *agent_fd, int *lock_fd, struct sprof_error *error)
{
    const int fd = connect_to(pid);
    int result = 0;
    if (fd < 0)
        return 0;
    if (!is_its_own(fd, pid)) {
        close(fd);
        return 0;
    }
    if (trace_attach_is_filtered(pid))
        result = sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                                 "cannot trace process %d: seccomp restricts its system calls, and "
                                 "what the tracing agent needs could end it",
                                 (int)pid);
    if (!result)
        result = trace_lock_alone(pid, lock_fd, error);
    if (result) {
        close(fd);
        return result;
    }
    *agent_fd = fd;
    return 1;
}

/* == Meeting == */

/* Whether a descriptor is the memory of that process: it has the name of such a file below the
 * caller's /proc, and leads to the same file. */
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

/* The memory for code and thunks. The descriptor from the process is for users to whom the kernel
 * refuses their own; a write checks the rights of the writer again. */
static void choose_memory(struct trace_session *session)
{
    char path[64];
    sprof_proc_shared_path(path, sizeof path, session->pid, "mem");
    const int own = open(path, O_RDWR | O_CLOEXEC);
    if (own >= 0 || !is_memory(session->code_fd, session->pid)) {
        close(session->code_fd);
        session->code_fd = own;
    }
}

static bool receive_hello(struct trace_session *session)
{
    struct pollfd readable = {.fd = session->agent_fd, .events = POLLIN};
    if (poll(&readable, 1, HELLO_MS) != 1 ||
        !sprof_message_receive(session->agent_fd, &session->hello, sizeof session->hello,
                               &session->code_fd) ||
        session->code_fd < 0)
        return false;
    choose_memory(session);
    return session->code_fd >= 0;
}

int trace_listening_meet(struct trace_session *session, struct sprof_error *error)
{
    if (!receive_hello(session))
        return sprof_error_set(
            error, SPROF_ESTATE, 0,
            "process %d listens, but its tracing agent does not answer: it may "
            "be stopped, another user's, or not allowed to open its own memory%s",
            (int)session->pid, trace_attach_lock_advice(session->pid));
    return trace_hello_check(session, error);
}

/* == Thunks == */

/* A thread within a thunk, or on its way to one, may leave it only when another trace has begun. So
 * a thunk, once written, belongs to one function as long as the process lives. */
struct thunks {
    struct sprof_map bodies; /* address → place + 1 */
    uint8_t *is_taken;       /* by place, up to `end` */
    uint32_t end;
};

/* Reads the thunks that earlier traces have written: side by side from the first place on, but for
 * some that calibrated. */
static int read_thunks(const struct trace_session *session, struct thunks *thunks)
{
    enum { PIECE = 1024 };
    const size_t size = PIECE * PROBE_THUNK_BYTES;
    uint8_t *piece = malloc(size);
    int result = piece ? 0 : SPROF_ENOMEM;
    bool is_over = false;
    for (uint32_t first = 0; first < PROBE_THUNKS && !is_over && !result; first += PIECE) {
        const uint64_t at = session->hello.thunks + (uint64_t)first * PROBE_THUNK_BYTES;
        is_over = pread(session->code_fd, piece, size, (off_t)at) != (ssize_t)size;
        for (uint32_t i = 0; i < PIECE && !is_over && !result; i++) {
            const uint8_t *thunk = piece + (size_t)i * PROBE_THUNK_BYTES;
            uint64_t body;
            memcpy(&body, thunk + PROBE_THUNK_BODY, sizeof body);
            is_over = *thunk == NO_CODE;
            if (is_over || !body || body == session->hello.nothing)
                continue;
            thunks->end = first + i + 1;
            thunks->is_taken[first + i] = 1;
            result = sprof_map_put(&thunks->bodies, body, first + i + 1);
        }
    }
    free(piece);
    return result;
}

int trace_listening_number(struct trace_session *session, struct sprof_error *error)
{
    struct thunks thunks = {.is_taken = calloc(PROBE_THUNKS, 1)};
    int result = !thunks.is_taken || read_thunks(session, &thunks) ? sprof_error_memory(error) : 0;
    uint32_t next = 0;
    for (size_t i = 0; i < session->probes.count && !result; i++) {
        struct trace_probe *probe = &session->probes.items[i];
        const uint64_t body = session->files.items[probe->file].bias + probe->function->site +
                              probe->function->displaced;
        const uint64_t *place = sprof_map_get(&thunks.bodies, body);
        if (place) {
            probe->thunk = (uint32_t)*place - 1;
            continue;
        }
        while (next < PROBE_THUNKS && thunks.is_taken[next])
            next++;
        probe->thunk = next++;
        thunks.end = next > thunks.end ? next : thunks.end;
    }
    session->capacity = thunks.end;
    if (!result && thunks.end >= PROBE_THUNKS)
        result = sprof_error_set(error, SPROF_ELIMIT, 0,
                                 "process %d has had %d functions probed in its life, and no more "
                                 "can be: choose those of traces before, or start it again",
                                 (int)session->pid, PROBE_THUNKS - 1);
    sprof_map_release(&thunks.bodies);
    free(thunks.is_taken);
    return result;
}

/* == Switches == */

static bool write_there(const struct trace_session *session, uint64_t address, const void *bytes,
                        size_t size)
{
    return pwrite(session->code_fd, bytes, size, (off_t)address) == (ssize_t)size;
}

/* The switch is off, so its target may be written in parts. */
int trace_listening_aim(struct trace_session *session, uint64_t site,
                        const struct plan_function *function, uint64_t thunk,
                        uint8_t jump[PLAN_JUMP_BYTES], struct sprof_error *error)
{
    int32_t distance;
    memcpy(&distance, function->original + 1, sizeof distance);
    const uint64_t target = site + PLAN_JUMP_BYTES + (uint64_t)(int64_t)distance + FAR_OPCODE;
    memcpy(jump, function->original, PLAN_JUMP_BYTES);
    jump[0] = JUMP;
    return write_there(session, target, &thunk, sizeof thunk)
               ? 0
               : sprof_error_set(error, SPROF_EPERMISSION, errno,
                                 "the memory of process %d may not be written: %s",
                                 (int)session->pid, strerror(errno));
}

static bool turn(struct trace_session *session, struct trace_probe *probe, uint8_t from, uint8_t to)
{
    const uint64_t site = session->files.items[probe->file].bias + probe->function->site;
    uint8_t there;
    return pread(session->code_fd, &there, 1, (off_t)site) == 1 && there == from &&
           write_there(session, site, &to, 1);
}

int trace_listening_begin(struct trace_session *session, struct sprof_error *error)
{
    const struct probe_request go = {.kind = PROBE_GO};
    struct probe_answer answer;
    struct pollfd readable = {.fd = session->agent_fd, .events = POLLIN};
    if (send(session->agent_fd, &go, sizeof go, MSG_NOSIGNAL) != sizeof go ||
        poll(&readable, 1, HELLO_MS) != 1 ||
        recv(session->agent_fd, &answer, sizeof answer, 0) != sizeof answer)
        return sprof_error_set(error, SPROF_ESTATE, 0, "the tracing agent of process %d is gone",
                               (int)session->pid);
    session->start_ns = sprof_clock_monotonic_ns();
    session->start_ticks = probe_ticks();
    for (size_t i = 0; i < session->probes.count; i++) {
        struct trace_probe *probe = &session->probes.items[i];
        session->shared->switches[i] =
            session->files.items[probe->file].bias + probe->function->site;
        if (probe->jump[0])
            probe->is_placed = turn(session, probe, PLAN_EMBEDDED_OFF, JUMP);
        session->refused += probe->is_chosen && !probe->is_placed;
        probe->is_chosen &= probe->is_placed;
    }
    return 0;
}

void trace_listening_leave(struct trace_session *session)
{
    if (session->is_out)
        return;
    session->is_out = true;
    if (session->shared)
        memset(session->shared->tiers, PROBE_OFF, sizeof session->shared->tiers);
    for (size_t i = 0; i < session->probes.count; i++) {
        struct trace_probe *probe = &session->probes.items[i];
        if (probe->is_placed)
            turn(session, probe, JUMP, PLAN_EMBEDDED_OFF);
        probe->is_placed = false;
    }
}
