/* Sends requests to the recorder of a file. */
#include "control/control.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ANSWER_TIMEOUT_MS = 10000 };

static int not_recording(const char *output, int errnum, struct sprof_error *error)
{
    if (errnum == EACCES || errnum == EPERM)
        return sprof_error_set(error, SPROF_EPERMISSION, errnum,
                               "%s is being recorded by another user, who alone may control it\n"
                               "run `sprof ctl` as that user, or as root",
                               output);
    return sprof_error_set(error, SPROF_ESTATE, errnum,
                           "%s is not being recorded now: nothing to control\n"
                           "give the file of a running `sprof record` or `sprof trace` with -i",
                           output);
}

static int ask(int fd, const char *output, const char *command, char *answer, size_t size,
               struct sprof_error *error)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    const bool is_sent = send(fd, command, strlen(command), MSG_NOSIGNAL) >= 0;
    const int errnum = is_sent ? ECONNRESET : errno;
    if (is_sent && poll(&ready, 1, ANSWER_TIMEOUT_MS) <= 0)
        return sprof_error_set(error, SPROF_EIO, ETIMEDOUT,
                               "the recorder of %s does not answer; is it stopped?", output);
    ssize_t got = recv(fd, answer, size - 1, MSG_DONTWAIT);
    if (got < 0 && errno == ECONNRESET) /* it has hung up before a request came: this is why */
        got = recv(fd, answer, size - 1, MSG_DONTWAIT);
    if (got <= 0)
        return not_recording(output, errnum, error);
    answer[got] = '\0';
    return 0;
}

/* A process of another user may be called sprof, and may put a socket beside a file of its own. */
static int check_peer(int fd, const char *output, pid_t from, struct sprof_error *error)
{
    struct ucred peer = {0};
    struct stat facts;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
        return not_recording(output, errno, error);
    const bool is_owner =
        from == CONTROL_NAMED && !lstat(output, &facts) && facts.st_uid == peer.uid;
    if ((peer.uid == 0 || peer.uid == geteuid() || is_owner) && (from <= 0 || from == peer.pid))
        return 0;
    return sprof_error_set(error, SPROF_EPERMISSION, 0,
                           "process %d of user %u answers for %s, which is not a recorder of yours "
                           "or of root\n"
                           "name the file of a recording with -i",
                           (int)peer.pid, (unsigned)peer.uid, output);
}

int control_send(const char *output, pid_t from, const char *command, struct sprof_str *answer,
                 struct sprof_error *error)
{
    struct sockaddr_un address;
    int directory_fd;
    if (strlen(command) >= CONTROL_REQUEST_MAX)
        return control_refuse_long(error);
    int result = control_address(output, &address, &directory_fd, error);
    if (result)
        return result;
    char text[CONTROL_ANSWER_MAX];
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        result = sprof_error_set(error, SPROF_ELIMIT, errno, "cannot make a socket: %s",
                                 strerror(errno));
    else if (connect(fd, (void *)&address, sizeof address))
        result = not_recording(output, errno, error);
    else if (!(result = check_peer(fd, output, from, error)))
        result = ask(fd, output, command, text, sizeof text, error);
    if (fd >= 0)
        close(fd);
    close(directory_fd);
    if (result)
        return result;
    if (*text != '0')
        return sprof_error_set(error, *text == '2' ? SPROF_EUSAGE : SPROF_ESTATE, 0, "%s",
                               text + 1);
    return sprof_str_append(answer, text + 1) ? sprof_error_memory(error) : 0;
}
