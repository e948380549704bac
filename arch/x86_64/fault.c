/* Which x86-64 instructions may fault at a place where others do not (Intel SDM volume 2). */
#include "arch/arch.h"

/* %fs; what leads to the second map of opcodes */
enum { OF_THREAD = 0x64, EXTENDED = 0x0f, LOCK = 0xf0 };

/* Opcodes that compute in general registers, push, or lead elsewhere. */
static const bool plain[256] = {
    [0x00 ... 0x05] = true, [0x08 ... 0x0d] = true, [0x10 ... 0x15] = true, /* arithmetic */
    [0x18 ... 0x1d] = true, [0x20 ... 0x25] = true, [0x28 ... 0x2d] = true,
    [0x30 ... 0x35] = true, [0x38 ... 0x3d] = true, [0x50 ... 0x5f] = true, /* push, pop */
    [0x63] = true,          [0x68 ... 0x6b] = true,                         /* movslq, imul */
    [0x70 ... 0x7f] = true, [0x80 ... 0x8b] = true, [0x8d] = true,          /* jcc, mov, lea */
    [0x8f] = true,          [0x90 ... 0x99] = true, [0xa8 ... 0xa9] = true, /* xchg, test */
    [0xb0 ... 0xbf] = true, [0xc0 ... 0xc3] = true, [0xc6 ... 0xc7] = true, /* shifts, returns */
    [0xd0 ... 0xd3] = true, [0xe8 ... 0xe9] = true, [0xeb] = true,          /* calls, jumps */
    [0xf5 ... 0xf9] = true, [0xfc ... 0xff] = true,
};

/* The same of the second map; and moves and logic of vectors. */
static const bool plain_extended[256] = {
    [0x10 ... 0x19] = true, [0x1c ... 0x1f] = true, [0x28 ... 0x29] = true, /* movups, movaps */
    [0x40 ... 0x4f] = true, [0x54 ... 0x57] = true, [0x6e ... 0x6f] = true, /* cmov, and, movq */
    [0x7e ... 0x7f] = true, [0x80 ... 0x8f] = true, [0x90 ... 0x9f] = true, /* jcc, setcc */
    [0xa3 ... 0xa5] = true, [0xab ... 0xad] = true, [0xaf] = true,          /* bits, imul */
    [0xb3] = true,          [0xb6 ... 0xb8] = true, [0xba ... 0xbf] = true, /* movzx, movsx */
    [0xc8 ... 0xcf] = true, [0xd6] = true,          [0xef] = true,          /* bswap, pxor */
};

/* Behind a lock all but arithmetic that is written to memory faults; `next` is the byte behind the
 * opcode, which says what a group's is. */
static bool may_be_locked(uint8_t opcode, uint8_t next)
{
    const unsigned operation = next >> 3 & 7;
    if (opcode < 0x38)
        return (opcode & 6) == 0; /* add to sub, and xor */
    if (opcode >= 0x80 && opcode <= 0x83)
        return operation != 7; /* the same but a comparison, with a number */
    if (opcode >> 1 == 0xf6 >> 1)
        return operation == 2 || operation == 3; /* not, neg */
    return opcode >= 0xfe && operation <= 1;     /* inc, dec */
}

/* An operand on the stack, of the file or of the thread. */
static bool is_there(const struct arch_instruction *instruction, bool is_of_thread)
{
    const bool is_on_stack = instruction->base == ARCH_SP && instruction->displacement >= INT8_MIN;
    return instruction->base == ARCH_PC ||
           (instruction->index < 0 && (is_on_stack || (is_of_thread && instruction->base < 0)));
}

bool arch_instruction_may_fault(const uint8_t *code, const struct arch_instruction *instruction)
{
    enum { DIVIDES = 6 }; /* and 7, of F6 and F7 */
    const size_t last = instruction->length - 1u;
    bool is_of_thread = false, is_locked = false;
    size_t at = 0;
    if (instruction->bits & (ARCH_IS_NOTHING | ARCH_IS_LANDING))
        return false;
    for (; at < last &&
           (code[at] == 0x66 || code[at] >> 1 == 0x79 || code[at] == OF_THREAD || code[at] == LOCK);
         at++) {
        is_of_thread |= code[at] == OF_THREAD;
        is_locked |= code[at] == LOCK;
    }
    at += at < last && code[at] >> 4 == 4; /* REX */
    if (instruction->bits & ARCH_HAS_MEMORY && !(instruction->bits & ARCH_LOADS_ADDRESS) &&
        !is_there(instruction, is_of_thread))
        return true;
    const uint8_t next = at < last ? code[at + 1] : 0;
    if (is_locked && !may_be_locked(code[at], next))
        return true;
    if (code[at] == EXTENDED)
        return !plain_extended[next];
    return !plain[code[at]] || (code[at] >> 1 == 0x7b && (next >> 3 & 7) >= DIVIDES);
}
