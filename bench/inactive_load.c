/*
 * inactive_load SIZE REQUESTS LOOKS LOAD BLOCKS SEED MORE MORE_EACH PLAIN RESTING OFF CONTROL: a
 * row of blocks for bench/trace_inactive. In each block every server, by its number, and the plain
 * one once more with MORE to do, has a slice of the same REQUESTS, of LOOKS looks in the mean, as
 * many a second as are LOAD percent of what they can answer at the time. Prints, of each but
 * the first, in percent more than the plain one has: throughput, time for a request, percentile of
 * the usual response times, percentile of all; then of the plain one requests a second, nanoseconds
 * for one, both percentiles; then of each the part of the requests that took half as long again as
 * usual.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "inactive.h"

enum { SERVERS = 4, ROLES = 5, MOST_BLOCKS = 64, GROUP = 8 };

static struct role {
    int fd;
    double throughput[MOST_BLOCKS], busy[MOST_BLOCKS]; /* logarithms */
    uint32_t *took[MOST_BLOCKS];
    double usual99, all99, slow;
} roles[ROLES];

static uint32_t looks[WARM + MOST_REQUESTS];

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The mean of the values, which it sorts, from one place in their order to another one. */
static double mean_between(double *values, int count, int from, int to)
{
    double sum = 0;
    qsort(values, (size_t)count, sizeof *values, by_value);
    for (int i = from; i < to; i++)
        sum += values[i];
    return sum / (to - from);
}

static double middle(double *values, int count)
{
    return mean_between(values, count, count / 3, count - count / 3);
}

static double p99(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count - 1 - count / 100];
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double ticks_a_second(void)
{
    const double begin_us = now_us();
    const uint64_t begin = ticks();
    usleep(20000);
    const double took_us = now_us() - begin_us;
    return (double)(ticks() - begin) * 1e6 / took_us;
}

static int connect_to(const char *number)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "socket%s", number);
    if (connect(fd, (struct sockaddr *)&address, sizeof address))
        exit(1);
    return fd;
}

/* So much of a standard normal distribution is below the result. */
static double normal_quantile(double part)
{
    double low = -10, high = 10;
    for (int i = 0; i < 60; i++) {
        const double half = (low + high) / 2;
        *(erfc(-half / sqrt(2)) / 2 < part ? &low : &high) = half;
    }
    return low;
}

/* The same works for all. They are lognormal, with a standard deviation of about a half of the
 * mean; each GROUP in a row are of as many equal parts of the distribution, in random order. */
static void draw_works(uint32_t requests, double mean)
{
    const double sigma = 0.5;
    unsigned short state[3] = {1, 2, 3};
    for (uint32_t i = 0; i < WARM + requests; i++) {
        const uint32_t part = i % GROUP, other = (uint32_t)nrand48(state) % (part + 1);
        const double normal = normal_quantile((part + erand48(state)) / GROUP);
        looks[i] = looks[i - part + other];
        looks[i - part + other] = 1 + (uint32_t)(mean * exp(sigma * normal - sigma * sigma / 2));
    }
}

static void receive(int fd, void *to, size_t size)
{
    char *at = to;
    for (ssize_t got; size > 0; at += got, size -= (size_t)got)
        if ((got = read(fd, at, size)) <= 0)
            exit(1);
}

/* Then waits for a thirteenth of the time, which a real-time server has to leave to others:
 * without, the kernel takes it where it likes. */
static void run(struct role *role, struct slice slice, int block)
{
    struct slice_done done;
    const double begin = now_us();
    const ssize_t size = (ssize_t)((WARM + slice.requests) * sizeof *looks);
    if (write(role->fd, &slice, sizeof slice) != sizeof slice ||
        write(role->fd, looks, (size_t)size) != size)
        exit(1);
    receive(role->fd, &done, sizeof done);
    role->took[block] = malloc(slice.requests * sizeof **role->took);
    receive(role->fd, role->took[block], slice.requests * sizeof **role->took);
    role->throughput[block] = log(slice.requests / (double)done.took);
    role->busy[block] = log((double)done.busy / slice.requests);
    usleep((unsigned)((now_us() - begin) / 13));
}

/* The usual response time of each request is what it took in the second and third sixth of the
 * blocks, the fastest first: whatever disturbs a server makes it slower. */
static void look_at_responses(struct role *role, int requests, int blocks)
{
    double *usual = malloc((size_t)requests * sizeof *usual), took[MOST_BLOCKS];
    double *all = malloc((size_t)(requests * blocks) * sizeof *all);
    int slow = 0;
    for (int i = 0; i < requests; i++) {
        for (int block = 0; block < blocks; block++)
            all[i * blocks + block] = took[block] = role->took[block][i];
        usual[i] = mean_between(took, blocks, blocks / 6, blocks / 2);
        for (int block = 0; block < blocks; block++)
            slow += took[block] > 1.5 * usual[i];
    }
    role->usual99 = log(p99(usual, requests));
    role->all99 = log(p99(all, requests * blocks));
    role->slow = (double)slow / requests / blocks;
    free(usual);
    free(all);
}

/* How long a request takes a server that has as much to do as it can: the mean of the plain one,
 * the resting one and the control. By the plain one alone, chance that makes it faster than they
 * are would give them more to do than they can, and never the plain one. */
static double shortest(struct slice slice)
{
    enum { TIMES = 5, OFF = 2 };
    double took[SERVERS][TIMES], sum = 0;
    slice.each = 0;
    for (int i = 0; i < TIMES; i++) {
        for (int server = 0; server < SERVERS; server++) {
            if (server == OFF)
                continue;
            run(&roles[server], slice, 0);
            free(roles[server].took[0]);
            took[server][i] = exp(-roles[server].throughput[0]);
        }
    }
    for (int server = 0; server < SERVERS; server++)
        sum += server == OFF ? 0 : middle(took[server], TIMES);
    return sum / (SERVERS - 1);
}

static double difference(const double *of, const double *plain, int blocks)
{
    double differences[MOST_BLOCKS];
    for (int i = 0; i < blocks; i++)
        differences[i] = of[i] - plain[i];
    return 100 * middle(differences, blocks);
}

int main(int count, char **arguments)
{
    if (count != 13)
        return 2;
    const double a_second = ticks_a_second(), load = atof(arguments[4]);
    const int requests = atoi(arguments[2]), blocks = atoi(arguments[5]);
    struct slice usual = {.requests = (uint32_t)requests, .size = (uint32_t)atoi(arguments[1])};
    if (blocks < 6 || blocks > MOST_BLOCKS || requests > MOST_REQUESTS)
        return 2;
    draw_works(usual.requests, atof(arguments[3]));
    srand((unsigned)atoi(arguments[6]));
    for (int i = 0; i < SERVERS; i++)
        roles[i].fd = connect_to(arguments[9 + i]);
    roles[SERVERS].fd = roles[0].fd;
    const double one = shortest(usual);
    usual.each = load < 100 ? (uint64_t)(one * 100 / load) : 0;
    usual.warm = (uint64_t)(one * 2);
    struct slice more = usual;
    more.more = (uint32_t)(atof(arguments[7]) * MORE_PARTS);
    more.more_each = (uint32_t)(atof(arguments[8]) * MORE_PARTS);
    for (int block = 0; block < blocks; block++) {
        int order[ROLES] = {0, 1, 2, 3, 4};
        for (int i = ROLES - 1; i >= 0; i--) {
            const int other = rand() % (i + 1), kept = order[i];
            order[i] = order[other];
            order[other] = kept;
            run(&roles[order[i]], order[i] == SERVERS ? more : usual, block);
        }
    }
    const struct role *plain = &roles[0];
    for (struct role *role = roles; role < roles + ROLES; role++)
        look_at_responses(role, requests, blocks);
    for (const struct role *role = plain + 1; role < roles + ROLES; role++)
        printf("%.5f %.5f %.5f %.5f ", difference(role->throughput, plain->throughput, blocks),
               difference(role->busy, plain->busy, blocks), 100 * (role->usual99 - plain->usual99),
               100 * (role->all99 - plain->all99));
    const double rate = middle(roles[0].throughput, blocks), busy = middle(roles[0].busy, blocks);
    printf("%.1f %.2f %.1f %.1f", exp(rate) * a_second, exp(busy) / a_second * 1e9,
           exp(plain->usual99) / a_second * 1e9, exp(plain->all99) / a_second * 1e9);
    for (const struct role *role = plain; role < roles + ROLES; role++)
        printf(" %.6f", role->slow);
    printf("\n");
    return 0;
}
