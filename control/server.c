/* Serves the socket over which a recording is controlled. */
#include "control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define SILENT_NS UINT64_C(2000000000)

static const char suffix[] = ".ctl";

/* An address holds 108 bytes: the directory is named by a descriptor, so that only the last part of
 * the path must fit. */
static int address_in(int directory_fd, const char *name, const char *end,
                      struct sockaddr_un *address, struct sprof_error *error)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int length = snprintf(address->sun_path, sizeof address->sun_path,
                                "/proc/self/fd/%d/%s%s", directory_fd, name, end);
    if (length < (int)sizeof address->sun_path)
        return 0;
    return sprof_error_set(error, SPROF_ELIMIT, ENAMETOOLONG,
                           "%s: the name is too long for a control socket beside it; use a shorter "
                           "one with -o",
                           name);
}

int control_address(const char *output, struct sockaddr_un *address, int *directory_fd,
                    struct sprof_error *error)
{
    const char *slash = strrchr(output, '/'), *name = slash ? slash + 1 : output;
    char directory[4096];
    snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - output) + 1 : 1,
             slash ? output : ".");
    *directory_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*directory_fd < 0)
        return sprof_error_set(error, SPROF_ENOTFOUND, errno, "cannot open the directory %s: %s",
                               directory, strerror(errno));
    const int result = address_in(*directory_fd, name, suffix, address, error);
    if (result)
        close(*directory_fd);
    return result;
}

/* == Opening == */

/* Whether a recorder answers at the address. */
static bool is_served(const struct sockaddr_un *address)
{
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool served =
        fd >= 0 && (!connect(fd, (const void *)address, sizeof *address) || errno == EAGAIN);
    if (fd >= 0)
        close(fd);
    return served;
}

/* Removes the socket that a killed recorder of this user has left; nothing else. */
static void remove_left_over(const struct sockaddr_un *address)
{
    struct stat status;
    if (!lstat(address->sun_path, &status) && S_ISSOCK(status.st_mode) &&
        status.st_uid == geteuid() && !is_served(address))
        unlink(address->sun_path);
}

/* The socket that is at the place; 0: none of this user. */
static ino_t inode_at(const struct sprof_place *place)
{
    struct stat facts;
    const bool found = place->directory_fd >= 0 &&
                       !fstatat(place->directory_fd, place->name, &facts, AT_SYMLINK_NOFOLLOW);
    return found && S_ISSOCK(facts.st_mode) && facts.st_uid == geteuid() ? facts.st_ino : 0;
}

static int find_place(struct sprof_place *place, const char *path, struct sprof_error *error)
{
    const int found = sprof_place_find(place, path);
    if (found == -ELOOP)
        return sprof_place_refuse_link(place, path, SPROF_EPERMISSION, error);
    if (found == -ENAMETOOLONG)
        return sprof_error_set(error, SPROF_ELIMIT, -found,
                               "%s: the name is too long for a control socket; use a shorter one "
                               "with -o",
                               path);
    if (found)
        return sprof_error_set(error, SPROF_ENOTFOUND, -found,
                               "cannot make the control socket %s: %s", path, strerror(-found));
    return 0;
}

static int bind_socket(struct control_server *control, const char *output,
                       struct sprof_error *error)
{
    struct sockaddr_un address;
    int result = find_place(&control->place, control->path, error);
    if (!result)
        result = address_in(control->place.directory_fd, control->place.name, "", &address, error);
    if (result)
        return result;
    remove_left_over(&address);
    const mode_t mask = umask(S_IRWXG | S_IRWXO | S_IXUSR);
    const bool failed = bind(control->listener, (void *)&address, sizeof address) ||
                        listen(control->listener, CONTROL_CLIENTS);
    const int errnum = errno;
    umask(mask);
    if (!failed) {
        control->inode = inode_at(&control->place);
        return 0;
    }
    return sprof_error_set(error, errnum == EADDRINUSE ? SPROF_ESTATE : SPROF_EIO, errnum,
                           "cannot make the control socket %s%s: %s", output, suffix,
                           errnum == EADDRINUSE ? "something else is there; remove it"
                                                : strerror(errnum));
}

static int poll_for(struct control_server *control, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(control->poll_fd, EPOLL_CTL_ADD, fd, &event);
}

int control_server_open(struct control_server *control, const char *output,
                        struct sprof_error *error)
{
    *control = CONTROL_SERVER_NONE;
    for (size_t i = 0; i < CONTROL_CLIENTS; i++)
        control->clients[i].fd = -1;
    control->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    control->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    int result = 0;
    if (control->listener < 0 || control->poll_fd < 0 || poll_for(control, control->listener))
        result = sprof_error_set(error, SPROF_EIO, errno, "cannot make a control socket: %s",
                                 strerror(errno));
    if (!result && asprintf(&control->path, "%s%s", output, suffix) < 0) {
        control->path = NULL;
        result = sprof_error_memory(error);
    }
    if (!result)
        result = bind_socket(control, output, error);
    if (result)
        control_server_close(control);
    return result;
}

static void answer(int fd, int result, const struct sprof_str *text)
{
    char status = !result ? '0' : result == SPROF_EUSAGE ? '2' : '1';
    const bool is_cut = text->length > CONTROL_ANSWER_MAX - 2;
    size_t size = is_cut ? CONTROL_ANSWER_MAX - 2 : text->length;
    if (is_cut && text->text[size - 1] == '\n')
        size--; /* a table that ends within a line is known to be cut */
    struct iovec parts[] = {{&status, 1}, {text->text, size}};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        /* The client has gone. */
    }
}

static void let_go(struct control_client *client)
{
    sprof_str_release(&client->text);
    close(client->fd);
    *client = (struct control_client){.fd = -1};
}

void control_server_close(struct control_server *control)
{
    if (control->inode && control->inode == inode_at(&control->place))
        unlinkat(control->place.directory_fd, control->place.name, 0);
    for (size_t i = 0; i < CONTROL_CLIENTS && control->path; i++) {
        struct control_client *client = &control->clients[i];
        if (client->waits)
            answer(client->fd, client->result, &client->text);
        if (client->fd >= 0)
            let_go(client);
    }
    free(control->path);
    sprof_place_close(&control->place);
    if (control->listener >= 0)
        close(control->listener);
    if (control->poll_fd >= 0)
        close(control->poll_fd);
    *control = CONTROL_SERVER_NONE;
}

char *control_server_variable(const struct control_server *control)
{
    char *path = control->path ? realpath(control->path, NULL) : NULL, *assignment = NULL;
    if (path && asprintf(&assignment, "SPROF_CONTROL=%s", path) < 0)
        assignment = NULL;
    free(path);
    return assignment;
}

int control_server_fd(const struct control_server *control)
{
    return control->poll_fd;
}

bool control_server_is_asked(const struct control_server *control)
{
    struct pollfd asked = {.fd = control->poll_fd, .events = POLLIN};
    return control->poll_fd >= 0 && poll(&asked, 1, 0) > 0;
}

/* == Serving == */

static bool is_allowed(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
           (peer.uid == geteuid() || peer.uid == 0);
}

/* What is cut may mean something else: it is not handled. */
static int handle_whole(char request[CONTROL_REQUEST_MAX], size_t size, control_handler *handle,
                        void *context, struct sprof_str *text)
{
    struct sprof_error error = {0};
    if (size >= CONTROL_REQUEST_MAX) {
        control_refuse_long(&error);
        sprof_str_append(text, error.message);
        return SPROF_EUSAGE;
    }
    request[size] = '\0';
    return handle(context, request, text);
}

void control_server_hold(struct control_server *control)
{
    control->holds = true;
}

/* One request, one answer, and that was it. */
static void serve_client(struct control_server *control, struct control_client *client,
                         control_handler *handle, void *context)
{
    char request[CONTROL_REQUEST_MAX];
    if (client->waits)
        return;
    const ssize_t size = recv(client->fd, request, sizeof request, MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size > 0) {
        struct sprof_urgency urgency;
        sprof_urgency_raise(&urgency);
        client->result = handle_whole(request, (size_t)size, handle, context, &client->text);
        client->waits = control->holds;
        if (!client->waits)
            answer(client->fd, client->result, &client->text);
        sprof_urgency_restore(&urgency);
    }
    control->holds = false;
    if (!client->waits)
        let_go(client);
}

/* One that is free; else that of the client that has been silent the longest, and too long. */
static struct control_client *find_room(struct control_server *control, uint64_t now_ns)
{
    struct control_client *oldest = NULL;
    for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
        struct control_client *client = &control->clients[i];
        if (client->fd < 0)
            return client;
        if (!client->waits && (!oldest || client->since_ns < oldest->since_ns))
            oldest = client;
    }
    if (!oldest || now_ns - oldest->since_ns < SILENT_NS)
        return NULL;
    let_go(oldest);
    return oldest;
}

static void turn_away(int fd)
{
    struct sprof_str text = {0};
    sprof_str_appendf(&text,
                      "%d others have connected to the recorder, and say nothing\ntry again in "
                      "some seconds: such are disconnected then",
                      CONTROL_CLIENTS);
    answer(fd, SPROF_ESTATE, &text);
    sprof_str_release(&text);
    close(fd);
}

/* A client's request has mostly come by the time it is taken in: it is answered at once. */
static void accept_client(struct control_server *control, control_handler *handle, void *context)
{
    const int fd = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    if (fd < 0)
        return;
    const bool may_ask = is_allowed(fd);
    struct control_client *room = may_ask ? find_room(control, now_ns) : NULL;
    if (may_ask && !room) {
        turn_away(fd);
        return;
    }
    if (!may_ask || poll_for(control, fd)) {
        close(fd);
        return;
    }
    *room = (struct control_client){.fd = fd, .since_ns = now_ns};
    serve_client(control, room, handle, context);
}

void control_server_serve(struct control_server *control, control_handler *handle, void *context)
{
    struct epoll_event ready[CONTROL_CLIENTS + 1];
    const int count = control->poll_fd < 0
                          ? 0
                          : epoll_wait(control->poll_fd, ready, sizeof ready / sizeof *ready, 0);
    for (int i = 0; i < count; i++) {
        if (ready[i].data.fd == control->listener) {
            accept_client(control, handle, context);
            continue;
        }
        for (size_t c = 0; c < CONTROL_CLIENTS; c++)
            if (control->clients[c].fd == ready[i].data.fd)
                serve_client(control, &control->clients[c], handle, context);
    }
}
