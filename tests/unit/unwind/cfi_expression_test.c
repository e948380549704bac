#include "unwind/cfi.h"

#include <CUnit/CUnit.h>

static bool reduce(const uint8_t *bytes, size_t size, bool initial_cfa,
                   struct cfi_expression *expression)
{
    return unwind_cfi_expression_reduce((struct sprof_bytes){bytes, size}, initial_cfa, expression);
}
#define REDUCE(expression, ...)                                                                    \
    reduce((const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]){__VA_ARGS__}, false,            \
           (expression))

static void expect(const struct cfi_expression *expression, unsigned kind, unsigned reg,
                   int64_t offset, int64_t add)
{
    CU_ASSERT_EQUAL(expression->kind, kind);
    CU_ASSERT_EQUAL(expression->reg, reg);
    CU_ASSERT_EQUAL(expression->offset, offset);
    CU_ASSERT_EQUAL(expression->add, add);
}

static void test_registers(void)
{
    struct cfi_expression e;
    CU_ASSERT_TRUE(REDUCE(&e, 0x77, 0x70)); /* breg7 -16 */
    expect(&e, CFI_EXPR_REGISTER, 7, -16, 0);
    CU_ASSERT_TRUE(
        REDUCE(&e, 0x76, 8, 0x23, 8, 0x34, 0x1c)); /* breg6 8; plus_uconst 8; lit4; minus */
    expect(&e, CFI_EXPR_REGISTER, 6, 12, 0);
    CU_ASSERT_TRUE(REDUCE(&e, 0x09, 0xf8, 0x73, 0, 0x22)); /* const1s -8; breg3 0; plus */
    expect(&e, CFI_EXPR_REGISTER, 3, -8, 0);
}

static void test_dereferences(void)
{
    struct cfi_expression e;
    CU_ASSERT_TRUE(REDUCE(&e, 0x76, 0x78, 0x06));
    expect(&e, CFI_EXPR_DEREF, 6, -8, 0);
    CU_ASSERT_TRUE(REDUCE(&e, 0x77, 0xf8, 0, 0x06, 0x23, 8, 0x38, 0x22));
    expect(&e, CFI_EXPR_DEREF, 7, 120, 16);
    CU_ASSERT_TRUE(REDUCE(&e, 0x77, 0, 0x06, 0x06));
    CU_ASSERT_EQUAL(e.kind, CFI_EXPR_COMPLEX);
}

static void test_plt(void)
{
    struct cfi_expression e;
    CU_ASSERT_TRUE(REDUCE(&e, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22));
    expect(&e, CFI_EXPR_PLT, 0, 11, 0);
    CU_ASSERT_TRUE(REDUCE(&e, 0x77, 16, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22));
    CU_ASSERT_EQUAL(e.kind, CFI_EXPR_COMPLEX);
}

static void test_stack_operations(void)
{
    struct cfi_expression e;
    CU_ASSERT_TRUE(REDUCE(&e, 0x31, 0x77, 0, 0x16, 0x22)); /* lit1; breg7; swap; plus */
    expect(&e, CFI_EXPR_REGISTER, 7, 1, 0);
    CU_ASSERT_TRUE(REDUCE(&e, 0x73, 4, 0x31, 0x14, 0x13, 0x13)); /* breg3; lit1; over; drop; drop */
    expect(&e, CFI_EXPR_REGISTER, 3, 4, 0);
    CU_ASSERT_TRUE(REDUCE(&e, 0x73, 4, 0x31, 0x32, 0x15, 2)); /* …; pick 2 */
    expect(&e, CFI_EXPR_REGISTER, 3, 4, 0);
    CU_ASSERT_TRUE(reduce((const uint8_t[]){0x23, 8}, 2, true, &e)); /* CFA + 8: no register */
    CU_ASSERT_EQUAL(e.kind, CFI_EXPR_COMPLEX);
}

static void test_refused(void)
{
    struct cfi_expression e;
    uint8_t many[100];
    CU_ASSERT_FALSE(reduce(NULL, 0, false, &e));
    CU_ASSERT_FALSE(REDUCE(&e, 0x2f, 0xfd, 0xff));       /* skip */
    CU_ASSERT_FALSE(REDUCE(&e, 0x31, 0x28, 0xfd, 0xff)); /* bra */
    CU_ASSERT_FALSE(REDUCE(&e, 0x31, 0x31, 0x1b));       /* div */
    CU_ASSERT_FALSE(REDUCE(&e, 0x22));                   /* nothing to add */
    CU_ASSERT_FALSE(REDUCE(&e, 0x31, 0x15, 1));          /* pick below the bottom */
    CU_ASSERT_FALSE(REDUCE(&e, 0x0e, 1, 2, 3));          /* a constant cut short */
    CU_ASSERT_FALSE(REDUCE(&e, 0x31, 0x13));             /* nothing left */
    memset(many, 0x31, sizeof many);
    CU_ASSERT_FALSE(reduce(many, sizeof many, false, &e)); /* too deep */
    memset(many, 0x96, sizeof many);
    CU_ASSERT_FALSE(reduce(many, sizeof many, false, &e)); /* too long */
}

void sprof_suite_unwind_cfi_expression(void);
void sprof_suite_unwind_cfi_expression(void)
{
    CU_pSuite suite = CU_add_suite("unwind/cfi_expression", NULL, NULL);
    CU_add_test(suite, "registers", test_registers);
    CU_add_test(suite, "dereferences", test_dereferences);
    CU_add_test(suite, "PLT", test_plt);
    CU_add_test(suite, "stack operations", test_stack_operations);
    CU_add_test(suite, "refused", test_refused);
}
