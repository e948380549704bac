#include "symbolize/symbolize.h"
#include "tests/unit/image/fixture.h"

#include <inttypes.h>

static const char listing[] = "ffffffff81000000 T stext\n"
                              "ffffffff81000100 t do_idle\n"
                              "ffffffffc0000800 T nf_hook\t[nf_tables]\n"
                              "ffffffffc0000900 t _RNvC4rust3foo\t[nf_tables]\n";

static const struct symbolize_function *function_at(const struct symbolize_result *result, size_t i)
{
    CU_ASSERT_EQUAL_FATAL(result->first[i + 1] - result->first[i], 1);
    return &result->functions[result->frames[result->first[i]].function];
}

static void test_functions_of_a_listing(void)
{
    static const uint64_t addresses[] = {0x1000, 0xffffffff81000000, 0xffffffff810000ff,
                                         0xffffffffc0000801, 0xffffffffc0000902};
    static const char *const names[] = {NULL, "stext", "stext", "nf_hook [nf_tables]",
                                        "rust::foo [nf_tables]"};
    enum { COUNT = sizeof addresses / sizeof *addresses };
    struct fixture fixture;
    struct symbolize_kernel *kernel;
    struct symbolize_result result;
    fixture_open(&fixture);
    fixture_text(&fixture, "kallsyms", listing);
    CU_ASSERT_EQUAL_FATAL(symbolize_kernel_open(&kernel, fixture_path(&fixture, "kallsyms"), NULL),
                          0);
    CU_ASSERT_EQUAL_FATAL(symbolize_kernel(&result, kernel, addresses, COUNT, NULL), 0);
    CU_ASSERT_EQUAL(result.first[1], result.first[0]);
    for (size_t i = 1; i < COUNT; i++) {
        CU_ASSERT_STRING_EQUAL(function_at(&result, i)->name, names[i]);
        CU_ASSERT_TRUE(function_at(&result, i)->named);
    }
    CU_ASSERT_PTR_EQUAL(function_at(&result, 1), function_at(&result, 2));
    CU_ASSERT_EQUAL(function_at(&result, 2)->start, 0xffffffff81000000);
    CU_ASSERT_EQUAL(function_at(&result, 2)->size, 0x100);
    CU_ASSERT_STRING_EQUAL(function_at(&result, 4)->linkage_name, "_RNvC4rust3foo");
    symbolize_result_release(&result);
    symbolize_kernel_free(kernel);
    fixture_close(&fixture);
}

static void test_a_listing_that_is_not_there(void)
{
    struct symbolize_kernel *kernel;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(symbolize_kernel_open(&kernel, "/nowhere/kallsyms", &error), SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NULL(kernel);
    symbolize_kernel_free(kernel);
}

/* The address of a function every kernel has, 0 where addresses are hidden. */
static uint64_t address_of_schedule(void)
{
    FILE *symbols = fopen("/proc/kallsyms", "r");
    char name[600] = "";
    uint64_t address, found = 0;
    while (symbols && !found &&
           fscanf(symbols, "%" SCNx64 " %*c %599s%*[^\n]", &address, name) == 2)
        if (strcmp(name, "schedule") == 0)
            found = address;
    if (symbols)
        fclose(symbols);
    return found;
}

static void test_this_machine(void)
{
    struct symbolize_kernel *kernel = NULL;
    struct symbolize_result result;
    struct sprof_error error = {0};
    const uint64_t start = address_of_schedule(), inside = start + 1;
    const int code = symbolize_kernel_open(&kernel, NULL, &error);
    CU_ASSERT_TRUE(code == 0 || code == SPROF_EPERMISSION || code == SPROF_ENOTFOUND);
    CU_ASSERT_EQUAL(code == 0, kernel != NULL);
    CU_ASSERT_TRUE(code == 0 || start == 0);
    if (!code && start) {
        CU_ASSERT_EQUAL_FATAL(symbolize_kernel(&result, kernel, &inside, 1, NULL), 0);
        CU_ASSERT_STRING_EQUAL(function_at(&result, 0)->name, "schedule");
        CU_ASSERT_EQUAL(function_at(&result, 0)->start, start);
        symbolize_result_release(&result);
    }
    symbolize_kernel_free(kernel);
}

void sprof_suite_symbolize_kernel(void);
void sprof_suite_symbolize_kernel(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/kernel", NULL, NULL);
    CU_add_test(suite, "functions of a listing", test_functions_of_a_listing);
    CU_add_test(suite, "no listing", test_a_listing_that_is_not_there);
    CU_add_test(suite, "this machine", test_this_machine);
}
