/* Function beginnings of any instructions that are harmless to execute, beside their copies: the
 * same registers, flags, memory, exits and faults. Left out are instructions that talk to the
 * system, segments, MMX, EVEX, and what writes to x87's control.
 *
 * The input: eight bytes that registers and memory are drawn from, flags, code. */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/plan/beside.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { HEAD = 10, SMALL = 0x7fff, RSP = 4 };

struct range {
    uint8_t first, last;
};

/* == Which instructions ===================================================================== */

/* Intel SDM volume 2, appendix A: the opcode maps. */
static const struct range one_byte[] = {
    {0x00, 0x05}, {0x08, 0x0d}, {0x10, 0x15}, {0x18, 0x1d}, {0x20, 0x25}, {0x28, 0x2d},
    {0x30, 0x35}, {0x38, 0x3d}, {0x50, 0x5f}, {0x63, 0x63}, {0x68, 0x6b}, {0x70, 0x81},
    {0x83, 0x8b}, {0x8d, 0x8d}, {0x8f, 0x99}, {0x9c, 0x9c}, {0x9e, 0x9f}, {0xa4, 0xc3},
    {0xc6, 0xc7}, {0xc9, 0xc9}, {0xd0, 0xd3}, {0xd8, 0xdf}, {0xe8, 0xe9}, {0xeb, 0xeb},
    {0xf5, 0xf9}, {0xfc, 0xff}};
static const struct range two_bytes[] = {{0x0b, 0x0b}, {0x10, 0x17}, {0x1e, 0x1f}, {0x28, 0x29},
                                         {0x2e, 0x2f}, {0x40, 0x4f}, {0x51, 0x5f}, {0x80, 0x9f},
                                         {0xa3, 0xa5}, {0xab, 0xad}, {0xaf, 0xb1}, {0xb3, 0xb3},
                                         {0xb6, 0xb8}, {0xba, 0xc2}, {0xc6, 0xcf}};
static const struct range vectors[] = {/* behind 66, F2 or F3, or by VEX */
                                       {0x10, 0x17}, {0x28, 0x2a}, {0x2c, 0x2f},
                                       {0x51, 0x76}, {0x7c, 0x7f}, {0xc2, 0xc6},
                                       {0xd0, 0xe6}, {0xe8, 0xf6}, {0xf8, 0xfe}};
static const struct range third_map[] = {{0x00, 0x7f}, {0xf0, 0xf1}};
static const struct range vex_third_map[] = {
    {0x00, 0x7f}, {0x8c, 0x8f}, {0x96, 0xbf}, {0xf2, 0xf7}};

#define HOLDS(ranges, opcode) holds(ranges, sizeof(ranges) / sizeof *(ranges), opcode)

static bool holds(const struct range *ranges, size_t count, uint8_t opcode)
{
    for (size_t i = 0; i < count; i++)
        if (opcode >= ranges[i].first && opcode <= ranges[i].last)
            return true;
    return false;
}

/* Loads and stores of numbers; the environment is not touched. */
static bool is_plain_x87(uint8_t opcode, uint8_t modrm)
{
    const unsigned which = modrm >> 3 & 7;
    return modrm >> 6 != 3 && !(opcode == 0xd9 && which && which != 2 && which != 3) &&
           !(opcode == 0xdd && which > 3);
}

static bool is_harmless_one_byte(uint8_t opcode, uint8_t modrm, uint8_t prefix)
{
    const unsigned which = modrm >> 3 & 7;
    if (prefix >= 0xf2 && opcode >= 0xa4 && opcode <= 0xaf) /* as often as rcx says */
        return false;
    if (opcode >= 0xd8 && opcode <= 0xdf)
        return is_plain_x87(opcode, modrm);
    if (opcode == 0xc6 || opcode == 0xc7 || opcode == 0x8f)
        return which == 0;
    if (opcode == 0xfe || opcode == 0xff) /* far calls and jumps leave 64-bit mode */
        return which < 2 || (opcode == 0xff && (which == 2 || which == 4 || which == 6));
    return HOLDS(one_byte, opcode);
}

static bool is_harmless_two_bytes(uint8_t opcode, uint8_t modrm, uint8_t prefix)
{
    const bool is_bit = (opcode & 0xe7) == 0xa3; /* far from its operand, as a register says */
    if (is_bit && modrm >> 6 != 3)
        return false;
    if (opcode == 0xc7) /* cmpxchg8b and cmpxchg16b; others are drawn by the processor */
        return (modrm >> 3 & 7) == 1 && modrm >> 6 != 3;
    return HOLDS(two_bytes, opcode) || (prefix && HOLDS(vectors, opcode));
}

static bool is_harmless_vex(const uint8_t *code, size_t length)
{
    const bool is_long = code[0] == 0xc4;
    const unsigned map = is_long ? code[1] & 31 : 1;
    if (!__builtin_cpu_supports("avx2") || length < (is_long ? 5 : 4))
        return false;
    const uint8_t opcode = code[is_long ? 3 : 2];
    return map == 1 ? HOLDS(vectors, opcode) : map == 2 ? HOLDS(vex_third_map, opcode) : map == 3;
}

/* One prefix of 66, F2 and F3, perhaps REX. */
static bool is_harmless(const uint8_t *code, const struct arch_instruction *instruction)
{
    uint8_t bytes[ARCH_INSTRUCTION_BYTES + 4] = {0};
    size_t at = 0;
    memcpy(bytes, code, instruction->length);
    if (bytes[0] == 0xc4 || bytes[0] == 0xc5)
        return is_harmless_vex(bytes, instruction->length);
    const bool has_prefix = bytes[0] == 0x66 || bytes[0] == 0xf2 || bytes[0] == 0xf3;
    const uint8_t prefix = has_prefix ? bytes[at++] : 0;
    if (instruction->flow != ARCH_FLOW_NEXT && prefix == 0x66)
        return false;
    if (bytes[at] >> 4 == 4)
        at++;
    if (bytes[at] == 0xc4 || bytes[at] == 0xc5)
        return false;
    if (bytes[at] != 0x0f)
        return is_harmless_one_byte(bytes[at], bytes[at + 1], prefix);
    if (bytes[at + 1] == 0x38)
        return HOLDS(third_map, bytes[at + 2]) && (prefix == 0x66 || bytes[at + 2] >= 0xf0);
    if (bytes[at + 1] == 0x3a)
        return prefix == 0x66;
    return is_harmless_two_bytes(bytes[at + 1], bytes[at + 2], prefix);
}

/* == Beginnings ============================================================================= */

struct beginning {
    uint8_t code[BESIDE_CODE_BYTES];
    size_t size, last; /* where the last instruction begins */
    struct arch_instruction end;
    struct execute_state in;
    struct beside place;
};

/* Where the input's number leads, which counts from the next instruction. */
static size_t chosen_place(const struct arch_instruction *instruction, uint32_t number)
{
    const size_t exit = number % BESIDE_EXITS;
    const bool is_indirect = instruction->flow == ARCH_FLOW_CALL_INDIRECT ||
                             instruction->flow == ARCH_FLOW_JUMP_INDIRECT;
    if (instruction->base == ARCH_PC)
        return is_indirect ? BESIDE_SLOTS + 8 * (number & 1)
                           : BESIDE_DATA + number % (BESIDE_DATA_BYTES - 64);
    if (instruction->flow == ARCH_FLOW_CALL)
        return BESIDE_CALLEE;
    return instruction->field_size == 1 ? BESIDE_SHORT_EXIT + exit * 5
                                        : BESIDE_EXIT + exit * EXECUTE_EXIT_BYTES;
}

static void aim(struct beginning *beginning, size_t at, const struct arch_instruction *instruction)
{
    uint32_t number = 0;
    uint8_t *field = beginning->code + at + instruction->field_at;
    if (!instruction->field_size)
        return;
    memcpy(&number, field, instruction->field_size);
    number =
        (uint32_t)(chosen_place(instruction, number) - (BESIDE_SITE + at + instruction->length));
    memcpy(field, &number, instruction->field_size);
}

static bool ends(const struct arch_instruction *instruction)
{
    return instruction->flow != ARCH_FLOW_NEXT && instruction->flow != ARCH_FLOW_BRANCH;
}

/* As many instructions as a jump takes the place of. */
static bool take_code(struct beginning *beginning, const uint8_t *data, size_t size)
{
    struct arch_instruction *end = &beginning->end;
    size_t at = 0;
    *end = (struct arch_instruction){0};
    for (; at < PLAN_JUMP_BYTES && !ends(end); at += end->length) {
        if (!arch_instruction_decode(data + at, size - at, end) || !is_harmless(data + at, end) ||
            end->bits & ARCH_IS_SHORT_ONLY)
            return false;
        memcpy(beginning->code + at, data + at, end->length);
        aim(beginning, at, end);
        if (!arch_instruction_decode(beginning->code + at, end->length, end))
            return false;
        if (end->flow == ARCH_FLOW_CALL_INDIRECT && at + end->length < PLAN_JUMP_BYTES)
            return false; /* the plan refuses it: it returns into the jump's bytes */
        beginning->last = at;
    }
    beginning->size = at;
    return true;
}

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Numbers, and pointers to the data, the callee or an exit; no others that memory is at. */
static void draw_state(struct beginning *beginning, const uint8_t *head)
{
    const uint64_t arena = (uint64_t)(uintptr_t)beginning->place.arena;
    const uint64_t pointers[] = {arena + BESIDE_CALLEE,
                                 arena + BESIDE_EXIT + 5 * EXECUTE_EXIT_BYTES};
    uint64_t state, seed;
    uint16_t flags;
    memcpy(&seed, head, sizeof seed);
    memcpy(&flags, head + sizeof seed, sizeof flags);
    state = seed ? seed : 1;
    beginning->in = (struct execute_state){.flags = 0x202 | (flags & EXECUTE_FLAGS)};
    for (size_t i = 0; i < 16; i++) {
        const uint64_t number = draw(&state), kind = draw(&state) >> 11 & 7;
        beginning->in.registers[i] = kind == 0   ? number & SMALL
                                     : kind == 1 ? number | UINT64_C(1) << 62
                                     : kind == 2 ? pointers[number & 1]
                                                 : arena + BESIDE_DATA + 0x100 + number % 0x200;
    }
    for (size_t i = 0; i < sizeof beginning->in.vectors; i++)
        beginning->in.vectors[i] = (uint8_t)(draw(&state) >> 9);
    for (size_t i = 0; i < BESIDE_DATA_BYTES; i++)
        beginning->place.data[i] = (uint8_t)(draw(&state) >> 9);
}

/* == Execution ============================================================================== */

static uint64_t read_word(const struct beginning *beginning, uint64_t address)
{
    const uint64_t arena = (uint64_t)(uintptr_t)beginning->place.arena;
    uint64_t word = 0;
    if (address - arena - BESIDE_DATA <= BESIDE_PAGE - sizeof word ||
        address - arena - BESIDE_STACK <= BESIDE_PAGE - sizeof word)
        memcpy(&word, (const void *)(uintptr_t)address, sizeof word);
    return word;
}

/* DWARF's numbers, in the processor's order. */
static uint64_t value_of(const struct execute_state *state, int reg)
{
    static const uint8_t numbers[] = {0, 2, 1, 3, 6, 7, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
    return reg < 0 ? 0 : state->registers[numbers[reg]];
}

/* Memory of the arena, around it, or none at all: the process itself has none there. */
static bool is_apart(uint64_t address)
{
    enum { ARENA_BITS = 44, SIGN_BIT = 47, FIRST_PAGES = 0x10000 };
    const uint64_t upper = address >> SIGN_BIT;
    return address >> ARENA_BITS == 2 || address < FIRST_PAGES || upper != 0;
}

/* Whether an instruction leaves the process's own memory alone: its operand, whatever its scale is,
 * and what it may use without naming it. */
static bool is_memory_apart(const struct arch_instruction *instruction,
                            const struct execute_state *state)
{
    static const uint8_t implied[] = {4, 5, 6, 7};
    for (size_t i = 0; i < sizeof implied; i++)
        if (!is_apart(state->registers[implied[i]]))
            return false;
    if (!(instruction->bits & ARCH_HAS_MEMORY) || instruction->base == ARCH_PC)
        return true;
    const uint64_t base = value_of(state, instruction->base) + (uint64_t)instruction->displacement;
    for (uint64_t scale = 1; scale <= 8; scale *= 2)
        if (!is_apart(base + scale * value_of(state, instruction->index)))
            return false;
    return true;
}

/* Where the last instruction leads, by what those before it leave: a return, or through a register
 * or memory. */
static uint64_t target(const struct beginning *beginning, const struct execute_state *state)
{
    const struct arch_instruction *end = &beginning->end;
    const uint8_t *code = beginning->code + beginning->last;
    const uint64_t next =
        (uint64_t)(uintptr_t)beginning->place.arena + BESIDE_SITE + beginning->size;
    if (end->flow == ARCH_FLOW_RETURN)
        return read_word(beginning, state->registers[RSP]);
    if (end->base == ARCH_PC)
        return read_word(beginning, next + (uint64_t)end->displacement);
    if (end->bits & ARCH_HAS_MEMORY)
        return end->index >= 0
                   ? 0
                   : read_word(beginning, value_of(state, end->base) + (uint64_t)end->displacement);
    size_t at = 0;
    while (code[at] != 0xff)
        at++;
    const bool is_upper = at && code[at - 1] >> 4 == 4 && code[at - 1] & 1;
    return state->registers[(code[at + 1] & 7) | is_upper << 3];
}

/* Whether execution stays where it may be, and touches what it may: each instruction is looked at
 * with what those before it leave. */
static bool stays(struct beginning *beginning)
{
    static struct beside_outcome before;
    struct arch_instruction instruction;
    for (size_t at = 0; at < beginning->size; at += instruction.length) {
        beside_put(&beginning->place, beginning->code, at);
        beside_execute(&beginning->place, &beginning->in, beginning->place.arena + BESIDE_SITE,
                       &before);
        if (!arch_instruction_decode(beginning->code + at, beginning->size - at, &instruction) ||
            !is_memory_apart(&instruction, &before.state))
            return false;
    }
    const enum arch_flow flow = (enum arch_flow)beginning->end.flow;
    if (flow != ARCH_FLOW_RETURN && flow != ARCH_FLOW_CALL_INDIRECT &&
        flow != ARCH_FLOW_JUMP_INDIRECT)
        return true;
    const uint64_t where =
        target(beginning, &before.state) - (uint64_t)(uintptr_t)beginning->place.arena;
    const uint64_t exit = where - BESIDE_EXIT;
    return where == BESIDE_CALLEE ||
           (exit < BESIDE_EXITS * EXECUTE_EXIT_BYTES && exit % EXECUTE_EXIT_BYTES == 0);
}

/* What a fault within a copy is one of: the instruction of the original, and the stack as it was
 * before that. */
static void bring_back(struct beside_outcome *outcome, const struct plan_copy *copy, uint64_t site,
                       uint64_t at)
{
    const uint64_t offset = outcome->state.ip - at;
    size_t i = copy->count;
    if (outcome->state.exit != EXECUTE_FAULT || offset >= copy->size)
        return;
    while (i && copy->places[i - 1].copied > offset)
        i--;
    FUZZ_REQUIRE(i);
    if (copy->places[i - 1].copied != offset)
        outcome->state.registers[RSP] += ARCH_CALL_PUSHES; /* behind the push of a call */
    outcome->state.ip = site + copy->places[i - 1].original;
}

static void print_code(const char *name, const uint8_t *code, size_t size)
{
    fprintf(stderr, "\n%s:", name);
    for (size_t i = 0; i < size; i++)
        fprintf(stderr, " %02x", code[i]);
}

static void require_same(const struct beside_outcome *first, const struct beside_outcome *second,
                         const struct beginning *beginning, const uint8_t *copy, size_t size)
{
    if (!memcmp(first, second, sizeof *first))
        return;
    size_t differs = 0;
    while (((const uint8_t *)first)[differs] == ((const uint8_t *)second)[differs])
        differs++;
    fprintf(stderr, "\nbyte %zu of struct beside_outcome differs", differs);
    print_code("original", beginning->code, beginning->size);
    print_code("copy", copy, size);
    fprintf(stderr,
            "\nexits %d and %d, signals %d and %d, at %#llx and %#llx, sp %#llx and %#llx\n",
            (int)first->state.exit, (int)second->state.exit, (int)first->state.signal,
            (int)second->state.signal, (unsigned long long)first->state.ip,
            (unsigned long long)second->state.ip, (unsigned long long)first->state.registers[RSP],
            (unsigned long long)second->state.registers[RSP]);
    abort();
}

/* Where the original depends on what is below the stack pointer, which handlers of signals write
 * to, there is nothing to compare. */
static bool is_defined(struct beginning *beginning, struct beside_outcome *first)
{
    static struct beside_outcome other;
    uint8_t *site = beginning->place.arena + BESIDE_SITE;
    beside_put(&beginning->place, beginning->code, beginning->size);
    beginning->place.below = 0x5a;
    beside_execute(&beginning->place, &beginning->in, site, first);
    beginning->place.below = 0xa7;
    beside_execute(&beginning->place, &beginning->in, site, &other);
    const uint64_t stack =
        first->state.registers[RSP] - (uint64_t)(uintptr_t)(beginning->place.arena + BESIDE_STACK);
    return !memcmp(first, &other, sizeof other) && stack <= BESIDE_STACK_BYTES;
}

static void compare(struct beginning *beginning)
{
    static struct beside_outcome first, second;
    struct plan_copy copy;
    const uint64_t arena = (uint64_t)(uintptr_t)beginning->place.arena;
    const uint64_t site = arena + BESIDE_SITE, at = arena + BESIDE_COPIES;
    if (!is_defined(beginning, &first) ||
        plan_copy_make(&copy, beginning->code, beginning->size, beginning->size, site, at))
        return;
    beside_take(&beginning->place);
    memcpy(beginning->place.code + BESIDE_COPIES, copy.code, copy.size);
    beside_execute(&beginning->place, &beginning->in, beginning->place.arena + BESIDE_COPIES,
                   &second);
    bring_back(&second, &copy, site, at);
    if (second.state.exit == EXECUTE_FAULT) /* the way of a call that it did not go */
        memcpy(second.stack, first.stack, sizeof first.stack);
    require_same(&first, &second, beginning, copy.code, copy.size);
    if (first.state.exit == EXECUTE_FAULT || /* area.S says how those are brought back */
        beside_put_far(&beginning->place, beginning->code, beginning->size, BESIDE_COPIES))
        return;
    beside_execute(&beginning->place, &beginning->in, beginning->place.far, &second);
    require_same(&first, &second, beginning, beginning->place.far, ARCH_COPY_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct beginning beginning;
    sigset_t all, old;
    if (!beginning.place.arena)
        FUZZ_REQUIRE(beside_begin(&beginning.place) && execute_catch_faults());
    if (size <= HEAD || !take_code(&beginning, data + HEAD, size - HEAD))
        return 0;
    draw_state(&beginning, data);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &old); /* the stack is the code's; faults come none the less */
    for (int fault = 0; fault < 5; fault++)
        sigdelset(&all, (const int[]){SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}[fault]);
    sigprocmask(SIG_SETMASK, &all, NULL);
    if (stays(&beginning))
        compare(&beginning);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return 0;
}
