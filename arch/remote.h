/* arch: a thread of another process that ptrace(2) has stopped: its registers, the state of its
 * vectors, the frames that signals leave on stacks, and calls that it makes for sprof. */
#ifndef SPROF_ARCH_REMOTE_H
#define SPROF_ARCH_REMOTE_H

#include "base/base.h"
#include SPROF_ARCH_HEADER

#include <stdbool.h>
#include <sys/types.h>

/* == Registers == */

/* As the kernel has them (NT_PRSTATUS). */
struct arch_remote {
    unsigned long long words[ARCH_REMOTE_WORDS];
};

/* Reads and writes those of a stopped thread. False: it does not stand. */
bool arch_remote_read(pid_t tid, struct arch_remote *remote);
bool arch_remote_write(pid_t tid, const struct arch_remote *remote);

/* Where it stands, its stack, and its control block. */
uint64_t arch_remote_pc(const struct arch_remote *remote);
uint64_t arch_remote_sp(const struct arch_remote *remote);
uint64_t arch_remote_thread_pointer(const struct arch_remote *remote);

/* By DWARF's numbers. */
void arch_remote_registers(const struct arch_remote *remote, uint64_t registers[ARCH_REGISTERS]);

/* Whether it runs code of 64 bits. */
bool arch_remote_is_wide(const struct arch_remote *remote);

/* == System calls == */

/* The number of the call that it is in; negative: none. And the call's result, at its end. */
int64_t arch_remote_call_number(const struct arch_remote *remote);
int64_t arch_remote_result(const struct arch_remote *remote);
void arch_remote_set_result(struct arch_remote *remote, int64_t result);

/* Whether it stands before the first instruction of that call's code in the kernel. */
bool arch_remote_is_entering(const struct arch_remote *remote, long number);

/* It is in no call: the kernel makes none again when the thread goes on. */
void arch_remote_leave_call(struct arch_remote *remote);

/* It makes a call again, by this number. */
void arch_remote_repeat_call(struct arch_remote *remote, uint64_t number);

/* == Calls for sprof == */

/* It goes on at a function, with flags and a stack as on entry. */
void arch_remote_enter(struct arch_remote *remote, uint64_t function, uint64_t sp);

/* The first two arguments of that. */
void arch_remote_set_arguments(struct arch_remote *remote, uint64_t first, uint64_t second);

/* Number and arguments of a system call, where it goes on at one. */
void arch_remote_set_call(struct arch_remote *remote, long number, const uint64_t arguments[6]);

/* Code for calls without a function of libc: pops number and arguments, makes the call, and returns
 * to the next word on the stack. */
extern const uint8_t arch_calls_code[ARCH_CALLS_CODE_BYTES];

/* What arch/x86_64/probe/errand.S takes behind its calls to go on where the thread was:
 * ARCH_RESUME_WORDS.
 */
void arch_remote_resume_words(const struct arch_remote *remote, uint64_t words[ARCH_RESUME_WORDS]);

/* == Vector registers == */

/* As ptrace reads them. */
struct arch_vectors {
    uint8_t bytes[ARCH_VECTORS_BYTES];
    size_t size;
};

/* Reads and writes those of a stopped thread. False: they cannot be read, or are too large for the
 * frames of signals. */
bool arch_vectors_read(pid_t tid, struct arch_vectors *vectors);
bool arch_vectors_write(pid_t tid, const struct arch_vectors *vectors);

/* Writes them as a signal's frame holds them. Returns the size; 0: there is no room. */
size_t arch_vectors_frame(const struct arch_vectors *vectors, uint8_t frame[ARCH_VECTORS_BYTES]);

/* == Frames of signals == */

/* Writes the frame to which a function returns that the thread calls, as the kernel writes one for
 * a signal's handler; rt_sigreturn(2) takes it. The vectors' frame is at an address. `restarts`:
 * the system call that the thread takes up then; 0: none. */
void arch_frame_write(const struct arch_remote *remote, uint64_t vectors, uint64_t restarts,
                      uint64_t signal_mask, uint8_t frame[ARCH_FRAME_BYTES]);

/* Whether words are the beginning of such a frame. The kernel makes none with such flags of a
 * stack. */
bool arch_frame_is_ours(const uint64_t words[ARCH_FRAME_MARK_WORDS]);

/* Reads from a frame that the kernel has written where the signal came, and the alternate stack. */
void arch_frame_read(const uint8_t frame[ARCH_FRAME_BYTES], uint64_t *pc, uint64_t *stack,
                     uint64_t *stack_bytes);

/* Whether words of a stack are the end of the registers in a signal's frame, the second one the
 * instruction pointer. */
bool arch_frame_ends(const uint64_t words[ARCH_FRAME_END_WORDS]);

#endif
