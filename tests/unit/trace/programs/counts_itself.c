/* A program that writes its calls into the shared memory by itself, as an agent would. A test gives
 * it orders over a socket: counts_itself DESCRIPTOR. PROBE_VARIABLE leads to its tracer. */
#include "agent/probe.h"
#include "tests/unit/trace/orders.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void work_alpha(void);
void work_beta(void);
void work_gamma(void);

static volatile unsigned done;

__attribute__((noinline)) void work_alpha(void)
{
    done += 1;
}

__attribute__((noinline)) void work_beta(void)
{
    done += 20;
}

__attribute__((noinline)) void work_gamma(void)
{
    done += 300;
}

static void (*const functions[WORK_FUNCTIONS])(void) = {work_alpha, work_beta, work_gamma};
static struct probe_shared *shared; /* NULL: nothing traces the program */
static struct probe_stat *stats;    /* of this thread */

/* == As the agent does it == */

static int meet(const char *variable)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (*variable != '@')
        return atoi(variable);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const size_t length = strcspn(variable, ":"); /* with '@', which becomes the NUL */
    memcpy(address.sun_path + 1, variable + 1, length - 1);
    connect(fd, (const struct sockaddr *)&address,
            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    return fd;
}

static int64_t map_shared(uint64_t size, int fd)
{
    void *there = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    close(fd);
    shared = there == MAP_FAILED ? NULL : there;
    return shared ? (int64_t)(uintptr_t)there : -12;
}

/* Returns a descriptor that came along; -1: none. */
static int receive(int socket_fd, struct probe_request *request)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {request, sizeof *request};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    int fd = -1;
    if (recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC) != sizeof *request)
        request->kind = PROBE_GIVE_UP;
    else if (CMSG_FIRSTHDR(&message))
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}

static void take_slab(void)
{
    const uint32_t slab = atomic_fetch_add(&shared->slabs_used, 1);
    stats = (void *)((char *)shared + PROBE_SHARED_BYTES + slab * shared->slab_bytes);
    atomic_store(&shared->slabs[slab].state, PROBE_SLAB_TAKEN);
    atomic_store(&shared->slabs[slab].pid, (uint32_t)getpid());
    atomic_store(&shared->slabs[slab].tid, (uint32_t)getpid());
}

static void be_traced(int fd)
{
    const struct probe_hello hello = {
        .magic = PROBE_MAGIC, .version = PROBE_VERSION, .pid = (uint32_t)getpid()};
    struct probe_request request = {0};
    send(fd, &hello, sizeof hello, MSG_NOSIGNAL);
    do {
        const int came = receive(fd, &request);
        const struct probe_answer answer = {
            request.kind == PROBE_MAP_SHARED ? map_shared(request.size, came) : -38};
        if (request.kind != PROBE_GO && request.kind != PROBE_GIVE_UP)
            send(fd, &answer, sizeof answer, MSG_NOSIGNAL);
    } while (request.kind != PROBE_GO && request.kind != PROBE_GIVE_UP);
    if (request.kind == PROBE_GIVE_UP)
        shared = NULL;
    if (shared)
        take_slab();
}

/* The back end of the test has noted each function's address at its number. */
static uint32_t number_of(uint32_t function)
{
    uint32_t i = 0;
    while (i < shared->function_count && shared->switches[i] != (uintptr_t)functions[function])
        i++;
    return i;
}

static void note(const struct order *order)
{
    const uint32_t number = number_of(order->function);
    struct probe_stat *stat = stats + number;
    const uint8_t tier = number < shared->function_count ? atomic_load(&shared->tiers[number]) : 0;
    if (tier & PROBE_COVER) {
        atomic_store(&shared->hits[number].first, probe_ticks());
        atomic_store(&shared->hits[number].pid, (uint32_t)getpid());
        atomic_store(&shared->hits[number].tid, (uint32_t)getpid());
        atomic_fetch_and(&shared->tiers[number], (uint8_t)~PROBE_COVER);
    } else if (tier == PROBE_COUNT) {
        stat->counted++;
    } else if (tier == PROBE_FULL) {
        stat->calls++;
        if (order->kind == ORDER_OPEN)
            return;
        stat->self += order->ticks;
        stat->total += order->ticks;
        stat->max = order->ticks > stat->max ? order->ticks : stat->max;
        stat->min_mask =
            ~(uint64_t)order->ticks > stat->min_mask ? ~(uint64_t)order->ticks : stat->min_mask;
        stat->ended++;
    }
}

/* == Orders == */

static void call(const struct order *order)
{
    for (uint32_t i = 0; i < order->times; i++) {
        functions[order->function]();
        if (shared)
            note(order);
    }
}

static void answer(int fd, int32_t value)
{
    send(fd, &value, sizeof value, MSG_NOSIGNAL);
}

static void fork_and_call(int fd, const struct order *order)
{
    if (fork())
        return;
    if (shared)
        take_slab();
    call(order);
    answer(fd, getpid());
    sleep(120); /* unless the test kills it */
    _exit(1);
}

static void carry_out(int fd, const struct order *order, char **arguments)
{
    switch (order->kind) {
    case ORDER_CALLS:
    case ORDER_OPEN: call(order); break;
    case ORDER_FORK: fork_and_call(fd, order); return; /* the fork answers */
    case ORDER_EXECUTE: execv("/proc/self/exe", arguments); break;
    case ORDER_REPLACE: execl("/bin/sleep", "sleep", "60", NULL); break;
    case ORDER_LEASE: atomic_store(&shared->lease_over, probe_ticks() - order->ticks); break;
    default: _exit((int)order->times);
    }
    answer(fd, 0);
}

int main(int count, char **arguments)
{
    const char *variable = getenv(PROBE_VARIABLE);
    const int fd = count > 1 ? atoi(arguments[1]) : -1;
    struct order order;
    signal(SIGCHLD, SIG_IGN); /* forks leave no zombies */
    if (variable)
        be_traced(meet(variable));
    answer(fd, getpid());
    while (recv(fd, &order, sizeof order, 0) == sizeof order)
        carry_out(fd, &order, arguments);
    return 0;
}
