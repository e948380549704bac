/* arch/x86_64, inside: which bytes follow each opcode (Intel SDM volume 2, appendix A). For
 * decode.c alone. */
#ifndef SPROF_ARCH_X86_64_OPCODES_H
#define SPROF_ARCH_X86_64_OPCODES_H

#include <stdint.h>

/* What follows an opcode: a ModRM byte, and immediates. */
enum {
    M = 1,    /* ModRM */
    B = 2,    /* 8 bits */
    W = 4,    /* 16 bits */
    Z = 8,    /* 32 bits, or 16 with an operand size prefix */
    V = 16,   /* as Z, but 64 with REX.W */
    A = 32,   /* an address of 64 bits */
    BAD = 64, /* not an instruction in 64-bit mode, or handled elsewhere */
};

static const uint8_t one_byte[256] = {
    [0x00 ... 0x03] = M,
    [0x04] = B,
    [0x05] = Z,
    [0x06 ... 0x07] = BAD,
    [0x08 ... 0x0b] = M,
    [0x0c] = B,
    [0x0d] = Z,
    [0x0e ... 0x0f] = BAD,
    [0x10 ... 0x13] = M,
    [0x14] = B,
    [0x15] = Z,
    [0x16 ... 0x17] = BAD,
    [0x18 ... 0x1b] = M,
    [0x1c] = B,
    [0x1d] = Z,
    [0x1e ... 0x1f] = BAD,
    [0x20 ... 0x23] = M,
    [0x24] = B,
    [0x25] = Z,
    [0x26 ... 0x27] = BAD,
    [0x28 ... 0x2b] = M,
    [0x2c] = B,
    [0x2d] = Z,
    [0x2e ... 0x2f] = BAD,
    [0x30 ... 0x33] = M,
    [0x34] = B,
    [0x35] = Z,
    [0x36 ... 0x37] = BAD,
    [0x38 ... 0x3b] = M,
    [0x3c] = B,
    [0x3d] = Z,
    [0x3e ... 0x4f] = BAD,
    [0x60 ... 0x62] = BAD,
    [0x63] = M,
    [0x64 ... 0x67] = BAD,
    [0x68] = Z,
    [0x69] = M | Z,
    [0x6a] = B,
    [0x6b] = M | B,
    [0x70 ... 0x7f] = B,
    [0x80] = M | B,
    [0x81] = M | Z,
    [0x82] = BAD,
    [0x83] = M | B,
    [0x84 ... 0x8f] = M,
    [0x9a] = BAD,
    [0xa0 ... 0xa3] = A,
    [0xa8] = B,
    [0xa9] = Z,
    [0xb0 ... 0xb7] = B,
    [0xb8 ... 0xbf] = V,
    [0xc0 ... 0xc1] = M | B,
    [0xc2] = W,
    [0xc4 ... 0xc5] = BAD,
    [0xc6] = M | B,
    [0xc7] = M | Z,
    [0xc8] = W | B,
    [0xca] = W,
    [0xcd] = B,
    [0xce] = BAD,
    [0xd0 ... 0xd3] = M,
    [0xd4 ... 0xd6] = BAD,
    [0xd8 ... 0xdf] = M,
    [0xe0 ... 0xe7] = B,
    [0xe8 ... 0xe9] = Z,
    [0xea] = BAD,
    [0xeb] = B,
    [0xf0] = BAD,
    [0xf2 ... 0xf3] = BAD,
    [0xf6 ... 0xf7] = M,
    [0xfe ... 0xff] = M,
};

/* After 0F; what is not named has a ModRM byte and no immediate. */
static const uint8_t two_bytes_special[256] = {
    [0x04] = BAD,
    [0x05 ... 0x09] = BAD + 1,
    [0x0a] = BAD,
    [0x0b] = BAD + 1,
    [0x0c] = BAD,
    [0x0e] = BAD + 1,
    [0x0f] = BAD,
    [0x24 ... 0x27] = BAD,
    [0x30 ... 0x37] = BAD + 1,
    [0x38 ... 0x3f] = BAD,
    [0x70 ... 0x73] = M | B,
    [0x77] = BAD + 1,
    [0x80 ... 0x8f] = Z,
    [0xa0 ... 0xa2] = BAD + 1,
    [0xa4] = M | B,
    [0xa6 ... 0xa7] = BAD,
    [0xa8 ... 0xaa] = BAD + 1,
    [0xac] = M | B,
    [0xba] = M | B,
    [0xc2] = M | B,
    [0xc4 ... 0xc6] = M | B,
    [0xc8 ... 0xcf] = BAD + 1,
};

#endif
