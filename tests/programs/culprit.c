/* Spends most of its time in a planted way: `culprit KIND`. Work is measured by the CPU's clock, so
 * that it is the same on a machine that is busy. */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))

static volatile uint64_t sum;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile bool ended;
static const char *kind;

static inline __attribute__((always_inline)) void work_us(long us)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (int i = 0; i < 50000; i++)
            sum += (uint64_t)i * i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

#define LEAF(n)                                                                                    \
    static KEEP void leaf_##n(void)                                                                \
    {                                                                                              \
        work_us(200);                                                                              \
        sum += 0x##n;                                                                              \
    }
#define EACH(X)                                                                                    \
    X(00)                                                                                          \
    X(01)                                                                                          \
    X(02)                                                                                          \
    X(03) X(04) X(05) X(06) X(07) X(08) X(09) X(0a) X(0b) X(0c) X(0d) X(0e) X(0f) X(10) X(11)      \
        X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(1a) X(1b) X(1c) X(1d) X(1e) X(1f)
EACH(LEAF)
#define NAME(n) leaf_##n,
static void (*const leaves[])(void) = {EACH(NAME)};

static KEEP void apply_rule(void)
{
    work_us(600);
    sum++;
}

static KEEP void ask_backend(void)
{
    usleep(1500);
    sum++;
}

static KEEP void store_row(void)
{
    pthread_mutex_lock(&mutex);
    sum++;
    pthread_mutex_unlock(&mutex);
}

static KEEP void copy_rows(void)
{
    static __thread char *rows[64];
    for (unsigned i = 0; i < 12000; i++) {
        const unsigned row = i * 7 % 64;
        free(rows[row]);
        rows[row] = malloc(1100 + i * 40503 % 3000); /* too large for the caches of threads */
        if (rows[row])
            *rows[row] = 1;
    }
}

static KEEP uint64_t read_item(unsigned i)
{
    for (unsigned k = 0; k < 16; k++)
        sum += i * k;
    return sum;
}

static KEEP void plan_order(void)
{
    for (unsigned i = 0; i < 20000; i++)
        sum += read_item(i);
}

static KEEP void route(bool is_special)
{
    if (!strcmp(kind, "loop") || (!strcmp(kind, "thread") && is_special))
        apply_rule();
    else if (!strcmp(kind, "sleep"))
        ask_backend();
    else if (!strcmp(kind, "lock"))
        store_row();
    else if (!strcmp(kind, "malloc"))
        copy_rows();
    else if (!strcmp(kind, "many"))
        plan_order();
    sum++;
}

static KEEP void give_discount(void)
{
    work_us(8000);
    sum++;
}

static KEEP void serve_shop(unsigned n, int shop)
{
    leaves[n * 2654435761u >> 27]();
    if (shop == 42)
        give_discount();
    sum++;
}

static KEEP void handle(unsigned n, bool is_special)
{
    if (!strcmp(kind, "slow"))
        serve_shop(n, n % 50 == 7 ? 42 : (int)(n % 7));
    leaves[n * 2654435761u >> 27]();
    route(is_special);
    sum++;
}

static void *serve(void *special)
{
    for (unsigned n = 1; n <= 600; n++)
        handle(n, special != NULL);
    return NULL;
}

static KEEP void rebuild_index(void)
{
    pthread_mutex_lock(&mutex);
    work_us(6000);
    pthread_mutex_unlock(&mutex);
}

static void *tend(void *unused)
{
    while (!ended) {
        rebuild_index();
        usleep(2000);
    }
    return unused;
}

static void idle(void)
{
    for (int i = 0; i < 10; i++)
        poll(NULL, 0, 100);
}

int main(int count, char **arguments)
{
    pthread_t threads[4], tending;
    const bool in_threads = count > 1 && !strcmp(arguments[1], "thread");
    kind = count > 1 ? arguments[1] : "flat";
    if (!strcmp(kind, "lock") && pthread_create(&tending, NULL, tend, NULL))
        return 1;
    if (!strcmp(kind, "idle"))
        idle();
    for (uintptr_t i = 0; i < 4 && in_threads; i++)
        if (pthread_create(&threads[i], NULL, serve, i == 2 ? &threads[i] : NULL))
            return 1;
    for (int i = 0; i < 4 && in_threads; i++)
        pthread_join(threads[i], NULL);
    for (int rounds = count > 2 ? atoi(arguments[2]) : 1; rounds > 0; rounds--)
        if (!in_threads && strcmp(kind, "idle") != 0)
            serve(NULL);
    ended = true;
    return 0;
}
