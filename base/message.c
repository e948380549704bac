/* Sends and receives messages that a descriptor may come along with. */
#include "base/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union descriptor {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

bool sprof_message_send(int socket_fd, const void *bytes, size_t size, int fd, int flags)
{
    struct iovec vector = {(void *)bytes, size};
    union descriptor control = {0};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        *header = (struct cmsghdr){CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    ssize_t sent;
    do
        sent = sendmsg(socket_fd, &message, flags | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)size;
}

/* Takes the descriptor of a message. False: there were several, or more than fit (two, as the end
 * of the buffer is aligned). All are closed then, for a peer could fill the table of descriptors.
 */
static bool take_descriptor(struct msghdr *message, int *fd)
{
    bool is_one = !(message->msg_flags & MSG_CTRUNC);
    *fd = -1;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        const size_t bytes = part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS
                                 ? part->cmsg_len - CMSG_LEN(0)
                                 : 0;
        for (size_t at = 0; at + sizeof *fd <= bytes; at += sizeof *fd) {
            int came;
            memcpy(&came, CMSG_DATA(part) + at, sizeof came);
            is_one &= *fd < 0;
            if (*fd >= 0)
                close(*fd);
            *fd = came;
        }
    }
    if (!is_one && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return is_one;
}

bool sprof_message_receive(int socket_fd, void *bytes, size_t size, int *fd)
{
    struct iovec vector = {bytes, size};
    union descriptor control = {0};
    struct msghdr message = {.msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t got;
    *fd = -1;
    do
        got = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    return got >= 0 && take_descriptor(&message, fd) && got == (ssize_t)size &&
           !(message.msg_flags & MSG_TRUNC);
}
