/* The agent, inside. It runs in programs that are not made for it: it allocates nothing, takes no
 * lock, and uses only what every libc has (glibc since 2.17, and musl). */
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

/* A thread with a slot. The table is private to the process. The timer's value points into it, so
 * the handler needs no thread-local storage (threads made by clone may share their creator's). */
struct agent_thread {
    uint8_t *ring; /* of ring_bytes, a power of two */
    size_t ring_bytes;
    uint64_t head;
    uintptr_t stack_low, stack_end; /* all between is stack; stack_end 0: not known */
    size_t stack_bytes;             /* of a thread that begins; 0: not known */
    uint64_t clock_ns;              /* time of its last expiry, by the clock of its timer */
    uint64_t weight_ns;             /* of expiries without room */
    uint64_t period_ns;             /* the timer's */
    uint64_t first_ns;              /* weight of the first expiry; 0 after it */
    pid_t pid, tid;
    unsigned ending;               /* calls of the key's destructor */
    _Atomic int32_t timer;         /* the kernel's number; -1: none */
    _Atomic int32_t poke;          /* of the timer for the helper; -1: none */
    _Atomic uint64_t poked_ns;     /* the helper's last use of it */
    _Atomic uint64_t looked_at_ns; /* CPU time at the helper's last look */
    void *(*start)(void *);
    void *argument;
    int (*clone_start)(void *);
};

/* Constant once the process samples. */
struct agent_process {
    struct agent_shared *shared;   /* NULL: not sampling */
    const _Atomic uint32_t *owner; /* the recorder's mutex */
    /* A page that is empty in every forked child: a child of a raw fork must not write into its
     * parent's rings. */
    _Atomic uint32_t *alive;
    pthread_key_t key; /* its destructor ends a thread */
    bool has_key, has_handler, lacks_descriptors;
    unsigned ring_shift;
    _Atomic uint32_t slots; /* mapped slots, which may be taken */
    bool has_tails;         /* places for deep stacks are mapped */
    size_t mapped_bytes;
    pid_t pid;
    uint64_t tick_ns;
    int64_t clock_offset_ns; /* CLOCK_MONOTONIC here, less that of the first time namespace */
    char socket_path[108];
    char library[AGENT_PATH_MAX]; /* "LD_PRELOAD=" and the agent's path */
    char socket_variable[128];    /* "SPROF_AGENT=" and socket_path */
};

extern struct agent_process agent_process;
extern struct agent_thread agent_threads[AGENT_SLOTS];

/* libc's own versions of functions that the agent replaces. */
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
    int (*atfork)(void (*)(void), void (*)(void), void (*)(void)); /* of musl */
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
};

/* next.c: found at first use: constructors of other libraries may run before the agent's. */
const struct agent_next *agent_next(void);
int agent_next_timer_create(clockid_t clock, struct sigevent *event, timer_t *timer);

/* process.c: whether threads are sampled. False in a process of a raw fork, and after the
 * recorder's end. */
bool agent_active(void);

/* threads.c: a slot for a new thread, or NULL; the calling thread takes it and its timer starts;
 * the thread ends. agent_threads_request carries out requests of sprof, in the handler of any
 * thread. */
struct agent_thread *agent_thread_claim(void);
void agent_thread_begin(struct agent_thread *thread);
void agent_thread_end(struct agent_thread *thread);
void agent_thread_give_back(struct agent_thread *thread);
void agent_threads_reset(void);
void agent_threads_request(void);
void agent_timer_set(struct agent_thread *thread, uint64_t first_ns, uint64_t period_ns);
bool agent_timer_is(enum agent_clock clock);
void agent_timer_arm_wall(struct agent_thread *thread);

/* process.c: a clock; the time for sprof, CLOCK_MONOTONIC of the first time namespace; unblocks the
 * signal in the calling thread. */
uint64_t agent_clock_ns(clockid_t clock);
uint64_t agent_time_ns(void);
void agent_unblock(void);

/* handler.c: takes a sample; false where the signal is not of one of the agent's timers. */
bool agent_take_sample(const siginfo_t *info, const ucontext_t *context);

/* helper.c: starts the helper; ends it, and returns when it is gone. The time between its last two
 * looks; 0: it does not help, and only the kernel's tick samples. In the child of a fork
 * agent_helper_begin_child comes first. */
void agent_helper_start(void);
void agent_helper_begin_child(void);
void agent_helper_end(void);
uint64_t agent_helper_interval_ns(void);

/* threads.c: evenly from 0 to below `limit`, for the thread of that number. */
uint64_t agent_random_below(uint64_t limit, uint64_t now_ns, pid_t tid);

/* record.c: appends bytes at the head, which agent_record_publish makes visible; a FORK, a COMM,
 * the READ of the CPU time and an EXIT, where there is room. */
uint64_t agent_ring_free(const struct agent_thread *thread);
void agent_ring_put(struct agent_thread *thread, const void *bytes, size_t size);
void agent_ring_publish(struct agent_thread *thread);
void agent_record_fork(struct agent_thread *thread);
void agent_record_end(struct agent_thread *thread);

/* signals.c: installs the handler unless the program has one, and returns whether it did. */
bool agent_handler_install(void);

/* A handler of the program's that one of the agent's calls. */
struct agent_handler {
    bool takes_info; /* with SA_SIGINFO */
    union {
        void (*with_info)(int, siginfo_t *, void *);
        void (*plain)(int);
    };
};

/* alternate.c: notes an alternate stack before it exists, and has handlers of the program's leave
 * room on a small one. Returns whether it is the first that lacks room for the agent's handler. */
bool agent_alternate_note(const stack_t *stack);

/* Whether a thread has had an alternate stack that may lack room for a signal's frame
 * beside a handler's; one that lacks it for the agent's handler alone; whether the caller runs on a
 * small one; whether a thread has run a handler on an alternate stack since the last question. */
bool agent_alternate_is_small(void);
bool agent_alternate_is_tiny(void);
bool agent_alternate_is_on_small(void);
bool agent_alternate_was_used(pid_t tid);

/* Has a disposition of the program's keep SIGPROF blocked where it must. The program is shown what
 * it has set: `handler` is that of agent_alternate_handler before any change. */
void agent_alternate_enter(int number, struct sigaction *action);
struct agent_handler agent_alternate_handler(int number);
void agent_alternate_hide(const struct agent_handler *handler, struct sigaction *action);

/* The program sets timers for SIGPROF itself. Of two such signals at a time one gets lost, so the
 * agent takes no more samples, for good. Its handler stays, because expiries under way must not
 * reach the program. A program's handler alone (sort and ls have one, to tidy up) is called for
 * other signals, and no reason to stop. */
void agent_stand_back(void);

#endif
