/* A processor that does not exist: more registers than x86-64 has, a link register, instructions of
 * four bytes. second_processor.sh reads the sources with it. */
#ifndef SPROF_TESTS_PROCESSOR_MACHINE_H
#define SPROF_TESTS_PROCESSOR_MACHINE_H

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
    ARCH_MOVED_BYTES = 20,
    ARCH_MOVED_CALL_BYTES = 20,
    ARCH_REACHED_BYTES = 64,
    ARCH_BORROWED_BYTES = 16,
    ARCH_PUSHED_BYTES = 4,
    ARCH_PUSHED_PART = 4,
    ARCH_JUMP_BYTES = 4,
    ARCH_STAGE_BEFORE = 4,
    ARCH_STAGE_AFTER = 4,
    ARCH_PLT_JUMP_BYTES = 16,
    ARCH_PLT_ENTRY_BYTES = 16,
    ARCH_PLT_HEAD_PUSH_BYTES = 4,
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

#define ARCH_NAME "none"
#define ARCH_ELF_MACHINE 0xfeed
#define ARCH_PROPERTY_FEATURES 0
#define ARCH_FEATURE_SHADOW_STACK 0
#define ARCH_RELOCATION_IRELATIVE 1
#define ARCH_RELOCATION_RELATIVE 2
#define ARCH_RELOCATION_JUMP_SLOT 3
#define ARCH_RELOCATION_GLOB_DAT 4
#define ARCH_GO_ENTRY "_rt0_none"

static inline uint64_t arch_return_address(uint64_t word)
{
    return word & UINT64_MAX >> 16;
}

#endif
