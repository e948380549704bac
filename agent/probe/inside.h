/* Shared by the files of the tracing agent, which runs inside traced programs. */
#ifndef SPROF_AGENT_PROBE_INSIDE_H
#define SPROF_AGENT_PROBE_INSIDE_H

#include "agent/probe.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>

/* Written before any thunk runs. */
struct probe_inside {
    /* A page, zero in forked children. Word 0: address of `shared`, or 0. Word 1: thread that
     * noticed the fork. A child's open calls return by its own copies of records. */
    const volatile uint64_t *alive;
    struct probe_shared *shared;
    uint32_t follows_forks;
    uint32_t pid;
    bool is_forked;
    /* Of earlier traces. */
    uint32_t generations, serials;
    uint64_t stack_low, stack_end; /* the main thread's */
    uint32_t tid_offset;           /* from the thread pointer; 0: unknown */
    bool has_no_clock;             /* new threads may not read the counter */
    bool loses_clock;              /* some threads may not */
    /* Copies: a process that shares the memory may overwrite it. */
    uint32_t slab_count, function_count;
    uint64_t slab_bytes, shared_bytes;
    int64_t error_at; /* of errno, from the thread pointer; 0: unknown */
};

extern struct probe_inside probe_inside __attribute__((visibility("hidden")));
extern uint8_t probe_thunks[] __attribute__((visibility("hidden")));
extern uint8_t probe_points[] __attribute__((visibility("hidden"))); /* thunks of call points */
extern uint8_t probe_copies[] __attribute__((visibility("hidden")));

/* Instructions that need a field of struct thread, and its offset: struct probe_field. */
extern const struct {
    int32_t at;
    uint32_t offset;
} probe_edge_fields[PROBE_FIELDS] __attribute__((visibility("hidden")));

/* Only thunks call these. */
void probe_enter(void) __attribute__((visibility("hidden")));
void probe_leave(void) __attribute__((visibility("hidden")));
void probe_point_enter(void) __attribute__((visibility("hidden")));
void probe_outside_enter(void) __attribute__((visibility("hidden")));
void probe_outside_leave(void) __attribute__((visibility("hidden")));
void probe_point_leave(void) __attribute__((visibility("hidden")));

/* False: no memory, or threads are indistinguishable. */
bool probe_say_hello(struct probe_hello *hello) __attribute__((visibility("hidden")));

/* Finds the offset of thread ids. */
bool probe_find_ids(void) __attribute__((visibility("hidden")));

void probe_say_thread(struct probe_hello *hello) __attribute__((visibility("hidden")));

/* Closes `fd`. */
int64_t probe_answer_of(const struct probe_request *request, int fd)
    __attribute__((visibility("hidden")));

void probe_find_loader(struct probe_hello *hello) __attribute__((visibility("hidden")));

/* Changes no register. */
void probe_loaded(void) __attribute__((visibility("hidden"), no_caller_saved_registers));

/* Ticks; 0: this thread is not timed. */
uint64_t probe_now(void) __attribute__((visibility("hidden")));

/* Subtracts from the thread's innermost call. */
void probe_take_off(uint64_t ticks) __attribute__((visibility("hidden")));
void probe_begin(void) __attribute__((visibility("hidden")));

void probe_publish(void) __attribute__((visibility("hidden")));

/* Whether this agent wrote it. */
bool probe_is_published(const struct probe_window *window) __attribute__((visibility("hidden")));

/* True at PROBE_GO; false: the tracer is gone. */
bool probe_serve(int socket_fd) __attribute__((visibility("hidden")));

/* `fd` may be -1. */
bool probe_send(int socket_fd, const void *data, size_t size, int fd)
    __attribute__((visibility("hidden")));

/* Whether the peer is the program's user or root. */
bool probe_may_trace(int socket_fd) __attribute__((visibility("hidden")));

void probe_listen(void) __attribute__((visibility("hidden")));

/* Sets the id for threads without libc. */
void probe_note_tid(void) __attribute__((visibility("hidden")));

long probe_clone(uint64_t flags, void *stack, void *pointer, void (*run)(void))
    __attribute__((visibility("hidden")));

void probe_errand(void) __attribute__((visibility("hidden")));

struct probe_saved {
    uint64_t r8, r9, rdi, rsi, rcx, rdx;
};

/* A call begins; its return address is at `slot`. 0: measured; 1: without a record. */
int probe_entered(uint32_t function, uint64_t slot, const struct probe_saved *saved)
    __attribute__((visibility("hidden"), no_caller_saved_registers));

/* For functions outside the modules. */
int probe_outside_entered(uint32_t number, uint64_t slot, const struct probe_saved *saved)
    __attribute__((visibility("hidden"), no_caller_saved_registers));

/* Bit 0 of the slot is set. */
int probe_point_entered(uint32_t point, uint64_t slot, const struct probe_saved *saved)
    __attribute__((visibility("hidden"), no_caller_saved_registers));

/* The call returned at `now` ticks (0: not read). Returns the return address. */
uint64_t probe_left(uint64_t now, uint64_t slot)
    __attribute__((visibility("hidden"), no_caller_saved_registers));

/* Switches all probes off if their lease ended before `now`. */
void probe_end_lease(uint64_t now)
    __attribute__((visibility("hidden"), no_caller_saved_registers, noinline));

void probe_warn(const struct probe_warning *noted)
    __attribute__((visibility("hidden"), no_caller_saved_registers, noinline));

/* Nests `probe_below` calls of `probe_called`. */
extern uint32_t probe_below __attribute__((visibility("hidden")));
extern void (*probe_called)(void) __attribute__((visibility("hidden")));
void probe_nothing(void) __attribute__((visibility("hidden")));

/* Takes a slab if needed. NULL: none free. */
const struct probe_stat *probe_stat_of(uint32_t function) __attribute__((visibility("hidden")));

/* Call it after probe_begin, before the program's calls. */
void probe_calibrate(void) __attribute__((visibility("hidden")));

bool probe_clock_is_there(void) __attribute__((visibility("hidden")));

static inline uint64_t probe_thread_pointer(void)
{
    uint64_t value;
    __asm__("movq %%fs:0, %0" : "=r"(value));
    return value;
}

/* The program will filter its system calls. One that reads values might end it, so none does from
 * now on. */
static inline void probe_note_filter(void)
{
    atomic_store(&probe_inside.shared->keep.is_filtered, 1);
    atomic_store(&probe_inside.shared->keep.pieces_most, 0);
}

/* Returns the result or minus an errno. */
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
