/* Messages over a Unix socket that keeps their bounds, with at most one descriptor each. */
#ifndef SPROF_BASE_MESSAGE_H
#define SPROF_BASE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

/* Sends a message, and `fd` with it where that is not -1; it stays the caller's, too. `flags` as of
 * sendmsg; no SIGPIPE is raised. False, with errno: not all of it was sent. */
bool sprof_message_send(int socket_fd, const void *bytes, size_t size, int fd, int flags);

/* Waits for a message of exactly `size` bytes. *fd: the descriptor that came along, to be closed by
 * the caller and closed on exec; -1: none. It may have come though the result is false: the other
 * end is gone, or said something else. */
bool sprof_message_receive(int socket_fd, void *bytes, size_t size, int *fd);

#endif
