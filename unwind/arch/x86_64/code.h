/* What x86-64 machine code says where no table does. */
#ifndef SPROF_UNWIND_ARCH_X86_64_CODE_H
#define SPROF_UNWIND_ARCH_X86_64_CODE_H

#include "base/base.h"
#include "unwind/unwind.h"

#include <stdbool.h>

enum { UNWIND_CALL_BYTES = 7 }; /* the longest call instruction */

/* Whether the bytes, which end at a return address, end with a call: E8 rel32 or a form of FF /2
 * (Intel SDM volume 2, CALL). */
bool unwind_code_ends_with_call(const uint8_t bytes[UNWIND_CALL_BYTES]);

/* How far a function has set up its frame, told by the bytes around an instruction: `code` begins
 * UNWIND_STAGE_BEFORE bytes before it. */
enum { UNWIND_STAGE_BEFORE = 1, UNWIND_STAGE_AFTER = 8 };
enum unwind_stage {
    UNWIND_STAGE_UNKNOWN,
    UNWIND_STAGE_NO_FRAME,   /* before push %rbp, or at the return: the return address is on top */
    UNWIND_STAGE_RBP_PUSHED, /* rbp is on top, the return address behind it */
};
enum unwind_stage unwind_code_stage(const uint8_t code[UNWIND_STAGE_BEFORE + UNWIND_STAGE_AFTER]);

/* Whether a function ends in the bytes: a return with padding behind it (int3, or a nop of any
 * length). Bytes that only look so are taken for an end, too. */
bool unwind_code_holds_end(struct sprof_bytes code);

/* The target of the direct call that ends at `return_address`; false for an indirect one. */
bool unwind_code_call_target(const uint8_t bytes[UNWIND_CALL_BYTES], uint64_t return_address,
                             uint64_t *target);

/* A PLT entry jumps through a slot in memory (with or without endbr64 and bnd before the jump):
 * where the slot is. False for other code. */
enum { UNWIND_PLT_ENTRY_BYTES = 12 };
bool unwind_code_plt_slot(const uint8_t bytes[UNWIND_PLT_ENTRY_BYTES], uint64_t address,
                          uint64_t *slot);

/* A stretch of code known by its bytes. */
struct unwind_known_code {
    size_t start, end; /* offsets into the bytes searched */
    uint64_t rule;
};

/* Finds the first stretch at or after *offset and moves *offset behind it; false when there is
 * none. Known are the kernel's signal return (mov $15,%rax; syscall), musl's _start, what stands
 * behind the system call of glibc's clone and clone3, and of musl's __clone. */
bool unwind_code_find_known(struct sprof_bytes code, size_t *offset,
                            struct unwind_known_code *known);

/* Whether a function that has no frame of its own is the start of a coroutine: glibc's
 * __start_context, whose call frame information claims a caller. */
bool unwind_code_is_start(struct sprof_bytes function);

/* The kernel's frame below a signal handler (struct rt_sigframe without its return address): where,
 * counted from the stack pointer in the trampoline, the registers of the interrupted code lie. */
enum { UNWIND_SIGNAL_REGISTERS_OFFSET = 40, UNWIND_SIGNAL_REGISTERS = 17 };

/* By position in that frame: the register's DWARF number (struct sigcontext of the kernel). */
extern const uint8_t unwind_signal_register_order[UNWIND_SIGNAL_REGISTERS];

#endif
