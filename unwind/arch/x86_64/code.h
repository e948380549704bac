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

/* A stretch of code known by its bytes. */
struct unwind_known_code {
    size_t start, end; /* offsets into the bytes searched */
    uint64_t rule;
};

/* Finds the first stretch at or after *offset and moves *offset behind it; false when there is
 * none. Known are the kernel's signal return (mov $15,%rax; syscall), musl's _start and the child's
 * side of musl's __clone. */
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
