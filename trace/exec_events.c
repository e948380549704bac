/* Reads the kernel's events of execve. */
#include "trace/exec_events.h"

#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 4 << 20, PATIENCE_MS = 1000, MESSAGE_MOST = 4096 };

static bool take_event(const unsigned char *bytes, size_t count, struct proc_event *event)
{
    struct nlmsghdr header;
    struct cn_msg message;
    const size_t body = NLMSG_HDRLEN + sizeof message, least = body + sizeof event->what;
    if (count < least)
        return false;
    memcpy(&header, bytes, sizeof header);
    memcpy(&message, bytes + NLMSG_HDRLEN, sizeof message);
    if (header.nlmsg_len > count || header.nlmsg_type != NLMSG_DONE ||
        message.id.idx != CN_IDX_PROC || message.id.val != CN_VAL_PROC)
        return false;
    const size_t has = count - body;
    memset(event, 0, sizeof *event);
    memcpy(event, bytes + body, has < sizeof *event ? has : sizeof *event);
    return true;
}

/* Returns 1 if there is no message of the kernel. Other senders' messages are dropped. */
static int receive(struct trace_exec_events *events, struct proc_event *event)
{
    _Alignas(struct nlmsghdr) unsigned char bytes[MESSAGE_MOST];
    for (;;) {
        struct sockaddr_nl from = {0};
        socklen_t size = sizeof from;
        const ssize_t got = recvfrom(events->fd, bytes, sizeof bytes, MSG_DONTWAIT,
                                     (struct sockaddr *)&from, &size);
        if (got < 0 && errno == ENOBUFS)
            events->lost++;
        else if (got < 0 && errno != EINTR)
            return errno == EAGAIN ? 1 : SPROF_EIO;
        else if (got > 0 && !from.nl_pid && take_event(bytes, (size_t)got, event))
            return 0;
    }
}

static bool ask(int fd)
{
    const enum proc_cn_mcast_op listen = PROC_CN_MCAST_LISTEN;
    _Alignas(
        struct nlmsghdr) unsigned char bytes[NLMSG_HDRLEN + sizeof(struct cn_msg) + sizeof listen];
    const struct nlmsghdr header = {
        .nlmsg_len = sizeof bytes, .nlmsg_type = NLMSG_DONE, .nlmsg_pid = 0};
    const struct cn_msg message = {.id = {CN_IDX_PROC, CN_VAL_PROC}, .len = sizeof listen};
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + NLMSG_HDRLEN, &message, sizeof message);
    memcpy(bytes + NLMSG_HDRLEN + sizeof message, &listen, sizeof listen);
    return send(fd, bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes;
}

/* Returns the errno in the kernel's answer. -1: no answer, as in a separate pid namespace. */
static int answer_of(struct trace_exec_events *events)
{
    const uint64_t end_ns = sprof_clock_monotonic_ns() + PATIENCE_MS * 1000000ull;
    while (sprof_clock_monotonic_ns() < end_ns) {
        struct pollfd polled = {.fd = events->fd, .events = POLLIN};
        struct proc_event event;
        poll(&polled, 1, PATIENCE_MS);
        while (!receive(events, &event))
            if (event.what == PROC_EVENT_NONE)
                return (int)event.event_data.ack.err;
    }
    return -1;
}

int trace_exec_events_open(struct trace_exec_events *events, struct sprof_error *error)
{
    const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
    const int room = ROOM;
    *events = (struct trace_exec_events){
        .fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR)};
    if (events->fd < 0)
        return sprof_error_set(error, SPROF_EUNSUPPORTED, errno,
                               "this kernel has no events of processes (CONFIG_PROC_EVENTS): %s",
                               strerror(errno));
    setsockopt(events->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    const bool bound = !bind(events->fd, (const struct sockaddr *)&address, sizeof address);
    const int failed = bound && ask(events->fd) ? answer_of(events) : errno;
    if (!failed)
        return 0;
    trace_exec_events_close(events);
    if (failed == EPERM || failed == EACCES)
        return sprof_error_set(error, SPROF_EPERMISSION, failed,
                               "only root sees which programs start on a machine (CAP_NET_ADMIN)");
    return sprof_error_set(error, SPROF_EUNSUPPORTED, failed < 0 ? 0 : failed,
                           "the kernel says nothing of programs that start%s%s: watch from outside "
                           "of containers",
                           failed < 0 ? "" : ": ", failed < 0 ? "" : strerror(failed));
}

int trace_exec_events_next(struct trace_exec_events *events, pid_t *pid)
{
    struct proc_event event;
    int result;
    while (!(result = receive(events, &event)))
        if (event.what == PROC_EVENT_EXEC) {
            *pid = event.event_data.exec.process_tgid;
            return 0;
        }
    return result;
}

void trace_exec_events_close(struct trace_exec_events *events)
{
    if (events->fd >= 0)
        close(events->fd);
    events->fd = -1;
}
