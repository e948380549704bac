/* The socket over which a recording is controlled while it runs: OUTPUT.ctl beside the database,
 * which only its owner may use. One message is one request, "stop" or "rate 99"; the answer is one
 * message: a digit, which is the exit status of `sprof ctl`, and a text. */
#ifndef SPROF_RECORD_CONTROL_H
#define SPROF_RECORD_CONTROL_H

#include "base/base.h"

#include <sys/un.h>

enum {
    RECORD_CONTROL_TEXT_MAX = 1024, /* of a request or an answer, with its NUL */
    RECORD_CONTROL_CLIENTS = 8,     /* that wait to be answered at a time */
};

struct record_control {
    char *path; /* of the socket; NULL: closed */
    int listener, poll_fd;
    int clients[RECORD_CONTROL_CLIENTS]; /* -1: free */
};

#define RECORD_CONTROL_NONE ((struct record_control){.listener = -1, .poll_fd = -1})

/* Does what a request says, and appends the answer. Returns 0 or the code of the failure that the
 * answer explains. */
typedef int record_control_handler(void *context, char *request, struct sprof_str *answer);

/* Makes the socket of a recording. What a recorder that was killed has left is replaced. Fails with
 * SPROF_ESTATE where the path is somebody else's, or SPROF_EIO, and then the socket is closed. */
int record_control_open(struct record_control *control, const char *output,
                        struct sprof_error *error);

/* Readable when there is something to serve. */
int record_control_fd(const struct record_control *control);

/* Takes what has come in and answers it; never blocks. Who is neither the owner nor root is turned
 * away. */
void record_control_serve(struct record_control *control, record_control_handler *handle,
                          void *context);

/* Removes the socket. */
void record_control_close(struct record_control *control);

/* The address of the socket of a recording; *directory_fd is to be closed after its use. Returns 0,
 * SPROF_ENOTFOUND (no such directory) or SPROF_ELIMIT (the name is too long). */
int record_control_address(const char *output, struct sockaddr_un *address, int *directory_fd,
                           struct sprof_error *error);

#endif
