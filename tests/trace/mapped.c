/* A static program that has the tracing agent in it, without thread-local storage, and does by
 * itself what sprof does from outside: it makes the shared memory, writes thunks and calls through
 * them. Says what is wrong, and ends with 1. */
#include "agent/probe.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FUNCTIONS = 4,
    SLABS = 256,
    WORK = 0,
    LEAF = 1,
    HANDLED = 2,
    DEEP = 3,
    STACK_BYTES = 1 << 20
};

void arch_thunk_write(uint8_t thunk[ARCH_THUNK_BYTES], uint64_t at, uint32_t number, uint64_t enter,
                      uint64_t leave, uint64_t site, uint64_t body);

static struct probe_asked asked;
static struct probe_shared *shared;
static uint64_t slab_bytes;
static volatile sig_atomic_t signals;

static void fail(const char *why, long value)
{
    fprintf(stderr, "%s: %ld\n", why, value);
    _exit(1);
}

static int64_t ask(struct probe_request request)
{
    asked.request = request;
    sprof_probe_asked(&asked);
    return asked.answer.result;
}

static long (*thunk(uint32_t number))(long)
{
    return (long (*)(long))(asked.hello.thunks + number * ARCH_THUNK_BYTES + ARCH_THUNK_ENTRY);
}

static long leaf(long n)
{
    return n + 1;
}

static long work(long n)
{
    long sum = 0;
    for (long i = 0; i < n; i++)
        sum += thunk(LEAF)(i);
    return sum;
}

static long handled(long n)
{
    return n;
}

static long deep(long n)
{
    volatile char frame[1000] = {0};
    return n ? thunk(DEEP)(n - 1) + frame[n % 1000] : 0;
}

static void on_signal(int number)
{
    signals += (int)thunk(HANDLED)(1) + 0 * number;
}

/* == What sprof does == */

static void write_thunk(int memory, uint32_t number, uint64_t body)
{
    uint8_t bytes[ARCH_THUNK_BYTES];
    const uint64_t at = asked.hello.thunks + number * ARCH_THUNK_BYTES;
    arch_thunk_write(bytes, at, number, asked.hello.enter, asked.hello.leave, 0, body);
    if (pwrite(memory, bytes, sizeof bytes, (off_t)at) != sizeof bytes)
        fail("no thunk", number);
}

static void find_stack(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned long start, end;
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "[stack]") && sscanf(line, "%lx-%lx", &start, &end) == 2) {
            shared->stacks.high = end;
            shared->stacks.low = end - (8 << 20);
        }
    fclose(maps);
    shared->stacks.bytes = 8 << 20;
}

static void set_up(void)
{
    const int file = (int)syscall(SYS_memfd_create, "sprof-test", 0),
              memory = open("/proc/self/mem", O_RDWR);
    if (ask((struct probe_request){.kind = PROBE_HELLO}))
        fail("no hello", (long)asked.answer.result);
    if (!asked.hello.table.address || asked.hello.fields[0].at || asked.hello.thread)
        fail("no table", 0);
    slab_bytes = probe_slab_bytes(FUNCTIONS);
    const uint64_t bytes = probe_shared_bytes(SLABS, slab_bytes);
    if (ftruncate(file, (off_t)bytes))
        fail("no memory", 0);
    shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    shared->slab_bytes = slab_bytes;
    shared->slab_count = SLABS;
    shared->function_count = FUNCTIONS;
    for (shared->histograms = 1; shared->histograms < slab_bytes;)
        shared->histograms = shared->histograms << 1 | 1;
    shared->lease = UINT64_MAX;
    shared->main_tid = (uint32_t)getpid();
    shared->follows_forks = 1;
    find_stack();
    write_thunk(memory, WORK, (uint64_t)(uintptr_t)work);
    write_thunk(memory, LEAF, (uint64_t)(uintptr_t)leaf);
    write_thunk(memory, HANDLED, (uint64_t)(uintptr_t)handled);
    write_thunk(memory, DEEP, (uint64_t)(uintptr_t)deep);
    write_thunk(memory, FUNCTIONS, asked.hello.nothing);
    if (ask((struct probe_request){.kind = PROBE_MAP_SHARED, .fd = file, .size = bytes}) < 0 ||
        ask((struct probe_request){.kind = PROBE_GO}) ||
        ask((struct probe_request){.kind = PROBE_CALIBRATE}))
        fail("not begun", (long)asked.answer.result);
    if (shared->tid_offset != asked.hello.table.tid)
        fail("ids", shared->tid_offset);
    memset((void *)shared->tiers, PROBE_FULL, FUNCTIONS);
    close(memory);
}

/* == What is there == */

/* Of the slabs of one process: calls, all of which have ended as calls do. */
static uint64_t calls_of(uint32_t function, pid_t pid)
{
    uint64_t calls = 0;
    for (uint32_t i = 0; i < shared->slabs_used; i++) {
        const struct probe_stat *stat =
            (const struct probe_stat *)((const uint8_t *)shared + PROBE_SHARED_BYTES +
                                        i * slab_bytes) +
            function;
        if (shared->slabs[i].pid != (uint32_t)pid)
            continue;
        if (stat->calls != stat->ended || stat->abnormal || stat->uncertain || stat->tails)
            fail("calls without an end", function);
        calls += stat->calls;
    }
    return calls;
}

static void expect(const char *what, uint64_t found, uint64_t wanted)
{
    if (found != wanted) {
        fprintf(stderr, "%s: %lu, not %lu\n", what, (unsigned long)found, (unsigned long)wanted);
        _exit(1);
    }
}

static void *in_thread(void *argument)
{
    return (void *)thunk(WORK)((long)argument);
}

/* So many threads at the same time, so many times; returns how many calls of the leaf they made. */
static uint64_t run_threads(int count, int times, long calls)
{
    pthread_t threads[64];
    for (int k = 0; k < times; k++) {
        for (int i = 0; i < count; i++)
            if (pthread_create(&threads[i], NULL, in_thread, (void *)calls))
                fail("no thread", i);
        for (int i = 0; i < count; i++) {
            void *sum;
            pthread_join(threads[i], &sum);
            expect("what a thread computes", (uint64_t)(uintptr_t)sum,
                   (uint64_t)(calls * (calls + 1) / 2));
        }
    }
    return (uint64_t)count * (uint64_t)times * (uint64_t)calls;
}

static void *in_deep_thread(void *argument)
{
    return (void *)thunk(DEEP)((long)argument);
}

/* A thread uses more than half of its stack, which is told once; its size is what libc has noted.
 */
static void check_stack(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    shared->warnings.stack_part = 128;
    shared->extras = PROBE_WARN;
    for (int part = 3; part < 7; part += 3) {
        pthread_create(&thread, &attributes, in_deep_thread,
                       (void *)(part * STACK_BYTES / 10 / 1100L));
        pthread_join(thread, NULL);
        expect("warnings", shared->warnings.head, part > 5);
    }
    shared->extras = 0;
    const struct probe_warning *warning = &shared->warnings.items[0];
    if (warning->kind != PROBE_STACK || warning->function != DEEP ||
        warning->value < warning->limit ||
        labs((long)warning->limit - STACK_BYTES / 2) > STACK_BYTES / 32)
        fail("the warning's limit", (long)warning->limit);
}

/* Its first probe is that of a thread that it has made, or its own. */
static void in_child(bool in_other_first)
{
    uint64_t leaves = in_other_first ? run_threads(2, 1, 100) : 0;
    thunk(WORK)(1000);
    leaves += 1000 + (in_other_first ? 0 : run_threads(2, 1, 100));
    expect("the child's calls", calls_of(LEAF, getpid()), leaves);
    _exit(0);
}

int main(void)
{
    const pid_t pid = getpid();
    int status;
    set_up();
    const uint32_t used = shared->slabs_used;
    thunk(WORK)(1000);
    uint64_t leaves = 1000 + run_threads(20, 3, 1000);
    expect("calls", calls_of(LEAF, pid), leaves);
    expect("calls of what calls", calls_of(WORK, pid), 1 + 60);
    expect("slabs", shared->slabs_used, used + 60);

    for (int i = 0; i < 2; i++) {
        const pid_t child = fork();
        if (!child)
            in_child(i);
        if (waitpid(child, &status, 0) != child || status)
            fail("a forked process", status);
        expect("calls beside a child", calls_of(LEAF, pid), leaves);
    }
    check_stack();
    const pid_t child = vfork();
    if (!child) {
        thunk(LEAF)(1);
        _exit(0);
    }
    waitpid(child, &status, 0);
    expect("calls with those of a vforked child", calls_of(LEAF, pid), ++leaves);

    const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, on_signal);
    setitimer(ITIMER_REAL, &often, NULL);
    while (signals < 1000) {
        thunk(WORK)(1000);
        leaves += 1000;
    }
    leaves += run_threads(20, 1, 1000);
    setitimer(ITIMER_REAL, &never, NULL);
    expect("calls with handlers", calls_of(LEAF, pid), leaves);
    expect("calls of handlers", calls_of(HANDLED, pid), (uint64_t)signals);
    expect("threads without figures", shared->untracked, 0);
    printf("ids at %#x, %u slabs, a probe takes %u ticks, a count %u\n", shared->tid_offset,
           shared->slabs_used, shared->cost.whole, shared->cost.count);
    return 0;
}
