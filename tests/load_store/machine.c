/* The functions of the tests' second processor. */
#include "arch/arch.h"

const char *const arch_register_names[ARCH_GENERAL_REGISTERS] = {
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
    "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
    "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp",
};

const uint8_t arch_signal_register_order[ARCH_SIGNAL_REGISTERS] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
    17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
};

enum {
    RETURN = 0xd65f03c0,     /* ret */
    PUSH_FRAME = 0xa9bf7bfd, /* stp x29,x30,[sp,#-16]! */
    POP_FRAME = 0xa8c17bfd,  /* ldp x29,x30,[sp],#16 */
    SYSTEM_CALL = 0xd4000001,
    NOTHING = 0xd503201f,
};

static uint32_t word_at(const uint8_t *code)
{
    uint32_t word;
    memcpy(&word, code, sizeof word);
    return word;
}

bool arch_is_in_signal_return(const uint64_t registers[ARCH_REGISTERS])
{
    return registers[8] == 139; /* rt_sigreturn */
}

bool arch_may_be_in_system_call(const uint64_t registers[ARCH_REGISTERS])
{
    (void)registers;
    return true;
}

bool arch_code_ends_with_call(const uint8_t bytes[ARCH_CALL_BYTES])
{
    const uint32_t word = word_at(bytes);
    return word >> 26 == 0x25 || (word & 0xfffffc1f) == 0xd63f0000; /* bl, blr */
}

/* The distance of a branch of 26 bits. */
static int64_t distance_of(uint32_t word)
{
    return (int64_t)((int32_t)(word << 6) >> 6) * 4;
}

bool arch_code_call_target(const uint8_t bytes[ARCH_CALL_BYTES], uint64_t return_address,
                           uint64_t *target)
{
    const uint32_t word = word_at(bytes);
    *target = return_address - 4 + (uint64_t)distance_of(word);
    return word >> 26 == 0x25;
}

enum arch_stage arch_code_stage(const uint8_t code[ARCH_STAGE_BEFORE + ARCH_STAGE_AFTER])
{
    const uint32_t at = word_at(code + ARCH_STAGE_BEFORE);
    if (at == POP_FRAME || word_at(code) == PUSH_FRAME)
        return ARCH_STAGE_FP_PUSHED;
    return at == PUSH_FRAME || at == RETURN ? ARCH_STAGE_NO_FRAME : ARCH_STAGE_UNKNOWN;
}

/* add x29, sp, #n */
bool arch_code_sets_fp(const uint8_t *code, size_t length)
{
    return length == 4 && (word_at(code) & 0xffc003ff) == 0x910003fd;
}

bool arch_code_pushes(const uint8_t *code, size_t size, uint64_t *address)
{
    (void)code, (void)size, (void)address;
    return false; /* a call keeps its return address in a register */
}

bool arch_code_holds_end(struct sprof_bytes code)
{
    for (size_t i = 0; i + 4 <= code.size; i += 4)
        if (word_at(code.data + i) == RETURN)
            return true;
    return false;
}

bool arch_code_begins_with_system_call(struct sprof_bytes code)
{
    return code.size >= 4 && word_at(code.data) == SYSTEM_CALL;
}

bool arch_code_plt_slot(const uint8_t bytes[ARCH_PLT_JUMP_BYTES], uint64_t address, uint64_t *slot)
{
    (void)bytes, (void)address, (void)slot;
    return false;
}

bool arch_code_find_known(struct sprof_bytes code, size_t *offset, struct arch_known_code *known)
{
    (void)code, (void)offset, (void)known;
    return false;
}

bool arch_code_is_start(struct sprof_bytes function)
{
    (void)function;
    return false;
}

bool arch_instruction_decode(const uint8_t *code, size_t size, struct arch_instruction *instruction)
{
    if (size < 4)
        return false;
    const uint32_t word = word_at(code);
    *instruction = (struct arch_instruction){.length = 4, .base = -1, .index = -1, .source = -1};
    if (word == RETURN) {
        instruction->effect = ARCH_EFFECT_RETURNS;
    } else if (word == POP_FRAME) {
        instruction->effect = ARCH_EFFECT_POPS_FRAME;
        instruction->value = 16;
    } else if (word == PUSH_FRAME) {
        instruction->effect = ARCH_EFFECT_ADDS_SP;
        instruction->value = -16;
    } else if (word >> 26 == 0x05) { /* b */
        instruction->effect = ARCH_EFFECT_JUMPS;
        instruction->value = distance_of(word) - 4;
    } else if (word != NOTHING && word >> 26 != 0x25) {
        return false;
    }
    return true;
}
