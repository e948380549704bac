/* Copies of function beginnings: those of the machine's libraries by their decoded form, and
 * made-up ones executed beside their originals. */
#include "tests/unit/plan/beside.h"
#include "tests/unit/plan/fixture.h"

#include <stdlib.h>

/* == Beginnings of real functions == */

/* Whether an instruction of the copy does at `at` what the original does at `from`. */
static bool same_instruction(const uint8_t *code, const struct arch_instruction *original,
                             uint64_t from, const uint8_t *copied, size_t size, uint64_t at)
{
    struct arch_instruction copy;
    const uint64_t next = from + original->length, target = next + (uint64_t)original->value;
    uint64_t pushed = 0;
    if (original->flow == ARCH_FLOW_CALL || original->flow == ARCH_FLOW_CALL_INDIRECT) {
        memcpy(&pushed, copied + 1, 4);
        memcpy((uint8_t *)&pushed + 4, copied + 9, 4);
        copied += 13;
        size -= 13;
        at += 13;
        if (pushed != next)
            return false;
    }
    if (!arch_instruction_decode(copied, size, &copy))
        return false;
    const uint64_t copy_next = at + copy.length;
    const bool same_operand =
        original->base != ARCH_PC ||
        next + (uint64_t)original->displacement == copy_next + (uint64_t)copy.displacement;
    switch ((enum arch_flow)original->flow) {
    case ARCH_FLOW_CALL:
    case ARCH_FLOW_JUMP:
        return copy.flow == ARCH_FLOW_JUMP && copy_next + (uint64_t)copy.value == target;
    case ARCH_FLOW_BRANCH:
        return copy.flow == ARCH_FLOW_BRANCH && copy_next + (uint64_t)copy.value == target &&
               (code[original->field_at - 1] & 15) == (copied[copy.field_at - 1] & 15);
    case ARCH_FLOW_CALL_INDIRECT: return copy.flow == ARCH_FLOW_JUMP_INDIRECT && same_operand;
    default:
        return copy.flow == original->flow && copy.length == original->length &&
               copy.base == original->base && copy.bits == original->bits && same_operand &&
               (original->base == ARCH_PC || !memcmp(code, copied, copy.length));
    }
}

static bool same_code(const struct plan_function *function, const struct plan_copy *copy,
                      uint64_t at)
{
    struct arch_instruction original = {0}, last;
    for (size_t i = 0; i < copy->count; i++) {
        const uint8_t from = copy->places[i].original, to = copy->places[i].copied;
        if (!arch_instruction_decode(function->original + from, sizeof function->original - from,
                                     &original) ||
            !same_instruction(function->original + from, &original, function->site + from,
                              copy->code + to, copy->size - to, at + to))
            return false;
    }
    if (original.flow != ARCH_FLOW_NEXT && original.flow != ARCH_FLOW_BRANCH)
        return true;
    const size_t jump = copy->size - PLAN_JUMP_BYTES;
    const uint64_t behind =
        function->site + copy->places[copy->count - 1].original + original.length;
    return arch_instruction_decode(copy->code + jump, PLAN_JUMP_BYTES, &last) &&
           last.flow == ARCH_FLOW_JUMP && at + copy->size + (uint64_t)last.value == behind;
}

static void test_libraries(void)
{
    static const char *const paths[] = {"/lib/x86_64-linux-gnu/libc.so.6",
                                        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
                                        "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"};
    static const uint64_t distances[] = {0x4000000, (uint64_t)-0x70000000, 0x1003};
    size_t copies = 0;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const struct image_request request = {.file = {.path = paths[i]}};
        struct plan plan;
        CU_ASSERT_EQUAL_FATAL(plan_open(&plan, &request, NULL, NULL), 0);
        for (size_t j = 0; j < plan.function_count; j++) {
            const struct plan_function *function = &plan.functions[j];
            struct plan_copy copy;
            if (function->mechanism == PLAN_NOT)
                continue;
            const uint64_t at = function->site + distances[j % 3];
            const int code =
                plan_copy_make(&copy, function->original, function->displaced,
                               (size_t)(function->end - function->site), function->site, at);
            if (code || !same_code(function, &copy, at))
                printf("\n    %s: %d", function->name, code);
            CU_ASSERT_EQUAL(code, 0);
            CU_ASSERT_TRUE(!code && same_code(function, &copy, at));
            copies++;
        }
        plan_release(&plan);
    }
    printf("\n    %zu copies", copies);
    CU_ASSERT(copies > 15000);
}

/* == Beginnings that are executed == */

enum { ROUNDS = 40000 };

struct run {
    struct beside place;
    uint64_t random;
    uint8_t code[BESIDE_CODE_BYTES];
    size_t size;
    bool pushes; /* puts words on the stack that are no way back */
};

static uint64_t next_random(struct run *run) /* Marsaglia's xorshift */
{
    run->random ^= run->random << 13;
    run->random ^= run->random >> 7;
    run->random ^= run->random << 17;
    return run->random >> 3;
}

static void put(struct run *run, const void *bytes, size_t size)
{
    memcpy(run->code + run->size, bytes, size);
    run->size += size;
}

static void put_byte(struct run *run, uint64_t byte)
{
    run->code[run->size++] = (uint8_t)byte;
}

/* Four bytes that lead to an offset of the arena, with `more` bytes of the instruction behind. */
static void put_distance(struct run *run, size_t offset, size_t more)
{
    const int32_t distance = (int32_t)(offset - (BESIDE_SITE + run->size + 4 + more));
    put(run, &distance, 4);
}

/* rbx, rsp, rbp, rsi and rdi point to memory and are not written. */
static uint64_t any_register(struct run *run)
{
    static const uint8_t registers[] = {0, 1, 2, 8, 9, 10, 11, 12, 13, 14, 15};
    return registers[next_random(run) % sizeof registers];
}

static size_t any_data(struct run *run)
{
    return BESIDE_DATA + next_random(run) % (BESIDE_DATA_BYTES - 64);
}

static void put_arithmetic(struct run *run)
{
    static const uint8_t opcodes[] = {0x01, 0x03, 0x09, 0x11, 0x19, 0x21,
                                      0x29, 0x31, 0x39, 0x85, 0x89};
    const uint64_t a = any_register(run), b = any_register(run);
    put_byte(run, 0x40 | (next_random(run) & 8) | (a >> 3) << 2 | b >> 3);
    put_byte(run, opcodes[next_random(run) % sizeof opcodes]);
    put_byte(run, 0xc0 | (a & 7) << 3 | (b & 7));
}

static void put_memory(struct run *run)
{
    static const uint8_t opcodes[] = {0x01, 0x03, 0x29, 0x39, 0x3b, 0x89, 0x8b, 0x8d};
    static const uint8_t bases[] = {3, 5, 6, 7};
    const uint64_t a = any_register(run);
    put_byte(run, 0x48 | (a >> 3) << 2);
    put_byte(run, opcodes[next_random(run) % sizeof opcodes]);
    put_byte(run, 0x40 | (a & 7) << 3 | bases[next_random(run) % sizeof bases]);
    put_byte(run, next_random(run) & 0x3f);
}

/* Operands that count from the next instruction, with and without something behind the distance. */
static void put_from_pc(struct run *run)
{
    const uint64_t a = any_register(run);
    static const uint8_t plain[] = {0x03, 0x2b, 0x3b, 0x89, 0x8b, 0x8d, 0x01};
    static const uint8_t compare[] = {0x48, 0x83, 0x3d}, store[] = {0xc7, 0x05},
                         test[] = {0xf7, 0x05};
    static const uint8_t load_vector[] = {0x0f, 0x10, 0x05}, store_vector[] = {0x0f, 0x11, 0x0d};
    switch (next_random(run) % 6) {
    case 0:
        put(run, compare, sizeof compare);
        put_distance(run, any_data(run), 1);
        put_byte(run, next_random(run));
        return;
    case 1:
    case 2:
        put(run, next_random(run) & 1 ? store : test, 2);
        put_distance(run, any_data(run), 4);
        put(run, &run->random, 4);
        return;
    case 3:
        put(run, next_random(run) & 1 ? load_vector : store_vector, 3);
        put_distance(run, any_data(run), 0);
        return;
    default:
        put_byte(run, 0x48 | (a >> 3) << 2);
        put_byte(run, plain[next_random(run) % sizeof plain]);
        put_byte(run, 0x05 | (a & 7) << 3);
        put_distance(run, any_data(run), 0);
    }
}

/* What may fault, by a number at a distance; by 0 it does once in 2^32. */
static void put_division(struct run *run)
{
    static const uint8_t code[] = {0x31, 0xd2, 0xf7, 0x35}; /* xor %edx,%edx; divl … */
    put(run, code, sizeof code);
    put_distance(run, any_data(run), 0);
}

/* The same of arithmetic of floating point, whose result is in a general register. */
static void put_conversion(struct run *run)
{
    const uint64_t a = any_register(run);
    put_byte(run, 0xf2); /* cvttsd2si …,a */
    put_byte(run, 0x48 | (a >> 3) << 2);
    put_byte(run, 0x0f);
    put_byte(run, 0x2c);
    put_byte(run, 0x05 | (a & 7) << 3);
    put_distance(run, any_data(run), 0);
}

/* What a lock is before, at a distance, in both ways to say which operation it is. */
static void put_locked(struct run *run)
{
    static const uint8_t groups[][2] = {{0xff, 0}, {0xff, 1}, {0xf7, 2}, {0xf7, 3}};
    static const uint8_t add_byte[] = {0x83, 0x05}, exchange_and_add[] = {0x0f, 0xc1};
    const uint64_t a = any_register(run);
    const size_t choice = next_random(run) % 6, at = any_data(run) / 8 * 8;
    put_byte(run, 0xf0);
    put_byte(run, choice == 5 ? 0x48 | (a >> 3) << 2 : 0x48);
    if (choice < 4) {
        put_byte(run, groups[choice][0]);
        put_byte(run, 0x05 | groups[choice][1] << 3);
    } else if (choice == 4) {
        put(run, add_byte, sizeof add_byte);
    } else {
        put(run, exchange_and_add, sizeof exchange_and_add);
        put_byte(run, 0x05 | (a & 7) << 3);
    }
    put_distance(run, at, choice == 4);
    if (choice == 4)
        put_byte(run, next_random(run));
}

static void put_stack(struct run *run)
{
    static const uint8_t lower[] = {0x48, 0x83, 0xec};
    const uint64_t a = any_register(run);
    if (next_random(run) % 3 == 0) {
        put(run, lower, sizeof lower);
        put_byte(run, 8 + (next_random(run) & 0x38));
        run->pushes = true;
    } else {
        if (a >= 8)
            put_byte(run, 0x41);
        const bool pops = next_random(run) & 1;
        put_byte(run, (pops ? 0x58 : 0x50) | (a & 7));
        run->pushes |= !pops;
    }
}

static void put_flag_reader(struct run *run)
{
    const uint64_t a = any_register(run), b = any_register(run);
    put_byte(run, 0x48 | (a >> 3) << 2 | b >> 3);
    put_byte(run, 0x0f);
    put_byte(run, 0x40 | (next_random(run) & 15));
    put_byte(run, 0xc0 | (a & 7) << 3 | (b & 7));
}

static void put_branch(struct run *run)
{
    const size_t chosen = next_random(run) % BESIDE_EXITS;
    const uint64_t condition = next_random(run) & 15;
    if (next_random(run) & 1) {
        put_byte(run, 0x70 | condition);
        put_byte(run, BESIDE_SHORT_EXIT + chosen * 5 - (BESIDE_SITE + run->size + 1));
    } else {
        put_byte(run, 0x0f);
        put_byte(run, 0x80 | condition);
        put_distance(run, BESIDE_EXIT + chosen * EXECUTE_EXIT_BYTES, 0);
    }
}

/* What ends the beginning: jumps and calls of every form, and returns. */
static void put_end(struct run *run)
{
    const size_t chosen = next_random(run) % BESIDE_EXITS;
    switch (next_random(run) % (run->pushes ? 6 : 7)) { /* no return to what was pushed */
    case 0:
        put_byte(run, 0xeb);
        put_byte(run, BESIDE_SHORT_EXIT + chosen * 5 - (BESIDE_SITE + run->size + 1));
        return;
    case 1:
        put_byte(run, 0xe9);
        put_distance(run, BESIDE_EXIT + chosen * EXECUTE_EXIT_BYTES, 0);
        return;
    case 2:
        put_byte(run, 0xe8);
        put_distance(run, BESIDE_CALLEE, 0);
        return;
    case 3: /* call *slot(%rip): the slot behind the data holds the callee */
        put_byte(run, 0xff);
        put_byte(run, 0x15);
        put_distance(run, BESIDE_DATA + BESIDE_DATA_BYTES, 0);
        return;
    case 4: /* call *…(%rbp), by the same slot */
        put_byte(run, 0xff);
        put_byte(run, 0x95);
        put(run, &(const int32_t){(int32_t)BESIDE_DATA_BYTES - 0x80}, 4);
        return;
    case 5: /* jmp *slot(%rip) to an exit */
        put_byte(run, 0xff);
        put_byte(run, 0x25);
        put_distance(run, BESIDE_DATA + BESIDE_DATA_BYTES + 8, 0);
        return;
    default: put_byte(run, 0xc3);
    }
}

static void make_beginning(struct run *run)
{
    static void (*const kinds[])(struct run *) = {put_arithmetic, put_memory,      put_from_pc,
                                                  put_stack,      put_flag_reader, put_branch,
                                                  put_division,   put_conversion,  put_locked};
    run->size = 0;
    run->pushes = false;
    while (run->size < PLAN_JUMP_BYTES) {
        if (next_random(run) % 5 == 0) {
            put_end(run);
            break;
        }
        kinds[next_random(run) % (sizeof kinds / sizeof *kinds)](run);
    }
}

static struct execute_state random_state(struct run *run)
{
    struct execute_state in = {0};
    const uint64_t data = (uint64_t)(uintptr_t)run->place.arena + BESIDE_DATA;
    for (size_t i = 0; i < 16; i++)
        in.registers[i] = next_random(run) << 3 ^ next_random(run);
    in.registers[3] = data + 0x40;
    in.registers[5] = data + 0x80;
    in.registers[6] = data + 0x100;
    in.registers[7] = data + 0x180;
    in.flags = 0x202 | (next_random(run) & EXECUTE_FLAGS);
    for (size_t i = 0; i < sizeof in.vectors; i++)
        in.vectors[i] = (uint8_t)next_random(run);
    return in;
}

/* Behind a branch nothing that may fault finds what is too far away: there is no copy. */
static bool has_branch(const struct run *run)
{
    struct arch_instruction instruction;
    bool has = false;
    for (size_t at = 0; at < run->size; at += instruction.length) {
        if (!arch_instruction_decode(run->code + at, run->size - at, &instruction))
            return false;
        if (has && instruction.base == ARCH_PC &&
            arch_instruction_may_fault(run->code + at, &instruction))
            return true;
        has |= instruction.flow == ARCH_FLOW_BRANCH;
    }
    return false;
}

static void print_code(const char *name, const uint8_t *code, size_t size)
{
    printf("\n    %s:", name);
    for (size_t i = 0; i < size; i++)
        printf(" %02x", code[i]);
}

/* Returns whether there is a copy for afar; all of it may work near its place only. */
static bool put_far(struct run *run, size_t at)
{
    const int code = beside_put_far(&run->place, run->code, run->size, at);
    if (code == SPROF_ELIMIT || (code && has_branch(run)))
        return false;
    if (code)
        print_code("no far copy", run->code, run->size);
    CU_ASSERT_EQUAL_FATAL(code, 0);
    return true;
}

/* What the plan refuses: a call that returns into the bytes that a jump takes. */
static bool is_refused(const struct run *run)
{
    struct arch_instruction instruction;
    for (size_t at = 0; at < run->size; at += instruction.length) {
        if (!arch_instruction_decode(run->code + at, run->size - at, &instruction))
            return true;
        if (instruction.flow == ARCH_FLOW_CALL_INDIRECT &&
            at + instruction.length < PLAN_JUMP_BYTES)
            return true;
    }
    return false;
}

static void test_executed(void)
{
    static struct run run = {.random = 0x2545f4914f6cdd1d, .place = {.below = 0x5a}};
    static struct beside_outcome first, second;
    size_t executed = 0, far_executed = 0, exits[BESIDE_EXITS] = {0};
    CU_ASSERT_TRUE_FATAL(beside_begin(&run.place));
    const uint64_t arena = (uint64_t)(uintptr_t)run.place.arena;
    for (int round = 0; round < ROUNDS; round++) {
        struct plan_copy copy;
        make_beginning(&run);
        for (size_t i = 0; i < BESIDE_DATA_BYTES; i++)
            run.place.data[i] = (uint8_t)next_random(&run);
        if (is_refused(&run))
            continue;
        beside_put(&run.place, run.code, run.size);
        const size_t at =
            BESIDE_COPIES + next_random(&run) % (BESIDE_CODE_END - BESIDE_COPIES - 256);
        CU_ASSERT_EQUAL_FATAL(
            plan_copy_make(&copy, run.code, run.size, run.size, arena + BESIDE_SITE, arena + at),
            0);
        memcpy(run.place.code + at, copy.code, copy.size);
        const struct execute_state in = random_state(&run);
        beside_execute(&run.place, &in, run.place.arena + BESIDE_SITE, &first);
        CU_ASSERT_FATAL(first.state.exit < BESIDE_EXITS);
        beside_take(&run.place);
        beside_execute(&run.place, &in, run.place.arena + at, &second);
        if (memcmp(&first, &second, sizeof first) != 0) {
            print_code("original", run.code, run.size);
            print_code("copy", copy.code, copy.size);
            printf(" exits %llu and %llu", (unsigned long long)first.state.exit,
                   (unsigned long long)second.state.exit);
        }
        CU_ASSERT_EQUAL_FATAL(memcmp(&first, &second, sizeof first), 0);
        if (put_far(&run, at)) {
            beside_execute(&run.place, &in, run.place.far, &second);
            if (memcmp(&first, &second, sizeof first) != 0) {
                print_code("original", run.code, run.size);
                print_code("far copy", run.place.far, ARCH_COPY_BYTES);
            }
            CU_ASSERT_EQUAL_FATAL(memcmp(&first, &second, sizeof first), 0);
            far_executed++;
        }
        exits[first.state.exit]++;
        executed++;
    }
    CU_ASSERT(executed > ROUNDS / 2);
    CU_ASSERT(far_executed > executed * 2 / 3);
    for (size_t i = 0; i < BESIDE_EXITS; i++)
        CU_ASSERT(exits[i] > 100);
    beside_end(&run.place);
}

static void test_out_of_reach(void)
{
    static const uint8_t load[] = {0x48, 0x8b, 0x05, 0, 0, 0, 0}; /* mov 0(%rip),%rax */
    static const uint8_t plain[] = {0x55, 0x48, 0x89, 0xe5, 0x53};
    static const uint8_t counts[] = {0xe3, 0x10, 0x90, 0x90, 0x90}; /* jrcxz */
    static const uint8_t by_stack[] = {0x90, 0xff, 0x54, 0x24, 0x08};
    struct plan_copy copy;
    const uint64_t site = UINT64_C(0x7f0000000000);
    CU_ASSERT_EQUAL(plan_copy_make(&copy, load, 7, 7, site, site + 0x7f000000), 0);
    CU_ASSERT_EQUAL(plan_copy_make(&copy, load, 7, 7, site, site + 0x80001000), SPROF_ELIMIT);
    CU_ASSERT_EQUAL(plan_copy_make(&copy, plain, 5, 5, site, 0x10000),
                    SPROF_ELIMIT); /* the way back */
    CU_ASSERT_EQUAL(plan_copy_make(&copy, counts, 5, 5, site, site + 0x1000), SPROF_EUNSUPPORTED);
    CU_ASSERT_EQUAL(plan_copy_make(&copy, by_stack, 5, 5, site, site + 0x1000), SPROF_EUNSUPPORTED);
}

/* Threads that are inside are moved to the same instruction of the copy. */
static void test_places(void)
{
    static const uint8_t code[] = {0x55, 0x74, 0x10, 0x48, 0x89, 0xe5}; /* push; je; mov */
    struct plan_copy copy;
    CU_ASSERT_EQUAL_FATAL(plan_copy_make(&copy, code, 6, 6, 0x1000, 0x2000), 0);
    CU_ASSERT_EQUAL_FATAL(copy.count, 3);
    CU_ASSERT(copy.places[1].original == 1 && copy.places[1].copied == 1);
    CU_ASSERT(copy.places[2].original == 3 &&
              copy.places[2].copied == 7); /* je has six bytes now */
    CU_ASSERT_EQUAL(copy.size, 1 + 6 + 3 + 5);
}

/* What instructions may fault, and which places of a far copy belong to which of the original. */
static void test_faults(void)
{
    static const struct {
        uint8_t code[16];
        size_t size;
        bool may;
    } beginnings[] = {
        {{0x55, 0x48, 0x89, 0xe5, 0x53}, 5, false},                /* push; mov %rsp,%rbp */
        {{0x55, 0x48, 0x89, 0xe5, 0x89, 0x7d, 0xfc}, 7, false},    /* … mov %edi,-4(%rbp) */
        {{0x55, 0x89, 0x7d, 0xfc, 0x90}, 5, true},                 /* without a frame */
        {{0x48, 0x8b, 0x07, 0x90, 0x90}, 5, true},                 /* mov (%rdi),%rax */
        {{0x48, 0x8d, 0x07, 0x90, 0x90}, 5, false},                /* lea (%rdi),%rax */
        {{0x89, 0xf8, 0x99, 0xf7, 0xfe}, 5, true},                 /* idiv %esi */
        {{0x89, 0xf8, 0x99, 0xf7, 0xee}, 5, false},                /* imul %esi */
        {{0x66, 0x0f, 0xef, 0xc0, 0xc3}, 5, false},                /* pxor */
        {{0xf2, 0x0f, 0x5e, 0xc1, 0xc3}, 5, true},                 /* divsd */
        {{0xff, 0x10, 0x90, 0x90, 0x90}, 5, true},                 /* call *(%rax) */
        {{0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0}, 9, false}, /* mov %fs:0x28,%rax */
        {{0xf3, 0xa4, 0x90, 0x90, 0x90}, 5, true},                 /* rep movsb */
        {{0x0f, 0x0b, 0x90, 0x90, 0x90}, 5, true},                 /* ud2 */
        {{0x8b, 0x05, 0, 0, 0, 0}, 6, false},                      /* mov 0(%rip),%eax */
        {{0x53, 0xf7, 0x3d, 0, 0, 0, 0}, 7, true},                 /* idivl 0(%rip) */
        {{0xf0, 0x48, 0xff, 0x05, 0, 0, 0, 0}, 8, false},          /* lock incq 0(%rip) */
        {{0xf0, 0xff, 0x0d, 0, 0, 0, 0}, 7, false},                /* lock decl 0(%rip) */
        {{0xf0, 0x66, 0x83, 0x05, 0, 0, 0, 0, 1}, 9, false},       /* lock addw $1,0(%rip) */
        {{0xf0, 0x01, 0x05, 0, 0, 0, 0}, 7, false},                /* lock add %eax,0(%rip) */
        {{0xf0, 0xff, 0x07, 0x90, 0x90}, 5, true},                 /* lock incl (%rdi) */
        {{0xf0, 0x8b, 0x05, 0, 0, 0, 0}, 7, true},    /* lock mov, which there is not */
        {{0xf0, 0x83, 0x3d, 0, 0, 0, 0, 1}, 8, true}, /* lock cmp, nor that */
        {{0xf0, 0x03, 0x05, 0, 0, 0, 0}, 7, true},    /* lock add to a register */
        {{0xf3, 0x0f, 0x1e, 0xfa, 0xc3}, 5, false},   /* endbr64 */
        {{0x48, 0x8b, 0x44, 0x24, 0x08}, 5, false},   /* mov 8(%rsp),%rax */
    };
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        const bool may = plan_may_fault(beginnings[i].code, beginnings[i].size);
        if (may != beginnings[i].may)
            print_code("wrong", beginnings[i].code, beginnings[i].size);
        CU_ASSERT_EQUAL(may, beginnings[i].may);
    }
    static const uint8_t call[] = {0x53, 0x48, 0x8b, 0x07, 0xff, 0x50, 0x10};
    static const uint8_t by_stack_pointer[] = {0xc4, 0xe2, 0xdb, 0xf7, 0x05, 0x10, 0, 0, 0};
    static const uint8_t to_r12[] = {0xf2, 0x4c, 0x0f, 0x2c, 0x25, 0x10, 0, 0, 0};
    static const uint8_t to_vector[] = {0xf2, 0x0f, 0x5e, 0x25, 0x10, 0, 0, 0}; /* divsd, xmm4 */
    static const uint8_t divide[] = {0x53, 0xf7, 0x3d, 0x10, 0, 0, 0};
    const uint64_t site = 0x555555555000, at = 0x7f0000000000;
    struct plan_far_copy copy;
    uint64_t word;
    CU_ASSERT_EQUAL_FATAL(plan_far_copy_make(&copy, call, 7, 20, site, at), 0);
    CU_ASSERT_EQUAL(copy.bytes[ARCH_COPY_LAST], 4);
    CU_ASSERT_EQUAL(copy.bytes[ARCH_COPY_OF], 4);
    CU_ASSERT_EQUAL(copy.bytes[ARCH_COPY_PUSHED], 8);
    CU_ASSERT_EQUAL(copy.rest, 0);
    memcpy(&word, copy.bytes + ARCH_COPY_SITE, sizeof word);
    CU_ASSERT_EQUAL(word, site);
    CU_ASSERT_EQUAL(plan_far_copy_make(&copy, by_stack_pointer, 9, 20, site, at),
                    SPROF_EUNSUPPORTED); /* shrx %rsp,…(%rip),%rax: it is moved meanwhile */
    CU_ASSERT_EQUAL(plan_far_copy_make(&copy, to_r12, 9, 20, site, at), 0);
    CU_ASSERT_EQUAL(plan_far_copy_make(&copy, to_vector, 8, 20, site, at), 0);
    CU_ASSERT_EQUAL_FATAL(plan_far_copy_make(&copy, divide, 7, 20, site, at), 0);
    const size_t place = copy.bytes[ARCH_COPY_LAST] + 1u;
    CU_ASSERT(copy.bytes[place] == 0xf7 && copy.bytes[place + 1] == 0x3e); /* idivl (%rsi) */
    CU_ASSERT_EQUAL(copy.bytes[ARCH_COPY_OF], 1);
    CU_ASSERT_EQUAL(copy.bytes[ARCH_COPY_PUSHED], ARCH_BORROWED_BYTES);
    memcpy(&word, copy.bytes + ARCH_COPY_BRANCH, sizeof word);
    CU_ASSERT_EQUAL(word, site + sizeof divide + 0x10);
}

void sprof_suite_plan_relocate(void);
void sprof_suite_plan_relocate(void)
{
    CU_pSuite suite = CU_add_suite("plan/relocate", NULL, NULL);
    CU_add_test(suite, "libraries", test_libraries);
    CU_add_test(suite, "executed beside the originals", test_executed);
    CU_add_test(suite, "out of reach", test_out_of_reach);
    CU_add_test(suite, "places", test_places);
    CU_add_test(suite, "what may fault", test_faults);
}
