#include "base/base.h"
#include "names/names.h"
#include "symbolize/symbolize.h"
#include "tests/unit/skip.h"

#include <CUnit/CUnit.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>

static void check(const char *const *names, const char *const *expected, size_t count)
{
    struct sprof_arena arena = {0};
    const char *shown[8];
    CU_ASSERT_FATAL(count <= sizeof shown / sizeof *shown);
    CU_ASSERT_EQUAL_FATAL(names_shorten(&arena, names, count, shown), 0);
    for (size_t i = 0; i < count; i++)
        CU_ASSERT_STRING_EQUAL(shown[i], expected[i]);
    sprof_arena_release(&arena);
}

static void test_details_where_names_would_be_the_same(void)
{
    static const char *const names[] = {
        "std::vector<int, std::allocator<int> >::insert(int)",
        "std::vector<char, std::allocator<char> >::insert(char)",
        "shop::price(int)",
        "shop::price(double)",
        "shop::count(int)",
        "shop::count(int)",
        "main",
    };
    static const char *const expected[] = {
        "std::vector<int>::insert",
        "std::vector<char>::insert",
        "shop::price(int)",
        "shop::price(double)",
        "shop::count",
        "shop::count",
        "main",
    };
    check(names, expected, sizeof names / sizeof *names);
}

static void test_overloads_of_templates_and_lambdas(void)
{
    static const char *const names[] = {
        "A<int>::f(char)",
        "A<int>::f(long)",
        "A<long>::f(char)",
        "g()::{lambda(int)#1}",
        "g()::{lambda(int)#2}",
        "(anonymous namespace)::h()",
        "h()",
    };
    static const char *const expected[] = {
        "A::f(char)",    "A::f(long)",    "A<long>::f",
        "g()::λ#1(int)", "g()::λ#2(int)", "(anonymous namespace)::h()",
        "h()",
    };
    check(names, expected, sizeof names / sizeof *names);
}

/* A name may be what is left of another. */
static void test_names_that_are_short_already(void)
{
    static const char *const names[] = {"f(int)", "f", "f<int>(int)", "f<int>"};
    static const char *const expected[] = {"f(int)", "f", "f<int>(int)", "f<int>"};
    check(names, expected, sizeof names / sizeof *names);
}

/* Whether each name is shown as something, and none as another one is. */
static void check_differ(const char *const *names, size_t count)
{
    struct sprof_arena arena = {0};
    struct sprof_map seen = {0};
    const char **shown = malloc((count + 1) * sizeof *shown);
    size_t same = 0, empty = 0, past = 0;
    CU_ASSERT_FATAL(shown != NULL);
    CU_ASSERT_EQUAL_FATAL(names_shorten(&arena, names, count, shown), 0);
    for (size_t i = 0; i < count; i++) {
        const uint64_t name = sprof_hash_text(names[i]);
        uint64_t *known = sprof_map_at(&seen, sprof_hash_text(shown[i]));
        CU_ASSERT_FATAL(known != NULL);
        same += *known && *known != name;
        *known = name;
        empty += !*shown[i] && *names[i];
        past += *names[i] && (names_last(names[i]) >= strlen(names[i]) ||
                              names_last(shown[i]) >= strlen(shown[i]));
    }
    CU_ASSERT_EQUAL(same, 0);
    CU_ASSERT_EQUAL(empty, 0);
    CU_ASSERT_EQUAL(past, 0);
    sprof_map_release(&seen);
    sprof_arena_release(&arena);
    free(shown);
}

/* Texts of what names consist of, in any order. */
static void test_random_names_differ(void)
{
    static const char *const pieces[] = {
        "a",
        "b",
        "::",
        "<",
        ">",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        " ",
        ", ",
        "operator",
        "()",
        "->",
        "std::__cxx11::",
        "basic_string",
        "<char>",
        "{lambda(int)#1}",
        "$_0",
        "'lambda'",
        "'",
        "*",
        "const",
        "::operator()",
        "(int) const",
        " as ",
        "impl ",
        "{{closure}}",
        "::h0123456789abcdef",
        "[abi:cxx11]",
        " [clone .cold]",
        "!(",
        ".",
        "/",
        "\xff",
        "\x01",
        "λ",
        "…",
        "&",
        "~",
        "\"",
    };
    enum { NAMES = 20000, PIECES_MOST = 9 };
    struct sprof_arena arena = {0};
    SPROF_VEC(const char *) names = {0};
    struct sprof_str text = {0};
    uint64_t state = 1;
    for (int i = 0; i < NAMES; i++) {
        sprof_str_clear(&text);
        sprof_str_append(&text, "");
        state = state * 6364136223846793005u + 1442695040888963407u;
        for (uint64_t k = (state >> 33) % PIECES_MOST + 1; k > 0; k--) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            sprof_str_append(&text, pieces[(state >> 33) % (sizeof pieces / sizeof *pieces)]);
        }
        CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&names, sprof_arena_text(&arena, text.text)), 0);
    }
    check_differ(names.items, names.count);
    sprof_str_release(&text);
    sprof_vec_release(&names);
    sprof_arena_release(&arena);
}

/* Adds the readable names of an ELF file's dynamic symbols; false where it cannot be read. */
static bool add_symbols(FILE *file, struct sprof_arena *arena, struct sprof_str *texts,
                        Elf64_Shdr symbols, Elf64_Shdr strings)
{
    char *names = sprof_arena_alloc(arena, strings.sh_size + 1);
    if (!names || fseek(file, (long)strings.sh_offset, SEEK_SET) ||
        fread(names, 1, strings.sh_size, file) != strings.sh_size ||
        fseek(file, (long)symbols.sh_offset, SEEK_SET))
        return false;
    Elf64_Sym symbol;
    for (size_t i = 0; i < symbols.sh_size / sizeof symbol; i++) {
        if (fread(&symbol, sizeof symbol, 1, file) != 1 || symbol.st_name >= strings.sh_size)
            return false;
        char *name = symbolize_demangle(names + symbol.st_name);
        if (name)
            sprof_str_append_bytes(texts, name, strlen(name) + 1);
        free(name);
    }
    return true;
}

static bool read_symbols(const char *path, struct sprof_arena *arena, struct sprof_str *texts)
{
    FILE *file = fopen(path, "rb");
    Elf64_Ehdr header;
    Elf64_Shdr sections[100];
    bool read = false;
    if (!file)
        return false;
    if (fread(&header, sizeof header, 1, file) == 1 && header.e_shnum <= 100 &&
        !fseek(file, (long)header.e_shoff, SEEK_SET) &&
        fread(sections, sizeof *sections, header.e_shnum, file) == header.e_shnum)
        for (size_t i = 0; i < header.e_shnum; i++)
            if (sections[i].sh_type == SHT_DYNSYM && sections[i].sh_link < header.e_shnum)
                read = add_symbols(file, arena, texts, sections[i], sections[sections[i].sh_link]);
    fclose(file);
    return read;
}

static void test_names_of_a_large_library_differ(void)
{
    static const char *const paths[] = {"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
                                        "/usr/lib64/libstdc++.so.6"};
    struct sprof_arena arena = {0};
    struct sprof_str texts = {0};
    SPROF_VEC(const char *) names = {0};
    if (!read_symbols(paths[0], &arena, &texts) && !read_symbols(paths[1], &arena, &texts)) {
        sprof_test_skip("there is no libstdc++.so.6");
        return;
    }
    for (size_t at = 0; at < texts.length; at += strlen(texts.text + at) + 1)
        CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&names, texts.text + at), 0);
    CU_ASSERT_TRUE(names.count > 1000);
    check_differ(names.items, names.count);
    sprof_vec_release(&names);
    sprof_str_release(&texts);
    sprof_arena_release(&arena);
}

void sprof_suite_names_shorten(void);
void sprof_suite_names_shorten(void)
{
    CU_pSuite suite = CU_add_suite("names/shorten", NULL, NULL);
    CU_add_test(suite, "details where names would be the same",
                test_details_where_names_would_be_the_same);
    CU_add_test(suite, "overloads of templates and lambdas",
                test_overloads_of_templates_and_lambdas);
    CU_add_test(suite, "names that are short already", test_names_that_are_short_already);
    CU_add_test(suite, "random names differ", test_random_names_differ);
    CU_add_test(suite, "names of a large library differ", test_names_of_a_large_library_differ);
}
