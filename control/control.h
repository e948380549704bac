/* control: the socket over which a recording is controlled while it runs, both of its sides.
 * OUTPUT.ctl beside the database, which only its owner may use. One message is one request, "stop"
 * or "rate 99"; the answer is one message: a digit, which is the exit status of `sprof ctl`, and a
 * text. */
#ifndef SPROF_CONTROL_CONTROL_H
#define SPROF_CONTROL_CONTROL_H

#include "base/base.h"

#include <sys/types.h>
#include <sys/un.h>

enum {
    CONTROL_REQUEST_MAX = 16 << 10, /* bytes, with the NUL; longer ones are refused */
    CONTROL_ANSWER_MAX = 128 << 10, /* the same; longer ones are cut */
    CONTROL_CLIENTS = 64,           /* that wait to be answered at a time */
};

/* One that has said nothing yet, or waits for an answer that is held back. */
struct control_client {
    int fd; /* -1: free */
    uint64_t since_ns;
    bool waits;
    int result; /* with `text`: the answer */
    struct sprof_str text;
};

struct control_server {
    char *path; /* of the socket, for messages and the command; NULL: closed */
    struct sprof_place place;
    ino_t inode; /* of the socket at the place; 0: none is there */
    int listener, poll_fd;
    bool holds; /* see control_server_hold */
    struct control_client clients[CONTROL_CLIENTS];
};

#define CONTROL_SERVER_NONE                                                                        \
    ((struct control_server){.place = SPROF_PLACE_NONE, .listener = -1, .poll_fd = -1})

/* Does what a request says, and appends the answer. Returns 0 or the code of the failure that the
 * answer explains. */
typedef int control_handler(void *context, char *request, struct sprof_str *answer);

/* Makes the socket of a recording, in the directory that base/place.h finds. What a recorder that
 * was killed has left is replaced. Fails with SPROF_ESTATE where something else is at the path,
 * SPROF_EPERMISSION where a link of another user leads there, or SPROF_EIO; then the socket is
 * closed. */
int control_server_open(struct control_server *control, const char *output,
                        struct sprof_error *error);

/* The assignment SPROF_CONTROL=PATH of a command that is to control its own recording, as sprof.h
 * and `sprof ctl` in it do. NULL: the socket is closed, or out of memory; the caller frees. */
char *control_server_variable(const struct control_server *control);

/* Readable when there is something to serve. */
int control_server_fd(const struct control_server *control);

/* Whether a client waits to be served. */
bool control_server_is_asked(const struct control_server *control);

/* Takes what has come in and answers it; never blocks. Turns away clients that are neither the
 * owner nor root. Drops a client that is silent for two seconds where another needs its slot. */
void control_server_serve(struct control_server *control, control_handler *handle, void *context);

/* For a handler: what it answers is sent when the socket is removed, after all that the request
 * brings about. */
void control_server_hold(struct control_server *control);

/* Removes the socket, and nothing that has taken its place. */
void control_server_close(struct control_server *control);

/* The address of the socket of a recording; *directory_fd is to be closed after its use. Returns 0,
 * SPROF_ENOTFOUND (no such directory) or SPROF_ELIMIT (the name is too long). */
int control_address(const char *output, struct sockaddr_un *address, int *directory_fd,
                    struct sprof_error *error);

/* == Of a process == */

/* Paths of recordings. Zero is a valid empty value. */
struct control_files {
    SPROF_VEC(char *) list;     /* owned */
    SPROF_VEC(pid_t) recorders; /* … and the process that makes each */
};

/* Finds the recordings that sprof makes of a process now, as far as their recorders are the
 * caller's or root's. Returns 0 or SPROF_ENOMEM; to be released in both cases. */
int control_find(pid_t pid, struct control_files *files);
void control_files_release(struct control_files *files);

/* == Commands == */

struct control_command {
    const char *name, *synonym;
    const char *argument; /* what it must be given, or, behind a "[", can be; NULL: nothing */
    int (*run)(void *context, char *argument, struct sprof_str *answer, struct sprof_error *error);
};

struct control_commands {
    const char *names; /* all of them, for a user who has mistyped one */
    const struct control_command *items;
    size_t count;
};

/* The error of a request that is too long: SPROF_EUSAGE. */
int control_refuse_long(struct sprof_error *error);

/* A time as requests have it, in nanoseconds, from 1 to 10^18. False: it is none. */
bool control_parse_time(const char *text, uint64_t *nanoseconds);

/* Whether the text is one of the commands: 0, or SPROF_EUSAGE. */
int control_check(const struct control_commands *commands, const char *text,
                  struct sprof_error *error);

/* Does what a request says, and appends the answer, or why it could not be done. Returns the code
 * of that. */
int control_carry_out(const struct control_commands *commands, void *context, char *request,
                      struct sprof_str *answer);

/* == The other side == */

enum {
    CONTROL_NAMED = 0,     /* the user named the file: also its owner is believed */
    CONTROL_OF_CALLER = -1 /* a process of the caller's or root's */
};

/* Sends a command to the recorder of `output`, and appends the answer. `from`: the process that it
 * must be, or one of the above; else SPROF_EPERMISSION. SPROF_ESTATE where there is no recorder, or
 * it could not do it (the message is its own); SPROF_EPERMISSION where it is another user's;
 * SPROF_EUSAGE for a command that makes no sense to the recorder. */
int control_send(const char *output, pid_t from, const char *command, struct sprof_str *answer,
                 struct sprof_error *error);

#endif
