/* Names that come from the cache are the ones that come without it. */
#include "symbolize/symbol_table.h"

#include "tests/unit/symbolize/naming.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

static const char program[] =
    "#include <algorithm>\n"
    "#include <string>\n"
    "#include <vector>\n"
    "static __attribute__((noinline)) int add(int a, int b) { return a * 3 + b; }\n"
    "struct Shape { std::string name; int size; bool operator<(const Shape &o) const\n"
    "    { return add(size, 1) < o.size; } };\n"
    "__attribute__((noinline)) int work(int a)\n"
    "{\n"
    "    std::vector<Shape> all(4);\n"
    "    for (Shape &shape : all)\n"
    "        shape.size = add(a, shape.size), shape.name += std::to_string(a);\n"
    "    std::sort(all.begin(), all.end());\n"
    "    return all[0].size + all[1].name.size();\n"
    "}\n"
    "int main(int argc, char **) { return work(argc) + work(add(argc, 2)); }\n";

static void name(struct naming *naming, struct cache *cache)
{
    const struct symbolize_options options = {.no_debuginfod = true, .cache = cache};
    symbolize_result_release(&naming->result);
    CU_ASSERT_EQUAL_FATAL(symbolize_image(&naming->result, naming->image, naming->addresses.items,
                                          naming->addresses.count, NULL, &options, NULL),
                          0);
}

static void name_all(struct naming *naming, struct fixture *fixture, const char *file,
                     struct cache *cache)
{
    *naming = (struct naming){.image = naming_image(fixture_path(fixture, file))};
    naming_add_instructions(naming, fixture, file);
    CU_ASSERT_TRUE(naming->addresses.count > 100);
    name(naming, cache);
}

static void check_file(struct fixture *fixture, const char *file, struct cache *cache)
{
    struct naming without, first, second;
    name_all(&without, fixture, file, NULL);
    name_all(&first, fixture, file, cache);
    name_all(&second, fixture, file, cache);
    CU_ASSERT_EQUAL(naming_differences(&without, &first), 0);
    CU_ASSERT_EQUAL(naming_differences(&without, &second), 0);
    naming_close(&without);
    naming_close(&first);
    naming_close(&second);
}

static void test_cached_names_are_the_same(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    struct cache *cache = cache_open(fixture_path(&fixture, "cache"));
    fixture_text(&fixture, "a.cpp", program);
    fixture_run(&fixture, "c++ -O1 -g a.cpp -o full; c++ -O1 a.cpp -o plain; "
                          "cp full split; objcopy --only-keep-debug split split.debug; "
                          "strip split; objcopy --add-gnu-debuglink=split.debug split");
    check_file(&fixture, "plain", cache);
    check_file(&fixture, "full", cache);
    check_file(&fixture, "split", cache);
    fixture_run(&fixture, "ls cache/symbols-* | wc -l | grep -qx 3");
    cache_free(cache, 0);
    fixture_close(&fixture);
}

/* Leaves the addresses of named functions whose line is known. */
static void keep_known(struct naming *naming)
{
    size_t kept = 0;
    for (size_t i = 0; i < naming->addresses.count; i++) {
        const struct symbolize_result *result = &naming->result;
        const struct symbolize_frame *inner = &result->frames[result->first[i]],
                                     *outer = &result->frames[result->first[i + 1] - 1];
        if (inner->line && result->functions[outer->function].named)
            naming->addresses.items[kept++] = naming->addresses.items[i];
    }
    naming->addresses.count = kept;
}

/* What costs much to unpack is unpacked once: naming some addresses leaves all functions, and the
 * lines of assembly, in the cache. */
static void test_a_packed_debug_file(void)
{
    struct fixture fixture;
    struct naming naming;
    fixture_open(&fixture);
    struct cache *cache = cache_open(fixture_path(&fixture, "cache"));
    fixture_text(&fixture, "a.cpp", program);
    fixture_text(&fixture, "b.s",
                 ".section .note.GNU-stack\n.text\n.globl steps\nsteps:\n nop\n nop\n nop\n ret\n");
    fixture_run(&fixture,
                "awk 'BEGIN { srand(7); print \"enum numbers {\"; for (i = 0; i < 20000; i++) "
                "printf \"n%06x%06x = %d,\\n\", rand() * 16777216, rand() * 16777216, "
                "rand() * 2147483647; print \"} number;\" }' > c.c;"
                "cc -g -c b.s c.c; c++ -O1 -g a.cpp b.o c.o -o a;"
                "objcopy --only-keep-debug --compress-debug-sections=zlib a a.debug;"
                "strip a; objcopy --add-gnu-debuglink=a.debug a");
    name_all(&naming, &fixture, "a", NULL);
    keep_known(&naming);
    CU_ASSERT_TRUE(naming.addresses.count > 100);
    const size_t all = naming.addresses.count;
    const uint64_t steps = naming_nm(&fixture, "a.debug", "steps");
    naming.addresses.count = 40;
    CU_ASSERT_TRUE(steps > naming.addresses.items[39]);
    naming.addresses.count = 3; /* a short run knows what a long one knows */
    name(&naming, NULL);
    for (size_t i = 0; i < naming.result.function_count; i++)
        CU_ASSERT_PTR_NOT_NULL(naming.result.functions[i].file);
    naming.addresses.count = 40;
    name(&naming, cache);
    char *before = fixture_output(&fixture, "ls -i cache/lines-*");
    naming.addresses.count = all;
    name(&naming, cache);
    char *after = fixture_output(&fixture, "ls -i cache/lines-*");
    CU_ASSERT_STRING_EQUAL(after, before);
    CU_ASSERT_STRING_EQUAL(naming_function(&naming, steps + 1)->name, "steps");
    free(before);
    free(after);
    naming_close(&naming);
    check_file(&fixture, "a", cache);
    cache_free(cache, 0);
    fixture_close(&fixture);
}

/* Symbols may arrive later: that there are none is not kept. */
static void test_a_debug_file_arrives(void)
{
    struct fixture fixture;
    struct naming naming;
    fixture_open(&fixture);
    struct cache *cache = cache_open(fixture_path(&fixture, "cache"));
    fixture_text(&fixture, "a.cpp", program);
    fixture_run(&fixture, "c++ -O1 -g a.cpp -o a; objcopy --only-keep-debug a later; "
                          "strip a; cp later a.debug; objcopy --add-gnu-debuglink=a.debug a; "
                          "rm a.debug");
    const uint64_t work = naming_nm(&fixture, "later", "_Z4worki");
    name_all(&naming, &fixture, "a", cache);
    CU_ASSERT_FALSE(naming_function(&naming, work)->named);
    naming_close(&naming);
    fixture_run(&fixture, "mv later a.debug");
    name_all(&naming, &fixture, "a", cache);
    CU_ASSERT_STRING_EQUAL(naming_function(&naming, work)->name, "work(int)");
    naming_close(&naming);
    cache_free(cache, 0);
    fixture_close(&fixture);
}

enum { LONGEST = 77 }; /* the size of the symbol with the longest name */

/* Has the names of all symbols begin in the longest, each a byte further on. */
static void share_names(const char *path)
{
    Elf64_Ehdr header;
    Elf64_Shdr section;
    Elf64_Sym symbol;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(pread(fd, &header, sizeof header, 0), sizeof header);
    for (off_t i = 0; i < header.e_shnum; i++) {
        const off_t at = (off_t)header.e_shoff + i * (off_t)sizeof section;
        CU_ASSERT_EQUAL_FATAL(pread(fd, &section, sizeof section, at), sizeof section);
        if (section.sh_type == SHT_SYMTAB)
            break;
    }
    const off_t count = (off_t)(section.sh_size / sizeof symbol), first = (off_t)section.sh_offset;
    Elf64_Word longest = 0;
    for (off_t i = 1; i < count; i++) {
        const off_t at = first + i * (off_t)sizeof symbol;
        CU_ASSERT_EQUAL_FATAL(pread(fd, &symbol, sizeof symbol, at), sizeof symbol);
        longest = symbol.st_size == LONGEST ? symbol.st_name : longest;
    }
    CU_ASSERT_TRUE_FATAL(longest > 0);
    for (off_t i = 1; i < count; i++) {
        const Elf64_Word name = longest + (Elf64_Word)i;
        const off_t at = first + i * (off_t)sizeof symbol + (off_t)offsetof(Elf64_Sym, st_name);
        CU_ASSERT_EQUAL(pwrite(fd, &name, sizeof name, at), sizeof name);
    }
    close(fd);
}

static void test_names_that_share_their_texts(void)
{
    enum { LONG = 1 << 20, COUNT = 400 };
    const struct symbolize_options options = {.no_debuginfod = true};
    struct fixture fixture;
    struct symbol_table table;
    struct module module;
    fixture_open(&fixture);
    fixture_run(&fixture, "{ printf '.text\\n'; name=$(head -c 1048576 /dev/zero | tr '\\0' a); "
                          "printf '.globl %s\\n.type %s,@function\\n%s: ret\\n.size %s,77\\n' "
                          "$name $name $name $name; "
                          "for i in $(seq 400); do printf '.globl b%d\\n.type b%d,@function\\nb%d: "
                          "ret\\n' $i $i $i; done; } >long.s; cc -c long.s -o long.o; "
                          "cc -shared -nostdlib long.o -o long; cp long forged");
    share_names(fixture_path(&fixture, "forged"));
    static const char *const files[] = {"long", "forged"};
    for (int i = 0; i < 2; i++) {
        struct image *image = naming_image(fixture_path(&fixture, files[i]));
        CU_ASSERT_TRUE_FATAL(symbolize_module_open(&module, image, &options));
        CU_ASSERT_EQUAL(symbolize_symbol_table_read(&table, &module), 0);
        CU_ASSERT_TRUE(i ? table.count > 3 : table.count > COUNT);
        CU_ASSERT_TRUE(table.text_bytes > LONG && table.text_bytes < 20 * LONG);
        symbolize_symbol_table_release(&table);
        symbolize_module_release(&module);
        image_free(image);
    }
    fixture_close(&fixture);
}

static void test_forged_tables(void)
{
    static const struct symbol_entry entries[] = {{0x1000, 16, 0x2000, 0, 0},
                                                  {0x1010, 16, 0x2000, 4, 1}};
    const struct symbol_table good = {
        .entries = entries, .count = 2, .texts = "one\0two", .text_bytes = 8};
    const struct sprof_digest key = {1, 2};
    struct fixture fixture;
    fixture_open(&fixture);
    struct cache *cache = cache_open(fixture_path(&fixture, "cache"));
    struct symbol_table found, bad = good;
    symbolize_symbol_table_store(&good, cache, key);
    CU_ASSERT_TRUE(symbolize_symbol_table_find(&found, cache, key));
    CU_ASSERT_EQUAL(found.count, 2);
    CU_ASSERT_STRING_EQUAL(found.texts + found.entries[1].name, "two");
    symbolize_symbol_table_release(&found);
    bad.text_bytes = 7; /* no NUL at the end */
    symbolize_symbol_table_store(&bad, cache, key);
    CU_ASSERT_FALSE(symbolize_symbol_table_find(&found, cache, key));
    bad.text_bytes = 4; /* a name behind it */
    symbolize_symbol_table_store(&bad, cache, key);
    CU_ASSERT_FALSE(symbolize_symbol_table_find(&found, cache, key));
    static const struct symbol_entry sharing[] = {{0x1000, 16, 0x2000, 4, 0},
                                                  {0x1010, 16, 0x2000, 5, 1}},
                                     twice[] = {{0x1000, 16, 0x2000, 4, 0},
                                                {0x1010, 16, 0x2000, 4, 1}};
    bad = good;
    bad.entries = sharing; /* a name that is another's end */
    symbolize_symbol_table_store(&bad, cache, key);
    CU_ASSERT_FALSE(symbolize_symbol_table_find(&found, cache, key));
    bad.entries = twice;
    symbolize_symbol_table_store(&bad, cache, key);
    CU_ASSERT_FALSE(symbolize_symbol_table_find(&found, cache, key));
    const uint64_t counts[] = {UINT64_MAX / 16, 8, 0, 0};
    const struct sprof_bytes piece = {(const uint8_t *)counts, sizeof counts};
    cache_put(cache, CACHE_SYMBOLS, key, &piece, 1);
    CU_ASSERT_FALSE(symbolize_symbol_table_find(&found, cache, key));
    CU_ASSERT_PTR_NULL(found.storage);
    cache_free(cache, 0);
    fixture_close(&fixture);
}

void sprof_suite_symbolize_symbol_table(void);
void sprof_suite_symbolize_symbol_table(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/symbol_table", NULL, NULL);
    CU_add_test(suite, "cached names are the same", test_cached_names_are_the_same);
    CU_add_test(suite, "a packed debug file", test_a_packed_debug_file);
    CU_add_test(suite, "a debug file arrives", test_a_debug_file_arrives);
    CU_add_test(suite, "names that share their texts", test_names_that_share_their_texts);
    CU_add_test(suite, "forged tables", test_forged_tables);
}
