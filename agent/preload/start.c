/* Starts the sampling agent in a process: connects to sprof, maps rings, restores the
 * environment. */
#include "agent/preload/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* == The environment == */

extern char **environ;

static char **find_variable(const char *name)
{
    const size_t length = strlen(name);
    for (char **at = environ; at && *at; at++)
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
            return at;
    return NULL;
}

static void remove_variable(char **at)
{
    do
        at[0] = at[1];
    while (*at++);
}

static bool take_variables(void)
{
    char **socket_at = find_variable(AGENT_SOCKET_VARIABLE);
    char **preload_at = find_variable("LD_PRELOAD");
    if (!socket_at || !preload_at)
        return false;
    char *socket_path = *socket_at + sizeof AGENT_SOCKET_VARIABLE;
    char *library = *preload_at + sizeof "LD_PRELOAD";
    const size_t library_length = strcspn(library, ": ");
    const size_t path_length = strlen(socket_path);
    if (path_length >= sizeof agent_process.socket_path ||
        library_length + sizeof "LD_PRELOAD=" > sizeof agent_process.library)
        return false;
    memcpy(agent_process.socket_path, socket_path, path_length + 1);
    memcpy(agent_process.socket_variable, *socket_at,
           sizeof AGENT_SOCKET_VARIABLE + path_length + 1);
    memcpy(agent_process.library, *preload_at, sizeof "LD_PRELOAD" + library_length);
    remove_variable(socket_at);
    preload_at = find_variable("LD_PRELOAD");
    if (library[library_length])
        memmove(library, library + library_length + 1, strlen(library + library_length + 1) + 1);
    else
        remove_variable(preload_at);
    return true;
}

/* == The conversation with sprof == */

/* A forked child's time namespace may differ (time_namespaces(7)). */
static void find_clock_offset(void)
{
    char text[256], *end;
    const int fd =
        (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC, 0);
    const ssize_t size = fd < 0 ? 0 : syscall(SYS_read, fd, text, sizeof text - 1);
    text[size > 0 ? size : 0] = '\0';
    if (fd >= 0)
        syscall(SYS_close, fd);
    static const char name[] = "monotonic";
    const char *at = strstr(text, name);
    agent_process.clock_offset_ns = 0;
    if (!at)
        return;
    const long long seconds = strtoll(at + sizeof name - 1, &end, 10);
    agent_process.clock_offset_ns = seconds * 1000000000 + strtoll(end, NULL, 10);
}

static bool send_hello(int fd, uint32_t flags, uint32_t standing)
{
    find_clock_offset();
    const struct agent_hello hello = {
        .magic = AGENT_MAGIC,
        .version = AGENT_VERSION,
        .pid = (uint32_t)agent_process.pid,
        .tid = (uint32_t)syscall(SYS_gettid),
        .flags = flags,
        .standing = standing,
        .tick_ns = (uint32_t)agent_process.tick_ns,
        .parent = (uint32_t)agent_process.parent,
        .time_ns = agent_time_ns(),
        .cpu_ns = agent_clock_ns(CLOCK_PROCESS_CPUTIME_ID),
    };
    ssize_t sent;
    while ((sent = send(fd, &hello, sizeof hello, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        ;
    return sent == sizeof hello;
}

static bool receive_welcome(int fd, struct agent_welcome *welcome, int fds[2])
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } ancillary;
    struct iovec bytes = {welcome, sizeof *welcome};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = &ancillary,
                             .msg_controllen = sizeof ancillary};
    ssize_t got;
    while ((got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        ;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (got != sizeof *welcome || welcome->magic != AGENT_MAGIC || welcome->refused || !header ||
        header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(2 * sizeof(int)))
        return false;
    memcpy(fds, CMSG_DATA(header), 2 * sizeof(int));
    return true;
}

/* Fails with EMFILE without room for two received descriptors. */
static int open_socket(void)
{
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const int first = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    const int second = first < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (first >= 0)
        close(first);
    if (second >= 0)
        close(second);
    else if (fd >= 0)
        close(fd);
    return second < 0 ? -1 : fd;
}

static bool raise_limit(struct rlimit *before)
{
    if (errno != EMFILE || getrlimit(RLIMIT_NOFILE, before) || before->rlim_cur >= before->rlim_max)
        return false;
    const struct rlimit raised = {before->rlim_max, before->rlim_max};
    return setrlimit(RLIMIT_NOFILE, &raised) == 0;
}

static bool call_sprof(int fd)
{
    const struct timeval patience = {.tv_sec = 2}; /* sprof may be stopped */
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, agent_process.socket_path, sizeof address.sun_path);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    return connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
}

static bool say_no_descriptors(uint32_t flags)
{
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const bool said = fd >= 0 && call_sprof(fd) && send_hello(fd, flags, AGENT_NO_DESCRIPTORS);
    if (fd >= 0)
        close(fd);
    return said;
}

static bool converse(uint32_t flags, struct agent_welcome *welcome, int fds[2])
{
    struct rlimit before;
    int fd = open_socket();
    const bool raised = fd < 0 && raise_limit(&before);
    if (raised)
        fd = open_socket();
    agent_process.lacks_descriptors =
        fd < 0 && (errno == EMFILE || errno == ENFILE) && !say_no_descriptors(flags);
    const bool agreed =
        fd >= 0 && call_sprof(fd) &&
        send_hello(fd, flags, agent_process.has_handler ? AGENT_HAS_HANDLER : AGENT_SAMPLES) &&
        receive_welcome(fd, welcome, fds);
    if (fd >= 0)
        close(fd);
    if (raised)
        setrlimit(RLIMIT_NOFILE, &before);
    return agreed;
}

static void *map(int fd, size_t size, int protection)
{
    void *memory = mmap(NULL, size, protection, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* A limited address space gets only a few. */
static void choose_slots(void)
{
    enum { FEW_SLOTS = 16 };
    struct rlimit limit;
    const bool limited = !getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY;
    const size_t slots = limited ? FEW_SLOTS : AGENT_SLOTS;
    atomic_store(&agent_process.slots, (uint32_t)slots);
    agent_process.mapped_bytes = limited ? agent_ring_offset(slots) : AGENT_SHARED_BYTES;
    agent_process.has_tails = !limited;
}

static void say_no_memory(int fd)
{
    struct agent_control *control = map(fd, sizeof *control, PROT_READ | PROT_WRITE);
    if (!control)
        return;
    atomic_store(&control->standing, AGENT_NO_MEMORY);
    munmap(control, sizeof *control);
}

/* Leaves no descriptor open, so the program's numbers stay the same. */
static bool join(uint32_t flags)
{
    struct agent_welcome welcome;
    int fds[2];
    if (!converse(flags, &welcome, fds))
        return false;
    choose_slots();
    struct agent_shared *shared = map(fds[0], agent_process.mapped_bytes, PROT_READ | PROT_WRITE);
    const void *owner = map(fds[1], 4096, PROT_READ);
    if (!shared || !owner)
        say_no_memory(fds[0]);
    close(fds[0]);
    close(fds[1]);
    if (!shared || !owner) {
        if (shared)
            munmap(shared, agent_process.mapped_bytes);
        return false;
    }
    madvise(shared, agent_process.mapped_bytes, MADV_DONTDUMP);
    agent_process.ring_shift = welcome.ring_shift;
    agent_process.owner = owner;
    agent_process.shared = shared;
    atomic_store(agent_process.alive, 1);
    return !agent_process.has_handler;
}

/* == The life of a process == */

static void end_of_thread(void *value)
{
    /* the program's destructors come first: libc repeats those that set their value again */
    enum { LAST = 3 };
    struct agent_thread *thread = value;
    if (!agent_active() || thread->tid != (pid_t)syscall(SYS_gettid))
        return;
    if (thread->ending++ < LAST)
        agent_next()->setspecific(agent_process.key, thread);
    else
        agent_thread_end(thread);
}

/* Reaches from the environment to the stack's limit. Mappings stay away, up to 1 GiB. */
static void find_main_stack(struct agent_thread *thread)
{
    enum { LOW_MARGIN = 64 << 10 };
    struct rlimit limit;
    const uintptr_t most = UINT64_C(1) << 30;
    const uintptr_t end = getauxval(AT_EXECFN) + 7;
    const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    if (end <= frame || end - frame > (UINT64_C(64) << 20) || getrlimit(RLIMIT_STACK, &limit))
        return;
    const uintptr_t size = limit.rlim_cur < most ? limit.rlim_cur : most;
    const uintptr_t top = (uintptr_t)environ;
    thread->stack_end = (top > frame && top < end ? top : end) & ~(uintptr_t)7;
    thread->stack_low = size > LOW_MARGIN ? thread->stack_end - size + LOW_MARGIN : frame;
}

static void begin_main_thread(const struct agent_thread *like)
{
    struct agent_thread *thread = agent_thread_claim();
    if (!thread)
        return;
    if (like) {
        thread->stack_low = like->stack_low;
        thread->stack_end = like->stack_end;
    } else {
        find_main_stack(thread);
    }
    if (agent_process.has_key)
        agent_next()->setspecific(agent_process.key, thread);
    agent_thread_begin(thread);
}

/* A forked child has one thread, no timers, and its parent's rings. It takes no libc lock, as one
 * may be held. */
static void begin_child(void)
{
    struct agent_thread like = {0};
    if (!agent_process.shared)
        return;
    const struct agent_thread *thread =
        agent_process.has_key ? agent_next()->getspecific(agent_process.key) : NULL;
    if (thread)
        like = *thread;
    struct agent_control *parents = &agent_process.shared->control;
    munmap((uint8_t *)parents + sizeof agent_process.shared->page,
           agent_process.mapped_bytes - sizeof agent_process.shared->page);
    munmap((void *)(uintptr_t)agent_process.owner, 4096);
    agent_process.shared = NULL;
    agent_process.owner = NULL; /* without an answer, programs get no agent */
    agent_process.parent = agent_process.pid;
    agent_process.pid = (pid_t)syscall(SYS_getpid);
    agent_threads_reset();
    if (agent_process.has_key)
        agent_next()->setspecific(agent_process.key, NULL);
    agent_helper_begin_child();
    if (join(AGENT_HELLO_FORKED)) {
        agent_helper_start();
        begin_main_thread(&like);
    } else if (agent_process.lacks_descriptors) { /* only the parent can report it */
        atomic_fetch_add(&parents->left_out[AGENT_LEFT_OUT_DESCRIPTORS], 1);
    }
    munmap(parents, sizeof agent_process.shared->page);
}

/* glibc's static pthread_atfork uses the first, musl has the second. */
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *)
    __attribute__((weak));

static void watch_forks(void)
{
    if (__register_atfork)
        __register_atfork(NULL, NULL, begin_child, NULL);
    else if (agent_next()->atfork)
        agent_next()->atfork(NULL, NULL, begin_child);
}

static uint64_t tick_ns(void)
{
    struct timespec tick;
    if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) || tick.tv_sec || tick.tv_nsec < 100000)
        return 4000000;
    return (uint64_t)tick.tv_nsec;
}

__attribute__((constructor)) static void start(void)
{
    const struct agent_next *next = agent_next();
    if (!take_variables())
        return;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || madvise(page, 4096, MADV_WIPEONFORK))
        return;
    agent_process.alive = page;
    agent_process.pid = (pid_t)syscall(SYS_getpid);
    agent_process.tick_ns = tick_ns();
    agent_process.has_key = next->key_create && next->setspecific && next->getspecific &&
                            next->key_create(&agent_process.key, end_of_thread) == 0;
    agent_process.has_handler = !agent_handler_install();
    watch_forks();
    if (join(0)) {
        agent_helper_start();
        begin_main_thread(NULL);
    }
}

/* sprof reads names five times a second, and the main thread has no end of its own. Blocks samples:
 * one would come between the record's bytes. */
static void note_last_name(void)
{
    enum { WORD = 8 };
    struct agent_thread *thread =
        agent_process.has_key ? agent_next()->getspecific(agent_process.key) : NULL;
    const uint64_t ours = UINT64_C(1) << (SIGPROF - 1);
    uint64_t before;
    if (!thread || thread->tid != (pid_t)syscall(SYS_gettid) ||
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, &ours, &before, WORD))
        return;
    agent_record_name(thread);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, WORD);
}

__attribute__((destructor)) static void end(void)
{
    if (!agent_active())
        return;
    note_last_name();
    atomic_store(&agent_process.shared->control.end_cpu_ns,
                 agent_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
}

/* Other code may be mapped there: sprof must read mappings again. */
AGENT_EXPORT int dlclose(void *library)
{
    const int result = agent_next()->dlclose(library);
    if (agent_active()) {
        struct agent_control *control = &agent_process.shared->control;
        atomic_store(&control->maps_ns, agent_time_ns());
        atomic_fetch_add(&control->maps_changes, 1);
    }
    return result;
}
