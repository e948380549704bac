/* A second processor for the tests: calls leave the return address in a link register, and all
 * instructions take four bytes. Numbers of registers and encodings are A64's, as far as the tests
 * use them. */
#ifndef SPROF_TESTS_LOAD_STORE_MACHINE_H
#define SPROF_TESTS_LOAD_STORE_MACHINE_H

#include <elf.h>
#include <stdint.h>

enum {
    ARCH_REGISTERS = 33,
    ARCH_GENERAL_REGISTERS = 32,
    ARCH_PC = 32,
    ARCH_SP = 31,
    ARCH_FP = 29,
    ARCH_LINK = 30,
    ARCH_RETURN_COLUMN = 30,
    ARCH_RESULT = 0,
    ARCH_CALLEE_SAVED = 0x3ff << 19, /* x19 to x28 */
    ARCH_CALL_PUSHES = 0,
    ARCH_RED_ZONE_BYTES = 0,
    ARCH_USER_BITS = 48,

    ARCH_CALL_BYTES = 4,
    ARCH_INSTRUCTION_BYTES = 4,
    ARCH_MOVED_BYTES = 16,
    ARCH_MOVED_CALL_BYTES = 20,
    ARCH_REACHED_BYTES = 64,
    ARCH_BORROWED_BYTES = 16,
    ARCH_PUSHED_BYTES = 4,
    ARCH_PUSHED_PART = 4,
    ARCH_JUMP_BYTES = 4,
    ARCH_STAGE_BEFORE = 4,
    ARCH_STAGE_AFTER = 4,

    ARCH_PLT_JUMP_BYTES = 8,
    ARCH_PLT_ENTRY_BYTES = 16,
    ARCH_PLT_HEAD_PUSH_BYTES = 4,

    /* Tracing needs none of these there. */
    ARCH_REMOTE_WORDS = 34,
    ARCH_RESUME_WORDS = 34,
    ARCH_CALLS_CODE_BYTES = 16,
    ARCH_VECTORS_BYTES = 1024,
    ARCH_FRAME_BYTES = 600,
    ARCH_FRAME_ROOM = 600,
    ARCH_FRAME_MARK_WORDS = 3,
    ARCH_FRAME_END_WORDS = 2,
    ARCH_SIGNAL_REGISTERS = 33,
    ARCH_SIGNAL_REGISTERS_OFFSET = 312,
};

#define ARCH_NAME "load_store"
#define ARCH_ELF_MACHINE EM_AARCH64
#define ARCH_PROPERTY_FEATURES 0
#define ARCH_FEATURE_SHADOW_STACK 0
#define ARCH_RELOCATION_IRELATIVE R_AARCH64_IRELATIVE
#define ARCH_RELOCATION_RELATIVE R_AARCH64_RELATIVE
#define ARCH_RELOCATION_JUMP_SLOT R_AARCH64_JUMP_SLOT
#define ARCH_RELOCATION_GLOB_DAT R_AARCH64_GLOB_DAT
#define ARCH_GO_ENTRY "_rt0_arm64"

/* The upper bits may hold a signature. */
enum {
    ARCH_COPY_BYTES = 128,
    ARCH_COPY_PUSHED = 101,
    ARCH_COPY_OF = 102,
    ARCH_COPY_LAST = 103,
    ARCH_COPY_BRANCH = 104,
    ARCH_COPY_NEXT = 112,
    ARCH_COPY_SITE = 120,
    ARCH_THUNK_BYTES = 128,
    ARCH_THUNK_ENTRY = 0,
    ARCH_THUNK_ENTERED = 8,
    ARCH_THUNK_PASS = 12,
    ARCH_THUNK_CALL = 20,
    ARCH_THUNK_RETURN = 28,
    ARCH_THUNK_NUMBER = 100,
    ARCH_THUNK_SITE = 104,
    ARCH_THUNK_BODY = 112,
    ARCH_THUNK_ON = 1,
    ARCH_THUNK_OFF = 2,
    ARCH_FAR_JUMP_BYTES = 16,
    ARCH_FILL = 3,
    ARCH_NOP = 4,
    ARCH_JUMP = 5,
};

static inline uint64_t arch_ticks(void)
{
    return 0;
}

static inline uint64_t arch_return_address(uint64_t word)
{
    return word & ((UINT64_C(1) << ARCH_USER_BITS) - 1);
}

#endif
