/* What x86-64 machine code says where no table does. */
#include "arch/arch.h"

/* Whether an FF /2 instruction of exactly `length` bytes (without prefixes) ends the bytes. */
static bool is_indirect_call(const uint8_t *end, unsigned length)
{
    const uint8_t *code = end - length;
    const uint8_t mode = code[1] >> 6, operand = code[1] & 7;
    if (code[0] != 0xff || (code[1] >> 3 & 7) != 2)
        return false;
    if (mode == 3)
        return length == 2;
    const bool has_sib = operand == 4;
    unsigned expected = 2 + (has_sib ? 1u : 0u) + (mode == 1 ? 1u : mode == 2 ? 4u : 0u);
    const bool absolute = has_sib && length > 2 && (code[2] & 7) == 5;
    if (mode == 0 && (operand == 5 || absolute))
        expected += 4;
    return length == expected;
}

/* E8 rel32 or a form of FF /2 (Intel SDM volume 2, CALL). */
bool arch_code_ends_with_call(const uint8_t bytes[ARCH_CALL_BYTES])
{
    const uint8_t *end = bytes + ARCH_CALL_BYTES;
    if (end[-5] == 0xe8)
        return true;
    for (unsigned length = 2; length <= ARCH_CALL_BYTES; length++)
        if (is_indirect_call(end, length))
            return true;
    return false;
}

enum arch_stage arch_code_stage(const uint8_t code[ARCH_STAGE_BEFORE + ARCH_STAGE_AFTER])
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    static const uint8_t set_up[] = {0x55, 0x48, 0x89, 0xe5}; /* push %rbp; mov %rsp,%rbp */
    const uint8_t *at = code + ARCH_STAGE_BEFORE;
    const bool lands = !memcmp(at, endbr64, sizeof endbr64);
    if (!memcmp(lands ? at + sizeof endbr64 : at, set_up, sizeof set_up))
        return ARCH_STAGE_NO_FRAME;
    if (!memcmp(code, set_up, sizeof set_up))
        return ARCH_STAGE_FP_PUSHED;
    if (at[0] == 0x5d && (at[1] == 0xc3 || at[1] == 0xc2)) /* pop %rbp; ret */
        return ARCH_STAGE_FP_PUSHED;
    if (at[0] == 0xc3 || (at[0] == 0xf3 && at[1] == 0xc3)) /* ret */
        return ARCH_STAGE_NO_FRAME;
    return ARCH_STAGE_UNKNOWN;
}

bool arch_code_sets_fp(const uint8_t *code, size_t length)
{
    return length == 3 && code[0] == 0x48 &&
           ((code[1] == 0x89 && code[2] == 0xe5) || (code[1] == 0x8b && code[2] == 0xec));
}

/* push $…; movl $…,4(%rsp) */
bool arch_code_pushes(const uint8_t *code, size_t size, uint64_t *address)
{
    static const uint8_t upper[] = {0xc7, 0x44, 0x24, 0x04};
    uint32_t low, high;
    if (size < ARCH_PUSHED_BYTES || code[0] != 0x68 ||
        memcmp(code + ARCH_PUSHED_PART, upper, sizeof upper) != 0)
        return false;
    memcpy(&low, code + 1, sizeof low);
    memcpy(&high, code + ARCH_PUSHED_PART + sizeof upper, sizeof high);
    *address = (uint64_t)high << 32 | low;
    return true;
}

/* nop of any length and int3: the first bytes of longer nops: 66 …, 0f 1f. */
static bool is_padding(const uint8_t *code, size_t left)
{
    return code[0] == 0x90 || code[0] == 0xcc || code[0] == 0x66 ||
           (left > 1 && code[0] == 0x0f && code[1] == 0x1f);
}

bool arch_code_holds_end(struct sprof_bytes code)
{
    for (size_t i = 0; i + 1 < code.size; i++)
        if (code.data[i] == 0xc3 && is_padding(code.data + i + 1, code.size - i - 1))
            return true;
    return false;
}

bool arch_code_call_target(const uint8_t bytes[ARCH_CALL_BYTES], uint64_t return_address,
                           uint64_t *target)
{
    const uint8_t *end = bytes + ARCH_CALL_BYTES;
    int32_t distance;
    memcpy(&distance, end - sizeof distance, sizeof distance);
    *target = return_address + (uint64_t)(int64_t)distance;
    return end[-5] == 0xe8;
}

bool arch_code_plt_slot(const uint8_t bytes[ARCH_PLT_JUMP_BYTES], uint64_t address, uint64_t *slot)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    size_t at = memcmp(bytes, endbr64, sizeof endbr64) ? 0 : sizeof endbr64;
    at += bytes[at] == 0xf2; /* bnd */
    if (bytes[at] != 0xff || bytes[at + 1] != 0x25)
        return false;
    int32_t distance;
    memcpy(&distance, bytes + at + 2, sizeof distance);
    *slot = address + at + 6 + (uint64_t)(int64_t)distance;
    return true;
}

void arch_code_each_reference(struct sprof_bytes code, uint64_t vaddr, uint64_t low, uint64_t high,
                              void (*found)(void *context, uint64_t address, bool is_call),
                              void *context)
{
    enum { CALL = 0x15, JUMP = 0x25, MOST = 4 };
    static const uint8_t immediates[] = {0, 1, 2, MOST}; /* bytes behind the distance */
    int32_t distance;
    for (size_t at = 0; at + sizeof distance <= code.size; at++) {
        memcpy(&distance, code.data + at, sizeof distance);
        const uint64_t next = vaddr + at + sizeof distance + (uint64_t)(int64_t)distance;
        if (next + MOST - low > high - low + MOST)
            continue;
        const bool is_call = at >= 2 && code.data[at - 2] == 0xff &&
                             (code.data[at - 1] == CALL || code.data[at - 1] == JUMP);
        for (size_t i = 0; i < sizeof immediates; i++)
            if (next + immediates[i] - low <= high - low)
                found(context, next + immediates[i], is_call && !immediates[i]);
    }
}

/* With endbr64, entries of .plt.got take 16 bytes like the others. */
uint64_t arch_code_plt_entry_size(struct sprof_bytes plt, bool is_got)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    const bool lands = plt.size >= sizeof endbr64 && !memcmp(plt.data, endbr64, sizeof endbr64);
    return is_got && !lands ? 8 : ARCH_PLT_ENTRY_BYTES;
}

uint8_t arch_code_plt_push(struct sprof_bytes plt)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    if (plt.size < 2 * ARCH_PLT_ENTRY_BYTES)
        return 0;
    const uint8_t *entry = plt.data + ARCH_PLT_ENTRY_BYTES;
    if (!memcmp(entry, endbr64, sizeof endbr64))
        return entry[4] == 0x68 ? 9 : 0;
    return entry[6] == 0x68 ? 11 : 0;
}

size_t arch_code_padding(const uint8_t *code, size_t size)
{
    struct arch_instruction instruction;
    if (size && *code == 0xcc)
        return 1;
    const bool is_nop =
        arch_instruction_decode(code, size, &instruction) && instruction.bits & ARCH_IS_NOTHING;
    return is_nop ? instruction.length : 0;
}

bool arch_code_begins_with_system_call(struct sprof_bytes code)
{
    return code.size >= 2 && code.data[0] == 0x0f && code.data[1] == 0x05;
}

/* Known are the kernel's signal return (mov $15,%rax; syscall), what stands behind the system call
 * of glibc's clone and clone3 and of musl's __clone, and musl's _start. Bytes that name a stretch,
 * and how far the stretch reaches around them. The byte before a signal trampoline belongs to it: a
 * handler returns to its first byte, and is looked up one before. */
static const struct {
    uint8_t bytes[20];
    uint8_t size, before, length;
    enum arch_known what;
} patterns[] = {
    {{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}, 9, 1, 9, ARCH_KNOWN_SIGNAL_RETURN},
    /* glibc's clone and clone3: syscall; test %rax,%rax; jl; je over the ret */
    {{0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c}, 6, 0, 10, ARCH_KNOWN_CLONE},
    /* musl's __clone: syscall; test %eax,%eax; jne; then the child, as below */
    {{0x0f, 0x05, 0x85, 0xc0, 0x75, 0x0f, 0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1},
     12,
     0,
     6,
     ARCH_KNOWN_CLONE},
    /* xor %rbp,%rbp; mov %rsp,%rdi; lea _DYNAMIC(%rip),%rsi; and; call _start_c */
    {{0x48, 0x31, 0xed, 0x48, 0x89, 0xe7, 0x48, 0x8d, 0x35}, 9, 0, 24, ARCH_KNOWN_START},
    /* xor %ebp,%ebp; pop %rdi; call *%r9; mov %eax,%edi; xor %eax,%eax; mov $60,%al; syscall */
    {{0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1, 0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05},
     14,
     0,
     14,
     ARCH_KNOWN_START},
};

enum { PATTERNS = sizeof patterns / sizeof patterns[0] };

bool arch_code_find_known(struct sprof_bytes code, size_t *offset, struct arch_known_code *known)
{
    const uint8_t *first = NULL;
    size_t which = 0;
    size_t left = code.size - *offset;
    for (size_t i = 0; i < PATTERNS && left; i++) {
        const uint8_t *found =
            memmem(code.data + *offset, left, patterns[i].bytes, patterns[i].size);
        if (found) {
            first = found;
            which = i;
            left = (size_t)(found - (code.data + *offset)); /* the others must come before it */
        }
    }
    if (!first)
        return false;
    const size_t at = (size_t)(first - code.data), end = at + patterns[which].length;
    const size_t before = patterns[which].before;
    known->start = at - *offset >= before ? at - before : at;
    known->end = end < code.size ? end : code.size;
    known->what = patterns[which].what;
    *offset = known->end;
    return true;
}

bool arch_code_is_start(struct sprof_bytes function)
{
    /* mov %rbx,%rsp; mov (%rsp),%rdi or pop %rdi; test %rdi,%rdi; je */
    static const uint8_t with_mov[] = {0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c,
                                       0x24, 0x48, 0x85, 0xff, 0x74};
    static const uint8_t with_pop[] = {0x48, 0x89, 0xdc, 0x5f, 0x48, 0x85, 0xff, 0x74};
    return (function.size >= sizeof with_mov &&
            !memcmp(function.data, with_mov, sizeof with_mov)) ||
           (function.size >= sizeof with_pop && !memcmp(function.data, with_pop, sizeof with_pop));
}
