/* Functions that the linker dropped: their debug information stays, at an address that is not
 * theirs, and must not name the code that is there. */
#include "tests/unit/skip.h"
#include "tests/unit/symbolize/naming.h"

/* One that is dropped, longer than the code that stays, with inlined calls and lines of its own. */
static void write_sources(struct fixture *directory)
{
    struct sprof_str text = {0};
    sprof_str_append(&text,
                     "static inline __attribute__((always_inline)) int dropped_inline(int a)\n"
                     "{ return a * 31 + 7; }\n"
                     "int dropped(int x, unsigned char *s) { int r = x;\n");
    for (int i = 0; i < 250; i++)
        sprof_str_appendf(&text,
                          " if (s[%d] == %d) r = dropped_inline(r + %d); else r ^= s[%d] * %d;\n",
                          i, i, i, i + 1, i + 3);
    sprof_str_append(
        &text, " return r; }\n"
               "int dropped_too(int x, unsigned char *s) { return dropped(x, s) + s[3] * x; }\n");
    CU_ASSERT_FALSE_FATAL(text.failed);
    fixture_text(directory, "dropped.inc", text.text);
    sprof_str_release(&text);
    fixture_text(directory, "lib.c",
                 "__attribute__((noinline)) int kept(int a)\n"
                 "{\n"
                 "    return a * 3;\n"
                 "}\n"
                 "#include \"dropped.inc\"\n");
    fixture_text(directory, "first.c",
                 "#define dropped first_dropped\n"
                 "#define dropped_too first_dropped_too\n"
                 "#include \"dropped.inc\"\n");
    fixture_text(directory, "main.c",
                 "int kept(int a);\n"
                 "volatile int sink;\n"
                 "static inline __attribute__((always_inline)) void step(int a)\n"
                 "{\n"
                 "    sink += a;\n"
                 "}\n"
                 "__attribute__((noinline)) int hot(int n)\n"
                 "{\n"
                 "    for (int i = 0; i < n; i++)\n"
                 "        step(i);\n"
                 "    return kept(n) + sink;\n"
                 "}\n"
                 "__attribute__((noinline)) int main(int c, char **v)\n"
                 "{\n"
                 "    (void)v;\n"
                 "    return hot(c) == 0;\n"
                 "}\n"
                 "void _start(void)\n"
                 "{\n"
                 "    main(1, 0);\n"
                 "    for (;;)\n"
                 "        ;\n"
                 "}\n");
    fixture_text(directory, "zero.ld",
                 "ENTRY(_start) SECTIONS { . = 0; .text : { *(.text.hot) *(.text*) } "
                 ". = 0x100000; .data : { *(.data*) *(.bss*) *(.got*) } }\n");
}

/* What stays, and where it stands. */
static const struct {
    const char *name, *file;
    uint32_t first, last;
} kept[] = {{"hot", "main.c", 3, 12}, {"main", "main.c", 13, 17}, {"kept", "lib.c", 1, 4}};

/* Line 0 is what clang gives to code of no line. */
static void check_frames(const struct naming *naming, size_t address, size_t which,
                         const char *options)
{
    const struct symbolize_result *result = &naming->result;
    for (uint32_t i = result->first[address]; i < result->first[address + 1]; i++) {
        const struct symbolize_frame *frame = &result->frames[i];
        const char *slash = frame->file ? strrchr(frame->file, '/') : NULL;
        const char *file = slash ? slash + 1 : frame->file ? frame->file : "none";
        const char *name = result->functions[frame->function].name;
        const bool right = !strcmp(file, kept[which].file) && frame->line <= kept[which].last &&
                           (frame->line >= kept[which].first || !frame->line) &&
                           !strstr(name, "dropped");
        CU_ASSERT_TRUE(right);
        if (!right) {
            fprintf(stderr, "%s: %s at %llx is %s, %s:%u\n", options, kept[which].name,
                    (unsigned long long)naming->addresses.items[address], name, file, frame->line);
            return;
        }
    }
}

/* Where a function begins, and its size: of lines as nm -S prints them. */
static uint64_t find_symbol(const char *symbols, const char *name, uint64_t *size)
{
    char type, found[64];
    unsigned long long start, bytes;
    for (const char *line = symbols; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (sscanf(line, "%llx %llx %c %63s", &start, &bytes, &type, found) == 4 &&
            !strcmp(found, name)) {
            *size = bytes;
            return start;
        }
    }
    *size = 0;
    return 0;
}

/* All addresses of what stays. */
static void check(struct fixture *directory, const char *options)
{
    char *symbols = fixture_output(directory, "nm -S program");
    for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
        struct naming naming = {.image = naming_image(fixture_path(directory, "program"))};
        uint64_t size;
        const uint64_t start = find_symbol(symbols, kept[k].name, &size);
        CU_ASSERT_TRUE_FATAL(size > 0 && size < 1000);
        for (uint64_t i = 0; i < size; i++)
            CU_ASSERT_EQUAL(sprof_vec_push(&naming.addresses, start + i), 0);
        naming_run(&naming, NULL, NULL);
        for (size_t i = 0; i < naming.addresses.count; i++)
            check_frames(&naming, i, k, options);
        naming_close(&naming);
    }
    free(symbols);
}

/* Compiled once: what linkers write for a dropped function differs by where it is referred to. */
static const struct {
    const char *name, *command;
} objects[] = {
    {"gcc4", "gcc -gdwarf-4 -ffunction-sections"},
    {"gcc5", "gcc -gdwarf-5 -ffunction-sections"},
    {"clang4", "clang -gdwarf-4 -ffunction-sections"},
    {"clang5", "clang -gdwarf-5 -ffunction-sections"},
    {"plain", "gcc -gdwarf-5"},
};
static struct fixture fixture;

static void compile_once(void)
{
    if (fixture.directory[0])
        return;
    fixture_open(&fixture);
    write_sources(&fixture);
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        char command[256];
        snprintf(command, sizeof command,
                 "mkdir %s && cd %s && %s -O1 -fPIC -fvisibility=hidden -c ../*.c", objects[i].name,
                 objects[i].name, objects[i].command);
        fixture_run(&fixture, command);
    }
}

static int remove_all(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", fixture.directory);
    return fixture.directory[0] ? system(command) : 0;
}

/* By the linker itself: a compiler that calls it takes longer to start than the linker to link. */
static void check_link(const char *objects_name, const char *linker, const char *options)
{
    char command[512], what[384];
    compile_once();
    snprintf(what, sizeof what, "%s ld.%s %s", objects_name, linker, options);
    snprintf(command, sizeof command,
             "ld.%s --eh-frame-hdr -e _start --gc-sections %s %s/first.o %s/main.o %s/lib.o -o "
             "program",
             linker, options, objects_name, objects_name, objects_name);
    fixture_run(&fixture, command);
    check(&fixture, what);
}

static void check_linker(const char *linker, bool scripts)
{
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        check_link(objects[i].name, linker, i % 2 ? "-shared" : "-pie");
    for (size_t i = 0; i < sizeof objects / sizeof *objects && scripts; i++)
        check_link(objects[i].name, linker, "-static -T zero.ld");
}

static void test_bfd(void)
{
    check_linker("bfd", true);
}

static void test_gold(void)
{
    check_linker("gold", true);
}

static void test_lld(void)
{
    check_linker("lld", true);
}

static void test_mold(void)
{
    if (system("command -v ld.mold >/dev/null") != 0)
        sprof_test_skip("mold is not installed");
    else
        check_linker("mold", false);
}

/* lld writes what it is told to, as it does for some sections by itself. */
static void test_other_marks(void)
{
    static const char *const marks[] = {"0xffffffffffffffff", "0xfffffffffffffffe", "0xffffffff",
                                        "1"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        char options[256];
        snprintf(options, sizeof options, "-pie -z dead-reloc-in-nonalloc='.debug_*=%s'", marks[i]);
        check_link("clang4", "lld", options);
        check_link("clang5", "lld", options);
    }
}

void sprof_suite_symbolize_dropped(void);
void sprof_suite_symbolize_dropped(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/dropped", NULL, remove_all);
    CU_add_test(suite, "bfd", test_bfd);
    CU_add_test(suite, "gold", test_gold);
    CU_add_test(suite, "lld", test_lld);
    CU_add_test(suite, "mold", test_mold);
    CU_add_test(suite, "other marks", test_other_marks);
}
