/* The room for thunks, and the rules for unwinding through them.
 *
 * A thunk, 64 bytes, as the tracer writes it; S is where the return address of the call stands:
 *
 *      offset                                   rsp        return address
 *       0  test $7, %al  or jmp 9, while off    S          in memory at S
 *       2  call probe_enter                     S          …
 *       7  jnc  15                              S          in memory, and in the record of S
 *       9  jmp  *56(thunk)                      S          in memory
 *      15  lea  8(%rsp), %rsp                   S          in memory, and in the record
 *      20  call *56(thunk)   the body           S+8        in the record
 *      26  push %rax         makes room at S    S+8        …
 *      27  push %r11                            S          …
 *      29  call probe_leave  puts it back at S  S-8        …
 *      34  pop  %r11                            S-8        …
 *      36  ret                                  S          …
 *      40  the function's number
 *      48  where its probe is: an address in the program
 *      56  address of the body
 */

#include "agent/probe/offsets.h"

        .section .probe_thunks, "ax", @progbits
        .globl  probe_thunks
        .hidden probe_thunks
        .type   probe_thunks, @function
        .p2align 12
probe_thunks:
        .cfi_startproc
/* One rule for all thunks, by the offset of the instruction pointer in its thunk, as linkers write
 * rules for a PLT. The canonical frame address is S + 9, not S + 8: it distinguishes the frame from
 * the caller's, which has S + 8.
 *
 * CFA = rsp + 9 + 8 ((o >= 27) - (o >= 20) + (o >= 29) - (o >= 36)) */
#define BREG_RSP 0x77, 0
#define OFFSET   0x80, 0, 0x08, 63, 0x1a                /* breg16 0, const1u 63, and */
#define AT_LEAST(n) OFFSET, 0x08, n, 0x2a               /* offset, const1u n, ge */
#define ADD 0x22
#define SUB 0x1c
        .cfi_escape 0x0f, 42, \
            AT_LEAST(27), AT_LEAST(20), SUB, AT_LEAST(29), ADD, AT_LEAST(36), SUB, \
            0x33, 0x24, BREG_RSP, ADD, 0x39, ADD        /* lit3, shl, rsp, plus, lit9, plus */
/* rsp = CFA - 1. The CFA is on the expression's stack at its beginning. */
        .cfi_escape 0x16, 7, 2, 0x31, SUB
/* The return address is in memory at CFA - 9, but in the record for offsets 20 to 36:
 * PROBE_RECORDS + 8 ((CFA - 9) mod 2^41). */
        .cfi_escape 0x10, 16, 46, \
            0x39, SUB,                                  /* lit9, minus */ \
            AT_LEAST(20), AT_LEAST(37), SUB, 0x31, SUB, /* 0: in the record */ \
            0x28, 22, 0,                                /* bra: to the end */ \
            0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0x1a, 0x33, 0x24, \
            0x0e, 0, 0, 0, 0, 0, 0x44, 0, 0, ADD        /* const8u, and, lit3, shl, const8u, plus */
        .fill   THUNKS * 64, 1, 0xcc
        .cfi_endproc
        .size   probe_thunks, . - probe_thunks

/* The same for those of call points (points.S). Theirs is the caller's frame of the thunk of the
 * function that they call, with the same S: the canonical frame address is S + 10, and the record
 * that of S ^ 2^40. */
        .globl  probe_points
        .hidden probe_points
        .type   probe_points, @function
probe_points:
        .cfi_startproc
        .cfi_escape 0x0f, 42, \
            AT_LEAST(27), AT_LEAST(20), SUB, AT_LEAST(29), ADD, AT_LEAST(36), SUB, \
            0x33, 0x24, BREG_RSP, ADD, 0x3a, ADD        /* lit3, shl, rsp, plus, lit10, plus */
        .cfi_escape 0x16, 7, 2, 0x32, SUB
        .cfi_escape 0x10, 16, 56, \
            0x3a, SUB,                                  /* lit10, minus */ \
            AT_LEAST(20), AT_LEAST(37), SUB, 0x31, SUB, /* 0: in the record */ \
            0x28, 32, 0,                                /* bra: to the end */ \
            0x0e, 0, 0, 0, 0, 0, 1, 0, 0, 0x27,         /* const8u, xor */ \
            0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0x1a, 0x33, 0x24, \
            0x0e, 0, 0, 0, 0, 0, 0x44, 0, 0, ADD        /* const8u, and, lit3, shl, const8u, plus */
        .fill   32768 * 64, 1, 0xcc
        .cfi_endproc
        .size   probe_points, . - probe_points

/* Copies of the beginnings of functions, 64 bytes each, as plan/far_copy.c writes them. What
 * was moved there is where unwinders go first when it faults, and where it came from next: the return
 * address is the instruction's place in its function, plus one, for it is looked up as one that
 * follows a call. So the function's own rows and handlers apply. Such a frame has nothing on the
 * stack: its canonical frame address is the stack pointer. libgcc distinguishes the two frames by
 * the kernel's frame of the signal, which is always there.
 *
 *      offset
 *      37  bytes that are on the stack behind the last place that stands as in the function …
 *      38  … whose place in it they belong to …
 *      39  … and where it is here
 *      40  where a branch leads
 *      48  where it goes on
 *      56  where the instructions stood
 */
#define COPY      0x80, 0, 0x09, 0xc0, 0x1a             /* breg16, const1s -64, and */
#define BYTE_AT(n) COPY, 0x23, n, 0x94, 1               /* plus_uconst n, deref_size 1 */
#define IS_BEYOND OFFSET, BYTE_AT(39), 0x2b             /* offset, last place, gt */
#define MUL 0x1e
        .globl  probe_copies
        .hidden probe_copies
        .type   probe_copies, @function
probe_copies:
        .cfi_startproc
        .cfi_escape 0x0f, 28, BREG_RSP, IS_BEYOND, BYTE_AT(37), MUL, ADD
        .cfi_escape 0x16, 16, 48, \
            COPY, 0x23, 56, 0x06, OFFSET, ADD, 0x23, 1, /* *56(copy) + offset + 1 */ \
            IS_BEYOND, BYTE_AT(38), OFFSET, SUB, MUL, ADD
/* The first is none: some unwinders look for the byte before the instruction. */
        .fill   (THUNKS + 1) * 64, 1, 0xcc
        .cfi_endproc
        .size   probe_copies, . - probe_copies

        .section .note.GNU-stack, "", @progbits
