#include "symbolize/names_ahead.h"

#include "symbolize/demangle.h"
#include "symbolize/dwarf_functions.h"
#include "symbolize/module.h"
#include "tests/unit/symbolize/naming.h"

#include <time.h>

/* Units with inlined calls whose names are mangled, most of them in one unit alone; `Base::own` is
 * defined outside of its class, so that its file is met before its name. */
static void build(struct fixture *fixture, const char *options)
{
    char command[1024];
    fixture_text(fixture, "common.h",
                 "namespace common {\n"
                 "struct Base { int value; inline int own(int a) const; };\n"
                 "inline int Base::own(int a) const { for (int i = 0; i < 3; i++) a ^= a << value; "
                 "return a; }\n"
                 "template <typename T> inline int twice(const T &t, int a)\n"
                 "{ return t.own(a) + t.own(a * 5); }\n"
                 "}\n");
    snprintf(command, sizeof command,
             "for i in 1 2 3 4 5 6 7 8 9; do printf '#include \"common.h\"\\nnamespace unit%%d "
             "{ struct Own : common::Base { int more(int a) const { return own(a) * %%d; } };\\n"
             "__attribute__((noinline)) int work(int a)\\n{\\n    Own own{};\\n    own.value = a "
             "%%%% 7;\\n    return common::twice(own, a) + own.more(a + 1);\\n} }\\n' $i $i > "
             "unit$i.cc; done;"
             "printf 'namespace unit1 { int work(int); } namespace unit9 { int work(int); } int "
             "main(int c, char **) { return unit1::work(c) + unit9::work(c); }' > main.cc;"
             "g++ -O2 %s main.cc unit*.cc -o program",
             options);
    fixture_run(fixture, command);
}

struct reading {
    struct naming naming;
    struct module module;
    struct dwarf_names names;
    struct function_index index;
};

static void reading_open(struct reading *reading, struct fixture *fixture,
                         const struct symbolize_options *options)
{
    struct dwarf_sections sections;
    uint64_t delta;
    *reading = (struct reading){.naming.image = naming_image(fixture_path(fixture, "program"))};
    naming_add_instructions(&reading->naming, fixture, "program");
    CU_ASSERT_TRUE_FATAL(symbolize_module_open(&reading->module, reading->naming.image, options));
    Dwarf *dwarf = symbolize_module_dwarf(&reading->module, NULL, &delta);
    CU_ASSERT_PTR_NOT_NULL_FATAL(dwarf);
    symbolize_module_dwarf_sections(dwarf, &sections);
    symbolize_dwarf_names_open(&reading->names, &sections, &reading->index);
    const struct addresses addresses = {reading->naming.addresses.items,
                                        reading->naming.addresses.count};
    symbolize_dwarf_functions_add(&reading->names, delta, &addresses, NULL);
    symbolize_function_index_sort(&reading->index);
}

static void reading_close(struct reading *reading)
{
    symbolize_dwarf_names_release(&reading->names);
    symbolize_function_index_release(&reading->index);
    symbolize_module_release(&reading->module);
    naming_close(&reading->naming);
}

/* What the others have made of a description, waited for; NULL where they had enough time. */
static const struct names_ahead_name *wait_for(const struct names_ahead *ahead, uint32_t number)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    const struct names_ahead_name *name = NULL;
    for (int i = 0; i < 30000 && !(name = symbolize_names_ahead_find(ahead, number)); i++)
        nanosleep(&moment, NULL);
    return name;
}

static size_t check(struct dwarf *dwarf, const struct names_ahead_name *name, uint32_t entry)
{
    struct dwarf_said said;
    struct cxx_names cxx = {0};
    symbolize_dwarf_names_read(dwarf, &cxx, entry, &said);
    CU_ASSERT_PTR_EQUAL(name->said.linkage_name, said.linkage_name);
    CU_ASSERT_EQUAL(name->said.line, said.line);
    CU_ASSERT_EQUAL(name->said.files_before_name, said.files_before_name);
    CU_ASSERT_EQUAL_FATAL(name->said.file_count, said.file_count);
    for (uint32_t i = 0; i < said.file_count; i++) {
        CU_ASSERT_EQUAL(name->said.files[i].number, said.files[i].number);
        CU_ASSERT_EQUAL(name->said.files[i].unit, said.files[i].unit);
    }
    char *demangled = said.linkage_name ? symbolize_demangle_name(said.linkage_name, false) : NULL;
    const size_t count = demangled != NULL;
    CU_ASSERT_TRUE(naming_same_text(name->demangled, demangled));
    free(demangled);
    symbolize_cxx_names_release(&cxx);
    return count;
}

/* All that chains ask for is made while the caller stays at the first address. */
static void test_names_are_made(void)
{
    const struct symbolize_options none = {.no_debuginfod = true};
    struct fixture fixture;
    struct reading reading;
    struct names_ahead ahead;
    fixture_open(&fixture);
    build(&fixture, "-g");
    reading_open(&reading, &fixture, &none);
    const struct function_index *index = &reading.index;
    const struct addresses addresses = {reading.naming.addresses.items,
                                        reading.naming.addresses.count};
    for (unsigned threads = 0; threads <= 5; threads++) {
        size_t found = 0, mangled = 0;
        symbolize_names_ahead_start(&ahead, &addresses, &reading.names, threads);
        CU_ASSERT_EQUAL(ahead.work != NULL, threads > 0);
        for (size_t i = 1; i < addresses.count && threads; i++) {
            const struct index_piece *piece =
                symbolize_function_index_find(index, addresses.items[i]);
            const struct index_call *call =
                piece ? symbolize_function_index_innermost(index, piece, addresses.items[i]) : NULL;
            const uint32_t number = call ? call->description : piece ? piece->description : 0;
            const struct names_ahead_name *name = number ? wait_for(&ahead, number) : NULL;
            if (!number)
                continue;
            CU_ASSERT_PTR_NOT_NULL_FATAL(name);
            mangled +=
                check(&reading.names.dwarf, name, index->descriptions.items[number - 1].entry);
            found++;
        }
        CU_ASSERT_TRUE(!threads || (found >= 100 && mangled >= 50));
        CU_ASSERT_PTR_NULL(symbolize_names_ahead_find(&ahead, 0));
        CU_ASSERT_PTR_NULL(
            symbolize_names_ahead_find(&ahead, (uint32_t)index->descriptions.count + 1));
        symbolize_names_ahead_stop(&ahead);
        CU_ASSERT_PTR_NULL(symbolize_names_ahead_find(&ahead, 1));
    }
    reading_close(&reading);
    fixture_close(&fixture);
}

/* Names the program into an empty cache, and returns the file of the functions that is left there.
 */
static char *name_into_cache(struct fixture *fixture, struct naming *naming, unsigned threads)
{
    fixture_run(fixture, "rm -rf cache");
    struct cache *cache = cache_open(fixture_path(fixture, "cache"));
    const struct symbolize_options options = {
        .no_debuginfod = true, .cache = cache, .threads = threads};
    CU_ASSERT_EQUAL_FATAL(symbolize_image(&naming->result, naming->image, naming->addresses.items,
                                          naming->addresses.count, NULL, &options, NULL),
                          0);
    cache_free(cache, 0);
    return fixture_output(fixture, "sha256sum cache/lines-*");
}

static void check_answers(struct fixture *fixture, const char *options)
{
    enum { TIMES = 40 };
    struct naming expected = {0};
    build(fixture, options);
    expected.image = naming_image(fixture_path(fixture, "program"));
    naming_add_instructions(&expected, fixture, "program");
    char *stored = name_into_cache(fixture, &expected, 1);
    CU_ASSERT_TRUE(strlen(stored) > 64);
    for (unsigned turn = 0; turn < TIMES; turn++) {
        struct naming naming = {.image = expected.image, .addresses = {0}};
        naming.addresses.items = expected.addresses.items;
        naming.addresses.count = expected.addresses.count;
        char *now = name_into_cache(fixture, &naming, 2 + turn % 3);
        CU_ASSERT_STRING_EQUAL(now, stored);
        CU_ASSERT_EQUAL(naming_differences(&naming, &expected), 0);
        symbolize_result_release(&naming.result);
        free(now);
    }
    free(stored);
    naming_close(&expected);
}

static void test_answers_are_the_same(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    check_answers(&fixture, "-g");
    check_answers(&fixture, "-g -gdwarf-4");
    fixture_close(&fixture);
}

void sprof_suite_symbolize_names_ahead(void);
void sprof_suite_symbolize_names_ahead(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/names_ahead", NULL, NULL);
    CU_add_test(suite, "names are made", test_names_are_made);
    CU_add_test(suite, "answers are the same", test_answers_are_the_same);
}
