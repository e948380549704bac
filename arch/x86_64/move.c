/* Writes x86-64 instructions for another place than the one they were made for (Intel SDM volume
 * 2). */
#include "arch/arch.h"

static bool reaches(uint64_t from, uint64_t target, int32_t *distance)
{
    const int64_t wide = (int64_t)(target - from);
    *distance = (int32_t)wide;
    return wide == *distance;
}

/* What is written so far; the length 0 says that it cannot be. */
struct writer {
    uint8_t *bytes;
    size_t length;
    uint64_t address; /* of the first byte */
    bool failed;
};

static void put(struct writer *writer, const void *bytes, size_t size)
{
    memcpy(writer->bytes + writer->length, bytes, size);
    writer->length += size;
}

static void put_byte(struct writer *writer, unsigned byte)
{
    writer->bytes[writer->length++] = (uint8_t)byte;
}

/* Four bytes that count from behind them and `more` further ones. */
static void put_distance(struct writer *writer, uint64_t target, size_t more)
{
    int32_t distance;
    writer->failed |= !reaches(writer->address + writer->length + 4 + more, target, &distance);
    put(writer, &distance, 4);
}

/* As a call does; flags stay as they are. */
static void put_push(struct writer *writer, uint64_t value)
{
    static const uint8_t to_upper_half[] = {0xc7, 0x44, 0x24, 0x04}; /* movl $…,4(%rsp) */
    const uint32_t low = (uint32_t)value, high = (uint32_t)(value >> 32);
    put_byte(writer, 0x68);
    put(writer, &low, 4);
    put(writer, to_upper_half, sizeof to_upper_half);
    put(writer, &high, 4);
}

/* The condition of jcc in either form, which is its opcode's last byte but the target's. */
static void put_branch(struct writer *writer, const uint8_t *code,
                       const struct arch_instruction *instruction, uint64_t target)
{
    const uint8_t condition = code[instruction->field_at - 1] & 15;
    put_byte(writer, 0x0f);
    put_byte(writer, 0x80u | condition);
    put_distance(writer, target, 0);
}

/* The instruction itself, with its operand where it was. `at` says where an opcode was exchanged.
 */
static void put_same(struct writer *writer, const uint8_t *code,
                     const struct arch_instruction *instruction, uint64_t next)
{
    if (instruction->base != ARCH_PC) {
        put(writer, code, instruction->length);
        return;
    }
    const size_t behind = instruction->field_at + 4u;
    put(writer, code, instruction->field_at);
    put_distance(writer, next + (uint64_t)instruction->displacement, instruction->length - behind);
    put(writer, code + behind, instruction->length - behind);
}

/* FF /2 becomes FF /4, a jump. What counts from the stack pointer would be another behind a push.
 */
static void put_indirect_jump(struct writer *writer, const uint8_t *code,
                              const struct arch_instruction *instruction, uint64_t next)
{
    uint8_t jump[ARCH_INSTRUCTION_BYTES];
    size_t opcode = 0;
    memcpy(jump, code, instruction->length);
    while (jump[opcode] != 0xff)
        opcode++;
    const uint8_t modrm = jump[opcode + 1];
    const bool is_rsp = modrm >> 6 == 3 && (modrm & 7) == 4 && !(opcode && jump[opcode - 1] & 1);
    if ((modrm >> 3 & 7) != 2 || instruction->base == ARCH_SP || is_rsp) {
        writer->failed = true;
        return;
    }
    jump[opcode + 1] = (uint8_t)((modrm & ~0x38u) | 4u << 3);
    put_same(writer, jump, instruction, next);
}

size_t arch_instruction_move(const uint8_t *code, const struct arch_instruction *instruction,
                             uint64_t from, uint64_t to, uint8_t moved[ARCH_MOVED_BYTES])
{
    struct writer writer = {.bytes = moved, .address = to};
    const uint64_t next = from + instruction->length;
    const uint64_t target = next + (uint64_t)instruction->value;
    if (instruction->bits & ARCH_IS_SHORT_ONLY)
        return 0;
    switch ((enum arch_flow)instruction->flow) {
    case ARCH_FLOW_CALL:
        put_push(&writer, next);
        put_byte(&writer, 0xe9);
        put_distance(&writer, target, 0);
        break;
    case ARCH_FLOW_JUMP:
        put_byte(&writer, 0xe9);
        put_distance(&writer, target, 0);
        break;
    case ARCH_FLOW_BRANCH: put_branch(&writer, code, instruction, target); break;
    case ARCH_FLOW_CALL_INDIRECT:
        put_push(&writer, next);
        put_indirect_jump(&writer, code, instruction, next);
        break;
    case ARCH_FLOW_NEXT:
    case ARCH_FLOW_JUMP_INDIRECT:
    case ARCH_FLOW_RETURN:
    case ARCH_FLOW_STOP: put_same(&writer, code, instruction, next); break;
    }
    return writer.failed ? 0 : writer.length;
}

/* The return address is changed behind a call of the next instructions but one, so that the
 * processor still counts as many calls as returns. */
size_t arch_call_move(const uint8_t *code, const struct arch_instruction *instruction,
                      uint64_t from, uint64_t to, uint8_t moved[ARCH_MOVED_CALL_BYTES],
                      struct arch_pushed pushed[ARCH_PUSHED_STEPS])
{
    static const uint8_t call[] = {0xe8, 1, 0, 0, 0, 0xcc};
    static const uint8_t load[] = {0x50, 0x48, 0x8d, 0x05}; /* push %rax; lea …,%rax */
    static const uint8_t store[] = {0x48, 0x89, 0x44, 0x24, 0x08, 0x58}; /* mov %rax,8(%rsp); pop */
    struct writer writer = {.bytes = moved, .address = to};
    const uint64_t next = from + instruction->length;
    put(&writer, call, sizeof call);
    pushed[0] = (struct arch_pushed){(uint8_t)writer.length, 8};
    put(&writer, load, sizeof load);
    pushed[1] = (struct arch_pushed){(uint8_t)(pushed[0].at + 1), 16};
    put_distance(&writer, next, 0);
    put(&writer, store, sizeof store);
    pushed[2] = (struct arch_pushed){(uint8_t)writer.length, 8};
    if (instruction->flow == ARCH_FLOW_CALL) {
        put_byte(&writer, 0xe9);
        put_distance(&writer, next + (uint64_t)instruction->value, 0);
    } else {
        put_indirect_jump(&writer, code, instruction, next);
    }
    return writer.failed ? 0 : writer.length;
}

/* == An operand that is too far away == */

/* What stands before an opcode. */
enum { VEX_3 = 0xc4, VEX_2 = 0xc5, EVEX = 0x62, XOP = 0x8f };

/* Has the operand's base be one of the first eight registers. */
static void prefix_for_low_base(uint8_t *prefix)
{
    enum { REX_B = 1, NOT_VEX_B = 1 << 5, NOT_EVEX_XB = 3 << 5 };
    if (*prefix == VEX_3)
        prefix[1] |= NOT_VEX_B;
    else if (*prefix == EVEX)
        prefix[1] |= NOT_EVEX_XB;
    else if (*prefix >> 4 == 4)
        *prefix &= (uint8_t)~REX_B;
}

/* A general register that the instruction does not use: by its operands' fields, and none of those
 * that instructions use which do not name them, but for strings and cmpxchg16b. -1: there is none.
 */
static int spare_register(const uint8_t *prefix, unsigned modrm)
{
    enum { RBX = 3, RSI = 6, RDI = 7, LOW = 7, NONE = 8 };
    static const uint8_t candidates[] = {RSI, RDI, RBX};
    const bool is_vex = *prefix == VEX_2 || *prefix == VEX_3 || *prefix == EVEX;
    const uint8_t third = prefix[*prefix == VEX_2 ? 1 : 2]; /* holds one more operand, inverted */
    const unsigned other = is_vex ? (unsigned)~third >> 3 & LOW : NONE;
    for (size_t i = 0; i < sizeof candidates; i++)
        if (candidates[i] != (modrm >> 3 & LOW) && candidates[i] != other)
            return candidates[i];
    return -1;
}

/* Opcodes, among those that may fault, whose operands are general registers: conversions,
 * exchanges, movnti; in the other maps crc32, movbe, adcx and what BMI has. */
static bool is_general(bool is_second_map, uint8_t opcode)
{
    if (!is_second_map)
        return opcode >= 0xf0;
    return opcode >> 1 == 0x2c >> 1 || opcode >> 1 == 0x78 >> 1 || opcode >> 1 == 0xb0 >> 1 ||
           (opcode >= 0xc0 && opcode <= 0xc3);
}

/* Whether it names the stack pointer, which is another while registers are borrowed. */
static bool names_sp(const uint8_t *prefix, const uint8_t *modrm)
{
    enum { RSP = 4, REX_R = 4, NOT_VEX_R = 0x80, MAP = 7 };
    const bool is_vex = *prefix == VEX_2 || *prefix == VEX_3 || *prefix == EVEX;
    const bool is_second = *prefix == VEX_2 || (is_vex ? (prefix[1] & MAP) == 1
                                                       : modrm - prefix > 1 && modrm[-2] == 0x0f);
    const uint8_t third = prefix[*prefix == VEX_2 ? 1 : 2];
    const bool is_upper = is_vex ? !(prefix[1] & NOT_VEX_R) : *prefix >> 4 == 4 && *prefix & REX_R;
    return is_general(is_second, modrm[-1]) &&
           (((*modrm >> 3 & 7) == RSP && !is_upper) || (is_vex && (~third >> 3 & 15) == RSP));
}

/* The operand becomes one at a register; the red zone stays as it is, and so do flags. */
size_t arch_instruction_reach(const uint8_t *code, const struct arch_instruction *instruction,
                              size_t word, uint8_t moved[ARCH_REACHED_BYTES], size_t *at)
{
    enum { PUSH = 0x50, POP = 0x58, MODRM_RM = 7, MODRM_HERE = 5, STACK_POP = 0x8f, GROUP = 0xff };
    static const uint8_t begin[] = {0x48, 0x8d, 0x64, 0x24, 0x80};        /* lea -128(%rsp),%rsp */
    static const uint8_t end[] = {0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0}; /* lea 128(%rsp),%rsp */
    struct writer writer = {.bytes = moved};
    uint8_t there[ARCH_INSTRUCTION_BYTES];
    const size_t modrm = instruction->field_at - 1u;
    if (instruction->base != ARCH_PC || instruction->flow != ARCH_FLOW_NEXT ||
        !instruction->field_at || !modrm)
        return 0;
    memcpy(there, code, instruction->length);
    size_t prefix = 0;
    while (prefix < modrm - 1 &&
           (there[prefix] == 0x66 || there[prefix] == 0xf0 || there[prefix] >> 1 == 0x79))
        prefix++;
    const int base = spare_register(there + prefix, there[modrm]);
    if (base < 0 || there[prefix] == XOP || there[modrm - 1] == STACK_POP ||
        there[modrm - 1] == GROUP || names_sp(there + prefix, there + modrm))
        return 0;
    prefix_for_low_base(there + prefix);
    there[modrm] = (uint8_t)((there[modrm] & ~MODRM_RM) | base);
    put(&writer, begin, sizeof begin);
    put_byte(&writer, (uint8_t)(PUSH + base));
    put_byte(&writer, 0x48); /* mov word(%rip),base */
    put_byte(&writer, 0x8b);
    put_byte(&writer, (uint8_t)(base << 3 | MODRM_HERE));
    put_distance(&writer, word, 0);
    *at = writer.length;
    put(&writer, there, modrm + 1);
    put(&writer, there + instruction->field_at + 4,
        instruction->length - instruction->field_at - 4u);
    put_byte(&writer, (uint8_t)(POP + base));
    put(&writer, end, sizeof end);
    return writer.failed ? 0 : writer.length;
}

size_t arch_jump_write(uint8_t *code, uint64_t at, uint64_t target)
{
    int32_t distance;
    if (!reaches(at + 5, target, &distance))
        return 0;
    code[0] = 0xe9;
    memcpy(code + 1, &distance, sizeof distance);
    return 5;
}
