/* Opens the socket that agents call, and speaks with them. */
#include "sampler/agent/rendezvous.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PLACE "sprof-"
#define PLACE_TEMPLATE PLACE "XXXXXX"
#define SOCKET_NAME "agent"

enum {
    CALLERS_WAITING = 512,
    CALLERS_A_LOOK = 64,
    HELLO_WAIT_MS = 1,
    SILENT_NS = 2000000000, /* as long as an agent waits */
    OWNER_BYTES = 4096,
};

/* == What killed recorders have left == */

/* The place of one that is gone: of this user, with the socket in it, and without the lock
 * that ends with its recorder. One that was just made may not be locked yet. */
static bool is_left_behind(int directory)
{
    enum { YOUNG_S = 60 };
    struct stat place, agent;
    return !fstat(directory, &place) && place.st_uid == geteuid() &&
           (place.st_mode & ~(mode_t)S_IFMT) == S_IRWXU && time(NULL) - place.st_mtime > YOUNG_S &&
           !fstatat(directory, SOCKET_NAME, &agent, AT_SYMLINK_NOFOLLOW) &&
           S_ISSOCK(agent.st_mode) && agent.st_uid == place.st_uid &&
           !flock(directory, LOCK_EX | LOCK_NB);
}

static void clean_up(const char *parent)
{
    enum { ENTRIES_MAX = 20000 }; /* a directory for everybody may be very full */
    DIR *entries = opendir(parent);
    const struct dirent *entry;
    for (size_t i = 0; entries && i < ENTRIES_MAX && (entry = readdir(entries)); i++) {
        if (strncmp(entry->d_name, PLACE, sizeof PLACE - 1) != 0 ||
            strlen(entry->d_name) != sizeof PLACE_TEMPLATE - 1)
            continue;
        const int directory =
            openat(dirfd(entries), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (directory < 0)
            continue;
        if (is_left_behind(directory) && !unlinkat(directory, SOCKET_NAME, 0))
            unlinkat(dirfd(entries), entry->d_name, AT_REMOVEDIR);
        close(directory);
    }
    if (entries)
        closedir(entries);
}

/* == Opening == */

static int lock_directory(struct sigprof_rendezvous *rendezvous)
{
    rendezvous->directory_fd =
        open(rendezvous->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return rendezvous->directory_fd < 0 || flock(rendezvous->directory_fd, LOCK_EX) ? -errno : 0;
}

/* Two places are tried: the user's own directory for such things, and the one for everybody's. */
static int make_directory(struct sigprof_rendezvous *rendezvous)
{
    const char *const parents[] = {getenv("XDG_RUNTIME_DIR"), "/tmp", "/var/tmp"};
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        if (!parents[i] || *parents[i] != '/' ||
            strlen(parents[i]) > sizeof rendezvous->directory - sizeof "/" PLACE_TEMPLATE)
            continue;
        snprintf(rendezvous->directory, sizeof rendezvous->directory, "%s/" PLACE_TEMPLATE,
                 parents[i]);
        if (!mkdtemp(rendezvous->directory))
            continue;
        clean_up(parents[i]);
        return lock_directory(rendezvous);
    }
    rendezvous->directory[0] = '\0';
    return -errno;
}

static int open_socket(struct sigprof_rendezvous *rendezvous)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(rendezvous->path, sizeof rendezvous->path, "%s/" SOCKET_NAME, rendezvous->directory);
    memcpy(address.sun_path, rendezvous->path, sizeof address.sun_path);
    rendezvous->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (rendezvous->listener < 0 ||
        bind(rendezvous->listener, (const struct sockaddr *)&address, sizeof address) ||
        chmod(rendezvous->path, S_IRUSR | S_IWUSR) || listen(rendezvous->listener, CALLERS_WAITING))
        return -errno;
    return 0;
}

/* The kernel itself marks a robust mutex when the thread that holds it is gone, however it went.
 * The seal keeps agents from writing where the recorder's list of such mutexes goes through. */
static int open_owner(struct sigprof_rendezvous *rendezvous)
{
    pthread_mutexattr_t attributes;
    rendezvous->owner_fd = memfd_create("sprof", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (rendezvous->owner_fd < 0 || ftruncate(rendezvous->owner_fd, OWNER_BYTES))
        return -errno;
    void *page =
        mmap(NULL, OWNER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, rendezvous->owner_fd, 0);
    if (page == MAP_FAILED)
        return -errno;
    rendezvous->owner = page;
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
    if (fcntl(rendezvous->owner_fd, F_ADD_SEALS, seals))
        return -errno;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    const int result = pthread_mutex_init(rendezvous->owner, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return result ? -result : -pthread_mutex_lock(rendezvous->owner);
}

int sigprof_rendezvous_open(struct sigprof_rendezvous *rendezvous, struct sprof_error *error)
{
    *rendezvous = SIGPROF_RENDEZVOUS_NONE;
    int result = make_directory(rendezvous);
    if (!result)
        result = open_socket(rendezvous);
    if (!result)
        result = open_owner(rendezvous);
    if (!result)
        return 0;
    sigprof_rendezvous_close(rendezvous);
    return sprof_error_set(error, result == -EACCES ? SPROF_EPERMISSION : SPROF_EIO, -result,
                           "cannot make a place to meet the agents in the command: %s\n"
                           "set XDG_RUNTIME_DIR to a directory of your own that can be written to",
                           strerror(-result));
}

static int take_silent(struct sigprof_rendezvous *rendezvous, size_t index)
{
    const int fd = rendezvous->silent[index].fd;
    memmove(rendezvous->silent + index, rendezvous->silent + index + 1,
            (--rendezvous->silent_count - index) * sizeof *rendezvous->silent);
    return fd;
}

void sigprof_rendezvous_close(struct sigprof_rendezvous *rendezvous)
{
    if (rendezvous->owner) {
        pthread_mutex_unlock(rendezvous->owner);
        munmap(rendezvous->owner, OWNER_BYTES);
    }
    if (rendezvous->owner_fd >= 0)
        close(rendezvous->owner_fd);
    while (rendezvous->silent_count)
        close(take_silent(rendezvous, rendezvous->silent_count - 1));
    if (rendezvous->listener >= 0)
        close(rendezvous->listener);
    if (*rendezvous->path)
        unlink(rendezvous->path);
    if (*rendezvous->directory)
        rmdir(rendezvous->directory);
    if (rendezvous->directory_fd >= 0)
        close(rendezvous->directory_fd);
    *rendezvous = SIGPROF_RENDEZVOUS_NONE;
}

static bool is_readable(int fd, int wait_ms)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    return poll(&readable, 1, wait_ms) > 0;
}

static bool receive_hello(struct sigprof_caller *caller)
{
    struct ucred who;
    socklen_t size = sizeof who;
    if (getsockopt(caller->fd, SOL_SOCKET, SO_PEERCRED, &who, &size) || who.pid <= 0)
        return false;
    caller->pid = who.pid;
    caller->uid = who.uid;
    return recv(caller->fd, &caller->hello, sizeof caller->hello, MSG_DONTWAIT | MSG_TRUNC) ==
               (ssize_t)sizeof caller->hello &&
           caller->hello.magic == AGENT_MAGIC && caller->hello.version == AGENT_VERSION;
}

/* Most speak as soon as they are connected. */
static void let_in(struct sigprof_rendezvous *rendezvous, uint64_t now_ns)
{
    int fd, last = -1;
    for (int i = 0; i < CALLERS_A_LOOK; i++) {
        if ((fd = accept4(rendezvous->listener, NULL, NULL, SOCK_CLOEXEC)) < 0)
            break;
        if (rendezvous->silent_count == SIGPROF_SILENT_MAX)
            close(take_silent(rendezvous, 0));
        rendezvous->silent[rendezvous->silent_count++] = (struct sigprof_silent){fd, now_ns};
        last = fd;
    }
    if (last >= 0)
        is_readable(last, HELLO_WAIT_MS);
}

bool sigprof_rendezvous_accept(struct sigprof_rendezvous *rendezvous, struct sigprof_caller *caller)
{
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    let_in(rendezvous, now_ns);
    for (size_t i = 0; i < rendezvous->silent_count;) {
        if (is_readable(rendezvous->silent[i].fd, 0)) {
            caller->fd = take_silent(rendezvous, i);
            if (receive_hello(caller))
                return true;
            close(caller->fd);
        } else if (now_ns - rendezvous->silent[i].since_ns > SILENT_NS) {
            close(take_silent(rendezvous, i));
        } else {
            i++;
        }
    }
    return false;
}

bool sigprof_rendezvous_welcome(const struct sigprof_rendezvous *rendezvous,
                                const struct sigprof_caller *caller, int memory_fd,
                                unsigned ring_shift)
{
    struct agent_welcome welcome = {.magic = AGENT_MAGIC, .ring_shift = ring_shift};
    const int fds[2] = {memory_fd, rendezvous->owner_fd};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof fds)];
    } ancillary = {.header = {.cmsg_len = CMSG_LEN(sizeof fds),
                              .cmsg_level = SOL_SOCKET,
                              .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&ancillary.header), fds, sizeof fds);
    struct iovec bytes = {&welcome, sizeof welcome};
    const struct msghdr message = {.msg_iov = &bytes,
                                   .msg_iovlen = 1,
                                   .msg_control = &ancillary,
                                   .msg_controllen = sizeof ancillary};
    return sendmsg(caller->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof welcome;
}
