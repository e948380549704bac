/* The code of a probe on x86-64: offsets in thunks and in copies of functions' beginnings, which
 * arch/x86_64/probe/area.S describes. */
#ifndef SPROF_ARCH_X86_64_PROBE_H
#define SPROF_ARCH_X86_64_PROBE_H

#include <stdint.h>

/* In the copy of a function's beginning. Each thunk has one. */
enum {
    ARCH_COPY_BYTES = 64,
    ARCH_COPY_PUSHED = 37,
    ARCH_COPY_OF = 38,
    ARCH_COPY_LAST = 39,
    ARCH_COPY_BRANCH = 40,
    ARCH_COPY_NEXT = 48,
    ARCH_COPY_SITE = 56,
};

/* The first byte of a thunk: `test $imm8, %al` (flags are dead at an entry), or a jump past the
 * agent. */
enum { ARCH_THUNK_ON = 0xa8, ARCH_THUNK_OFF = 0xeb };

/* In a thunk. */
enum {
    ARCH_THUNK_BYTES = 64,
    ARCH_THUNK_ENTRY = 0,
    ARCH_THUNK_ENTERED = 7, /* return address of the call at the entry */
    ARCH_THUNK_PASS = 9,
    ARCH_THUNK_CALL = 20,
    ARCH_THUNK_RETURN = 26,
    ARCH_THUNK_NUMBER = 40, /* of the function: 32 bits */
    ARCH_THUNK_SITE = 48,   /* address of the jump; 0: of a place that calls */
    ARCH_THUNK_BODY = 56,   /* the address of the function's body */
};

/* A jump to anywhere; its last eight bytes are the target. What fills room that no code uses, and
 * what stands behind a jump where nothing executes it. */
enum { ARCH_FAR_JUMP_BYTES = 14, ARCH_FILL = 0xcc, ARCH_NOP = 0x90, ARCH_JUMP = 0xe9 };

/* The processor's counter. */
static inline uint64_t arch_ticks(void)
{
    return __builtin_ia32_rdtsc();
}

#endif
