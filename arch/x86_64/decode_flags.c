/* Which flags an x86-64 instruction reads and writes (Intel SDM volume 2). */
#include "arch/x86_64/decoder.h"

enum {
    READS = ARCH_READS_CARRY | ARCH_READS_FLAGS,
    WRITES = ARCH_WRITES_CARRY | ARCH_WRITES_FLAGS,
};

/* Of jcc, setcc and cmovcc: b and ae look at the carry flag only, be and a at both. */
static unsigned condition_bits(uint8_t opcode)
{
    const unsigned condition = opcode >> 1 & 7;
    return condition == 1 ? ARCH_READS_CARRY : condition == 3 ? READS : ARCH_READS_FLAGS;
}

/* The eight operations of 00 to 3F and of 80 to 83: adc and sbb read the carry flag. */
static unsigned arithmetic_bits(unsigned operation)
{
    return WRITES | (operation == 2 || operation == 3 ? ARCH_READS_CARRY : 0);
}

/* A count of 0 leaves the flags; rotations write two of them. */
static unsigned shift_bits(const struct x86_decoder *decoder, unsigned group)
{
    const int64_t mask = decoder->rex & 8 ? 63 : 31;
    const bool is_counted = decoder->opcode >> 1 == 0x60 ? (decoder->immediate & mask) != 0
                                                         : decoder->opcode >> 1 == 0x68;
    const unsigned reads = group == 2 || group == 3 ? ARCH_READS_CARRY : 0;
    return reads | (group >= 4 && is_counted ? WRITES : 0);
}

static unsigned first_map_flags(const struct x86_decoder *decoder)
{
    const uint8_t opcode = decoder->opcode, group = decoder->modrm >> 3 & 7;
    if (opcode < 0x40)
        return (opcode & 7) < 6 ? arithmetic_bits(opcode >> 3) : 0;
    if (opcode >> 4 == 7)
        return condition_bits(opcode);
    if (opcode >> 2 == 0x20)
        return arithmetic_bits(group);
    if (opcode >> 1 == 0x60 || opcode >> 2 == 0x34)
        return shift_bits(decoder, group);
    if (opcode == 0xda || opcode == 0xdb) /* fcmovcc; fcomi and fucomi */
        return x86_mode(decoder) != 3 || (opcode == 0xda && group > 3) ? 0
               : group < 4                                             ? READS
               : group == 5 || group == 6                              ? WRITES
                                                                       : 0;
    if (opcode == 0xdf) /* fucomip, fcomip */
        return x86_mode(decoder) == 3 && (group == 5 || group == 6) ? WRITES : 0;
    switch (opcode) {
    case 0x69:
    case 0x6b:
    case 0x84:
    case 0x85:
    case 0xa6: /* cmps and scas, even where a count may be 0: their results are wanted */
    case 0xa7:
    case 0xae:
    case 0xaf:
    case 0xa8:
    case 0xa9:
    case 0x9d: return WRITES;
    case 0xf6:
    case 0xf7: return group == 2 ? 0 : WRITES; /* not */
    case 0xfe:
    case 0xff: return group < 2 ? ARCH_WRITES_FLAGS : 0; /* inc, dec */
    case 0x9c:
    case 0x9f: return READS;
    case 0xe0:
    case 0xe1: return ARCH_READS_FLAGS;
    case 0xf5: return ARCH_READS_CARRY | ARCH_WRITES_CARRY;
    case 0xf8:
    case 0xf9: return ARCH_WRITES_CARRY;
    default: return 0;
    }
}

static unsigned second_map_flags(const struct x86_decoder *decoder)
{
    const uint8_t opcode = decoder->opcode;
    if (decoder->vector) /* vucomiss and its like; kortest, ktest */
        return opcode >> 1 == 0x17 || (!decoder->evex && opcode >> 1 == 0x4c) ? WRITES : 0;
    if (opcode >> 4 == 4 || opcode >> 4 == 8 || opcode >> 4 == 9)
        return condition_bits(opcode);
    switch (opcode) {
    case 0x2e:
    case 0x2f:
    case 0xaf:
    case 0xb0:
    case 0xb1:
    case 0xb8:
    case 0xbc:
    case 0xbd:
    case 0xc0:
    case 0xc1: return WRITES;
    case 0xa3:
    case 0xab:
    case 0xb3:
    case 0xba:
    case 0xbb: return ARCH_WRITES_CARRY;
    default: return 0;
    }
}

unsigned x86_flag_bits(const struct x86_decoder *decoder)
{
    if (decoder->map == 0 && !decoder->vector)
        return first_map_flags(decoder);
    if (decoder->map == 1)
        return second_map_flags(decoder);
    if (decoder->map != 2)
        return 0;
    if (decoder->vector) /* vptest; andn, blsr and its like, bzhi, bextr */
        return decoder->opcode == 0x17 || (!decoder->evex && decoder->opcode == 0xf2) ||
                       (!decoder->evex && decoder->opcode == 0xf3)
                   ? WRITES
                   : 0;
    return decoder->opcode == 0x17 ? WRITES : decoder->opcode == 0xf6 ? READS : 0; /* adcx, adox */
}
