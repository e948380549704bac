/* A program that does one thing of those that are hard for an agent, and says on its standard
 * output what came of it. subject TASK [NUMBER] */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static uint64_t cpu_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Uses CPU time of the calling thread, in user mode for the most part. */
static void spin_us(uint64_t us)
{
    const uint64_t end = cpu_ns(CLOCK_THREAD_CPUTIME_ID) + us * 1000;
    while (cpu_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        for (volatile int i = 0; i < 20000 && us > 200; i++)
            ;
}

static int spin(int ms)
{
    spin_us((uint64_t)ms * 1000);
    return 0;
}

static void *spin_one(void *us)
{
    spin_us((uint64_t)(uintptr_t)us);
    return NULL;
}

/* Before all other work on the machine, where that is allowed: what shares a CPU is in step with
 * the kernel's tick, and so with its timers. Threads inherit it. */
static void take_precedence(void)
{
    const struct sched_param lowest = {.sched_priority = 1};
    sched_setscheduler(0, SCHED_FIFO, &lowest);
}

/* So many threads, one after the other; says what they used in nanoseconds, from birth to death. */
static int short_threads(int us)
{
    take_precedence();
    const uint64_t before = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 1500000 / us && i < 1500; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, spin_one, (void *)(uintptr_t)us))
            return 1;
        pthread_join(thread, NULL);
    }
    const uint64_t after = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    printf("%llu\n", (unsigned long long)(after - before));
    return 0;
}

/* 2000 threads a second, born and dead, each of a tenth of a millisecond, at random times: every
 * half millisecond they would be in step with the kernel's tick. */
static int churn(int seconds)
{
    struct timespec next;
    uint64_t random = 88172645463325252;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (int i = 0; i < seconds * 2000; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, spin_one, (void *)(uintptr_t)100))
            return 1;
        pthread_join(thread, NULL);
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        next.tv_nsec += (long)(random % 1000000);
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return 0;
}

/* All alive at once; each works in its turn, so that the time is not shared with waiting. */
static pthread_barrier_t all_there;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void *wait_and_spin(void *us)
{
    pthread_barrier_wait(&all_there);
    pthread_mutex_lock(&turn);
    spin_us((uint64_t)(uintptr_t)us);
    pthread_mutex_unlock(&turn);
    return NULL;
}

static int live_threads(int count)
{
    static pthread_t threads[4000];
    take_precedence();
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    pthread_barrier_init(&all_there, NULL, (unsigned)count);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], &small, wait_and_spin, (void *)(uintptr_t)5000))
            return 1;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static int fork_child(int ms)
{
    const pid_t child = fork();
    if (!child) {
        spin(ms);
        pthread_t thread;
        pthread_create(&thread, NULL, spin_one, (void *)(uintptr_t)(ms * 1000));
        pthread_join(thread, NULL);
        exit(7);
    }
    int status;
    waitpid(child, &status, 0);
    printf("%d\n", WEXITSTATUS(status));
    return 0;
}

/* A fork that libc knows nothing of. */
static int raw_fork(int ms)
{
    const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (!child) {
        spin(ms);
        pthread_t thread;
        pthread_create(&thread, NULL, spin_one, (void *)(uintptr_t)(ms * 1000));
        pthread_join(thread, NULL);
        _exit(7);
    }
    int status;
    waitpid(child, &status, 0);
    printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}

/* Each way to start another program, with the environment and with an empty one. */
static int start_programs(int ms)
{
    char number[16], command[4200], self[4096] = "";
    char *const empty[] = {NULL};
    snprintf(number, sizeof number, "%d", ms);
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return 1;
    char *const arguments[] = {self, "spin", number, NULL};
    for (int way = 0; way < 7; way++) {
        const pid_t child = way % 2 ? fork() : vfork();
        if (child == 0) {
            if (way == 0)
                execve(self, arguments, environ);
            if (way == 1)
                execve(self, arguments, empty);
            if (way == 2)
                execl(self, self, "spin", number, (char *)NULL);
            if (way == 3)
                execle(self, self, "spin", number, (char *)NULL, empty);
            if (way == 4)
                execvp(self, arguments);
            if (way == 5)
                execlp(self, self, "spin", number, (char *)NULL);
            if (way == 6)
                execv(self, arguments);
            _exit(1);
        }
        waitpid(child, NULL, 0);
    }
    pid_t spawned;
    if (posix_spawn(&spawned, self, NULL, NULL, arguments, empty) == 0)
        waitpid(spawned, NULL, 0);
    if (posix_spawnp(&spawned, self, NULL, NULL, arguments, environ) == 0)
        waitpid(spawned, NULL, 0);
    snprintf(command, sizeof command, "%s spin %s", self, number);
    if (system(command))
        return 1;
    FILE *pipe = popen(command, "r");
    return pipe ? pclose(pipe) : 1;
}

static int print_environment(int unused)
{
    (void)unused;
    for (char **at = environ; *at; at++)
        if (!strncmp(*at, "LD_PRELOAD", 10) || !strncmp(*at, "SPROF_AGENT", 11))
            puts(*at);
    const int first_free = dup(0);
    printf("%d\n", first_free);
    return 0;
}

static void *kill_later(void *target)
{
    spin_us(200000);
    pthread_kill(*(pthread_t *)target, SIGUSR1);
    return NULL;
}

/* Blocks everything everywhere, and waits for everything. */
static int wait_for_all(int unused)
{
    (void)unused;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pthread_t self = pthread_self(), other;
    pthread_create(&other, NULL, kill_later, &self);
    int number = 0;
    sigwait(&all, &number);
    printf("%d\n", number == SIGUSR1);
    pthread_join(other, NULL);
    return 0;
}

static volatile int ticks;

static void count_tick(int number)
{
    (void)number;
    ticks++;
}

/* Profiles itself, as gperftools does. */
static int own_profiler(int ms)
{
    struct sigaction action = {.sa_handler = count_tick, .sa_flags = SA_RESTART};
    const struct itimerval every = {{0, 10000}, {0, 10000}};
    spin(100);
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &every, NULL);
    spin(ms);
    struct sigaction now;
    sigaction(SIGPROF, NULL, &now);
    printf("%d %d\n", ticks, now.sa_handler == count_tick);
    return 0;
}

/* The same with a timer of POSIX. */
static int own_timer(int ms)
{
    struct sigaction action = {.sa_handler = count_tick, .sa_flags = SA_RESTART};
    const struct itimerspec every = {{0, 10000000}, {0, 10000000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    timer_t timer;
    sigaction(SIGPROF, &action, NULL);
    spin(100);
    timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer);
    timer_settime(timer, 0, &every, NULL);
    spin(ms);
    printf("%d %d\n", ticks, 1);
    return 0;
}

/* Has a handler, as sort(1) does, and gets the signal now and then, but sets no timer. */
static int own_handler(int ms)
{
    struct sigaction action = {.sa_handler = count_tick};
    const struct itimerval none = {0};
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &none, NULL);
    for (int i = 0; i < 5; i++) {
        spin(ms / 5);
        kill(getpid(), SIGPROF);
    }
    printf("%d\n", ticks);
    return 0;
}

/* System calls that no handler may cut short. Between them the thread works, so that its timer
 * runs. */
static int interrupted(int count)
{
    int cut = 0;
    sem_t never;
    sem_init(&never, 0, 0);
    const int epoll = epoll_create1(0);
    for (int i = 0; i < count; i++) {
        struct epoll_event event;
        const struct timespec pause = {0, 200000};
        struct timespec until;
        spin_us(300);
        errno = 0;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 200000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (i % 4 == 0)
            cut += poll(NULL, 0, 1) < 0;
        if (i % 4 == 1)
            cut += epoll_wait(epoll, &event, 1, 1) < 0;
        if (i % 4 == 2)
            cut += nanosleep(&pause, NULL) < 0;
        if (i % 4 == 3)
            cut += sem_timedwait(&never, &until) < 0 && errno == EINTR;
    }
    printf("%d\n", cut);
    return 0;
}

static void *allocate_stack(size_t size)
{
    return (char *)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) +
           size;
}

/* Computes without libc: its thread-local storage is its creator's. */
static int work(void *rounds)
{
    for (volatile uintptr_t i = 0; i < (uintptr_t)rounds; i++)
        ;
    return 0;
}

static int cloned_thread(int ms)
{
    volatile pid_t tid = 1;
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                      CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
    clone(work, allocate_stack(256 << 10), flags, (void *)(uintptr_t)((uint64_t)ms * 3000000), NULL,
          NULL, (void *)&tid);
    while (tid)
        usleep(1000);
    return 0;
}

/* The first thread ends before another one, and libc is not asked. */
static int first_thread_ends(int ms)
{
    const int flags =
        CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    clone(work, allocate_stack(256 << 10), flags, (void *)(uintptr_t)((uint64_t)ms * 1000000));
    syscall(SYS_exit, 0);
    return 1;
}

/* A stack that the agent knows nothing of, with a handler of the program's that spins on it. */
static void spin_on_other_stack(int number)
{
    (void)number;
    spin_us(100000);
}

static int other_stack(int unused)
{
    (void)unused;
    enum { BYTES = 512 << 10 };
    const stack_t stack = {.ss_sp = (char *)allocate_stack(BYTES) - BYTES, .ss_size = BYTES};
    struct sigaction action = {.sa_handler = spin_on_other_stack, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    return 0;
}

/* Frames of known size, then work. Compilers shall not make a loop of it, nor less of a frame. */
static int descend(int depth);
static int (*volatile descend_further)(int) = descend;

static int descend(int depth)
{
    char frame[4096];
    frame[0] = (char)depth;
    __asm__ volatile("" : : "r"(frame) : "memory");
    if (depth == 0)
        spin_us(100000);
    return depth ? descend_further(depth - 1) + frame[0] : 0;
}

static int deep(int frames)
{
    descend(frames);
    return 0;
}

/* Few signals may be pending, and each timer counts for one. */
static int few_pending(int count)
{
    const struct rlimit few = {2, 2};
    setrlimit(RLIMIT_SIGPENDING, &few);
    if (getuid() == 0 && setuid(65534)) /* root's own are not counted */
        return 1;
    return live_threads(count);
}

/* Writes whatever it likes into the memory that its agent shares with the recorder. */
static int garble(int ms)
{
    char line[512];
    uintptr_t from, to, found = 0, end = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "memfd:sprof-agent") && sscanf(line, "%lx-%lx", &from, &to) == 2) {
            found = from;
            end = to;
        }
    if (!found)
        return 1;
    fclose(maps);
    const uint64_t stop = cpu_ns(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)ms * 1000000;
    uint64_t random = 88172645463325252;
    while (cpu_ns(CLOCK_THREAD_CPUTIME_ID) < stop)
        for (int i = 0; i < 1000; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            const uintptr_t area =
                random % 4 ? 400000 : end - found; /* control and heads, mostly */
            const uint64_t value = random % 3 ? random >> (random & 63) : random % 5 * 0x100;
            memcpy((char *)found + (random >> 8) % (area - 8), &value, sizeof value);
        }
    return 3;
}

/* Says when it has begun, and goes on for a while. */
static int go_on(int ms)
{
    puts("begun");
    fflush(stdout);
    spin(ms);
    puts("done");
    return 0;
}

static const struct {
    const char *name;
    int (*run)(int);
} tasks[] = {
    {"spin", spin},
    {"short-threads", short_threads},
    {"churn", churn},
    {"live-threads", live_threads},
    {"fork", fork_child},
    {"raw-fork", raw_fork},
    {"programs", start_programs},
    {"environment", print_environment},
    {"wait-for-all", wait_for_all},
    {"own-profiler", own_profiler},
    {"own-timer", own_timer},
    {"own-handler", own_handler},
    {"interrupted", interrupted},
    {"clone", cloned_thread},
    {"first-ends", first_thread_ends},
    {"other-stack", other_stack},
    {"deep", deep},
    {"few-pending", few_pending},
    {"go-on", go_on},
    {"garble", garble},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof tasks / sizeof *tasks; i++)
        if (strcmp(argv[1], tasks[i].name) == 0)
            return tasks[i].run(argc > 2 ? atoi(argv[2]) : 100);
    return 2;
}
