/*
 * inactive_server SOCKET: the server that bench/trace_inactive measures. A request is a head and so
 * many bytes; the server looks at 64 of them as often as the head says and answers with a digest:
 * three calls and ten nanoseconds a look. What begins with client_ makes the load, in the same
 * thread, and the server's clock stands still meanwhile.
 */
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "inactive.h"

enum { LOOK_BYTES = 64 };

#define NOINLINE __attribute__((noinline))

struct request {
    uint32_t size, looks, more;
    uint32_t number;
    uint64_t due;
};

struct connection {
    int fd;
    uint32_t filled;
    char bytes[sizeof(struct request) + LARGEST_REQUEST];
};

static struct connection connections[LINES];
static struct pollfd polls[LINES];
static uint32_t response[WARM + MOST_REQUESTS];
static uint32_t answered;
static uint64_t stopped; /* for so long the server's clock has stood still */

NOINLINE uint64_t server_time(void)
{
    return ticks() - stopped;
}

NOINLINE uint64_t mix(uint64_t value)
{
    value ^= value >> 31;
    value *= 0x9e3779b97f4a7c15u;
    __asm__ volatile("" : "+r"(value));
    return value ^ value >> 29;
}

/* No loop: whether the processor foresees the end of a short one is chance, and makes two speeds.
 */
NOINLINE uint64_t look(const char *bytes)
{
    uint64_t words[LOOK_BYTES / 8];
    memcpy(words, bytes, sizeof words);
    const uint64_t low = ((words[0] * 31 + words[1]) * 31 + words[2]) * 31 + words[3];
    const uint64_t high = ((words[4] * 31 + words[5]) * 31 + words[6]) * 31 + words[7];
    return mix(low ^ mix(high));
}

NOINLINE uint64_t digest(const char *bytes, uint32_t size, uint32_t looks)
{
    uint64_t sum = size;
    for (uint32_t at = 0; looks--; at = at + LOOK_BYTES < size ? at + LOOK_BYTES : 0)
        sum ^= look(bytes + at) + (sum << 7);
    return sum;
}

NOINLINE struct request head_of(const char *bytes)
{
    struct request head;
    memcpy(&head, bytes, sizeof head);
    return head;
}

NOINLINE uint64_t more_work(uint64_t value, uint32_t rounds)
{
    while (rounds--) {
        value *= 0x9e3779b97f4a7c15u;
        __asm__ volatile("" : "+r"(value));
    }
    return value;
}

NOINLINE void answer(const struct connection *to, struct request head, uint64_t sum)
{
    if (write(to->fd, &sum, sizeof sum) != sizeof sum)
        _exit(1);
    response[head.number] = (uint32_t)(server_time() - head.due);
    answered++;
}

NOINLINE void serve(struct connection *from)
{
    const ssize_t got =
        read(from->fd, from->bytes + from->filled, sizeof from->bytes - from->filled);
    if (got <= 0)
        _exit(1);
    from->filled += (uint32_t)got;
    if (from->filled < sizeof(struct request))
        return;
    const struct request head = head_of(from->bytes);
    if (from->filled < sizeof head + head.size)
        return;
    from->filled = 0;
    answer(from, head,
           more_work(digest(from->bytes + sizeof head, head.size, head.looks), head.more));
}

NOINLINE void serve_all(void)
{
    const int some = poll(polls, LINES, 0);
    for (int i = 0; i < LINES && some; i++)
        if (polls[i].revents)
            serve(&connections[i]);
}

static int clients[LINES];
static uint32_t looks_of[WARM + MOST_REQUESTS];

NOINLINE static void client_read(int client)
{
    uint64_t sum;
    if (read(client, &sum, sizeof sum) != sizeof sum)
        _exit(1);
}

NOINLINE static void client_send(int client, const struct slice *slice, uint32_t number,
                                 uint64_t due)
{
    static char bytes[sizeof(struct request) + LARGEST_REQUEST];
    const uint32_t looks = looks_of[number];
    const size_t size = sizeof(struct request) + slice->size;
    const struct request head = {
        slice->size, looks, (slice->more + looks * slice->more_each) / MORE_PARTS, number, due};
    memcpy(bytes, &head, sizeof head);
    if (write(client, bytes, size) != (ssize_t)size)
        _exit(1);
}

NOINLINE static uint64_t client_due(const struct slice *slice, uint64_t start, uint32_t number)
{
    return number < WARM ? start + number * slice->warm
                         : start + WARM * slice->warm + (number - WARM) * slice->each;
}

/* Runs the server, and sends it the next request when it is due and the last one is answered: those
 * that wait do so here, so that each costs the server the same whatever the load. What comes while
 * the server looks for requests and finds none comes when it has looked. */
NOINLINE static struct slice_done client_run(const struct slice *slice)
{
    struct slice_done done = {0};
    const uint32_t all = WARM + slice->requests;
    const uint64_t start = server_time();
    uint64_t begin = 0, at = start;
    uint32_t sent = 0;
    int some = 0;
    answered = 0;
    while (answered < all) {
        const uint64_t before = ticks();
        const uint64_t due = slice->each ? client_due(slice, start, sent) : at;
        if (some)
            client_read(clients[answered % LINES]);
        if (sent == answered && sent < all && due <= at) {
            sent++;
            client_send(clients[sent % LINES], slice, sent - 1, some ? due : at);
        }
        stopped += ticks() - before;
        const uint32_t was = answered;
        serve_all();
        some = answered > was;
        const uint64_t now = server_time();
        if (begin)
            done.busy += some ? now - at : 0;
        else if (answered >= WARM)
            begin = now;
        at = now;
    }
    client_read(clients[answered % LINES]);
    done.took = at - begin;
    return done;
}

static int read_all(int fd, void *to, size_t size)
{
    char *at = to;
    for (ssize_t got; size > 0; at += got, size -= (size_t)got)
        if ((got = read(fd, at, size)) <= 0)
            return 0;
    return 1;
}

static int answer_slices(int fd)
{
    struct slice slice;
    while (read_all(fd, &slice, sizeof slice)) {
        if (slice.requests > MOST_REQUESTS || slice.size > LARGEST_REQUEST ||
            !read_all(fd, looks_of, (WARM + slice.requests) * sizeof *looks_of))
            return 0;
        const struct slice_done done = client_run(&slice);
        const ssize_t size = (ssize_t)(slice.requests * sizeof *response);
        if (write(fd, &done, sizeof done) != sizeof done ||
            write(fd, response + WARM, (size_t)size) != size)
            return 0;
    }
    return 1;
}

int main(int count, char **arguments)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (count != 2)
        return 2;
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    strncpy(address.sun_path, arguments[1], sizeof address.sun_path - 1);
    for (int i = 0; i < LINES; i++) {
        int pair[2], room = 1 << 20;
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
            return 1;
        setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        clients[i] = pair[0];
        connections[i].fd = pair[1];
        polls[i] = (struct pollfd){.fd = pair[1], .events = POLLIN};
    }
    mlockall(MCL_CURRENT); /* where that is not allowed, pages come as they are needed */
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1))
        return 1;
    for (int asked; (asked = accept(listener, 0, 0)) >= 0; close(asked))
        if (!answer_slices(asked))
            return 1;
    return 1;
}
