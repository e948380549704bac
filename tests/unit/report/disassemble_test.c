/* Machine code as text in both syntaxes. */
#include "report/disassemble.h"
#include "tests/unit/report/recorded.h"

#if defined(__x86_64__)
/* push %rbp; mov %rsp,%rbp; a byte that begins nothing here; ret */
static const uint8_t bytes[] = {0x55, 0x48, 0x89, 0xe5, 0x06, 0xc3};

static void check(bool intel, const char *move)
{
    struct sprof_arena arena = {0};
    struct report_instructions list = {0};
    CU_ASSERT_EQUAL(report_disassemble(&list, &arena, (struct sprof_bytes){bytes, sizeof bytes},
                                       0x1000, intel, NULL),
                    0);
    CU_ASSERT_EQUAL_FATAL(list.count, 4);
    CU_ASSERT_EQUAL(list.items[1].vaddr, 0x1001);
    CU_ASSERT_EQUAL(list.items[1].size, 3);
    assert_text(list.items[1].text, move);
    assert_text(list.items[2].text, "(bad)");
    CU_ASSERT_EQUAL(list.items[3].vaddr, 0x1005);
    sprof_vec_release(&list);
    sprof_arena_release(&arena);
}

static void test_both_syntaxes(void)
{
    check(false, "movq %rsp, %rbp");
    check(true, "mov rbp, rsp");
}
#endif

static void test_no_code(void)
{
    struct sprof_arena arena = {0};
    struct report_instructions list = {0};
    CU_ASSERT_EQUAL(
        report_disassemble(&list, &arena, (struct sprof_bytes){NULL, 0}, 0, false, NULL), 0);
    CU_ASSERT_EQUAL(list.count, 0);
    sprof_vec_release(&list);
    sprof_arena_release(&arena);
}

void sprof_suite_report_disassemble(void);
void sprof_suite_report_disassemble(void)
{
    CU_pSuite suite = CU_add_suite("report/disassemble", NULL, NULL);
#if defined(__x86_64__)
    CU_add_test(suite, "both syntaxes", test_both_syntaxes);
#endif
    CU_add_test(suite, "no code", test_no_code);
}
