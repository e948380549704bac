/* A borrowed thread: a thread of a running process that calls functions for sprof. */
#ifndef SPROF_TRACE_ATTACH_HAND_H
#define SPROF_TRACE_ATTACH_HAND_H

#include "trace/attach/code.h"
#include "trace/attach/raw.h"
#include "trace/attach/stop.h"

/* Room for all vector registers of a thread. */
enum { TRACE_XSTATE_BYTES = 16 << 10 };

struct trace_hand {
    pid_t pid;
    int memory_fd;                 /* /proc/PID/mem; borrowed */
    uint64_t load, unload;         /* functions of libc; 0: it has no loader */
    const struct trace_ways *ways; /* borrowed */
    struct trace_stopped thread;
    struct user_regs_struct own; /* its registers when it was stopped, maybe within a call */
    bool is_entering;            /* it stands before a system call, not behind one */
    uint64_t signal_mask;
    uint8_t xstate[TRACE_XSTATE_BYTES]; /* as ptrace returns it */
    size_t xstate_bytes;
    uint64_t room;      /* on its stack, for arguments */
    uint64_t frame;     /* for rt_sigreturn */
    uint64_t return_at; /* below it: the return address of a called function */
    int64_t result;     /* of its last system call */
};

enum { TRACE_HAND_ROOM = 12 << 10 };

/* The way into a process: its loader, or mapping. One of the two is NULL. */
struct trace_entrance {
    struct trace_code *code;
    struct trace_raw *raw;
};

/* Stops a thread that can be borrowed, trying for five seconds. It goes on before the end of the
 * calling thread, which is one of trace_apart. With `any_place` it may hold locks: for functions
 * that need none. SPROF_ESTATE says why there is none. */
int trace_hand_take(struct trace_hand *hand, pid_t pid, int memory_fd,
                    const struct trace_entrance *entrance, bool any_place,
                    struct sprof_error *error);

/* Has the thread call a function: the first argument is the address of `data` (at most
 * TRACE_HAND_ROOM bytes) on its stack, the second an integer. Reads the data back. The thread
 * returns by itself where sprof ends meanwhile. SPROF_ENOTFOUND where the process has ended;
 * SPROF_ESTATE where the function does not return, and then the thread is let go. */
int trace_hand_call(struct trace_hand *hand, uint64_t function, void *data, size_t size,
                    uint64_t second, struct sprof_error *error);

/* The same for a function that takes an integer alone. */
int trace_hand_call_plainly(struct trace_hand *hand, uint64_t function, uint64_t argument,
                            struct sprof_error *error);

/* Has the thread make a system call, under the same rules. *result: as the kernel returns it. */
int trace_hand_system_call(struct trace_hand *hand, long number, const uint64_t arguments[6],
                           int64_t *result, struct sprof_error *error);

/* Lets the thread go on where it was. */
void trace_hand_release(struct trace_hand *hand);

enum { TRACE_HAND_FRAME_WORDS = 5 };

/* Whether words at or above a thread's stack pointer are the frame by which it comes back. The
 * kernel makes no frame with such flags of a stack. */
bool trace_hand_is_frame(const uint64_t words[TRACE_HAND_FRAME_WORDS]);

#endif
