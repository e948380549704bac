#include "tests/unit/image/fixture.h"
#include "tests/unit/symbolize/kernel_check.h"

static const char listing[] = "0000000000000000 A fixed_percpu_data\n"
                              "ffffffff81000000 T stext\n"
                              "ffffffff81000000 T _stext\n"
                              "ffffffff81000100 t do_idle\n"
                              "ffffffff81000100 W __do_idle\n"
                              "ffffffff81000180 D jiffies\n"
                              "not a line\n"
                              "ffffffff81000200\n"
                              "ffffffff81000200 T\n"
                              "123456789012345678901 T too_long\n"
                              "ffffffffc0001000 t helper\t[second]\n"
                              "ffffffffc0000800 T nf_hook\t[nf_tables]\n"
                              "ffffffffc0000900 t _RNvC4rust3foo\t[nf_tables]\n"
                              "ffffffffc0002000 t odd\t[\n"
                              "ffffffffc0003000 T last";

static int open_text(struct fixture *fixture, const char *text, struct kernel_list **list,
                     struct sprof_error *error)
{
    fixture_text(fixture, "kallsyms", text);
    return symbolize_kernel_list_open(list, fixture_path(fixture, "kallsyms"), error);
}

static void test_symbols_of_kernel_and_modules(void)
{
    static const struct {
        uint64_t address;
        struct kernel_symbol symbol; /* without a name: no symbol */
    } expected[] = {
        {0x1000, {0}},
        {0xffffffff81000000, {0xffffffff81000000, 0x100, "stext", NULL}},
        {0xffffffff810000ff, {0xffffffff81000000, 0x100, "stext", NULL}},
        {0xffffffff81000190, {0xffffffff81000100, 1 << 20, "do_idle", NULL}},
        {0xffffffff82000000, {0}},
        {0xffffffffc0000801, {0xffffffffc0000800, 0x100, "nf_hook", "nf_tables"}},
        {0xffffffffc0000902, {0xffffffffc0000900, 0x700, "_RNvC4rust3foo", "nf_tables"}},
        {0xffffffffc0001fff, {0xffffffffc0001000, 0x1000, "helper", "second"}},
        {0xffffffffc0002010, {0xffffffffc0002000, 0x1000, "odd", NULL}},
        {0xffffffffc0003000, {0xffffffffc0003000, 1 << 20, "last", NULL}},
    };
    struct fixture fixture;
    struct kernel_list *list;
    fixture_open(&fixture);
    CU_ASSERT_EQUAL_FATAL(open_text(&fixture, listing, &list, NULL), 0);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct kernel_symbol got;
        const bool found = symbolize_kernel_list_find(list, expected[i].address, &got);
        kernel_check(found, &got, &expected[i].symbol);
    }
    symbolize_kernel_list_free(list);
    fixture_close(&fixture);
}

static void test_hidden_addresses_name_the_setting(void)
{
    struct fixture fixture;
    struct kernel_list *list = NULL;
    struct sprof_error error = {0};
    fixture_open(&fixture);
    CU_ASSERT_EQUAL(open_text(&fixture, "0000000000000000 T _stext\n0000000000000000 t do_idle\n",
                              &list, &error),
                    SPROF_EPERMISSION);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "kernel.kptr_restrict is "));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "sudo sysctl kernel.kptr_restrict=0"));
    CU_ASSERT_PTR_NULL(list);
    CU_ASSERT_EQUAL(open_text(&fixture, "\n\n", &list, &error), SPROF_EFORMAT);
    CU_ASSERT_EQUAL(symbolize_kernel_list_open(&list, "/nowhere/kallsyms", &error),
                    SPROF_ENOTFOUND);
    fixture_close(&fixture);
}

/* A line longer than any buffer, and bytes that are no text at all. */
static void test_garbage_is_passed_over(void)
{
    enum { SIZE = 1 << 20 };
    struct fixture fixture;
    struct kernel_list *list = NULL;
    char *bytes = malloc(SIZE + sizeof listing);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    fixture_open(&fixture);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        uint64_t state = seed;
        for (size_t i = 0; i < SIZE; i++)
            bytes[i] = seed == 1 ? 'f' : (char)(fixture_random(&state) & (seed == 2 ? 0x3f : 0xff));
        bytes[SIZE - 1] = '\n';
        memcpy(bytes + SIZE, listing, sizeof listing);
        fixture_write(&fixture, "kallsyms", bytes, SIZE + sizeof listing - 1);
        CU_ASSERT_EQUAL(symbolize_kernel_list_open(&list, fixture_path(&fixture, "kallsyms"), NULL),
                        0);
        const uint64_t address = 0xffffffffc0000801;
        struct kernel_symbol symbol;
        CU_ASSERT_TRUE(symbolize_kernel_list_find(list, address, &symbol));
        symbolize_kernel_list_free(list);
    }
    free(bytes);
    fixture_close(&fixture);
}

void sprof_suite_symbolize_kernel_list(void);
void sprof_suite_symbolize_kernel_list(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/kernel_list", NULL, NULL);
    CU_add_test(suite, "kernel and modules", test_symbols_of_kernel_and_modules);
    CU_add_test(suite, "hidden addresses", test_hidden_addresses_name_the_setting);
    CU_add_test(suite, "garbage", test_garbage_is_passed_over);
}
