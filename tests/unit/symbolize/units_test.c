#include "symbolize/dwarf_lines.h"
#include "tests/unit/symbolize/naming.h"

#include <unistd.h>

static const char first_source[] =
    "int second(int);\n"
    "__attribute__((noinline)) static int first(int a) { return second(a) + 1; }\n"
    "int main(int argc, char **argv) { (void)argv; return first(argc); }\n";
static const char second_source[] = "int second(int a)\n"
                                    "{\n"
                                    "    return a * 3;\n"
                                    "}\n";

/* What `from` names the function that is a symbol of `file`. */
static void check_name(struct fixture *fixture, const char *from, const char *file,
                       const char *symbol, const char *name, uint32_t line)
{
    const uint64_t address = naming_nm(fixture, file, symbol);
    struct naming naming = {.image = naming_image(fixture_path(fixture, from))};
    CU_ASSERT_EQUAL(sprof_vec_push(&naming.addresses, address), 0);
    naming_run(&naming, NULL, fixture->directory);
    const struct symbolize_function *function = naming_function(&naming, address);
    CU_ASSERT_STRING_EQUAL(function->name, name);
    CU_ASSERT_TRUE(function->named);
    CU_ASSERT_EQUAL(function->line, line);
    CU_ASSERT_EQUAL(function->start, address);
    CU_ASSERT_TRUE(function->size > 0);
    naming_close(&naming);
}

static void check_function(struct fixture *fixture, const char *file, const char *symbol,
                           const char *name, uint32_t line)
{
    /* Stripped of symbols but not of DWARF, so that only the unit can tell. */
    check_name(fixture, "bare", file, symbol, name, line);
}

static void build_two_units(struct fixture *fixture, const char *commands)
{
    fixture_open(fixture);
    fixture_text(fixture, "1.c", first_source);
    fixture_text(fixture, "2.c", second_source);
    fixture_run(fixture, "cc -O1 -g -c 1.c && cc -O1 -g -c 2.c");
    fixture_run(fixture, commands);
}

static void test_incomplete_aranges(void)
{
    struct fixture fixture;
    build_two_units(&fixture, "objcopy --remove-section=.debug_aranges 2.o; cc 1.o 2.o -o a;"
                              "objcopy --strip-symbol=first --strip-symbol=second a bare");
    char *aranges = fixture_output(&fixture, "readelf --debug-dump=aranges a | grep -c Length:");
    CU_ASSERT_EQUAL(atoi(aranges), 1); /* one unit only: the fixture is what it should be */
    free(aranges);
    check_function(&fixture, "a", "first", "first", 2);
    check_function(&fixture, "a", "second", "second", 1);
    fixture_close(&fixture);
}

/* The range that the unit has is that of .text alone. */
static void test_one_range_for_two_sections(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "a.c",
                 "__attribute__((noinline, section(\".text.apart\"))) int apart(int a)\n"
                 "{\n"
                 "    return a * 3;\n"
                 "}\n"
                 "int main(int argc, char **argv) { (void)argv; return apart(argc); }\n");
    fixture_run(&fixture, "cc -O1 -gdwarf-2 -gstrict-dwarf a.c -o a;"
                          "objcopy --strip-symbol=apart --strip-symbol=main a bare");
    check_function(&fixture, "a", "apart", "apart", 1);
    check_function(&fixture, "a", "main", "main", 5);
    fixture_close(&fixture);
}

static void test_no_aranges(void)
{
    struct fixture fixture;
    build_two_units(&fixture, "cc 1.o 2.o -o a; objcopy --remove-section=.debug_aranges "
                              "--strip-symbol=first --strip-symbol=second a bare");
    check_function(&fixture, "a", "first", "first", 2);
    check_function(&fixture, "a", "second", "second", 1);
    fixture_close(&fixture);
}

/* GNU C's nested functions are entries below a function that does not cover them. */
static void test_nested_function(void)
{
    static const char source[] =
        "int sink;\n"
        "int outer(int a)\n"
        "{\n"
        "    __attribute__((noinline)) int nested(int b)\n"
        "    {\n"
        "        return sink += a + b;\n"
        "    }\n"
        "    return nested(1) + nested(2);\n"
        "}\n"
        "int main(int argc, char **argv) { (void)argv; return outer(argc); }\n";
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "a.c", source);
    fixture_run(&fixture, "cc -O0 -g a.c -o a; nested=$(nm a | awk '$3 ~ /^nested/ {print $3}');"
                          "objcopy --redefine-sym $nested=nested a;"
                          "objcopy --redefine-sym nested=nested.7 a numbered;"
                          "objcopy --redefine-sym nested=nested_more a other;"
                          "objcopy --strip-symbol=nested --strip-symbol=outer a bare");
    check_function(&fixture, "a", "nested", "nested", 4);
    check_name(&fixture, "numbered", "numbered", "nested.7", "nested", 4);
    check_name(&fixture, "other", "other", "nested_more", "nested_more", 4);
    check_function(&fixture, "a", "outer", "outer", 2);
    fixture_close(&fixture);
}

/* Numbers of sections end with the section. */
static void test_numbers_at(void)
{
    static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8};
    const struct sprof_bytes section = {bytes, sizeof bytes};
    CU_ASSERT_EQUAL(symbolize_dwarf_number_at(section, 0, 8), 0x0807060504030201);
    CU_ASSERT_EQUAL(symbolize_dwarf_number_at(section, 4, 4), 0x08070605);
    CU_ASSERT_EQUAL(symbolize_dwarf_number_at(section, 5, 4), 0);
    CU_ASSERT_EQUAL(symbolize_dwarf_number_at(section, 9, 4), 0);
    CU_ASSERT_EQUAL(symbolize_dwarf_number_at(section, UINT64_MAX, 4), 0);
}

/* Assembler units have lines but no functions. */
static void test_lines_without_functions(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "a.s",
                 "    .globl _start\n"
                 "    .type _start, @function\n"
                 "_start:\n"
                 "    nop\n"
                 "    nop\n"
                 "    .size _start, 2\n");
    fixture_run(&fixture, "cc -g -nostdlib -static a.s -o a");
    const uint64_t start = naming_nm(&fixture, "a", "_start");
    struct naming naming = {.image = naming_image(fixture_path(&fixture, "a"))};
    CU_ASSERT_EQUAL(sprof_vec_push(&naming.addresses, start + 1), 0);
    naming_run(&naming, NULL, NULL);
    CU_ASSERT_STRING_EQUAL(naming_function(&naming, start + 1)->name, "_start");
    CU_ASSERT_EQUAL(naming.result.frames[0].line, 5);
    CU_ASSERT_PTR_NOT_NULL_FATAL(naming.result.frames[0].file);
    CU_ASSERT_PTR_NOT_NULL(strstr(naming.result.frames[0].file, "a.s"));
    naming_close(&naming);
    fixture_close(&fixture);
}

/* A call that is inlined in two places, which DWARF 2 cannot say: it has no range, and its inner
 * calls have theirs. One without any inner call is nowhere. */
static void test_calls_without_ranges(void)
{
    static const char source[] =
        "    .globl _start\n"
        "    .type _start, @function\n"
        "_start:\n"
        "    .fill 8, 1, 0x90\n"
        "    .size _start, 8\n"
        "    .section .debug_abbrev, \"\", @progbits\n"
        "    .byte 1, 0x11, 1, 0x11, 1, 0x12, 1, 0, 0\n"
        "    .byte 2, 0x2e, 1, 3, 8, 0x11, 1, 0x12, 1, 0, 0\n"
        "    .byte 3, 0x2e, 0, 3, 8, 0x20, 0xb, 0, 0\n"
        "    .byte 4, 0x1d, 1, 0x31, 0x13, 0, 0\n"
        "    .byte 5, 0x1d, 0, 0x31, 0x13, 0x11, 1, 0x12, 1, 0, 0, 0\n"
        "    .macro called name\n"
        "\\name: .byte 3\n"
        "    .asciz \"\\name\"\n"
        "    .byte 1\n"
        "    .endm\n"
        "    .macro placed name, from, to\n"
        "    .byte 5\n"
        "    .long \\name - unit\n"
        "    .quad _start + \\from, _start + \\to\n"
        "    .endm\n"
        "    .macro torn name\n"
        "    .byte 4\n"
        "    .long \\name - unit\n"
        "    .endm\n"
        "    .section .debug_info, \"\", @progbits\n"
        "unit: .long 2f - 1f\n"
        "1:  .2byte 2\n"
        "    .long 0\n"
        "    .byte 8, 1\n"
        "    .quad _start, _start + 8\n"
        "    called inner\n    called torn_outer\n    called torn_inner\n    called nowhere\n"
        "    .byte 2\n"
        "    .asciz \"_start\"\n"
        "    .quad _start, _start + 8\n"
        "    torn nowhere\n    .byte 0\n"
        "    torn torn_outer\n"
        "    torn torn_inner\n    placed inner, 1, 3\n    placed inner, 5, 6\n    .byte 0\n"
        "    placed inner, 6, 7\n"
        "    .byte 0, 0, 0\n"
        "2:\n";
    static const char *const chains[] = {
        "_start",
        "inner torn_inner torn_outer _start",
        "inner torn_inner torn_outer _start",
        "_start",
        "_start",
        "inner torn_inner torn_outer _start",
        "inner torn_outer _start",
        "_start",
    };
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "a.s", source);
    fixture_run(&fixture, "cc -nostdlib -static a.s -o a");
    const uint64_t start = naming_nm(&fixture, "a", "_start");
    struct naming naming = {.image = naming_image(fixture_path(&fixture, "a"))};
    for (size_t i = 0; i < 8; i++)
        CU_ASSERT_EQUAL(sprof_vec_push(&naming.addresses, start + i), 0);
    naming_run(&naming, NULL, NULL);
    for (size_t i = 0; i < 8; i++) {
        struct sprof_str chain = {0};
        for (uint32_t k = naming.result.first[i]; k < naming.result.first[i + 1]; k++)
            sprof_str_appendf(&chain, "%s%s", k > naming.result.first[i] ? " " : "",
                              naming.result.functions[naming.result.frames[k].function].name);
        CU_ASSERT_STRING_EQUAL(chain.text, chains[i]);
        sprof_str_release(&chain);
    }
    naming_close(&naming);
    fixture_close(&fixture);
}

/* Two units name files of their own alike, below the directory that each was compiled in, and one
 * file in two ways. A compiler's cache may give objects of another directory. */
static void test_relative_files(void)
{
    static const struct {
        const char *compiler, *options, *source;
    } variants[] = {{"cc", "-gdwarf-4", "$d.c"},
                    {"cc", "-gdwarf-5", "$d.c"},
                    {"clang", "-gdwarf-5", "$d.c"},
                    {"cc", "-gdwarf-5", "$PWD/$d.c"}};
    static const char *const files[] = {"/one/own/x.h", "/two/own/x.h", "/both/y.h", "/both/y.h"};
    static const char *const functions[] = {"in_one", "in_two", "shared_in_one", "shared_in_two"};
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_run(
        &fixture,
        "mkdir -p one/own two/own both; echo 'int F(shared_in)(int a) { return a * 5; }' >both/y.h;"
        "for d in one two; do echo 'int F(in)(int a) { return a * 3; }' >$d/own/x.h;"
        "printf '#define F(name) name##_%s\n#include \"own/x.h\"\n#include \"../both/y.h\"\n'"
        " $d >$d/$d.c; done; echo 'int main(void) { return 0; }' >>one/one.c");
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        char command[256];
        snprintf(command, sizeof command,
                 "export CCACHE_DISABLE=1; rm -f a; command -v %s >/dev/null || exit 0; for d in "
                 "one two; do "
                 "(cd \"$(pwd -P)/$d\" && %s %s -O1 -c %s) || exit; done; "
                 "cc one/one.o two/two.o -o a",
                 variants[i].compiler, variants[i].compiler, variants[i].options,
                 variants[i].source);
        fixture_run(&fixture, command);
        if (access(fixture_path(&fixture, "a"), F_OK))
            continue;
        struct naming naming = {.image = naming_image(fixture_path(&fixture, "a"))};
        uint64_t addresses[4];
        for (size_t k = 0; k < 4; k++) {
            char line[32];
            addresses[k] = naming_nm(&fixture, "a", functions[k]);
            snprintf(line, sizeof line, "%llx", (unsigned long long)addresses[k]);
            naming_add_lines(&naming, line);
        }
        naming_run(&naming, NULL, NULL);
        for (size_t k = 0; k < 4; k++) {
            const struct symbolize_function *function = naming_function(&naming, addresses[k]);
            char *path = fixture_output(&fixture, "pwd -P");
            char expected[512];
            snprintf(expected, sizeof expected, "%.*s%s", (int)strcspn(path, "\n"), path, files[k]);
            CU_ASSERT_PTR_NOT_NULL_FATAL(function->file);
            CU_ASSERT_STRING_EQUAL(function->file, expected);
            free(path);
        }
        naming_close(&naming);
    }
    fixture_close(&fixture);
}

/* More parts than a file's name can have are not resolved, each of which would take a look back. */
static void test_endless_names(void)
{
    enum { PARTS = 1 << 20 };
    char *directory = malloc(5 * (size_t)PARTS + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(directory);
    for (size_t i = 0; i < PARTS; i++) {
        memcpy(directory + 2 * i, "a/", 2);
        memcpy(directory + 2 * (size_t)PARTS + 3 * i, "../", 3);
    }
    directory[5 * (size_t)PARTS] = '\0';
    const char *directories[] = {"/root", "a/b/..", directory};
    struct dwarf_file files[] = {{"../x.h", 1}, {"x.h", 2}};
    const struct dwarf_line_table table = {.directories = {directories, 3, 3},
                                           .files = {files, 2, 2}};
    struct sprof_str short_name = {0}, long_name = {0};
    CU_ASSERT_TRUE(symbolize_dwarf_line_table_file(&table, 0, &short_name));
    CU_ASSERT_STRING_EQUAL(short_name.text, "/root/x.h");
    CU_ASSERT_TRUE(symbolize_dwarf_line_table_file(&table, 1, &long_name));
    CU_ASSERT_EQUAL(long_name.length, 5 * (size_t)PARTS + strlen("/x.h"));
    sprof_str_release(&short_name);
    sprof_str_release(&long_name);
    free(directory);
}

/* The last string of .debug_info is not ended, so the next section goes on with it: in the entry of
 * a function, or of its unit. The latter has no functions then. */
static void check_unended(const char *defines)
{
    static const char source[] = "    .globl _start\n"
                                 "    .type _start, @function\n"
                                 "_start:\n"
                                 "    nop\n"
                                 "    nop\n"
                                 "    .size _start, 2\n"
                                 "    .section .debug_abbrev, \"\", @progbits\n"
                                 "    .byte 1, 0x11, 1, 0x11, 1, 0x12, 6, 3, 8, 0, 0\n"
                                 "    .byte 2, 0x2e, 0, 0x11, 1, 0x12, 6, 0x6e, 8, 0, 0, 0\n"
                                 "    .section .debug_info, \"\", @progbits\n"
                                 "    .long 2f - 1f\n"
                                 "1:  .2byte 4\n"
                                 "    .long 0\n"
                                 "    .byte 8, 1\n"
                                 "    .quad _start\n"
                                 "    .long 2\n"
                                 ".ifdef FUNCTION\n"
                                 "    .asciz \"unit\"\n"
                                 "    .byte 2\n"
                                 "    .quad _start\n"
                                 "    .long 2\n"
                                 ".endif\n"
                                 "    .ascii \"_start\"\n"
                                 "2:\n";
    struct fixture fixture;
    char command[160];
    fixture_open(&fixture);
    fixture_text(&fixture, "a.s", source);
    snprintf(command, sizeof command,
             "cc %s -nostdlib -static a.s -o a; objcopy --redefine-sym _start=_start.7 a named;"
             "objcopy --strip-all --keep-section='.debug*' a bare",
             defines);
    fixture_run(&fixture, command);
    const uint64_t start = naming_nm(&fixture, "a", "_start");
    for (int is_bare = 0; is_bare < 2; is_bare++) {
        struct naming naming = {
            .image = naming_image(fixture_path(&fixture, is_bare ? "bare" : "named"))};
        CU_ASSERT_EQUAL(sprof_vec_push(&naming.addresses, start + 1), 0);
        naming_run(&naming, NULL, NULL);
        const char *name = naming_function(&naming, start + 1)->name;
        CU_ASSERT_PTR_NULL(strchr(name, 1));
        if (!is_bare)
            CU_ASSERT_STRING_EQUAL(name, "_start.7");
        naming_close(&naming);
    }
    fixture_close(&fixture);
}

static void test_unended_texts(void)
{
    check_unended("-Wa,--defsym,FUNCTION=1");
    check_unended("");
}

/* Two units have a function, of which the linker keeps the first copy; bfd gives its address to the
 * other one, too, whose lines are 40 and more. */
static void test_kept_copies(void)
{
    static const char *const commands[] = {
        "c++ -O2 -g 1.cc 2.cc -o a",
        "c++ -O2 -g -gsplit-dwarf 1.cc 2.cc -o a",
        "c++ -O2 -gdwarf-4 -gsplit-dwarf 1.cc 2.cc -o a",
        "clang++ -O2 -gdwarf-5 -gsplit-dwarf 1.cc 2.cc -o a",
        "clang++ -O2 -gmlt -gsplit-dwarf 1.cc 2.cc -o a",
    };
    static const char copy[] = "volatile int sink;\n"
                               "__attribute__((always_inline)) inline int in(int a)\n"
                               "{ return a * sink; }\n"
                               "__attribute__((noinline)) inline int copied(int a)\n"
                               "{\n"
                               "    return in(a) + in(sink);\n"
                               "}\n";
    struct fixture fixture;
    char text[1024];
    fixture_open(&fixture);
    snprintf(text, sizeof text, "#line 1\nextern %s\nint second(int);\n%s", copy,
             "int main(int c, char **) { return copied(c) + second(c); }\n");
    fixture_text(&fixture, "1.cc", text);
    snprintf(text, sizeof text, "#line 40\n%s\nint second(int a) { return copied(a); }\n", copy);
    fixture_text(&fixture, "2.cc", text);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        fixture_run(&fixture, commands[i]);
        const uint64_t start = naming_nm(&fixture, "a", "_Z6copiedi");
        struct naming naming = {.image = naming_image(fixture_path(&fixture, "a"))};
        for (uint64_t k = 0; k < 12; k++) /* fewer bytes than it has */
            CU_ASSERT_EQUAL(sprof_vec_push(&naming.addresses, start + k), 0);
        naming_run(&naming, NULL, NULL);
        CU_ASSERT_TRUE(naming.result.frame_count > naming.addresses.count);
        for (size_t k = 0; k < naming.result.frame_count; k++)
            CU_ASSERT_TRUE(naming.result.frames[k].line < 10);
        naming_close(&naming);
    }
    fixture_close(&fixture);
}

void sprof_suite_symbolize_units(void);
void sprof_suite_symbolize_units(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/units", NULL, NULL);
    CU_add_test(suite, "incomplete aranges", test_incomplete_aranges);
    CU_add_test(suite, "no aranges", test_no_aranges);
    CU_add_test(suite, "one range for two sections", test_one_range_for_two_sections);
    CU_add_test(suite, "a nested function", test_nested_function);
    CU_add_test(suite, "lines without functions", test_lines_without_functions);
    CU_add_test(suite, "numbers at offsets", test_numbers_at);
    CU_add_test(suite, "calls without ranges", test_calls_without_ranges);
    CU_add_test(suite, "relative names of files", test_relative_files);
    CU_add_test(suite, "endless names of files", test_endless_names);
    CU_add_test(suite, "texts without an end", test_unended_texts);
    CU_add_test(suite, "copies of which one is kept", test_kept_copies);
}
