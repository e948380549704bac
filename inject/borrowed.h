/* A borrowed thread: a thread of a running process that calls functions for sprof. */
#ifndef SPROF_INJECT_BORROWED_H
#define SPROF_INJECT_BORROWED_H

#include "inject/code.h"
#include "inject/raw.h"
#include "inject/stop.h"

struct inject_borrowed {
    pid_t pid;
    int memory_fd;                  /* /proc/PID/mem; borrowed */
    uint64_t load, unload;          /* functions of libc; 0: it has no loader */
    const struct inject_ways *ways; /* borrowed */
    struct inject_stopped thread;
    struct arch_remote own; /* its registers when it was stopped, maybe within a call */
    bool is_entering;       /* it stands before a system call, not behind one */
    uint64_t signal_mask;
    struct arch_vectors vectors;
    uint64_t room;      /* on its stack, for arguments */
    uint64_t frame;     /* for rt_sigreturn */
    uint64_t return_at; /* below it: the return address of a called function */
    int64_t result;     /* of its last system call */
};

enum { INJECT_BORROWED_ROOM = 12 << 10 };

/* The way into a process: its loader, or mapping. One of the two is NULL. */
struct inject_entrance {
    struct inject_code *code;
    struct inject_raw *raw;
};

/* Stops a thread that can be borrowed, trying for five seconds. It goes on before the end of the
 * calling thread, which is one of inject_apart. With `any_place` it may hold locks: for functions
 * that need none. SPROF_ESTATE says why there is none. */
int inject_borrowed_take(struct inject_borrowed *borrowed, pid_t pid, int memory_fd,
                         const struct inject_entrance *entrance, bool any_place,
                         struct sprof_error *error);

/* Has the thread call a function: the first argument is the address of `data` (at most
 * INJECT_BORROWED_ROOM bytes) on its stack, the second an integer. Reads the data back. The thread
 * returns by itself where sprof ends meanwhile. SPROF_ENOTFOUND where the process has ended;
 * SPROF_ESTATE where the function does not return, and then the thread is let go. */
int inject_borrowed_call(struct inject_borrowed *borrowed, uint64_t function, void *data,
                         size_t size, uint64_t second, struct sprof_error *error);

/* The same for a function that takes an integer alone. */
int inject_borrowed_call_plainly(struct inject_borrowed *borrowed, uint64_t function,
                                 uint64_t argument, struct sprof_error *error);

/* Has the thread make a system call, under the same rules. *result: as the kernel returns it. */
int inject_borrowed_system_call(struct inject_borrowed *borrowed, long number,
                                const uint64_t arguments[6], int64_t *result,
                                struct sprof_error *error);

/* Lets the thread go on where it was. */
void inject_borrowed_release(struct inject_borrowed *borrowed);

#endif
