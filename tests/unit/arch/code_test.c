#include "arch/arch.h"
#include "unwind/rule.h"

#include <CUnit/CUnit.h>

/* Instructions, right-aligned behind nops. */
static bool ends_with_call(const uint8_t *instruction, size_t size)
{
    uint8_t bytes[ARCH_CALL_BYTES];
    memset(bytes, 0x90, sizeof bytes);
    memcpy(bytes + sizeof bytes - size, instruction, size);
    return arch_code_ends_with_call(bytes);
}
#define ENDS_WITH_CALL(...)                                                                        \
    ends_with_call((const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]){__VA_ARGS__})

static void test_calls(void)
{
    CU_ASSERT_TRUE(ENDS_WITH_CALL(0xe8, 1, 2, 3, 4));
    CU_ASSERT_TRUE(ENDS_WITH_CALL(0xff, 0xd0));                   /* *%rax */
    CU_ASSERT_TRUE(ENDS_WITH_CALL(0x41, 0xff, 0xd4));             /* *%r12 */
    CU_ASSERT_TRUE(ENDS_WITH_CALL(0xff, 0x10));                   /* *(%rax) */
    CU_ASSERT_TRUE(ENDS_WITH_CALL(0xff, 0x14, 0xc8));             /* *(%rax,%rcx,8) */
    CU_ASSERT_TRUE(ENDS_WITH_CALL(0xff, 0x15, 1, 2, 3, 4));       /* *1(%rip) */
    CU_ASSERT_TRUE(ENDS_WITH_CALL(0xff, 0x50, 0x18));             /* *24(%rax) */
    CU_ASSERT_TRUE(ENDS_WITH_CALL(0xff, 0x54, 0x24, 0x18));       /* *24(%rsp) */
    CU_ASSERT_TRUE(ENDS_WITH_CALL(0xff, 0x90, 1, 2, 3, 4));       /* *1(%rax) */
    CU_ASSERT_TRUE(ENDS_WITH_CALL(0xff, 0x94, 0x24, 1, 2, 3, 4)); /* *1(%rsp) */
    CU_ASSERT_TRUE(ENDS_WITH_CALL(0xff, 0x14, 0xc5, 1, 2, 3, 4)); /* *1(,%rax,8) */
}

static void test_no_calls(void)
{
    CU_ASSERT_FALSE(ENDS_WITH_CALL(0x90));
    CU_ASSERT_FALSE(ENDS_WITH_CALL(0xe9, 1, 2, 3, 4));    /* jmp */
    CU_ASSERT_FALSE(ENDS_WITH_CALL(0xe8, 1, 2, 3, 4, 5)); /* one byte behind the call */
    CU_ASSERT_FALSE(ENDS_WITH_CALL(0xff, 0xe0));          /* jmp *%rax */
    CU_ASSERT_FALSE(ENDS_WITH_CALL(0xff, 0x14));          /* a SIB byte is missing */
    CU_ASSERT_FALSE(ENDS_WITH_CALL(0xff, 0x15, 1, 2));    /* a displacement is */
    CU_ASSERT_FALSE(ENDS_WITH_CALL(0xff, 0xd0, 0x90));
}

/* The byte before an instruction and the instruction, filled up with nops. */
static enum arch_stage stage_of(const uint8_t *code, size_t size)
{
    uint8_t bytes[ARCH_STAGE_BEFORE + ARCH_STAGE_AFTER];
    memset(bytes, 0x90, sizeof bytes);
    memcpy(bytes, code, size);
    return arch_code_stage(bytes);
}
#define STAGE_OF(...) stage_of((const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]){__VA_ARGS__})

static void test_stages(void)
{
    CU_ASSERT_EQUAL(STAGE_OF(0x90, 0x55, 0x48, 0x89, 0xe5), ARCH_STAGE_NO_FRAME);
    CU_ASSERT_EQUAL(STAGE_OF(0x90, 0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5),
                    ARCH_STAGE_NO_FRAME);
    CU_ASSERT_EQUAL(STAGE_OF(0x55, 0x48, 0x89, 0xe5), ARCH_STAGE_FP_PUSHED);
    CU_ASSERT_EQUAL(STAGE_OF(0x90, 0x5d, 0xc3), ARCH_STAGE_FP_PUSHED);
    CU_ASSERT_EQUAL(STAGE_OF(0x90, 0x5d, 0xc2), ARCH_STAGE_FP_PUSHED);
    CU_ASSERT_EQUAL(STAGE_OF(0x90, 0x5d, 0x90), ARCH_STAGE_UNKNOWN);
    CU_ASSERT_EQUAL(STAGE_OF(0x5d, 0xc3), ARCH_STAGE_NO_FRAME);
    CU_ASSERT_EQUAL(STAGE_OF(0x90, 0xf3, 0xc3), ARCH_STAGE_NO_FRAME);
    CU_ASSERT_EQUAL(STAGE_OF(0x90, 0x55, 0x53), ARCH_STAGE_UNKNOWN); /* rbp is just saved */
    CU_ASSERT_EQUAL(STAGE_OF(0x90, 0x48, 0x89, 0xe5), ARCH_STAGE_UNKNOWN);
}

static void test_call_targets(void)
{
    static const uint8_t direct[ARCH_CALL_BYTES] = {0x90, 0x90, 0xe8, 0xf0, 0xff, 0xff, 0xff};
    static const uint8_t indirect[ARCH_CALL_BYTES] = {0x90, 0xff, 0x15, 1, 2, 3, 4};
    uint64_t target;
    CU_ASSERT_TRUE(arch_code_call_target(direct, 0x1000, &target));
    CU_ASSERT_EQUAL(target, 0xff0);
    CU_ASSERT_FALSE(arch_code_call_target(indirect, 0x1000, &target));
}

static void test_ends(void)
{
    static const uint8_t padded[] = {0x48, 0x89, 0xe5, 0x5d, 0xc3, 0x0f, 0x1f, 0x40, 0};
    static const uint8_t going_on[] = {0x74, 1, 0xc3, 0x48, 0x89, 0xe5, 0xc3};
    CU_ASSERT_TRUE(arch_code_holds_end((struct sprof_bytes){padded, sizeof padded}));
    CU_ASSERT_FALSE(arch_code_holds_end((struct sprof_bytes){going_on, sizeof going_on}));
    CU_ASSERT_FALSE(arch_code_holds_end((struct sprof_bytes){padded, 0}));
}

static void test_plt_entries(void)
{
    static const uint8_t plain[ARCH_PLT_JUMP_BYTES] = {0xff, 0x25, 0x10, 0, 0, 0, 0x68};
    static const uint8_t landing[ARCH_PLT_JUMP_BYTES] = {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff,
                                                         0x25, 0xf5, 0xff, 0xff, 0xff};
    static const uint8_t other[ARCH_PLT_JUMP_BYTES] = {0xe9, 0x25, 0x10, 0, 0, 0};
    uint64_t slot;
    CU_ASSERT_TRUE(arch_code_plt_slot(plain, 0x1000, &slot));
    CU_ASSERT_EQUAL(slot, 0x1016);
    CU_ASSERT_TRUE(arch_code_plt_slot(landing, 0x1000, &slot));
    CU_ASSERT_EQUAL(slot, 0x1000);
    CU_ASSERT_FALSE(arch_code_plt_slot(other, 0x1000, &slot));
}

struct references {
    uint64_t calls, others;
};

static void note_reference(void *context, uint64_t address, bool is_call)
{
    struct references *found = context;
    if (address == 0x2000)
        *(is_call ? &found->calls : &found->others) += 1;
}

/* At 0x1000: a call and a jump through what is at 0x2000; it is read, and compared with a byte. */
static void test_references(void)
{
    static const uint8_t code[] = {0xff, 0x15, 0xfa, 0x0f, 0,    0,    0xff, 0x25, 0xf4,
                                   0x0f, 0,    0,    0x48, 0x8b, 0x05, 0xed, 0x0f, 0,
                                   0,    0x48, 0x83, 0x3d, 0xe5, 0x0f, 0,    0,    0};
    struct references found = {0};
    arch_code_each_reference((struct sprof_bytes){code, sizeof code}, 0x1000, 0x1ff8, 0x2008,
                             note_reference, &found);
    CU_ASSERT_EQUAL(found.calls, 2);
    CU_ASSERT_EQUAL(found.others, 2);
    arch_code_each_reference((struct sprof_bytes){code, sizeof code}, 0x1000, 0x2001, 0x2008,
                             note_reference, &found);
    CU_ASSERT_EQUAL(found.calls + found.others, 4);
    arch_code_each_reference((struct sprof_bytes){code, 3}, 0x1000, 0, UINT64_MAX, note_reference,
                             &found);
    CU_ASSERT_EQUAL(found.calls + found.others, 4);
}

static void test_known(void)
{
    static const uint8_t restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    static const uint8_t child[] = {0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1, 0x89,
                                    0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05};
    static const uint8_t parent[] = {0x0f, 0x05, 0x85, 0xc0, 0x75, 0x0f};
    static const uint8_t glibc[] = {0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c, 0x13, 0x74, 0x01, 0xc3};
    uint8_t code[100];
    memset(code, 0x90, sizeof code);
    memcpy(code, restorer, sizeof restorer);
    memcpy(code + 30, child, sizeof child);
    memcpy(code + 24, parent, sizeof parent);
    memcpy(code + 60, glibc, sizeof glibc);
    memcpy(code + 91, restorer, sizeof restorer);
    static const struct arch_known_code expected[] = {{0, 9, ARCH_KNOWN_SIGNAL_RETURN},
                                                      {24, 30, ARCH_KNOWN_CLONE},
                                                      {30, 44, ARCH_KNOWN_START},
                                                      {60, 70, ARCH_KNOWN_CLONE},
                                                      {90, 100, ARCH_KNOWN_SIGNAL_RETURN}};
    struct arch_known_code known;
    size_t offset = 0, count = 0;
    while (arch_code_find_known((struct sprof_bytes){code, sizeof code}, &offset, &known)) {
        CU_ASSERT_FATAL(count < 5);
        CU_ASSERT_EQUAL(known.start, expected[count].start);
        CU_ASSERT_EQUAL(known.end, expected[count].end);
        CU_ASSERT_EQUAL(known.what, expected[count].what);
        count++;
    }
    CU_ASSERT_EQUAL(count, 5);
}

/* How many bytes the copy has of an instruction whose operand is relative to its address; 0: none.
 */
static size_t reached(const uint8_t *code, size_t size)
{
    struct arch_instruction instruction;
    uint8_t moved[ARCH_REACHED_BYTES];
    size_t at;
    CU_ASSERT_TRUE_FATAL(arch_instruction_decode(code, size, &instruction));
    CU_ASSERT_EQUAL(instruction.length, size);
    return arch_instruction_reach(code, &instruction, 0, moved, &at);
}
#define REACHED(...) reached((const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]){__VA_ARGS__})

/* While a register is borrowed the stack pointer is another: instructions that take it stay. */
static void test_the_stack_pointer_is_not_reached(void)
{
    /* cvttsd2si x(%rip),%rax or %rsp: legacy, VEX of two and three bytes, EVEX */
    CU_ASSERT_TRUE(REACHED(0xf2, 0x48, 0x0f, 0x2c, 0x05, 1, 2, 3, 4) > 0);
    CU_ASSERT_EQUAL(REACHED(0xf2, 0x48, 0x0f, 0x2c, 0x25, 1, 2, 3, 4), 0);
    CU_ASSERT_TRUE(REACHED(0xc5, 0xfb, 0x2c, 0x05, 1, 2, 3, 4) > 0);
    CU_ASSERT_EQUAL(REACHED(0xc5, 0xfb, 0x2c, 0x25, 1, 2, 3, 4), 0);
    CU_ASSERT_TRUE(REACHED(0xc4, 0xe1, 0xfb, 0x2c, 0x05, 1, 2, 3, 4) > 0);
    CU_ASSERT_EQUAL(REACHED(0xc4, 0xe1, 0xfb, 0x2c, 0x25, 1, 2, 3, 4), 0);
    CU_ASSERT_TRUE(REACHED(0x62, 0xf1, 0xff, 0x08, 0x2c, 0x05, 1, 2, 3, 4) > 0);
    CU_ASSERT_EQUAL(REACHED(0x62, 0xf1, 0xff, 0x08, 0x2c, 0x25, 1, 2, 3, 4), 0);
    CU_ASSERT_TRUE(REACHED(0xc4, 0x61, 0xfb, 0x2c, 0x25, 1, 2, 3, 4) > 0); /* %r12 */
}

void sprof_suite_arch_code(void);
void sprof_suite_arch_code(void)
{
    CU_pSuite suite = CU_add_suite("arch/code", NULL, NULL);
    CU_add_test(suite, "calls", test_calls);
    CU_add_test(suite, "no calls", test_no_calls);
    CU_add_test(suite, "known code", test_known);
    CU_add_test(suite, "prologues and epilogues", test_stages);
    CU_add_test(suite, "targets of calls", test_call_targets);
    CU_add_test(suite, "ends of functions", test_ends);
    CU_add_test(suite, "slots of PLT entries", test_plt_entries);
    CU_add_test(suite, "references to slots", test_references);
    CU_add_test(suite, "the stack pointer is not reached", test_the_stack_pointer_is_not_reached);
}
