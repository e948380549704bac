/* Thunks: their instructions lie where the unwinding rules of arch/x86_64/probe/area.S say. */
#include "plan/plan.h"

#include <CUnit/CUnit.h>
#include <string.h>

/* What is behind the last instruction. */
enum { THUNK_END = 37 };

static void test_thunk(void)
{
    const uint64_t at = 0x700000001000, enter = 0x700000000100, leave = 0x700000000200;
    const uint64_t body = 0x555555550000, site = 0x555555556000;
    uint8_t thunk[ARCH_THUNK_BYTES];
    bool begins[ARCH_THUNK_BYTES] = {0};
    struct arch_instruction instruction;
    uint64_t calls[3] = {0}, branch = 0, stored;
    size_t call_count = 0, where = 0;
    arch_thunk_write(thunk, at, 77, enter, leave, site, body);
    for (; where < THUNK_END; where += instruction.length) {
        CU_ASSERT_FATAL(arch_instruction_decode(thunk + where, sizeof thunk - where, &instruction) >
                        0);
        begins[where] = true;
        const uint64_t target = at + where + instruction.length + (uint64_t)instruction.value;
        if (instruction.flow == ARCH_FLOW_CALL && call_count < 3)
            calls[call_count++] = target;
        if (instruction.flow == ARCH_FLOW_BRANCH)
            branch = target;
        if (instruction.flow == ARCH_FLOW_CALL_INDIRECT ||
            instruction.flow == ARCH_FLOW_JUMP_INDIRECT)
            CU_ASSERT_EQUAL(where + instruction.length + (uint64_t)instruction.displacement,
                            ARCH_THUNK_BODY);
    }
    CU_ASSERT_EQUAL(where, THUNK_END);
    CU_ASSERT_EQUAL(call_count, 2);
    CU_ASSERT_EQUAL(calls[0], enter);
    CU_ASSERT_EQUAL(calls[1], leave);
    CU_ASSERT_EQUAL(branch, at + ARCH_THUNK_PASS + 6);
    CU_ASSERT(begins[ARCH_THUNK_ENTERED] && begins[ARCH_THUNK_CALL] && begins[ARCH_THUNK_RETURN] &&
              begins[ARCH_THUNK_PASS]);
    static const uint8_t changes[] = {20, 27, 29, 36}; /* of the stack pointer */
    for (size_t i = 0; i < sizeof changes; i++)
        CU_ASSERT(begins[changes[i]]);
    memcpy(&stored, thunk + ARCH_THUNK_BODY, sizeof stored);
    CU_ASSERT_EQUAL(stored, body);
    memcpy(&stored, thunk + ARCH_THUNK_SITE, sizeof stored);
    CU_ASSERT_EQUAL(stored, site);
    uint32_t number;
    memcpy(&number, thunk + ARCH_THUNK_NUMBER, sizeof number);
    CU_ASSERT_EQUAL(number, 77);
}

/* Where it is entered one byte says whether it is passed, and either way the stack stays. */
static void test_entry(void)
{
    uint8_t thunk[ARCH_THUNK_BYTES];
    struct arch_instruction on, off;
    arch_thunk_write(thunk, 0x700000001000, 77, 0x700000000100, 0x700000000200, 0x555555556000,
                     0x555555550000);
    uint8_t *entry = thunk + ARCH_THUNK_ENTRY;
    CU_ASSERT_EQUAL(*entry, ARCH_THUNK_ON);
    CU_ASSERT_FATAL(arch_instruction_decode(entry, 5, &on) > 0);
    CU_ASSERT_EQUAL(on.flow, ARCH_FLOW_NEXT);
    *entry = ARCH_THUNK_OFF;
    CU_ASSERT_FATAL(arch_instruction_decode(entry, 5, &off) > 0);
    CU_ASSERT_EQUAL(off.flow, ARCH_FLOW_JUMP);
    CU_ASSERT_EQUAL(off.length, on.length);
    CU_ASSERT_EQUAL(ARCH_THUNK_ENTRY + off.length + off.value, ARCH_THUNK_PASS);
}

static void test_expressions(void)
{
    static const char *const texts[] = {"^pars", "!er$", "_Z3foo"};
    const struct plan_function parse = {.name = "parse", .linkage_name = "parse"};
    const struct plan_function parser = {.name = "parser", .linkage_name = "parser"};
    const struct plan_function foo = {.name = "foo(int)", .linkage_name = "_Z3fooi"};
    const struct plan_function other = {.name = "otherwise", .linkage_name = "otherwise"};
    struct plan_expressions *expressions;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL_FATAL(plan_expressions_make(&expressions, texts, 3, &error), 0);
    CU_ASSERT_EQUAL(plan_expressions_match(expressions, &parse, &error), 1);
    CU_ASSERT_EQUAL(plan_expressions_match(expressions, &parser, &error), 0);
    CU_ASSERT_EQUAL(plan_expressions_match(expressions, &foo, &error), 1);
    CU_ASSERT_EQUAL(plan_expressions_match(expressions, &other, &error), 0);
    plan_expressions_free(expressions);
    /* Only exclusions: all others are meant. */
    CU_ASSERT_EQUAL_FATAL(plan_expressions_make(&expressions, texts + 1, 1, &error), 0);
    CU_ASSERT_EQUAL(plan_expressions_match(expressions, &parser, &error), 0);
    CU_ASSERT_EQUAL(plan_expressions_match(expressions, &other, &error), 1);
    plan_expressions_free(expressions);
    static const char *const wrong[] = {"a("};
    CU_ASSERT_EQUAL(plan_expressions_make(&expressions, wrong, 1, &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NULL(expressions);
}

void sprof_suite_plan_thunk(void);
void sprof_suite_plan_thunk(void)
{
    CU_pSuite suite = CU_add_suite("plan/thunk", NULL, NULL);
    CU_add_test(suite, "as the unwinding rules say", test_thunk);
    CU_add_test(suite, "the entry's byte", test_entry);
    CU_add_test(suite, "expressions", test_expressions);
}
