#include "symbolize/symbolize.h"
#include "tests/unit/image/fixture.h"

static const char listing[] = "0000000000000000 A fixed_percpu_data\n"
                              "ffffffff81000000 T _stext\n"
                              "ffffffff81000000 T stext\n"
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

static int open_text(struct fixture *fixture, const char *text, struct symbolize_kernel **kernel,
                     struct sprof_error *error)
{
    fixture_text(fixture, "kallsyms", text);
    return symbolize_kernel_open(kernel, fixture_path(fixture, "kallsyms"), error);
}

static void test_symbols_of_kernel_and_modules(void)
{
    static const struct {
        uint64_t address;
        const char *name;
        uint64_t start, size;
    } expected[] = {
        {0x1000, NULL, 0, 0},
        {0xffffffff81000000, "stext", 0xffffffff81000000, 0x100},
        {0xffffffff810000ff, "stext", 0xffffffff81000000, 0x100},
        {0xffffffff81000190, "do_idle", 0xffffffff81000100, 1 << 20},
        {0xffffffff82000000, NULL, 0, 0},
        {0xffffffffc0000801, "nf_hook [nf_tables]", 0xffffffffc0000800, 0x100},
        {0xffffffffc0000902, "rust::foo [nf_tables]", 0xffffffffc0000900, 0x700},
        {0xffffffffc0001fff, "helper [second]", 0xffffffffc0001000, 0x1000},
        {0xffffffffc0002010, "odd", 0xffffffffc0002000, 0x1000},
        {0xffffffffc0003000, "last", 0xffffffffc0003000, 1 << 20},
    };
    enum { COUNT = sizeof expected / sizeof *expected };
    struct fixture fixture;
    struct symbolize_kernel *kernel;
    struct symbolize_result result;
    uint64_t addresses[COUNT];
    fixture_open(&fixture);
    CU_ASSERT_EQUAL_FATAL(open_text(&fixture, listing, &kernel, NULL), 0);
    for (size_t i = 0; i < COUNT; i++)
        addresses[i] = expected[i].address;
    CU_ASSERT_EQUAL_FATAL(symbolize_kernel(&result, kernel, addresses, COUNT, NULL), 0);
    for (size_t i = 0; i < COUNT; i++) {
        CU_ASSERT_EQUAL_FATAL(result.first[i + 1] - result.first[i], expected[i].name ? 1 : 0);
        if (!expected[i].name)
            continue;
        const struct symbolize_function *function =
            &result.functions[result.frames[result.first[i]].function];
        CU_ASSERT_STRING_EQUAL(function->name, expected[i].name);
        CU_ASSERT_EQUAL(function->start, expected[i].start);
        CU_ASSERT_EQUAL(function->size, expected[i].size);
        CU_ASSERT_TRUE(function->named);
    }
    CU_ASSERT_EQUAL(result.frames[0].function, result.frames[1].function);
    symbolize_result_release(&result);
    symbolize_kernel_free(kernel);
    fixture_close(&fixture);
}

static void test_hidden_addresses_name_the_setting(void)
{
    struct fixture fixture;
    struct symbolize_kernel *kernel = NULL;
    struct sprof_error error = {0};
    fixture_open(&fixture);
    CU_ASSERT_EQUAL(open_text(&fixture, "0000000000000000 T _stext\n0000000000000000 t do_idle\n",
                              &kernel, &error),
                    SPROF_EPERMISSION);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "kernel.kptr_restrict is "));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "sudo sysctl kernel.kptr_restrict=0"));
    CU_ASSERT_PTR_NULL(kernel);
    CU_ASSERT_EQUAL(open_text(&fixture, "\n\n", &kernel, &error), SPROF_EFORMAT);
    CU_ASSERT_EQUAL(symbolize_kernel_open(&kernel, "/nowhere/kallsyms", &error), SPROF_ENOTFOUND);
    fixture_close(&fixture);
}

/* A line longer than any buffer, and bytes that are no text at all. */
static void test_garbage_is_passed_over(void)
{
    enum { SIZE = 1 << 20 };
    struct fixture fixture;
    struct symbolize_kernel *kernel = NULL;
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
        CU_ASSERT_EQUAL(symbolize_kernel_open(&kernel, fixture_path(&fixture, "kallsyms"), NULL),
                        0);
        const uint64_t address = 0xffffffffc0000801;
        struct symbolize_result result;
        CU_ASSERT_EQUAL_FATAL(symbolize_kernel(&result, kernel, &address, 1, NULL), 0);
        CU_ASSERT_EQUAL(result.frame_count, 1);
        symbolize_result_release(&result);
        symbolize_kernel_free(kernel);
    }
    free(bytes);
    fixture_close(&fixture);
}

static void test_this_machine(void)
{
    struct symbolize_kernel *kernel = NULL;
    struct sprof_error error = {0};
    const int code = symbolize_kernel_open(&kernel, NULL, &error);
    CU_ASSERT_TRUE(code == 0 || code == SPROF_EPERMISSION || code == SPROF_ENOTFOUND);
    CU_ASSERT_EQUAL(code == 0, kernel != NULL);
    symbolize_kernel_free(kernel);
}

void sprof_suite_symbolize_kernel(void);
void sprof_suite_symbolize_kernel(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/kernel", NULL, NULL);
    CU_add_test(suite, "kernel and modules", test_symbols_of_kernel_and_modules);
    CU_add_test(suite, "hidden addresses", test_hidden_addresses_name_the_setting);
    CU_add_test(suite, "garbage", test_garbage_is_passed_over);
    CU_add_test(suite, "this machine", test_this_machine);
}
