/* The tracing agent, inside: declarations that its files share. */
#ifndef SPROF_AGENT_PROBE_INSIDE_H
#define SPROF_AGENT_PROBE_INSIDE_H

#include "agent/probe.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>

/* Written before the first thunk can be entered. */
struct probe_inside {
    /* A page that is zero in a forked child. The first word is the address of `shared`, or 0: calls
     * are not measured. The second is the number of the thread that noticed the fork first. Open
     * calls of a child return through its own copies of the records. */
    const volatile uint64_t *alive;
    struct probe_shared *shared;
    uint32_t follows_forks; /* as in `shared` */
    uint32_t pid;
    bool is_forked; /* this process was forked from one that was measured */
    /* Of earlier traces: how many, and how many serials their threads used. */
    uint32_t generations, serials;
    uint64_t stack_low, stack_end; /* of the main thread, as in `shared` */
    uint32_t tid_offset; /* offset of the id from the thread pointer; 0: not known (never with a
                            table) */
    bool has_no_clock;   /* threads that have not begun may not read the processor's counter */
    bool loses_clock;    /* some thread that has begun may not either */
    /* As in `shared` when the trace began. Another process that shares the memory may write
     * anything there, and addresses follow from these. */
    uint32_t slab_count, function_count;
    uint64_t slab_bytes, shared_bytes; /* the latter: of all that is mapped */
    int64_t error_at;                  /* errno from the thread's pointer; 0: not known */
};

extern struct probe_inside probe_inside __attribute__((visibility("hidden")));
extern uint8_t probe_thunks[] __attribute__((visibility("hidden")));
extern uint8_t probe_points[] __attribute__((visibility("hidden"))); /* the end of both areas */
extern uint8_t probe_copies[] __attribute__((visibility("hidden")));

/* Instructions that need a field of struct thread: PROBE_FIELDS, with the offset of each. */
extern const struct {
    int32_t at;
    uint32_t offset;
} probe_edge_fields[PROBE_FIELDS] __attribute__((visibility("hidden")));

/* Assembly, called by thunks alone. */
void probe_enter(void) __attribute__((visibility("hidden")));
void probe_leave(void) __attribute__((visibility("hidden")));
void probe_point_enter(void) __attribute__((visibility("hidden")));
void probe_outside_enter(void) __attribute__((visibility("hidden")));
void probe_outside_leave(void) __attribute__((visibility("hidden")));
void probe_point_leave(void) __attribute__((visibility("hidden")));

/* Maps the records, and the page whose first word says whether calls are measured. False: there is
 * no memory, or threads cannot be distinguished. */
bool probe_say_hello(struct probe_hello *hello) __attribute__((visibility("hidden")));

/* Finds where threads have their ids, by the running one. False: not found. */
bool probe_find_ids(void) __attribute__((visibility("hidden")));

/* Describes where the data of threads is. */
void probe_say_thread(struct probe_hello *hello) __attribute__((visibility("hidden")));

/* Carries out a request. A descriptor that came along is closed. */
int64_t probe_answer_of(const struct probe_request *request, int fd)
    __attribute__((visibility("hidden")));

/* Notes the function by which the loader reports libraries that come and go, and the one to call
 * instead. */
void probe_find_loader(struct probe_hello *hello) __attribute__((visibility("hidden")));

/* Is called in its place. Changes no register. */
void probe_loaded(void) __attribute__((visibility("hidden"), no_caller_saved_registers));

/* Ticks; 0: this thread is not timed. */
uint64_t probe_now(void) __attribute__((visibility("hidden")));

/* Takes ticks off the innermost call of this thread. */
void probe_take_off(uint64_t ticks) __attribute__((visibility("hidden")));
/* From now on calls are measured. */
void probe_begin(void) __attribute__((visibility("hidden")));

/* Writes into the window of records where the open calls of a thread are found. */
void probe_publish(void) __attribute__((visibility("hidden")));

/* Whether a window was written so by this agent. */
bool probe_is_published(const struct probe_window *window) __attribute__((visibility("hidden")));

/* Serves a tracer's requests until "go". False: the tracer is gone, or has given up. */
bool probe_serve(int socket_fd) __attribute__((visibility("hidden")));

/* Sends a message, with a descriptor where it is not -1. */
bool probe_send(int socket_fd, const void *data, size_t size, int fd)
    __attribute__((visibility("hidden")));

/* Whether the peer of a socket is the program's owner, or root. */
bool probe_may_trace(int socket_fd) __attribute__((visibility("hidden")));

/* Begins the thread that waits for a tracer. */
void probe_listen(void) __attribute__((visibility("hidden")));

/* For a thread that libc did not make: puts its number where libc puts those of others. */
void probe_note_tid(void) __attribute__((visibility("hidden")));

/* Assembly: begins a thread by clone(2). */
long probe_clone(uint64_t flags, void *stack, void *pointer, void (*run)(void))
    __attribute__((visibility("hidden")));

/* Runs in a borrowed thread. */
void probe_errand(void) __attribute__((visibility("hidden")));

/* The registers of arguments, as an entry has saved them. */
struct probe_saved {
    uint64_t r8, r9, rdi, rsi, rcx, rdx;
};

/* A call of `function` with its return address at `slot` begins. Returns 0 where it is measured, 1
 * where the body is to be entered without a record. */
int probe_entered(uint32_t function, uint64_t slot, const struct probe_saved *saved)
    __attribute__((visibility("hidden"), no_caller_saved_registers));

/* The same for a function outside of the traced modules. */
int probe_outside_entered(uint32_t number, uint64_t slot, const struct probe_saved *saved)
    __attribute__((visibility("hidden"), no_caller_saved_registers));

/* The same for a call point. The lowest bit of its slot is set: see struct record. */
int probe_point_entered(uint32_t point, uint64_t slot, const struct probe_saved *saved)
    __attribute__((visibility("hidden"), no_caller_saved_registers));

/* The call of a slot has returned at `now` ticks (0: not read yet). Returns where it goes on. */
uint64_t probe_left(uint64_t now, uint64_t slot)
    __attribute__((visibility("hidden"), no_caller_saved_registers));

/* Switches all probes off where their lease ended before `now`. */
void probe_end_lease(uint64_t now)
    __attribute__((visibility("hidden"), no_caller_saved_registers, noinline));

/* Notes a warning for the tracer, at the next free place. */
void probe_warn(const struct probe_warning *noted)
    __attribute__((visibility("hidden"), no_caller_saved_registers, noinline));

/* Does nothing, with `probe_below` further calls below itself, through `probe_called`. */
extern uint32_t probe_below __attribute__((visibility("hidden")));
extern void (*probe_called)(void) __attribute__((visibility("hidden")));
void probe_nothing(void) __attribute__((visibility("hidden")));

/* This thread's figures of a function. A thread without a slab takes one. NULL: none is free. */
const struct probe_stat *probe_stat_of(uint32_t function) __attribute__((visibility("hidden")));

/* Measures the cost of probes through the last thunk. Calls must be measured already, and no call
 * of the program may have been. */
void probe_calibrate(void) __attribute__((visibility("hidden")));

/* Whether the thread that runs may read the processor's counter. */
bool probe_clock_is_there(void) __attribute__((visibility("hidden")));

static inline uint64_t probe_thread_pointer(void)
{
    uint64_t value;
    __asm__("movq %%fs:0, %0" : "=r"(value));
    return value;
}

/* The program is about to filter its system calls: from now on values of calls are not read by any,
 * which might end it. */
static inline void probe_note_filter(void)
{
    atomic_store(&probe_inside.shared->keep.is_filtered, 1);
    atomic_store(&probe_inside.shared->keep.pieces_most, 0);
}

/* A system call; minus an errno where it fails. */
static inline long inside_call(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#endif
