/* An instruction while it is taken apart, for the files that do so. */
#ifndef SPROF_ARCH_X86_64_DECODER_H
#define SPROF_ARCH_X86_64_DECODER_H

#include "arch/arch.h"

struct x86_decoder {
    const uint8_t *code;
    size_t size, at;
    bool operand16, address32, vector;
    uint8_t rex;
    uint8_t map; /* 0: one byte, 1: 0F, 2: 0F38, 3: 0F3A; 8 to 10: AMD's XOP */
    uint8_t opcode, modrm, sib;
    int64_t displacement, immediate;
    uint8_t displacement_at, immediate_at, immediate_size;
    bool repeat; /* prefix F3 */
    bool evex;
    bool failed;
};

/* Of the ModRM byte: 3 where the r/m operand is a register. */
static inline unsigned x86_mode(const struct x86_decoder *decoder)
{
    return decoder->modrm >> 6;
}

/* Which flags the instruction reads and writes: enum arch_instruction_bits. */
unsigned x86_flag_bits(const struct x86_decoder *decoder);

#endif
