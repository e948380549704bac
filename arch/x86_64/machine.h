/* The constants of x86-64 (System V psABI; Intel SDM volume 2). */
#ifndef SPROF_ARCH_X86_64_MACHINE_H
#define SPROF_ARCH_X86_64_MACHINE_H

#include "arch/x86_64/probe.h"

#include <elf.h>
#include <stdint.h>

/* DWARF numbers (psABI figure 3.36). */
enum x86_register {
    X86_RAX,
    X86_RDX,
    X86_RCX,
    X86_RBX,
    X86_RSI,
    X86_RDI,
    X86_RBP,
    X86_RSP,
    X86_R8,
    X86_R9,
    X86_R10,
    X86_R11,
    X86_R12,
    X86_R13,
    X86_R14,
    X86_R15,
    X86_RIP,
};

enum {
    ARCH_REGISTERS = 17,
    ARCH_GENERAL_REGISTERS = 16,
    ARCH_PC = X86_RIP,
    ARCH_SP = X86_RSP,
    ARCH_FP = X86_RBP,
    ARCH_LINK = -1,
    ARCH_RETURN_COLUMN = X86_RIP,
    ARCH_RESULT = X86_RAX,
    ARCH_CALLEE_SAVED = 1 << X86_RBX | 1 << X86_RBP | 1 << X86_R12 | 1 << X86_R13 | 1 << X86_R14 |
                        1 << X86_R15, /* psABI figure 3.4 */
    ARCH_CALL_PUSHES = 8,
    ARCH_RED_ZONE_BYTES = 128, /* psABI 3.2.2 */
    ARCH_USER_BITS = 47, /* four-level paging; with five levels, mmap stays below unless asked */

    ARCH_CALL_BYTES = 7,
    ARCH_INSTRUCTION_BYTES = 15,
    ARCH_MOVED_BYTES = 13 + 15, /* a push of eight bytes, and a jump */
    ARCH_MOVED_CALL_BYTES = 20 + 15,
    ARCH_REACHED_BYTES = 22 + 15,
    ARCH_BORROWED_BYTES = 128 + 8,
    ARCH_PUSHED_BYTES = 13,
    ARCH_PUSHED_PART = 5,
    ARCH_JUMP_BYTES = 5,
    ARCH_STAGE_BEFORE = 1,
    ARCH_STAGE_AFTER = 8,

    ARCH_PLT_JUMP_BYTES = 12,
    ARCH_PLT_ENTRY_BYTES = 16,
    ARCH_PLT_HEAD_PUSH_BYTES = 6,

    ARCH_REMOTE_WORDS = 27,     /* struct user_regs_struct */
    ARCH_RESUME_WORDS = 15 + 5, /* registers, and what iretq takes */
    ARCH_CALLS_CODE_BYTES = 14,
    ARCH_VECTORS_BYTES = 16 << 10,
    ARCH_FRAME_BYTES = 296 + 8, /* ucontext_t to its signal mask, as the kernel has it */
    ARCH_FRAME_ROOM = 968,      /* ucontext_t, as libc has it */
    ARCH_WAIT_BYTES = 37,
    ARCH_FRAME_MARK_WORDS = 5,
    ARCH_FRAME_END_WORDS = 4,

    ARCH_SIGNAL_REGISTERS = 17,
    ARCH_SIGNAL_REGISTERS_OFFSET = 40, /* struct rt_sigframe without its return address */
};

#define ARCH_ELF_MACHINE EM_X86_64
#define ARCH_NAME "x86_64"
#define ARCH_PROPERTY_FEATURES GNU_PROPERTY_X86_FEATURE_1_AND
#define ARCH_FEATURE_SHADOW_STACK GNU_PROPERTY_X86_FEATURE_1_SHSTK
#define ARCH_RELOCATION_IRELATIVE R_X86_64_IRELATIVE
#define ARCH_RELOCATION_RELATIVE R_X86_64_RELATIVE
#define ARCH_RELOCATION_JUMP_SLOT R_X86_64_JUMP_SLOT
#define ARCH_RELOCATION_GLOB_DAT R_X86_64_GLOB_DAT
#define ARCH_GO_ENTRY "_rt0_amd64" /* and _rt0_amd64_linux */
#define ARCH_CAPSTONE CS_ARCH_X86
#define ARCH_CAPSTONE_MODE CS_MODE_64

static inline uint64_t arch_return_address(uint64_t word)
{
    return word;
}

#endif
