#include "arch/arch.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *what;
    uint8_t length;
    uint8_t code[ARCH_INSTRUCTION_BYTES];
    enum arch_effect effect;
    int64_t value;
} cases[] = {
    {"push %rbx", 1, {0x53}, ARCH_EFFECT_ADDS_SP, -8},
    {"push %r12", 2, {0x41, 0x54}, ARCH_EFFECT_ADDS_SP, -8},
    {"push $5", 2, {0x6a, 5}, ARCH_EFFECT_ADDS_SP, -8},
    {"pop %rbx", 1, {0x5b}, ARCH_EFFECT_ADDS_SP, 8},
    {"pop %rbp", 1, {0x5d}, ARCH_EFFECT_POPS_FP, 0},
    {"pop %r13", 2, {0x41, 0x5d}, ARCH_EFFECT_ADDS_SP, 8},
    {"pop %rsp", 1, {0x5c}, ARCH_EFFECT_LOADS_SP, 0},
    {"mov 24(%rsp),%rsp", 5, {0x48, 0x8b, 0x64, 0x24, 24}, ARCH_EFFECT_LOADS_SP, 24},
    {"mov 24(%rax),%rsp", 4, {0x48, 0x8b, 0x60, 24}, ARCH_EFFECT_CHANGES_SP, 0},
    {"mov 8(%rsp),%rbp", 5, {0x48, 0x8b, 0x6c, 0x24, 8}, ARCH_EFFECT_LOADS_FP, 8},
    {"mov 8(%r12),%rbp", 5, {0x49, 0x8b, 0x6c, 0x24, 8}, ARCH_EFFECT_CHANGES_FP, 0},
    {"sub $24,%rsp", 4, {0x48, 0x83, 0xec, 24}, ARCH_EFFECT_ADDS_SP, -24},
    {"add $256,%rsp", 7, {0x48, 0x81, 0xc4, 0, 1, 0, 0}, ARCH_EFFECT_ADDS_SP, 256},
    {"and $-16,%rsp", 4, {0x48, 0x83, 0xe4, 0xf0}, ARCH_EFFECT_CHANGES_SP, 0},
    {"cmp $8,%rsp", 4, {0x48, 0x83, 0xfc, 8}, ARCH_EFFECT_NONE, 0},
    {"lea 8(%rsp),%rsp", 5, {0x48, 0x8d, 0x64, 0x24, 8}, ARCH_EFFECT_ADDS_SP, 8},
    {"lea -40(%rbp),%rsp", 4, {0x48, 0x8d, 0x65, 0xd8}, ARCH_EFFECT_SP_FROM_FP, -40},
    {"mov %rbp,%rsp", 3, {0x48, 0x89, 0xec}, ARCH_EFFECT_SP_FROM_FP, 0},
    {"mov %rbp,%rsp (8b)", 3, {0x48, 0x8b, 0xe5}, ARCH_EFFECT_SP_FROM_FP, 0},
    {"mov %rsp,%rbp", 3, {0x48, 0x89, 0xe5}, ARCH_EFFECT_CHANGES_FP, 0},
    {"mov %rbp,%rdi", 3, {0x48, 0x89, 0xef}, ARCH_EFFECT_NONE, 0},
    {"mov %rbx,%rsp", 3, {0x48, 0x89, 0xdc}, ARCH_EFFECT_SP_FROM_REGISTER, 0},
    {"mov %r10,%rsp (8b)", 3, {0x49, 0x8b, 0xe2}, ARCH_EFFECT_SP_FROM_REGISTER, 0},
    {"mov %ebx,%esp", 2, {0x89, 0xdc}, ARCH_EFFECT_CHANGES_SP, 0},
    {"mov %esi,%ebp", 2, {0x89, 0xf5}, ARCH_EFFECT_CHANGES_FP, 0},
    {"mov %r12,%r13", 3, {0x4d, 0x89, 0xe5}, ARCH_EFFECT_NONE, 0},
    {"mov $1,%ebp", 5, {0xbd, 1, 0, 0, 0}, ARCH_EFFECT_CHANGES_FP, 0},
    {"xchg %rax,%rbp", 2, {0x48, 0x95}, ARCH_EFFECT_CHANGES_FP, 0},
    {"cmovne %rax,%rbp", 4, {0x48, 0x0f, 0x45, 0xe8}, ARCH_EFFECT_CHANGES_FP, 0},
    {"movabs $…,%rax", 10, {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}, ARCH_EFFECT_NONE, 0},
    {"mov $1,%ax", 4, {0x66, 0xb8, 1, 0}, ARCH_EFFECT_NONE, 0},
    {"test $1,%dil", 4, {0x40, 0xf6, 0xc7, 1}, ARCH_EFFECT_NONE, 0},
    {"not %rax", 3, {0x48, 0xf7, 0xd0}, ARCH_EFFECT_NONE, 0},
    {"imul $9,%rdi,%rax", 4, {0x48, 0x6b, 0xc7, 9}, ARCH_EFFECT_NONE, 0},
    {"mov 1(,%rax,8),%rcx", 8, {0x48, 0x8b, 0x0c, 0xc5, 1, 0, 0, 0}, ARCH_EFFECT_NONE, 0},
    {"mov 1(%rip),%rcx", 7, {0x48, 0x8b, 0x0d, 1, 0, 0, 0}, ARCH_EFFECT_NONE, 0},
    {"mov %fs:0x28,%rax", 9, {0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0}, ARCH_EFFECT_NONE, 0},
    {"endbr64", 4, {0xf3, 0x0f, 0x1e, 0xfa}, ARCH_EFFECT_NONE, 0},
    {"nopw 0(%rax,%rax)", 6, {0x66, 0x0f, 0x1f, 0x44, 0, 0}, ARCH_EFFECT_NONE, 0},
    {"pshufd $1,…", 5, {0x66, 0x0f, 0x70, 0xc1, 1}, ARCH_EFFECT_NONE, 0},
    {"palignr $8,…", 6, {0x66, 0x0f, 0x3a, 0x0f, 0xc1, 8}, ARCH_EFFECT_NONE, 0},
    {"pshufb …", 5, {0x66, 0x0f, 0x38, 0x00, 0xc1}, ARCH_EFFECT_NONE, 0},
    {"vzeroupper", 3, {0xc5, 0xf8, 0x77}, ARCH_EFFECT_NONE, 0},
    {"vmovdqu (%rsi),%ymm5", 4, {0xc5, 0xfe, 0x6f, 0x2e}, ARCH_EFFECT_NONE, 0},
    {"vpermq $1,…", 6, {0xc4, 0xe3, 0xfd, 0x00, 0xc1, 1}, ARCH_EFFECT_NONE, 0},
    {"vmovdqu64 64(%rsi),%zmm5", 7, {0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x6e, 1}, ARCH_EFFECT_NONE, 0},
    {"call", 5, {0xe8, 1, 0, 0, 0}, ARCH_EFFECT_NONE, 1},
    {"call *%rax", 2, {0xff, 0xd0}, ARCH_EFFECT_NONE, 0},
    {"jmp", 5, {0xe9, 0xfc, 0xff, 0xff, 0xff}, ARCH_EFFECT_JUMPS, -4},
    {"jmp short", 2, {0xeb, 0xfe}, ARCH_EFFECT_JUMPS, -2},
    {"jmp *%rax", 2, {0xff, 0xe0}, ARCH_EFFECT_STOPS, 0},
    {"je short", 2, {0x74, 0x10}, ARCH_EFFECT_BRANCHES, 16},
    {"je", 6, {0x0f, 0x84, 0, 1, 0, 0}, ARCH_EFFECT_BRANCHES, 256},
    {"ret", 1, {0xc3}, ARCH_EFFECT_RETURNS, 0},
    {"repz ret", 2, {0xf3, 0xc3}, ARCH_EFFECT_RETURNS, 0},
    {"ret $264", 3, {0xc2, 8, 1}, ARCH_EFFECT_RETURNS, 264},
    {"lret", 1, {0xcb}, ARCH_EFFECT_STOPS, 0},
    {"leave", 1, {0xc9}, ARCH_EFFECT_LEAVES, 0},
    {"ud2", 2, {0x0f, 0x0b}, ARCH_EFFECT_STOPS, 0},
    {"hlt", 1, {0xf4}, ARCH_EFFECT_STOPS, 0},
    {"syscall", 2, {0x0f, 0x05}, ARCH_EFFECT_NONE, 0},
};

static void test_instructions(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arch_instruction found = {0};
        CU_ASSERT_TRUE(arch_instruction_decode(cases[i].code, sizeof cases[i].code, &found));
        CU_ASSERT_EQUAL(found.length, cases[i].length);
        CU_ASSERT_EQUAL(found.effect, cases[i].effect);
        CU_ASSERT_EQUAL(found.value, cases[i].value);
        if (found.length != cases[i].length || found.effect != cases[i].effect)
            printf("\n    %s: length %d, effect %d", cases[i].what, found.length, found.effect);
        /* Cut short by a byte, it is none. */
        CU_ASSERT_FALSE(arch_instruction_decode(cases[i].code, cases[i].length - 1u, &found));
    }
}

/* The registers that are named and written, by DWARF number. */
/* A transaction goes on elsewhere when it is given up; the same opcode stores numbers. */
static void test_flow_of_transactions(void)
{
    static const uint8_t xbegin[] = {0xc7, 0xf8, 0, 1, 0, 0}, movl[] = {0xc7, 0x00, 0, 1, 0, 0};
    struct arch_instruction found;
    CU_ASSERT_TRUE(arch_instruction_decode(xbegin, sizeof xbegin, &found));
    CU_ASSERT_EQUAL(found.flow, ARCH_FLOW_BRANCH);
    CU_ASSERT_TRUE(arch_instruction_decode(movl, sizeof movl, &found));
    CU_ASSERT_EQUAL(found.flow, ARCH_FLOW_NEXT);
}

static void test_written_registers(void)
{
    static const struct {
        uint8_t code[ARCH_INSTRUCTION_BYTES];
        unsigned written;
        int source;
    } instructions[] = {
        {{0x48, 0x89, 0xdc}, 1 << X86_RSP, X86_RBX},           /* mov %rbx,%rsp */
        {{0x49, 0x8b, 0xe2}, 1 << X86_RSP, X86_R10},           /* mov %r10,%rsp */
        {{0x41, 0x5c}, 1 << X86_R12, -1},                      /* pop %r12 */
        {{0x41, 0x54}, 0, -1},                                 /* push %r12 */
        {{0x48, 0x8b, 0x1c, 0x24}, 1 << X86_RBX, -1},          /* mov (%rsp),%rbx */
        {{0x48, 0x89, 0x1c, 0x24}, 0, -1},                     /* mov %rbx,(%rsp) */
        {{0x48, 0x93}, 1 << X86_RAX | 1 << X86_RBX, -1},       /* xchg %rax,%rbx */
        {{0x48, 0x87, 0xcb}, 1 << X86_RCX | 1 << X86_RBX, -1}, /* xchg %rcx,%rbx */
        {{0x41, 0xbe, 1, 0, 0, 0}, 1 << X86_R14, -1},          /* mov $1,%r14d */
        {{0x48, 0x0f, 0x44, 0xd8}, 1 << X86_RBX, -1},          /* cmove %rax,%rbx */
        {{0x48, 0x83, 0xfb, 1}, 0, -1},                        /* cmp $1,%rbx */
        {{0xc5, 0xfe, 0x6f, 0x1e}, 0, -1},                     /* vmovdqu (%rsi),%ymm3 */
    };
    for (size_t i = 0; i < sizeof instructions / sizeof instructions[0]; i++) {
        struct arch_instruction found = {0};
        CU_ASSERT_TRUE(
            arch_instruction_decode(instructions[i].code, ARCH_INSTRUCTION_BYTES, &found));
        CU_ASSERT_EQUAL(found.written, instructions[i].written);
        CU_ASSERT_EQUAL(found.source, instructions[i].source);
    }
}

static void test_no_instructions(void)
{
    static const uint8_t none[][ARCH_INSTRUCTION_BYTES] = {
        {0x06}, {0x0e}, {0x60}, {0x9a}, {0xce}, {0xd5}, {0xea}, {0x0f, 0x04}, {0x0f, 0x0f}};
    struct arch_instruction found;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        CU_ASSERT_FALSE(arch_instruction_decode(none[i], sizeof none[i], &found));
    uint8_t prefixes[32];
    memset(prefixes, 0x66, sizeof prefixes);
    CU_ASSERT_FALSE(arch_instruction_decode(prefixes, sizeof prefixes, &found));
    CU_ASSERT_FALSE(arch_instruction_decode(prefixes, 0, &found));
}

void sprof_suite_arch_decode(void);
void sprof_suite_arch_decode(void)
{
    CU_pSuite suite = CU_add_suite("arch/decode", NULL, NULL);
    CU_add_test(suite, "the flow of transactions", test_flow_of_transactions);
    CU_add_test(suite, "instructions", test_instructions);
    CU_add_test(suite, "written registers", test_written_registers);
    CU_add_test(suite, "what is none", test_no_instructions);
}
