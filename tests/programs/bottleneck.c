/* Is slow for a reason that lies between threads or processes, or where a program starts:
 * `bottleneck KIND [ROUNDS]`. Work is counted in turns, so that it is the same on a busy machine.
 */
#include "spin.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MS = 3000000 /* turns, about */, THREADS = 4 };

static volatile bool ended;
static int rounds = 60;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static volatile uint64_t sum;

static NOINLINE void apply_rule(void)
{
    SPIN(MS);
    NO_TAIL_CALL();
}

static NOINLINE void do_other_work(void)
{
    SPIN(MS / 8);
    NO_TAIL_CALL();
}

static void start_all(void *(*serve)(void *), pthread_t threads[THREADS])
{
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, serve, NULL))
            exit(1);
}

static void join_all(pthread_t threads[THREADS])
{
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* == rotate: each thread in turn holds the lock for which the others wait == */

static NOINLINE void append_entry(void)
{
    SPIN(2 * MS);
    NO_TAIL_CALL();
}

static NOINLINE void write_journal(void)
{
    pthread_mutex_lock(&mutex);
    append_entry();
    pthread_mutex_unlock(&mutex);
}

static void *keep_journal(void *unused)
{
    for (int i = 0; i < rounds; i++) {
        do_other_work();
        write_journal();
    }
    return unused;
}

static void rotate(void)
{
    pthread_t threads[THREADS];
    start_all(keep_journal, threads);
    join_all(threads);
}

/* == readers: one that writes has a table to itself == */

static NOINLINE void rebuild_table(void)
{
    pthread_rwlock_wrlock(&table_lock);
    SPIN(2 * MS);
    usleep(6000);
    pthread_rwlock_unlock(&table_lock);
}

static NOINLINE void find_row(void)
{
    pthread_rwlock_rdlock(&table_lock);
    sum++;
    pthread_rwlock_unlock(&table_lock);
}

static void *keep_table(void *unused)
{
    while (!ended) {
        rebuild_table();
        usleep(2000);
    }
    return unused;
}

static void *find_rows(void *unused)
{
    for (int i = 0; i < rounds; i++) {
        do_other_work();
        find_row();
    }
    return unused;
}

static void readers(void)
{
    pthread_t keeper, threads[THREADS];
    if (pthread_create(&keeper, NULL, keep_table, NULL))
        exit(1);
    start_all(find_rows, threads);
    join_all(threads);
    ended = true;
    pthread_join(keeper, NULL);
}

/* == pool: threads take jobs from a queue, and wait where it is empty == */

static pthread_cond_t is_filled = PTHREAD_COND_INITIALIZER;
static int queued;

static NOINLINE bool take_job(void)
{
    pthread_mutex_lock(&mutex);
    while (!queued && !ended)
        pthread_cond_wait(&is_filled, &mutex);
    const bool taken = queued > 0;
    queued -= taken;
    pthread_mutex_unlock(&mutex);
    return taken;
}

static void *run_jobs(void *unused)
{
    while (take_job()) {
        do_other_work();
        apply_rule();
    }
    return unused;
}

static void pool(void)
{
    pthread_t threads[THREADS];
    start_all(run_jobs, threads);
    for (int i = 0; i < rounds * 3; i++) {
        SPIN(MS / 8); /* so that its own work has some samples */
        pthread_mutex_lock(&mutex);
        queued += 3; /* so that they work for longer than this sleeps */
        pthread_cond_broadcast(&is_filled);
        pthread_mutex_unlock(&mutex);
        usleep(1000);
    }
    pthread_mutex_lock(&mutex);
    ended = true;
    pthread_cond_broadcast(&is_filled);
    pthread_mutex_unlock(&mutex);
    join_all(threads);
}

/* == inversion: a thread of low priority holds a lock, and others keep it from a CPU == */

static void set_nice(int nice)
{
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), nice);
}

static NOINLINE void write_statistics(void)
{
    pthread_mutex_lock(&mutex);
    SPIN(4 * MS);
    pthread_mutex_unlock(&mutex);
}

static NOINLINE void answer_urgently(void)
{
    pthread_mutex_lock(&mutex);
    sum++;
    pthread_mutex_unlock(&mutex);
}

static void *keep_statistics(void *unused)
{
    set_nice(5);
    while (!ended) {
        write_statistics();
        usleep(500);
    }
    return unused;
}

static void *compute(void *unused)
{
    while (!ended)
        do_other_work();
    return unused;
}

static void *answer_all(void *unused)
{
    for (int i = 0; i < rounds / 2; i++) {
        answer_urgently();
        usleep(1000);
    }
    return unused;
}

static void inversion(void)
{
    pthread_t low, middle, urgent[THREADS];
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one); /* all threads have one CPU */
    if (pthread_create(&low, NULL, keep_statistics, NULL) ||
        pthread_create(&middle, NULL, compute, NULL))
        exit(1);
    start_all(answer_all, urgent);
    join_all(urgent);
    ended = true;
    pthread_join(low, NULL);
    pthread_join(middle, NULL);
}

/* == straggler: threads meet after each part, and one has more to do == */

static pthread_barrier_t barrier;

static NOINLINE void wait_for_all(void)
{
    pthread_barrier_wait(&barrier);
    NO_TAIL_CALL();
}

static void *do_parts(void *is_slow)
{
    for (int i = 0; i < rounds; i++) {
        do_other_work();
        if (is_slow)
            for (int k = 0; k < 5; k++)
                apply_rule();
        wait_for_all();
    }
    return NULL;
}

static void straggler(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, do_parts, i ? NULL : &barrier))
            exit(1);
    join_all(threads);
}

/* == semaphore: more threads than connections == */

static sem_t connections;

static NOINLINE void take_connection(void)
{
    sem_wait(&connections);
    NO_TAIL_CALL();
}

static NOINLINE void query_remote(void)
{
    usleep(3000);
    NO_TAIL_CALL();
}

static NOINLINE void run_statement(void)
{
    do_other_work();
    take_connection();
    query_remote();
    sem_post(&connections);
}

static NOINLINE void answer_client(void)
{
    do_other_work();
    run_statement();
    NO_TAIL_CALL();
}

static void *query(void *unused)
{
    for (int i = 0; i < rounds; i++) {
        do_other_work();
        answer_client();
    }
    return unused;
}

static void semaphore(void)
{
    pthread_t threads[THREADS];
    sem_init(&connections, 0, 1);
    start_all(query, threads);
    join_all(threads);
}

/* == processes: a process starts others, which work == */

static void processes(void)
{
    for (int i = 0; i < THREADS; i++)
        if (!fork()) {
            for (int k = 0; k < rounds; k++) {
                do_other_work();
                apply_rule();
            }
            _exit(0);
        }
    while (wait(NULL) > 0) {
    }
}

/* == start: what a short command does before its work == */

static NOINLINE void read_settings(void)
{
    SPIN(300 * MS);
    NO_TAIL_CALL();
}

static void start(void)
{
    read_settings();
    for (int i = 0; i < rounds; i++)
        do_other_work();
}

/* == churn: a thread for each job == */

static void *run_one(void *unused)
{
    do_other_work();
    apply_rule();
    return unused;
}

static void churn(void)
{
    for (int i = 0; i < rounds * 3; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run_one, NULL))
            exit(1);
        pthread_join(thread, NULL);
    }
}

/* == pages: new memory for each job == */

static NOINLINE void fill_buffer(void)
{
    enum { BYTES = 4 << 20, PAGE = 4096 };
    char *bytes = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        exit(1);
    for (size_t i = 0; i < BYTES; i += PAGE)
        bytes[i] = 1;
    munmap(bytes, BYTES);
}

static void pages(void)
{
    for (int i = 0; i < rounds * 3; i++) {
        do_other_work();
        fill_buffer();
    }
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } kinds[] = {
        {"rotate", rotate},       {"readers", readers},     {"pool", pool},
        {"inversion", inversion}, {"straggler", straggler}, {"semaphore", semaphore},
        {"processes", processes}, {"start", start},         {"churn", churn},
        {"pages", pages},
    };
    rounds = count > 2 ? atoi(arguments[2]) : rounds;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && count > 1; i++)
        if (!strcmp(kinds[i].name, arguments[1])) {
            kinds[i].run();
            return 0;
        }
    fprintf(stderr, "bottleneck KIND [ROUNDS]\n");
    return 2;
}
