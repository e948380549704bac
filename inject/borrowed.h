/* A thread of a running process that makes calls for sprof. */
#ifndef SPROF_INJECT_BORROWED_H
#define SPROF_INJECT_BORROWED_H

#include "inject/code.h"
#include "inject/raw.h"
#include "inject/stop.h"

struct inject_borrowed {
    pid_t pid;
    int memory_fd;                  /* /proc/PID/mem; not owned */
    uint64_t load, unload;          /* dlopen, dlclose; or 0 */
    const struct inject_ways *ways; /* not owned */
    struct inject_stopped thread;
    struct arch_remote own; /* registers when it stopped, maybe within a call */
    bool is_entering;       /* stopped before a system call, not behind it */
    uint64_t signal_mask;
    struct arch_vectors vectors;
    uint64_t room;      /* address for arguments, on its stack */
    uint64_t frame;     /* address of rt_sigreturn's frame */
    uint64_t return_at; /* below it: address of a called function's return address */
    int64_t result;     /* of the last system call */
};

enum { INJECT_BORROWED_ROOM = 12 << 10 };

/* A loader (code), or mapping (raw); the other is NULL. */
struct inject_entrance {
    struct inject_code *code;
    struct inject_raw *raw;
};

/* Borrows a thread within five seconds, in a thread of inject_apart, which must release it.
 * `any_place`: it may hold locks. SPROF_ESTATE: none can be borrowed. */
int inject_borrowed_take(struct inject_borrowed *borrowed, pid_t pid, int memory_fd,
                         const struct inject_entrance *entrance, bool any_place,
                         struct sprof_error *error);

/* Calls a function with the address of `data`, copied to the stack and back (at most
 * INJECT_BORROWED_ROOM bytes), and an integer. If sprof dies, the thread returns by itself.
 * SPROF_ENOTFOUND: the process has ended; SPROF_ESTATE: it faults, or does not return and is
 * released. */
int inject_borrowed_call(struct inject_borrowed *borrowed, uint64_t function, void *data,
                         size_t size, uint64_t second, struct sprof_error *error);

/* The same with an integer alone. */
int inject_borrowed_call_plainly(struct inject_borrowed *borrowed, uint64_t function,
                                 uint64_t argument, struct sprof_error *error);

/* The same for a system call. */
int inject_borrowed_system_call(struct inject_borrowed *borrowed, long number,
                                const uint64_t arguments[6], int64_t *result,
                                struct sprof_error *error);

void inject_borrowed_release(struct inject_borrowed *borrowed);

#endif
