/* Sends and receives the messages between sprof and a process that reads foreign files. */
#include "symbolize/child_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static bool send_bytes(int socket, const void *data, size_t size, int fd)
{
    union control control = {0};
    const char *next = data;
    while (size) {
        struct iovec piece = {(void *)next, size};
        struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
        if (fd >= 0) {
            message.msg_control = &control;
            message.msg_controllen = sizeof control.bytes;
            control.header.cmsg_len = CMSG_LEN(sizeof fd);
            control.header.cmsg_level = SOL_SOCKET;
            control.header.cmsg_type = SCM_RIGHTS;
            memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
        }
        const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        fd = -1;
        next += sent;
        size -= (size_t)sent;
    }
    return true;
}

bool symbolize_child_send(int socket, enum child_kind kind, int64_t number,
                          const struct sprof_bytes *pieces, size_t count, int fd)
{
    struct child_header header = {.kind = kind, .number = number};
    for (size_t i = 0; i < count; i++)
        header.size += pieces[i].size;
    bool sent = send_bytes(socket, &header, sizeof header, fd);
    for (size_t i = 0; i < count && sent; i++)
        sent = send_bytes(socket, pieces[i].data, pieces[i].size, -1);
    return sent;
}

/* What was sent with a message that is refused is closed. Of several, for which the buffer has room
 * as its end is aligned, the last one stays. */
static bool take_descriptor(struct msghdr *message, int *fd)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part))
        for (size_t at = CMSG_LEN(0);
             part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS &&
             at + sizeof *fd <= part->cmsg_len;
             at += sizeof *fd) {
            if (*fd >= 0)
                close(*fd);
            memcpy(fd, (const char *)part + at, sizeof *fd);
        }
    return !(message->msg_flags & MSG_CTRUNC);
}

bool symbolize_child_receive(int socket, struct child_header *header, int *fd)
{
    char *next = (char *)header;
    size_t left = sizeof *header;
    *fd = -1;
    while (left) {
        union control control;
        struct iovec piece = {next, left};
        struct msghdr message = {.msg_iov = &piece,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof control.bytes};
        const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || !take_descriptor(&message, fd)) {
            if (*fd >= 0)
                close(*fd);
            *fd = -1;
            return false;
        }
        next += got;
        left -= (size_t)got;
    }
    return true;
}

bool symbolize_child_take(int socket, void *buffer, size_t size)
{
    char *next = buffer;
    while (size) {
        const ssize_t got = recv(socket, next, size, MSG_WAITALL);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        next += got;
        size -= (size_t)got;
    }
    return true;
}
