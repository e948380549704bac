#include "symbolize/dwarf_shares.h"

#include "symbolize/module.h"
#include "tests/unit/symbolize/naming.h"

/* Nine units of files of their own, with inlined calls in each. */
static void build(struct fixture *fixture, const char *options)
{
    char command[1024];
    fixture_text(fixture, "common.h",
                 "static inline int leaf(int a) { for (int i = 0; i < 3; i++) a ^= a << 3; return "
                 "a; }\n"
                 "static inline int middle(int a) { return leaf(a) + leaf(a * 5); }\n");
    snprintf(
        command, sizeof command,
        "for i in 1 2 3 4 5 6 7 8 9; do printf '#include \"common.h\"\\nstatic inline int "
        "own%%d(int a) { return middle(a) * %%d; }\\n__attribute__((noinline)) int "
        "work%%d(int a)\\n{\\n    return own%%d(a) + own%%d(a + 1)\\n        + leaf(a);\\n}\\n'"
        " $i $i $i $i $i > unit$i.c; done;"
        "printf 'int work1(int), work9(int); int main(int c, char **v) { (void)v; return "
        "work1(c) + work9(c); }' > main.c; cc -O2 %s main.c unit*.c -o program",
        options);
    fixture_run(fixture, command);
}

struct reading {
    struct module module;
    struct dwarf_names names;
    struct function_index index;
    uint64_t delta;
};

static void reading_open(struct reading *reading, struct image *image,
                         const struct symbolize_options *options)
{
    struct dwarf_sections sections;
    *reading = (struct reading){0};
    CU_ASSERT_TRUE_FATAL(symbolize_module_open(&reading->module, image, options));
    Dwarf *dwarf = symbolize_module_dwarf(&reading->module, NULL, &reading->delta);
    CU_ASSERT_PTR_NOT_NULL_FATAL(dwarf);
    symbolize_module_dwarf_sections(dwarf, &sections);
    symbolize_dwarf_names_open(&reading->names, &sections, &reading->index);
}

static void describe(struct reading *reading)
{
    symbolize_function_index_sort(&reading->index);
    for (size_t i = 0; i < reading->index.descriptions.count; i++)
        symbolize_dwarf_names_describe(&reading->names, &reading->index.descriptions.items[i]);
    CU_ASSERT_FALSE(reading->index.failed);
}

static void reading_close(struct reading *reading)
{
    symbolize_dwarf_names_release(&reading->names);
    symbolize_function_index_release(&reading->index);
    symbolize_module_release(&reading->module);
}

#define SAME(left, right)                                                                          \
    ((left).count == (right).count &&                                                              \
     ((left).count == 0 ||                                                                         \
      !memcmp((left).items, (right).items, (left).count * sizeof *(left).items)))

static bool same_texts(const struct sprof_intern *left, const struct sprof_intern *right)
{
    bool same = left->count == right->count;
    for (uint32_t i = 1; same && i <= left->count; i++)
        same = !strcmp(sprof_intern_text(left, i), sprof_intern_text(right, i));
    return same;
}

static bool same_index(const struct function_index *left, const struct function_index *right)
{
    return SAME(left->descriptions, right->descriptions) && SAME(left->pieces, right->pieces) &&
           SAME(left->calls, right->calls) && SAME(left->ranges, right->ranges) &&
           SAME(left->lines, right->lines) && same_texts(&left->texts, &right->texts);
}

/* Every tenth address first, by one thread, so that what is appended does not begin at 0. */
static void read_twice(struct reading *reading, const struct naming *naming, bool all,
                       unsigned threads)
{
    SPROF_VEC(uint64_t) some = {0};
    const struct addresses addresses = {naming->addresses.items, naming->addresses.count};
    for (size_t i = 0; i < addresses.count && !all; i += 10)
        CU_ASSERT_EQUAL(sprof_vec_push(&some, addresses.items[i]), 0);
    const struct addresses first = {some.items, some.count / 4};
    if (!all)
        symbolize_dwarf_functions_add(&reading->names, reading->delta, &first, NULL);
    symbolize_dwarf_shares_add(&reading->names, reading->delta, all ? NULL : &addresses, threads);
    sprof_vec_release(&some);
}

/* Which thread reads what differs from time to time. */
static void check(struct fixture *fixture, const char *options, bool all)
{
    enum { TIMES = 60 };
    const struct symbolize_options none = {.no_debuginfod = true};
    struct reading expected, reading;
    build(fixture, options);
    struct naming naming = {.image = naming_image(fixture_path(fixture, "program"))};
    naming_add_instructions(&naming, fixture, "program");
    reading_open(&expected, naming.image, &none);
    read_twice(&expected, &naming, all, 1);
    CU_ASSERT_TRUE(expected.index.calls.count >= 9 && expected.index.lines.count >= 30);
    CU_ASSERT_TRUE(expected.names.dwarf.units.count >= 10);
    const uint64_t steps_left = expected.names.dwarf.steps_left;
    describe(&expected);
    for (int turn = 0; turn < TIMES; turn++) {
        reading_open(&reading, naming.image, &none);
        read_twice(&reading, &naming, all, 2 + (unsigned)turn % 3);
        CU_ASSERT_EQUAL(reading.names.dwarf.steps_left, steps_left);
        describe(&reading);
        CU_ASSERT_TRUE(same_index(&reading.index, &expected.index));
        reading_close(&reading);
    }
    reading_close(&expected);
    naming_close(&naming);
}

static void test_the_same_index(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    check(&fixture, "-g", false);
    check(&fixture, "-g", true);
    check(&fixture, "-g -gdwarf-4", false);
    fixture_close(&fixture);
}

static void test_how_many_threads(void)
{
    const uint8_t byte = 0;
    struct dwarf dwarf = {.sections.info = {&byte, 1 << 20}}; /* nobody reads them */
    CU_ASSERT_EQUAL(symbolize_dwarf_shares_threads(&dwarf, 100000), 1);
    dwarf.sections.info.size = 40 << 20;
    CU_ASSERT_EQUAL(symbolize_dwarf_shares_threads(&dwarf, 3), 1);
    CU_ASSERT_TRUE(symbolize_dwarf_shares_threads(&dwarf, 100000) >= 1);
    CU_ASSERT_TRUE(symbolize_dwarf_shares_threads(&dwarf, 100000) <= 4);
}

void sprof_suite_symbolize_dwarf_shares(void);
void sprof_suite_symbolize_dwarf_shares(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/dwarf_shares", NULL, NULL);
    CU_add_test(suite, "the same index", test_the_same_index);
    CU_add_test(suite, "how many threads", test_how_many_threads);
}
