/* A thread of a running process that sprof borrows for a millisecond, to call functions there. */
#ifndef SPROF_TRACE_ATTACH_HAND_H
#define SPROF_TRACE_ATTACH_HAND_H

#include "trace/attach/code.h"
#include "trace/attach/raw.h"
#include "trace/attach/stop.h"

/* Wide enough for all that a thread's vector registers are. */
enum { TRACE_XSTATE_BYTES = 16 << 10 };

struct trace_hand {
    pid_t pid;
    int memory_fd;                 /* /proc/PID/mem; borrowed */
    uint64_t load, unload;         /* functions of libc; 0: it has no loader */
    const struct trace_ways *ways; /* borrowed */
    struct trace_stopped thread;
    struct user_regs_struct own; /* its registers as it was stopped, maybe within a call */
    bool is_entering;            /* it stands before a system call is made, not behind one */
    uint64_t signal_mask;
    uint8_t xstate[TRACE_XSTATE_BYTES]; /* as ptrace gives it */
    size_t xstate_bytes;
    uint64_t room;      /* on its stack, for what functions are given; … */
    uint64_t frame;     /* what rt_sigreturn would take */
    uint64_t return_at; /* below it: what a function returns to, as if it were called */
    int64_t result;     /* of the system call that it made last */
};

enum { TRACE_HAND_ROOM = 12 << 10 };

/* How a process is entered: by its loader, or without. One of the two is NULL. */
struct trace_entrance {
    struct trace_code *code;
    struct trace_raw *raw;
};

/* Stops a thread that can be borrowed, trying for five seconds; it goes on before the end of the
 * thread of sprof's that did so, which is one of trace_apart. With `any_place` it is not asked
 * whether it holds locks: for functions that need none. SPROF_ESTATE says why none could be. */
int trace_hand_take(struct trace_hand *hand, pid_t pid, int memory_fd,
                    const struct trace_entrance *entrance, bool any_place,
                    struct sprof_error *error);

/* Has the thread call a function, with `data` (at most TRACE_HAND_ROOM bytes) on its stack, whose
 * address is the first argument, and an integer as the second; reads the data back. It returns by
 * itself where sprof ends meanwhile. Fails with SPROF_ENOTFOUND where the process has ended,
 * SPROF_ESTATE where the function does not come back, and then the thread is let go. */
int trace_hand_call(struct trace_hand *hand, uint64_t function, void *data, size_t size,
                    uint64_t second, struct sprof_error *error);

/* The same of a function that takes an integer alone. */
int trace_hand_call_plainly(struct trace_hand *hand, uint64_t function, uint64_t argument,
                            struct sprof_error *error);

/* Has the thread make a system call; the same holds. *result: as the kernel returns it. */
int trace_hand_system_call(struct trace_hand *hand, long number, const uint64_t arguments[6],
                           int64_t *result, struct sprof_error *error);

/* The thread goes on where it was. */
void trace_hand_release(struct trace_hand *hand);

enum { TRACE_HAND_FRAME_WORDS = 5 };

/* Whether words at or above a thread's stack pointer are what it comes back by from what it was
 * borrowed for: the kernel, whose frames look alike, makes none with such flags of a stack. */
bool trace_hand_is_frame(const uint64_t words[TRACE_HAND_FRAME_WORDS]);

#endif
