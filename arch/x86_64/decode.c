/* The length of an x86-64 instruction, and what it does to rsp and rbp (Intel SDM volume 2, chapter
 * 2 and appendix A). */
#include "arch/x86_64/decoder.h"
#include "arch/x86_64/opcodes.h"

#include <string.h>

/* BAD + 1 stands for "nothing follows", because 0 stands for the usual case. */
static uint8_t two_bytes(uint8_t opcode)
{
    const uint8_t special = two_bytes_special[opcode];
    if (special == BAD + 1)
        return 0;
    return special ? special : M;
}

static uint8_t take(struct x86_decoder *decoder)
{
    if (decoder->at >= decoder->size || decoder->at >= ARCH_INSTRUCTION_BYTES) {
        decoder->failed = true;
        return 0;
    }
    return decoder->code[decoder->at++];
}

static int64_t take_signed(struct x86_decoder *decoder, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)take(decoder) << (8 * i);
    const unsigned unused = 64 - 8 * bytes;
    return bytes ? (int64_t)(value << unused) >> unused : 0;
}

static void take_prefixes(struct x86_decoder *decoder)
{
    static const uint8_t prefixes[] = {0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x26,
                                       0x2e, 0x36, 0x3e, 0x64, 0x65};
    uint8_t byte = take(decoder);
    while (memchr(prefixes, byte, sizeof prefixes) && !decoder->failed) {
        decoder->operand16 |= byte == 0x66;
        decoder->address32 |= byte == 0x67;
        decoder->repeat |= byte == 0xf3;
        byte = take(decoder);
    }
    if (byte >> 4 == 4) {
        decoder->rex = byte;
        byte = take(decoder);
    }
    decoder->opcode = byte;
}

/* VEX of two and three bytes, EVEX: the map, then the opcode. The bits that extend registers are
 * those of REX, inverted. */
static void take_vector_prefix(struct x86_decoder *decoder)
{
    const uint8_t kind = decoder->opcode;
    const uint8_t first = take(decoder);
    decoder->vector = true;
    decoder->evex = kind == 0x62;
    decoder->map = kind == 0xc5 ? 1 : kind == 0x8f ? first & 31 : first & 7;
    decoder->rex = (uint8_t)(kind == 0xc5 ? ~first >> 5 & 4 : ~first >> 5 & 7);
    for (int left = kind == 0x62 ? 2 : kind == 0xc5 ? 0 : 1; left; left--)
        take(decoder);
    decoder->opcode = take(decoder);
}

/* 8F is pop into memory, or the first byte of XOP, whose maps begin at 8. */
static bool is_xop(const struct x86_decoder *decoder)
{
    return decoder->opcode == 0x8f && decoder->at < decoder->size &&
           (decoder->code[decoder->at] & 31) >= 8;
}

static void take_opcode(struct x86_decoder *decoder)
{
    take_prefixes(decoder);
    if (decoder->opcode == 0xc4 || decoder->opcode == 0xc5 || decoder->opcode == 0x62 ||
        is_xop(decoder)) {
        take_vector_prefix(decoder);
    } else if (decoder->opcode == 0x0f) {
        decoder->map = 1;
        decoder->opcode = take(decoder);
        if (decoder->opcode == 0x38 || decoder->opcode == 0x3a) {
            decoder->map = decoder->opcode == 0x38 ? 2 : 3;
            decoder->opcode = take(decoder);
        }
    }
}

static uint8_t form_of(const struct x86_decoder *decoder)
{
    if (decoder->map == 0)
        return one_byte[decoder->opcode];
    if (decoder->map == 1)
        return two_bytes(decoder->opcode);
    if (decoder->map > 7)
        return decoder->map == 8 ? M | B : decoder->map == 9 ? M : decoder->map == 10 ? M | Z : BAD;
    return decoder->map == 3 ? M | B : M;
}

static void take_modrm(struct x86_decoder *decoder)
{
    decoder->modrm = take(decoder);
    const uint8_t rm = decoder->modrm & 7;
    if (x86_mode(decoder) == 3)
        return;
    if (rm == 4)
        decoder->sib = take(decoder);
    decoder->displacement_at = (uint8_t)decoder->at;
    const bool absolute = x86_mode(decoder) == 0 && (rm == 4 ? (decoder->sib & 7) == 5 : rm == 5);
    if (x86_mode(decoder) == 1)
        decoder->displacement = take_signed(decoder, 1);
    else if (x86_mode(decoder) == 2 || absolute)
        decoder->displacement = take_signed(decoder, 4);
}

static void take_immediate(struct x86_decoder *decoder, uint8_t form)
{
    const bool wide = decoder->rex & 8;
    const bool relative = decoder->map == 0 ? decoder->opcode >> 1 == 0x74 : form == Z;
    const unsigned z = decoder->operand16 && !wide && !relative ? 2 : 4;
    const uint8_t group = decoder->modrm >> 3 & 7;
    if (decoder->map == 0 && decoder->opcode >> 1 == 0x7b && group < 2) /* test, of F6 and F7 */
        form = decoder->opcode & 1 ? Z : B;
    if (form & A)
        decoder->displacement = take_signed(decoder, decoder->address32 ? 4 : 8);
    if (form & W)
        decoder->immediate = take_signed(decoder, 2);
    decoder->immediate_at = (uint8_t)decoder->at;
    if (form & B)
        decoder->immediate = take_signed(decoder, 1);
    if (form & Z)
        decoder->immediate = take_signed(decoder, z);
    if (form & V)
        decoder->immediate = take_signed(decoder, wide ? 8 : z);
    decoder->immediate_size = (uint8_t)(decoder->at - decoder->immediate_at);
}

/* == Effects == */

enum { RSP = 4, RBP = 5 };

/* The register of an encoding, by DWARF number. */
static int8_t number_of(unsigned encoded)
{
    static const int8_t numbers[16] = {X86_RAX, X86_RCX, X86_RDX, X86_RBX, X86_RSP, X86_RBP,
                                       X86_RSI, X86_RDI, X86_R8,  X86_R9,  X86_R10, X86_R11,
                                       X86_R12, X86_R13, X86_R14, X86_R15};
    return numbers[encoded & 15];
}

static unsigned reg_operand(const struct x86_decoder *decoder)
{
    return (decoder->modrm >> 3 & 7u) | (decoder->rex & 4u) << 1;
}

/* The register of the r/m operand; 16 where it is memory. */
static unsigned rm_operand(const struct x86_decoder *decoder)
{
    return x86_mode(decoder) == 3 ? (decoder->modrm & 7u) | (decoder->rex & 1u) << 3 : 16;
}

/* Which operand an instruction of the first map with a ModRM byte writes, wide enough to matter:
 * the register operand, or r/m where the bit of the instruction's group is set. */
static const struct {
    uint8_t rm_groups;
    bool own;
} writers[256] = {
    [0x01] = {0xff, false}, [0x03] = {0, true},     [0x09] = {0xff, false}, [0x0b] = {0, true},
    [0x11] = {0xff, false}, [0x13] = {0, true},     [0x19] = {0xff, false}, [0x1b] = {0, true},
    [0x21] = {0xff, false}, [0x23] = {0, true},     [0x29] = {0xff, false}, [0x2b] = {0, true},
    [0x31] = {0xff, false}, [0x33] = {0, true},     [0x63] = {0, true},     [0x69] = {0, true},
    [0x6b] = {0, true},     [0x81] = {0x7f, false}, [0x83] = {0x7f, false}, [0x87] = {0xff, true},
    [0x89] = {0xff, false}, [0x8b] = {0, true},     [0x8d] = {0, true},     [0x8f] = {0xff, false},
    [0xc1] = {0xff, false}, [0xc7] = {0xff, false}, [0xd1] = {0xff, false}, [0xd3] = {0xff, false},
    [0xf7] = {0x0c, false}, [0xff] = {0x03, false},
};

/* The registers that an instruction of the first map with a ModRM byte names and writes: a bit for
 * each number of the encoding. */
static unsigned written_in_first_map(const struct x86_decoder *decoder)
{
    const uint8_t opcode = decoder->opcode, group = decoder->modrm >> 3 & 7;
    const bool writes_rm = writers[opcode].rm_groups >> group & 1;
    return (writers[opcode].own ? 1U << reg_operand(decoder) : 0) |
           (writes_rm ? 1U << rm_operand(decoder) : 0);
}

static unsigned written_in_second_map(const struct x86_decoder *decoder)
{
    const uint8_t opcode = decoder->opcode;
    const bool conditional_move = opcode >> 4 == 4;
    const bool extended = opcode == 0xb6 || opcode == 0xb7 || opcode == 0xbe || opcode == 0xbf ||
                          opcode == 0xaf || opcode == 0xbc || opcode == 0xbd || opcode == 0xb8 ||
                          opcode == 0x2c || opcode == 0x2d || opcode == 0x50 || opcode == 0xd7;
    return conditional_move || extended ? 1U << reg_operand(decoder) : 0;
}

/* Those that an instruction without a ModRM byte names: pop, xchg with rax, mov of an immediate. */
static unsigned written_by_opcode(const struct x86_decoder *decoder)
{
    const unsigned group = decoder->opcode >> 3;
    const unsigned named = 1U << ((decoder->opcode & 7u) | (decoder->rex & 1u) << 3);
    return group == 0x0b || group == 0x17 ? named : group == 0x12 ? named | 1U : 0;
}

static unsigned written_by(const struct x86_decoder *decoder, uint8_t form)
{
    if (decoder->vector || decoder->map > 1)
        return 0;
    if (decoder->map == 1)
        return form & M ? written_in_second_map(decoder) : 0;
    return form & M ? written_in_first_map(decoder) : written_by_opcode(decoder);
}

/* A set of registers of an encoding, by DWARF numbers. */
static uint32_t numbers_of(unsigned encoded)
{
    uint32_t numbers = 0;
    for (encoded &= 0xffff; encoded; encoded &= encoded - 1)
        numbers |= 1U << number_of((unsigned)__builtin_ctz(encoded));
    return numbers;
}

static struct arch_instruction effect(enum arch_effect what, int64_t value)
{
    return (struct arch_instruction){.effect = (uint8_t)what, .value = value, .source = -1};
}

static struct arch_instruction generic(const struct x86_decoder *decoder, uint8_t form)
{
    const unsigned written = form & M ? written_by(decoder, form) : 0;
    return effect(written >> RSP & 1   ? ARCH_EFFECT_CHANGES_SP
                  : written >> RBP & 1 ? ARCH_EFFECT_CHANGES_FP
                                       : ARCH_EFFECT_NONE,
                  0);
}

static struct arch_instruction sp_from(unsigned encoded, int64_t distance)
{
    struct arch_instruction instruction = effect(ARCH_EFFECT_SP_FROM_REGISTER, distance);
    instruction.source = number_of(encoded);
    return instruction;
}

/* lea into rsp, from rsp or rbp. */
static struct arch_instruction lea_rsp(const struct x86_decoder *decoder)
{
    const uint8_t rm = decoder->modrm & 7;
    const bool plain_base = !(decoder->rex & 3) && decoder->rex & 8;
    if (plain_base && rm == 4 && decoder->sib == 0x24)
        return effect(ARCH_EFFECT_ADDS_SP, decoder->displacement);
    if (plain_base && rm == 5 && x86_mode(decoder) != 0)
        return effect(ARCH_EFFECT_SP_FROM_FP, decoder->displacement);
    return effect(ARCH_EFFECT_CHANGES_SP, 0);
}

static bool is_on_stack(const struct x86_decoder *decoder)
{
    return x86_mode(decoder) != 3 && (decoder->modrm & 7) == 4 && decoder->sib == 0x24 &&
           !(decoder->rex & 3);
}

/* mov of 64 bits into a register: of rsp or rbp from another register, or from the stack. */
static struct arch_instruction loads(const struct x86_decoder *decoder, uint8_t form)
{
    const unsigned reg = reg_operand(decoder), from = rm_operand(decoder);
    if (reg == RSP && from < 16)
        return sp_from(from, 0);
    if (reg == RSP && is_on_stack(decoder))
        return effect(ARCH_EFFECT_LOADS_SP, decoder->displacement);
    if (reg == RBP && is_on_stack(decoder))
        return effect(ARCH_EFFECT_LOADS_FP, decoder->displacement);
    return generic(decoder, form);
}

/* Instructions that compilers use to set up and take down frames, else what generic() says. */
static struct arch_instruction with_modrm(const struct x86_decoder *decoder, uint8_t form)
{
    const uint8_t opcode = decoder->opcode, group = decoder->modrm >> 3 & 7;
    const bool to_rsp = rm_operand(decoder) == RSP && decoder->rex & 8;
    if (to_rsp && (opcode == 0x81 || opcode == 0x83) && (group == 0 || group == 5))
        return effect(ARCH_EFFECT_ADDS_SP, group ? -decoder->immediate : decoder->immediate);
    if ((to_rsp && opcode == 0x89 && reg_operand(decoder) == RBP) ||
        (opcode == 0x8b && reg_operand(decoder) == RSP && rm_operand(decoder) == RBP))
        return effect(ARCH_EFFECT_SP_FROM_FP, 0);
    if (to_rsp && opcode == 0x89)
        return sp_from(reg_operand(decoder), 0);
    if (opcode == 0x8b && decoder->rex & 8)
        return loads(decoder, form);
    if (opcode == 0x8d && reg_operand(decoder) == RSP)
        return lea_rsp(decoder);
    if (opcode == 0xff && group == 6)
        return effect(ARCH_EFFECT_ADDS_SP, -8);
    if (opcode == 0xff && (group == 4 || group == 5))
        return effect(ARCH_EFFECT_STOPS, 0);
    if (opcode == 0x8f)
        return group ? effect(ARCH_EFFECT_STOPS, 0) : effect(ARCH_EFFECT_ADDS_SP, 8);
    return generic(decoder, form);
}

static struct arch_instruction without_modrm(const struct x86_decoder *decoder)
{
    const uint8_t opcode = decoder->opcode;
    const unsigned reg = (opcode & 7u) | (decoder->rex & 1u) << 3;
    if (opcode >> 3 == 0x0b && reg == RBP)
        return effect(ARCH_EFFECT_POPS_FP, 0);
    if (opcode >> 3 == 0x0b && reg == RSP)
        return effect(ARCH_EFFECT_LOADS_SP, 0);
    if (opcode >> 3 == 0x17 && reg == RSP)
        return effect(ARCH_EFFECT_CHANGES_SP, 0);
    if (opcode >> 3 == 0x0b || opcode == 0x9d)
        return effect(ARCH_EFFECT_ADDS_SP, 8);
    if (opcode >> 3 == 0x0a || opcode == 0x68 || opcode == 0x6a || opcode == 0x9c)
        return effect(ARCH_EFFECT_ADDS_SP, -8);
    const bool exchanges = opcode >> 3 == 0x12;
    if (exchanges && reg == RSP)
        return effect(ARCH_EFFECT_CHANGES_SP, 0);
    if ((opcode >> 3 == 0x17 || exchanges) && reg == RBP)
        return effect(ARCH_EFFECT_CHANGES_FP, 0);
    if (opcode >> 4 == 7 || opcode >> 2 == 0x38)
        return effect(ARCH_EFFECT_BRANCHES, decoder->immediate);
    switch (opcode) {
    case 0xc2: return effect(ARCH_EFFECT_RETURNS, (uint16_t)decoder->immediate);
    case 0xc3: return effect(ARCH_EFFECT_RETURNS, 0);
    case 0xc9: return effect(ARCH_EFFECT_LEAVES, 0);
    case 0xe9:
    case 0xeb: return effect(ARCH_EFFECT_JUMPS, decoder->immediate);
    case 0xc8: return effect(ARCH_EFFECT_CHANGES_SP, 0);
    case 0xcc:
    case 0xf4:
    case 0xcb:
    case 0xca:
    case 0xcf: return effect(ARCH_EFFECT_STOPS, 0);
    default: return effect(ARCH_EFFECT_NONE, 0);
    }
}

static struct arch_instruction effect_of(const struct x86_decoder *decoder, uint8_t form)
{
    if (decoder->map == 1 && !decoder->vector && decoder->opcode >> 4 == 8)
        return effect(ARCH_EFFECT_BRANCHES, decoder->immediate);
    if (decoder->map == 1 && !decoder->vector && decoder->opcode == 0x0b)
        return effect(ARCH_EFFECT_STOPS, 0); /* ud2 */
    if (decoder->map || decoder->vector)
        return generic(decoder, form);
    return form & M ? with_modrm(decoder, form) : without_modrm(decoder);
}

/* == Where execution goes on == */

static enum arch_flow flow_of(const struct x86_decoder *decoder)
{
    const uint8_t opcode = decoder->opcode, group = decoder->modrm >> 3 & 7;
    if (decoder->vector || decoder->map > 1)
        return ARCH_FLOW_NEXT;
    if (decoder->map == 1)
        return opcode >> 4 == 8                                     ? ARCH_FLOW_BRANCH
               : opcode == 0x0b || opcode == 0xb9 || opcode == 0xff ? ARCH_FLOW_STOP
                                                                    : ARCH_FLOW_NEXT;
    if (opcode >> 4 == 7 || opcode >> 2 == 0x38) /* jcc; loop, jrcxz */
        return ARCH_FLOW_BRANCH;
    switch (opcode) {
    case 0xe8: return ARCH_FLOW_CALL;
    case 0xe9:
    case 0xeb: return ARCH_FLOW_JUMP;
    case 0xc2:
    case 0xc3: return ARCH_FLOW_RETURN;
    case 0xc7: return decoder->modrm == 0xf8 ? ARCH_FLOW_BRANCH : ARCH_FLOW_NEXT; /* xbegin */
    case 0xff:
        return group == 2 || group == 3   ? ARCH_FLOW_CALL_INDIRECT
               : group == 4 || group == 5 ? ARCH_FLOW_JUMP_INDIRECT
                                          : ARCH_FLOW_NEXT;
    case 0xca:
    case 0xcb:
    case 0xcc:
    case 0xcf:
    case 0xf1:
    case 0xf4: return ARCH_FLOW_STOP;
    default: return ARCH_FLOW_NEXT;
    }
}

/* == Operands == */

static void set_memory(const struct x86_decoder *decoder, uint8_t form,
                       struct arch_instruction *instruction)
{
    const uint8_t rm = decoder->modrm & 7;
    if (!(form & (M | A)) || (form & M && x86_mode(decoder) == 3))
        return;
    instruction->bits |= ARCH_HAS_MEMORY;
    instruction->displacement = decoder->displacement;
    if (decoder->evex && x86_mode(decoder) == 1)
        instruction->bits |= ARCH_IS_UNSCALED;
    if (form & A)
        return;
    if (rm == 4) {
        const unsigned base = (decoder->sib & 7u) | (decoder->rex & 1u) << 3;
        const unsigned index = (decoder->sib >> 3 & 7u) | (decoder->rex & 2u) << 2;
        if ((decoder->sib & 7) != 5 || x86_mode(decoder) != 0)
            instruction->base = number_of(base);
        if (index != 4)
            instruction->index = number_of(index);
    } else if (rm == 5 && x86_mode(decoder) == 0) {
        instruction->base = ARCH_PC;
        instruction->field_at = decoder->displacement_at;
        instruction->field_size = 4;
    } else {
        instruction->base = number_of(rm | (decoder->rex & 1u) << 3);
    }
    if (decoder->map == 0 && !decoder->vector && decoder->opcode == 0x8d)
        instruction->bits |= ARCH_LOADS_ADDRESS;
}

/* nop, xchg %ax,%ax, nopl; not pause, which is F3 90; and endbr64. */
static unsigned nothing_bits(const struct x86_decoder *decoder)
{
    if (decoder->map == 0 && !decoder->vector && decoder->opcode == 0x90)
        return !decoder->repeat && !(decoder->rex & 1) ? ARCH_IS_NOTHING : 0;
    if (decoder->map != 1 || decoder->vector)
        return 0;
    if (decoder->opcode == 0x1e && decoder->repeat && decoder->modrm == 0xfa)
        return ARCH_IS_LANDING;
    return decoder->opcode == 0x1f ? ARCH_IS_NOTHING : 0;
}

static unsigned far_bits(const struct x86_decoder *decoder)
{
    const uint8_t opcode = decoder->opcode;
    const bool is_far = opcode == 0xca || opcode == 0xcb || opcode == 0xcf;
    return is_far && decoder->map == 0 && !decoder->vector ? ARCH_RETURNS_FAR : 0;
}

static void set_target(const struct x86_decoder *decoder, struct arch_instruction *instruction)
{
    const enum arch_flow flow = instruction->flow;
    if (flow != ARCH_FLOW_CALL && flow != ARCH_FLOW_JUMP && flow != ARCH_FLOW_BRANCH)
        return;
    instruction->value = decoder->immediate;
    instruction->field_at = decoder->immediate_at;
    instruction->field_size = decoder->immediate_size;
    if (decoder->map == 0 && (decoder->opcode >> 2 == 0x38 || decoder->opcode == 0xc7))
        instruction->bits |= ARCH_IS_SHORT_ONLY;
}

bool arch_instruction_decode(const uint8_t *code, size_t size, struct arch_instruction *instruction)
{
    struct x86_decoder decoder = {.code = code, .size = size};
    take_opcode(&decoder);
    const uint8_t form = form_of(&decoder);
    if (decoder.failed || form & BAD)
        return false;
    if (form & M)
        take_modrm(&decoder);
    take_immediate(&decoder, form);
    if (decoder.failed)
        return false;
    *instruction = effect_of(&decoder, form);
    instruction->written = numbers_of(written_by(&decoder, form));
    instruction->length = (uint8_t)decoder.at;
    instruction->flow = (uint8_t)flow_of(&decoder);
    instruction->base = instruction->index = -1;
    instruction->bits =
        (uint16_t)(x86_flag_bits(&decoder) | nothing_bits(&decoder) | far_bits(&decoder));
    set_memory(&decoder, form, instruction);
    set_target(&decoder, instruction);
    if (decoder.immediate_size >= 4 && instruction->flow == ARCH_FLOW_NEXT)
        instruction->immediate = decoder.immediate;
    return true;
}
