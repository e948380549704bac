#include "tests/unit/agent/consumer.h"

#include "base/base.h"
#include "base/compat.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PEERS_MAX = 64,
    PATIENCE_NS = 1500000000, /* an agent waits 2 s for its welcome */
};

struct peer {
    struct agent_shared *shared;
    uint64_t *tails;
    uint64_t hello_cpu_ns;
};

struct consumer {
    const struct consumer_settings *settings;
    struct consumed *result;
    char directory[64], socket_path[100];
    int listener, owner_fd;
    pthread_mutex_t *owner;
    struct peer peers[PEERS_MAX];
    size_t peer_count;
    uint64_t ended_at_ns, paused_at_ns;
    struct sprof_map sampled; /* tid → 1 */
};

static int open_socket(struct consumer *consumer)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(consumer->directory, "/tmp/sprof-agent-test-XXXXXX");
    if (!mkdtemp(consumer->directory))
        return -1;
    chmod(consumer->directory, 0755); /* the subject may become somebody else */
    snprintf(consumer->socket_path, sizeof consumer->socket_path, "%s/socket", consumer->directory);
    strcpy(address.sun_path, consumer->socket_path);
    consumer->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return bind(consumer->listener, (struct sockaddr *)&address, sizeof address) ||
                   listen(consumer->listener, 64)
               ? -1
               : 0;
}

static int open_owner(struct consumer *consumer)
{
    pthread_mutexattr_t attributes;
    consumer->owner_fd = memfd_create("owner", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (ftruncate(consumer->owner_fd, 4096))
        return -1;
    consumer->owner = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, consumer->owner_fd, 0);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(consumer->owner, &attributes);
    return consumer->owner == MAP_FAILED || pthread_mutex_lock(consumer->owner) ? -1 : 0;
}

static void send_welcome(int fd, const struct agent_welcome *welcome, const int fds[2])
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } ancillary = {.header = {.cmsg_len = CMSG_LEN(2 * sizeof(int)),
                              .cmsg_level = SOL_SOCKET,
                              .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&ancillary.header), fds, 2 * sizeof(int));
    struct iovec bytes = {(void *)(uintptr_t)welcome, sizeof *welcome};
    const struct msghdr message = {.msg_iov = &bytes,
                                   .msg_iovlen = 1,
                                   .msg_control = &ancillary,
                                   .msg_controllen = sizeof ancillary};
    sendmsg(fd, &message, MSG_NOSIGNAL);
}

static void welcome(struct consumer *consumer, int fd)
{
    struct agent_hello hello;
    if (recv(fd, &hello, sizeof hello, 0) != sizeof hello || hello.magic != AGENT_MAGIC ||
        consumer->peer_count == PEERS_MAX)
        return;
    const int memory = memfd_create("rings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (ftruncate(memory, (off_t)AGENT_SHARED_BYTES))
        return;
    struct agent_shared *shared =
        mmap(NULL, AGENT_SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    shared->control.period_ns =
        consumer->settings->period_ns ? consumer->settings->period_ns : 1000000;
    shared->control.slice_bytes = consumer->settings->slice_bytes;
    shared->control.tails = consumer->settings->tails;
    shared->control.clock = consumer->settings->clock;
    consumer->peers[consumer->peer_count++] =
        (struct peer){shared, calloc(AGENT_SLOTS, sizeof(uint64_t)), hello.cpu_ns};
    consumer->result->processes++;
    consumer->result->forked += hello.flags & AGENT_HELLO_FORKED;
    consumer->result->own_handler += hello.standing == AGENT_HAS_HANDLER;
    consumer->result->tick_ns = hello.tick_ns;
    const struct agent_welcome answer = {.magic = AGENT_MAGIC,
                                         .ring_shift = consumer->settings->ring_shift};
    send_welcome(fd, &answer, (const int[2]){memory, consumer->owner_fd});
    consumer->result->late_answers += sprof_clock_monotonic_ns() - hello.time_ns > PATIENCE_NS;
    close(memory);
}

static uint64_t word(const uint8_t *bytes, size_t at)
{
    uint64_t value;
    memcpy(&value, bytes + at, sizeof value);
    return value;
}

/* Where there is a tail, it begins where the slice ends. Frees it. */
static bool good_tail(struct consumer *consumer, struct agent_shared *shared, const uint8_t *record,
                      uint64_t slice_end, uint64_t useful)
{
    const uint32_t number = (uint32_t)(word(record, 40) >> 32);
    if (!number)
        return true;
    struct agent_tail *tail = &shared->control.tail[number - 1];
    const uint64_t whole = useful + tail->bytes;
    if (number > consumer->settings->tails || !tail->taken || tail->address != slice_end ||
        tail->bytes > AGENT_TAIL_BYTES)
        return false;
    consumer->result->tails++;
    if (whole > consumer->result->largest_whole)
        consumer->result->largest_whole = whole;
    atomic_store_explicit(&tail->taken, 0, memory_order_release);
    return true;
}

/* Checks each field that must be right, so that a torn or misplaced record shows. */
static bool good_sample(struct consumer *consumer, struct agent_shared *shared,
                        const uint8_t *record, size_t size)
{
    struct consumed *result = consumer->result;
    const uint32_t tid = (uint32_t)(word(record, 24) >> 32);
    const uint64_t weight_ns = word(record, 48);
    const uint64_t event = consumer->settings->slice_bytes ? AGENT_EVENT_STACK : AGENT_EVENT_BARE;
    if (size < 56 || word(record, 8) != event || !tid || word(record, 16) == 0)
        return false;
    if (consumer->settings->slice_bytes) {
        if (size < 56 + 8 + 17 * 8 + 8 || word(record, 56) != PERF_SAMPLE_REGS_ABI_64 ||
            word(record, 64 + 8 * 8) != word(record, 16))
            return false;
        const uint64_t stack = word(record, 200), useful = stack ? word(record, size - 8) : 0;
        if (size != 208 + stack + (stack ? 8 : 0) || useful > stack ||
            !good_tail(consumer, shared, record, word(record, 64 + 7 * 8) + useful, useful))
            return false;
        result->with_stack += useful > 0;
        result->cut += stack && useful == stack;
        result->largest_stack = useful > result->largest_stack ? useful : result->largest_stack;
    } else if (size != 56) {
        return false;
    }
    if (!result->samples)
        result->first_weight_ns = weight_ns;
    if (!sprof_map_get(&consumer->sampled, tid))
        sprof_map_put(&consumer->sampled, tid, 1);
    result->samples++;
    result->weight_ns += weight_ns;
    result->late_samples +=
        consumer->ended_at_ns && word(record, 32) > consumer->ended_at_ns + 500000000;
    return true;
}

static bool count(struct consumer *consumer, struct agent_shared *shared, const uint8_t *record,
                  size_t size)
{
    struct consumed *result = consumer->result;
    const struct perf_event_header *header = (const void *)record;
    if (header->type != PERF_RECORD_SAMPLE && word(record, size - 8) != AGENT_EVENT_BARE)
        return false;
    switch (header->type) {
    case PERF_RECORD_SAMPLE: return good_sample(consumer, shared, record, size);
    case PERF_RECORD_FORK: result->forks++; return size == 64;
    case PERF_RECORD_EXIT: result->exits++; return size == 64;
    case PERF_RECORD_COMM: result->names += size == 64 && record[16]; return size == 64;
    case PERF_RECORD_READ: result->ended_ns += word(record, 16); return size == 56;
    default: return false;
    }
}

static void drain_slot(struct consumer *consumer, struct peer *peer, size_t slot)
{
    static _Alignas(8) uint8_t record[65536];
    const size_t size = agent_ring_bytes(slot, consumer->settings->ring_shift);
    const uint8_t *ring = (const uint8_t *)peer->shared + agent_ring_offset(slot);
    const uint64_t head = atomic_load_explicit(&peer->shared->heads[slot], memory_order_acquire);
    while (peer->tails[slot] < head) {
        const uint64_t tail = peer->tails[slot];
        struct perf_event_header header;
        for (size_t i = 0; i < sizeof header; i++)
            ((uint8_t *)&header)[i] = ring[(tail + i) & (size - 1)];
        if (header.size < 40 || header.size > head - tail) {
            consumer->result->malformed++;
            peer->tails[slot] = head;
            break;
        }
        for (size_t i = 0; i < header.size; i++)
            record[i] = ring[(tail + i) & (size - 1)];
        consumer->result->malformed += !count(consumer, peer->shared, record, header.size);
        peer->tails[slot] = tail + header.size;
    }
    atomic_store_explicit(&peer->shared->slots[slot].tail, peer->tails[slot], memory_order_release);
}

static void drain(struct consumer *consumer)
{
    for (size_t i = 0; i < consumer->peer_count; i++) {
        struct peer *peer = &consumer->peers[i];
        for (size_t slot = 0; slot < peer->shared->control.slots_used && slot < AGENT_SLOTS; slot++)
            drain_slot(consumer, peer, slot);
    }
    consumer->result->threads_with_samples = (unsigned)consumer->sampled.count;
}

/* What a test asked for once so many samples have come. */
static void react(struct consumer *consumer)
{
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    const struct consumer_settings *settings = consumer->settings;
    struct agent_control *control = &consumer->peers[0].shared->control;
    if (settings->ends_early && !consumer->ended_at_ns && consumer->result->samples >= 20) {
        pthread_mutex_unlock(consumer->owner);
        consumer->ended_at_ns = now_ns;
    }
    if (settings->pauses && !consumer->paused_at_ns &&
        consumer->result->samples >= settings->pauses) {
        consumer->paused_at_ns = now_ns;
        control->state = AGENT_PAUSE;
    }
    if (consumer->paused_at_ns && control->state == AGENT_PAUSE &&
        now_ns > consumer->paused_at_ns + 200000000) {
        consumer->result->paused_ns = now_ns - consumer->paused_at_ns;
        control->state = AGENT_RUN;
    }
}

static void add_up(struct consumer *consumer)
{
    struct consumed *result = consumer->result;
    for (size_t i = 0; i < consumer->peer_count; i++) {
        struct agent_control *control = &consumer->peers[i].shared->control;
        const uint64_t end_ns = control->end_cpu_ns, begin_ns = consumer->peers[i].hello_cpu_ns;
        result->process_ns += end_ns > begin_ns ? end_ns - begin_ns : 0;
        for (size_t why = 0; why < AGENT_REFUSALS; why++)
            result->refused[why] += control->refused[why];
        result->lost += control->lost;
        result->maps_changes += control->maps_changes;
        result->own_handler += control->standing == AGENT_HAS_HANDLER;
        if (control->slots_used > result->slots_used)
            result->slots_used = control->slots_used;
        munmap(consumer->peers[i].shared, AGENT_SHARED_BYTES);
        free(consumer->peers[i].tails);
    }
}

static pid_t launch(const struct consumer *consumer, const char *task, int number, int output)
{
    char preload[4200], socket_variable[200], text[16];
    const char *program = consumer->settings->program ? consumer->settings->program : AGENT_SUBJECT;
    snprintf(preload, sizeof preload, "%s", AGENT_PRELOADED);
    snprintf(socket_variable, sizeof socket_variable, "%s", consumer->socket_path);
    snprintf(text, sizeof text, "%d", number);
    const pid_t pid = fork();
    if (pid)
        return pid;
    dup2(output, 1);
    close_range(3, ~0U, 0); /* the subject says which descriptor it finds free */
    setenv("LD_PRELOAD", preload, 1);
    setenv(AGENT_SOCKET_VARIABLE, socket_variable, 1);
    execl(program, program, task, text, (char *)NULL);
    _exit(99);
}

static void collect(struct consumer *consumer, pid_t pid, int output)
{
    size_t length = 0;
    bool ended = false;
    fcntl(output, F_SETFL, O_NONBLOCK);
    while (!ended) {
        ended = waitpid(pid, &consumer->result->status, WNOHANG) == pid;
        struct pollfd events = {.fd = consumer->listener, .events = POLLIN};
        poll(&events, 1, ended ? 0 : 2);
        for (int fd; (fd = accept4(consumer->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0; close(fd))
            welcome(consumer, fd);
        drain(consumer);
        if (consumer->peer_count)
            react(consumer);
        const ssize_t got = read(output, consumer->result->output + length,
                                 sizeof consumer->result->output - 1 - length);
        length += got > 0 ? (size_t)got : 0;
    }
}

int consumer_run(struct consumed *consumed, const struct consumer_settings *settings,
                 const char *task, int number)
{
    struct consumer consumer = {.settings = settings, .result = consumed};
    int pipe_fds[2];
    *consumed = (struct consumed){0};
    if (open_socket(&consumer) || open_owner(&consumer) || pipe2(pipe_fds, O_CLOEXEC))
        return -1;
    const pid_t pid = launch(&consumer, task, number, pipe_fds[1]);
    close(pipe_fds[1]);
    collect(&consumer, pid, pipe_fds[0]);
    add_up(&consumer);
    if (!consumer.ended_at_ns)
        pthread_mutex_unlock(consumer.owner);
    munmap(consumer.owner, 4096);
    close(consumer.owner_fd);
    close(consumer.listener);
    close(pipe_fds[0]);
    unlink(consumer.socket_path);
    rmdir(consumer.directory);
    sprof_map_release(&consumer.sampled);
    return pid > 0 ? 0 : -1;
}
