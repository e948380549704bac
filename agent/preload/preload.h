/* Shared by the sampling agent's files. The agent runs in arbitrary programs: it allocates nothing,
 * takes no lock, and needs only what glibc (since 2.17) and musl have. */
#ifndef SPROF_AGENT_PRELOAD_H
#define SPROF_AGENT_PRELOAD_H

#include "agent/agent.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <ucontext.h>

#define AGENT_EXPORT __attribute__((visibility("default")))

/* Private to the process. Timer values point here: threads made by clone may share thread-local
 * storage. */
struct agent_thread {
    uint8_t *ring;
    size_t ring_bytes; /* a power of two */
    uint64_t head;
    uintptr_t stack_low, stack_end; /* stack_end 0: unknown */
    size_t stack_bytes;             /* 0: unknown */
    uint64_t clock_ns;              /* of the last expiry, by the timer's clock */
    uint64_t weight_ns;             /* of expiries without room */
    uint64_t period_ns;             /* the timer's */
    uint64_t first_ns;              /* weight of the first expiry, then 0 */
    pid_t pid, tid;
    unsigned ending;               /* calls of the key's destructor */
    _Atomic int32_t timer;         /* kernel's number, or -1 */
    _Atomic int32_t poke;          /* helper's timer, or -1 */
    _Atomic uint64_t poked_ns;     /* last use of `poke` */
    _Atomic uint64_t looked_at_ns; /* CPU time at the helper's last check */
    void *(*start)(void *);
    void *argument;
    int (*clone_start)(void *);
};

/* Constant while the process samples. */
struct agent_process {
    struct agent_shared *shared;   /* NULL: not sampling */
    const _Atomic uint32_t *owner; /* the recorder's mutex */
    /* Empty in forked children: a raw fork's child must not write into its parent's rings. */
    _Atomic uint32_t *alive;
    pthread_key_t key; /* its destructor ends a thread */
    bool has_key, has_handler, lacks_descriptors;
    unsigned ring_shift;
    _Atomic uint32_t slots; /* mapped ones */
    bool has_tails;
    size_t mapped_bytes;
    pid_t pid;
    uint64_t tick_ns;
    pid_t parent;            /* of a forked process; 0: it executed a program */
    int64_t clock_offset_ns; /* CLOCK_MONOTONIC minus the first time namespace's */
    char socket_path[108];
    char library[AGENT_PATH_MAX]; /* "LD_PRELOAD=" and path */
    char socket_variable[128];    /* "SPROF_AGENT=" and socket_path */
};

extern struct agent_process agent_process;
extern struct agent_thread agent_threads[AGENT_SLOTS];

/* libc's functions that the agent replaces. */
struct agent_next {
    int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int (*clone)(int (*)(void *), void *, int, void *, ...);
    int (*sigaction)(int, const struct sigaction *, struct sigaction *);
    void (*(*signal)(int, void (*)(int)))(int);
    int (*mlockall)(int);
    int (*setitimer)(int, const struct itimerval *, struct itimerval *);
    int (*sigwait)(const sigset_t *, int *);
    int (*sigwaitinfo)(const sigset_t *, siginfo_t *);
    int (*sigtimedwait)(const sigset_t *, siginfo_t *, const struct timespec *);
    int (*signalfd)(int, const sigset_t *, int);
    int (*dlclose)(void *);
    int (*getattr_default)(pthread_attr_t *);
    int (*attr_getstacksize)(const pthread_attr_t *, size_t *);
    int (*atfork)(void (*)(void), void (*)(void), void (*)(void)); /* musl's */
    int (*key_create)(pthread_key_t *, void (*)(void *));
    int (*setspecific)(pthread_key_t, const void *);
    void *(*getspecific)(pthread_key_t);
    int (*execve)(const char *, char *const[], char *const[]);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                       const posix_spawnattr_t *, char *const[], char *const[]);
    int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                        const posix_spawnattr_t *, char *const[], char *const[]);
    int (*unshare)(int);
    int (*setns)(int, int);
    int (*setuid)(uid_t);
    int (*setgid)(gid_t);
    int (*seteuid)(uid_t);
    int (*setegid)(gid_t);
    int (*setreuid)(uid_t, uid_t);
    int (*setregid)(gid_t, gid_t);
    int (*setresuid)(uid_t, uid_t, uid_t);
    int (*setresgid)(gid_t, gid_t, gid_t);
    int (*system)(const char *);
    FILE *(*popen)(const char *, const char *);
    int (*swapcontext)(ucontext_t *, const ucontext_t *); /* not in musl */
    int (*setcontext)(const ucontext_t *);
};

/* next.c. Callable before the agent's constructor. */
const struct agent_next *agent_next(void);
int agent_next_timer_create(clockid_t clock, struct sigevent *event, timer_t *timer);

/* process.c. False after a raw fork or the recorder's end. */
bool agent_active(void);

/* threads.c. agent_thread_claim returns a new thread's slot or NULL; the thread itself calls begin
 * and end. agent_threads_request serves sprof's requests, in any thread's handler. */
struct agent_thread *agent_thread_claim(void);
void agent_thread_begin(struct agent_thread *thread);
void agent_thread_end(struct agent_thread *thread);
void agent_threads_reset(void);
void agent_threads_request(void);
void agent_timer_set(struct agent_thread *thread, uint64_t first_ns, uint64_t period_ns);
bool agent_timer_is(enum agent_clock clock);
void agent_timer_arm_wall(struct agent_thread *thread);

/* process.c. agent_time_ns: CLOCK_MONOTONIC in the first time namespace. agent_unblock: SIGPROF. */
uint64_t agent_clock_ns(clockid_t clock);
uint64_t agent_time_ns(void);
void agent_unblock(void);

/* handler.c. False: not the agent's timer. */
bool agent_take_sample(const siginfo_t *info, const ucontext_t *context);

/* helper.c. After fork, agent_helper_begin_child comes first. Interval 0: only kernel ticks sample.
 */
void agent_helper_start(void);
void agent_helper_begin_child(void);
uint64_t agent_helper_interval_ns(void);

/* threads.c. Returns a number in [0, limit). */
uint64_t agent_random_below(uint64_t limit, uint64_t now_ns, pid_t tid);

/* record.c. agent_ring_publish makes bytes visible. agent_record_name writes COMM, agent_record_end
 * also READ (CPU time) and EXIT, if there is room. */
uint64_t agent_ring_free(const struct agent_thread *thread);
void agent_ring_put(struct agent_thread *thread, const void *bytes, size_t size);
void agent_ring_publish(struct agent_thread *thread);
void agent_record_fork(struct agent_thread *thread);
void agent_record_name(struct agent_thread *thread);
void agent_record_end(struct agent_thread *thread);

/* signals.c. True: installed; false: the program has a handler. The other: it no longer runs on an
 * alternate stack. */
bool agent_handler_install(void);
void agent_handler_leave_alternate(void);

/* A handler of the program. */
struct agent_handler {
    bool takes_info;
    union {
        void (*with_info)(int, siginfo_t *, void *);
        void (*plain)(int);
    };
};

/* alternate.c. Call before sigaltstack. Makes handlers leave room on small stacks. True: the first
 * stack too small for the agent's handler. */
bool agent_alternate_note(const stack_t *stack);

/* Whether any ever was; any may lack room for a signal frame besides a handler's; or for the
 * agent's handler alone; the caller is on a small one; a handler of the thread used one since the
 * last call. */
bool agent_alternate_is_there(void);
bool agent_alternate_is_small(void);
bool agent_alternate_is_tiny(void);
bool agent_alternate_is_on_small(void);
bool agent_alternate_was_used(pid_t tid);

/* Keeps SIGPROF blocked in handlers if necessary, hidden from the program. Call
 * agent_alternate_handler before a change to get `handler`. */
void agent_alternate_enter(int number, struct sigaction *action);
struct agent_handler agent_alternate_handler(int number);
void agent_alternate_hide(const struct agent_handler *handler, struct sigaction *action);

/* The program sets SIGPROF timers: of two pending signals one is lost, so sampling stops for good.
 * The handler stays for pending expiries. A mere handler is no reason: sort and ls have one. */
void agent_stand_back(void);

#endif
