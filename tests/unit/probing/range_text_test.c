/* The texts of ranges: names, addresses, and what calls them. */
#include "probing/probing.h"

#include <CUnit/CUnit.h>
#include <string.h>

/* "operator!=" and names that only begin like an address are expressions. */
static void test_kinds(void)
{
    CU_ASSERT_TRUE(probing_are_addresses("0x10-0x20"));
    CU_ASSERT_TRUE(probing_are_addresses("libz.so!0x10-0x20"));
    CU_ASSERT_TRUE(probing_are_addresses("odd!name!0x10-0x20"));
    CU_ASSERT_FALSE(probing_are_addresses("operator!="));
    CU_ASSERT_FALSE(probing_are_addresses("x0x10"));
    CU_ASSERT_FALSE(probing_are_addresses("10-20"));
    CU_ASSERT_FALSE(probing_are_addresses(""));
}

static int read_text(const char *text, struct probing_addresses *addresses)
{
    struct sprof_error error = {0};
    const int result = probing_read_addresses(text, addresses, &error);
    CU_ASSERT_EQUAL(result != 0, error.message[0] != '\0');
    return result;
}

static void test_addresses(void)
{
    struct probing_addresses addresses;
    CU_ASSERT_EQUAL_FATAL(read_text("0x1f-0xA0", &addresses), 0);
    CU_ASSERT_PTR_NULL(addresses.module);
    CU_ASSERT_EQUAL(addresses.from, 0x1f);
    CU_ASSERT_EQUAL(addresses.to, 0xa0);
    CU_ASSERT_EQUAL_FATAL(read_text("/lib/libz.so!0x0-0xffffffffffffffff", &addresses), 0);
    CU_ASSERT_EQUAL(addresses.module_length, strlen("/lib/libz.so"));
    CU_ASSERT_EQUAL(strncmp(addresses.module, "/lib/libz.so", addresses.module_length), 0);
    CU_ASSERT_EQUAL(addresses.from, 0);
    CU_ASSERT_EQUAL(addresses.to, UINT64_MAX);
}

static void test_no_addresses(void)
{
    static const char *const texts[] = {"0x10",      "0x10-",      "0x-0x20",
                                        "0x20-0x10", "0x10-0x20x", "0x",
                                        "0xg0-0x20", "0x10 0x20",  "0x10-0xfffffffffffffffff"};
    struct probing_addresses addresses;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CU_ASSERT_EQUAL(read_text(texts[i], &addresses), SPROF_EUSAGE);
}

/* A module goes by its path or its name, not by a part of one. */
static void test_modules(void)
{
    const struct probing_file file = {.path = "/usr/lib/libz.so.1"};
    struct probing_addresses addresses = {0};
    CU_ASSERT_TRUE(probing_is_of_module(&file, &addresses));
    static const struct {
        const char *module;
        bool is;
    } cases[] = {{"libz.so.1", true}, {"/usr/lib/libz.so.1", true}, {"libz.so", false},
                 {"ibz.so.1", false}, {"lib/libz.so.1", false},     {"libz.so.1x", false},
                 {"/usr/lib/", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        addresses.module = cases[i].module;
        addresses.module_length = strlen(cases[i].module);
        CU_ASSERT_EQUAL(probing_is_of_module(&file, &addresses), cases[i].is);
    }
}

static void test_children(void)
{
    CU_ASSERT_STRING_EQUAL(probing_children_text("children:work:2"), "work:2");
    CU_ASSERT_PTR_NULL(probing_children_text("children::of"));
    CU_ASSERT_PTR_NULL(probing_children_text("child:work"));
    CU_ASSERT_PTR_NULL(probing_children_text("work"));
}

void sprof_suite_probing_range_text(void);

void sprof_suite_probing_range_text(void)
{
    CU_pSuite suite = CU_add_suite("probing/range_text", NULL, NULL);
    CU_add_test(suite, "kinds of texts", test_kinds);
    CU_add_test(suite, "addresses", test_addresses);
    CU_add_test(suite, "texts that are no addresses", test_no_addresses);
    CU_add_test(suite, "modules", test_modules);
    CU_add_test(suite, "callees of a function", test_children);
}
