#include "tests/unit/symbolize/naming.h"

/* Two levels of inlining, a recursion, a loop, a cold part, functions in every usual scope. */
static const char program[] =
    "#include <stdlib.h>\n"
    "volatile int sink;\n"
    "static inline __attribute__((always_inline)) int leaf(int a)\n"
    "{\n"
    "    sink = a;\n"
    "    return a * sink;\n"
    "}\n"
    "static inline __attribute__((always_inline)) int middle(int a)\n"
    "{\n"
    "    int sum = 0;\n"
    "    for (int i = 0; i < a; i++) {\n"
    "        int twice = leaf(i) + sink;\n"
    "        sum += twice + leaf(twice);\n"
    "    }\n"
    "    return sum;\n"
    "}\n"
    "namespace space {\n"
    "struct Shape {\n"
    "    int size;\n"
    "    explicit Shape(int a);\n"
    "    __attribute__((noinline)) int area(int factor) const\n"
    "    {\n"
    "        return middle(size) * factor;\n"
    "    }\n"
    "};\n"
    "__attribute__((noinline)) Shape::Shape(int a) : size(leaf(a)) {}\n"
    "struct Less {\n"
    "    bool operator()(int a, int b) const { return leaf(a) < b; }\n"
    "};\n"
    "}\n"
    "template <typename T> __attribute__((noinline)) T twice(T a)\n"
    "{\n"
    "    return a + leaf(sink);\n"
    "}\n"
    "__attribute__((noinline)) int outer(int a)\n"
    "{\n"
    "    if (a < 0)\n"
    "        abort();\n"
    "    return middle(a) + leaf(a);\n"
    "}\n"
    "int main(int argc, char **)\n"
    "{\n"
    "    int numbers[64];\n"
    "    for (int i = 0; i < 64; i++)\n"
    "        numbers[i] = leaf(i * argc);\n"
    "    for (int i = 1; i < 64; i++)\n"
    "        if (space::Less()(numbers[i], numbers[i - 1]))\n"
    "            numbers[0] += twice(numbers[i]);\n"
    "    return outer(numbers[0]) + space::Shape(argc).area(3) + twice(argc);\n"
    "}\n";

static void fixture_program(struct fixture *fixture, const char *options, const char *file)
{
    char command[256];
    fixture_text(fixture, "a.cpp", program);
    snprintf(command, sizeof command, "c++ -O2 -g %s a.cpp -o %s", options, file);
    fixture_run(fixture, command);
}

static void take_line(const char **text, char *line, size_t size)
{
    const size_t length = strcspn(*text, "\n");
    snprintf(line, size, "%.*s", (int)length, *text);
    *text += length + ((*text)[length] == '\n');
}

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "??";
}

/* Two tools tell what is expected, for each address its number and then every level: elfutils the
 * functions, "name[ inlined at …]" and a line with the place; binutils, whose DWARF reader is its
 * own, the places, "file:line[ (discriminator n)]". */
struct expected {
    const char *functions, *places; /* NULL: that tool cannot read the fixture */
};

/* Of a function without linkage name elfutils prints the entry's name alone: "leaf" is
 * "(anonymous namespace)::leaf(int)", and "both<long int>" is "both<long>(long)". */
static bool is_made_of(const char *name, const char *entry)
{
    const size_t length = strcspn(entry, "<");
    for (const char *at = strstr(name, entry); at; at = strstr(at + 1, entry))
        if ((at == name || at[-1] == ':') && (at[length] == '(' || at[length] == '<'))
            return true;
    char base[256];
    snprintf(base, sizeof base, "%.*s", (int)length, entry);
    return entry[length] && length < sizeof base && is_made_of(name, base);
}

/* Compared as people read them: constructors have several symbols, split-off parts a suffix. */
static bool same_function(const char *name, struct expected *expected)
{
    char line[2048], place[1024];
    if (!expected->functions)
        return true;
    take_line(&expected->functions, line, sizeof line);
    take_line(&expected->functions, place, sizeof place);
    char *inlined = strstr(line, " inlined at ");
    if (inlined)
        *inlined = '\0';
    char *demangled = symbolize_demangle(line);
    const char *wanted = demangled ? demangled : line;
    const size_t length = strlen(wanted);
    const bool same = (!strncmp(name, wanted, length) && (!name[length] || name[length] == '.' ||
                                                          !strncmp(name + length, " [", 2))) ||
                      (!demangled && is_made_of(name, wanted));
    free(demangled);
    return same;
}

static bool same_place(const struct symbolize_frame *frame, struct expected *expected)
{
    char line[1024];
    if (!expected->places)
        return true;
    take_line(&expected->places, line, sizeof line);
    char *colon = strrchr(line, ':');
    CU_ASSERT_PTR_NOT_NULL_FATAL(colon);
    *colon = '\0';
    return !strcmp(base_name(frame->file), base_name(line)) &&
           frame->line == strtoul(colon + 1, NULL, 10);
}

static bool is_at_address(const char *text)
{
    return !text || !*text || !strncmp(text, "0x", 2);
}

static void skip_to_address(const char **text)
{
    char line[2048];
    while (!is_at_address(*text))
        take_line(text, line, sizeof line);
}

static void take_address(const char **text, uint64_t address)
{
    char line[64];
    if (!*text)
        return;
    take_line(text, line, sizeof line);
    CU_ASSERT_EQUAL_FATAL(strtoull(line, NULL, 16), address);
}

/* Compares one address; returns how many levels were inlined. */
static unsigned compare_chain(const struct naming *naming, size_t i, struct expected *expected)
{
    const struct symbolize_result *result = &naming->result;
    const uint64_t address = naming->addresses.items[i];
    take_address(&expected->functions, address);
    take_address(&expected->places, address);
    const uint32_t first = result->first[i], end = result->first[i + 1];
    if (!result->frames[first].file || !result->functions[result->frames[end - 1].function].named) {
        /* start-up code, padding */
        skip_to_address(&expected->functions);
        skip_to_address(&expected->places);
        return 0;
    }
    for (uint32_t f = first; f < end; f++) {
        const struct symbolize_frame *frame = &result->frames[f];
        const char *name = result->functions[frame->function].name;
        const bool same_name = same_function(name, expected);
        const bool same = same_place(frame, expected) && same_name;
        CU_ASSERT_TRUE(same);
        if (!same)
            fprintf(stderr, "%llx: level %u is %s at %s:%u\n", (unsigned long long)address,
                    f - first, name, frame->file, frame->line);
    }
    CU_ASSERT_TRUE(is_at_address(expected->functions));
    CU_ASSERT_TRUE(is_at_address(expected->places));
    return end - first - 1;
}

/* Every instruction. */
static void compare_with_addr2line(struct fixture *fixture, const char *file, bool has_functions,
                                   bool has_places)
{
    static const char list[] =
        "objdump -d -j .text --no-show-raw-insn %s | sed -n 's/^ *\\([0-9a-f]*\\):.*/0x\\1/p'";
    struct naming naming = {.image = naming_image(fixture_path(fixture, file))};
    char command[512], instructions[256];
    snprintf(instructions, sizeof instructions, list, file);
    char *text = fixture_output(fixture, instructions);
    naming_add_lines(&naming, text);
    free(text);
    CU_ASSERT_TRUE(naming.addresses.count > 100);
    naming_run(&naming, NULL, NULL);
    snprintf(command, sizeof command, "%s | eu-addr2line -a -f -i -e %s", instructions, file);
    char *functions = fixture_output(fixture, command);
    snprintf(command, sizeof command, "%s | addr2line -a -i -e %s", instructions, file);
    char *places = fixture_output(fixture, command);
    struct expected expected = {has_functions ? functions : NULL, has_places ? places : NULL};
    unsigned inlined = 0;
    for (size_t i = 0; i < naming.addresses.count; i++)
        inlined += compare_chain(&naming, i, &expected);
    CU_ASSERT_TRUE(inlined > 50);
    free(functions);
    free(places);
    naming_close(&naming);
}

static void test_chains_match_addr2line(void)
{
    static const struct {
        const char *options;
        bool elfutils, binutils;
    } variants[] = {
        {"-gdwarf-5", true, true},
        {"-gdwarf-4 -gno-column-info", true, true},
        {"-gdwarf-5 -no-pie -Wl,-z,noseparate-code", true, true},
        {"-gdwarf-5 -gz=zlib -ffunction-sections", true, true},
        {"-gdwarf-5 -gdwarf64", true, false}, /* binutils 2.40 reads 64-bit .debug_line_str as 32 */
        {"-gdwarf-4 -gdwarf64", true, true},
        {"wide.o", true, false},          /* linked first; as above */
        {"-gdwarf-4 -flto", false, true}, /* elfutils misses origins in other units */
    };
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_run(&fixture, "echo 'int wide(int a) { return a + 1; }' > wide.c; "
                          "cc -g -gdwarf64 -O2 -c wide.c");
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        fixture_program(&fixture, variants[i].options, "a");
        compare_with_addr2line(&fixture, "a", variants[i].elfutils, variants[i].binutils);
    }
    fixture_close(&fixture);
}

static void compare_results(const struct symbolize_result *left,
                            const struct symbolize_result *right)
{
    CU_ASSERT_EQUAL_FATAL(left->frame_count, right->frame_count);
    CU_ASSERT_EQUAL_FATAL(left->address_count, right->address_count);
    CU_ASSERT_EQUAL(memcmp(left->first, right->first, left->address_count * sizeof *left->first),
                    0);
    for (size_t i = 0; i < left->frame_count; i++) {
        const struct symbolize_frame *a = &left->frames[i], *b = &right->frames[i];
        CU_ASSERT_STRING_EQUAL(base_name(a->file), base_name(b->file));
        CU_ASSERT_EQUAL(a->line, b->line);
        const struct symbolize_function *f = &left->functions[a->function];
        const struct symbolize_function *g = &right->functions[b->function];
        CU_ASSERT_EQUAL(f->start, g->start);
        CU_ASSERT_EQUAL(f->line, g->line);
        CU_ASSERT_TRUE(!f->named || !strcmp(f->name, g->name));
    }
}

/* The same code with its debug information in .dwo files: neither tool finds inlined calls there.
 */
static void test_split_units_say_the_same(void)
{
    static const char *const options[] = {"-gdwarf-4", "-gdwarf-5"};
    struct fixture fixture;
    fixture_open(&fixture);
    for (size_t i = 0; i < 2; i++) {
        char split_options[64];
        snprintf(split_options, sizeof split_options, "%s -gsplit-dwarf", options[i]);
        fixture_program(&fixture, options[i], "whole");
        fixture_program(&fixture, split_options, "split");
        struct naming whole = {.image = naming_image(fixture_path(&fixture, "whole"))};
        struct naming split = {.image = naming_image(fixture_path(&fixture, "split"))};
        naming_add_instructions(&whole, &fixture, "whole");
        naming_add_instructions(&split, &fixture, "split");
        naming_run(&whole, NULL, NULL);
        naming_run(&split, NULL, NULL);
        CU_ASSERT_TRUE(whole.result.frame_count > whole.result.address_count + 50);
        compare_results(&whole.result, &split.result);
        naming_close(&whole);
        naming_close(&split);
    }
    fixture_close(&fixture);
}

static void test_names_are_what_people_write(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_program(&fixture, "", "a");
    struct naming naming = {.image = naming_image(fixture_path(&fixture, "a"))};
    naming_add_instructions(&naming, &fixture, "a");
    naming_run(&naming, NULL, NULL);
    const struct symbolize_function *shape =
        naming_function(&naming, naming_nm(&fixture, "a", "_ZN5space5ShapeC1Ei"));
    CU_ASSERT_STRING_EQUAL(shape->name, "space::Shape::Shape(int)");
    CU_ASSERT_STRING_EQUAL(shape->linkage_name, "_ZN5space5ShapeC1Ei");
    CU_ASSERT_STRING_EQUAL(base_name(shape->file), "a.cpp");
    CU_ASSERT_EQUAL(shape->line, 26);
    CU_ASSERT_TRUE(shape->named);
    const struct symbolize_function *twice =
        naming_function(&naming, naming_nm(&fixture, "a", "_Z5twiceIiET_S0_"));
    CU_ASSERT_STRING_EQUAL(twice->name, "twice<int>(int)");
    bool saw_leaf = false;
    for (size_t i = 0; i < naming.result.function_count; i++) {
        const struct symbolize_function *function = &naming.result.functions[i];
        if (strcmp(function->name, "leaf(int)") != 0)
            continue;
        CU_ASSERT_FALSE(saw_leaf); /* one row, however often it was inlined */
        saw_leaf = true;
        CU_ASSERT_EQUAL(function->start, 0);
        CU_ASSERT_EQUAL(function->size, 0);
        CU_ASSERT_EQUAL(function->line, 3);
    }
    CU_ASSERT_TRUE(saw_leaf);
    naming_close(&naming);
    fixture_close(&fixture);
}

/* Names and lines of "outer", found or not found through a separate debug file. */
static void check_outer(struct fixture *fixture, const char *file, uint64_t address, bool has_name,
                        bool has_line)
{
    struct naming naming = {.image = naming_image(fixture_path(fixture, file))};
    CU_ASSERT_EQUAL(sprof_vec_push(&naming.addresses, address + 1), 0);
    naming_run(&naming, NULL, fixture->directory);
    const struct symbolize_function *function = naming_function(&naming, address + 1);
    CU_ASSERT_EQUAL(function->named, has_name);
    if (has_name) {
        CU_ASSERT_STRING_EQUAL(function->name, "outer(int)");
        CU_ASSERT_EQUAL(function->start, address);
    } else {
        char name[64];
        snprintf(name, sizeof name, "%s+0x%llx", file, (unsigned long long)address + 1);
        CU_ASSERT_STRING_EQUAL(function->name, name);
    }
    CU_ASSERT_EQUAL(function->line, has_line ? 35 : 0);
    naming_close(&naming);
}

static void test_separate_debug_files(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_program(&fixture, "-Wl,--build-id=0xabcdef01", "a");
    const uint64_t outer = naming_nm(&fixture, "a", "_Z5outeri");
    fixture_run(
        &fixture,
        "objcopy --only-keep-debug a a.debug; strip -o stripped a;"
        "objcopy --remove-section=.note.gnu.build-id --add-gnu-debuglink=a.debug stripped l;"
        "nm a | awk '$2 ~ /[tT]/ {print $3}' >keep;"
        "objcopy -S --keep-symbols=keep a mini; objcopy -S --remove-section .gnu_debuglink "
        "--keep-symbols=keep a.debug mini.debug; rm -f mini.debug.xz; xz mini.debug;"
        "objcopy --add-section .gnu_debugdata=mini.debug.xz stripped m");
    check_outer(&fixture, "a", outer, true, true);
    check_outer(&fixture, "stripped", outer, false, false);
    check_outer(&fixture, "l", outer, true, true);
    check_outer(&fixture, "m", outer, true, false);
    fixture_run(&fixture, "mkdir -p .build-id/ab; cp a.debug .build-id/ab/cdef01.debug");
    check_outer(&fixture, "stripped", outer, true, true);
    fixture_close(&fixture);
}

static bool four_kilobytes(void *context, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
    (void)context;
    *start = vaddr & ~UINT64_C(0xfff);
    *end = *start + 0x1000;
    return vaddr != 0x7fff;
}

static void test_unnamed_addresses_share_their_bounds(void)
{
    const struct symbolize_bounds bounds = {four_kilobytes, NULL};
    const uint64_t addresses[] = {0x5010, 0x5020, 0x6000, 0x7fff};
    struct symbolize_result result;
    CU_ASSERT_EQUAL(
        symbolize_without_image(&result, "/usr/lib/libx.so.1", addresses, 4, &bounds, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(result.function_count, 3);
    CU_ASSERT_EQUAL_FATAL(result.frame_count, 4);
    CU_ASSERT_STRING_EQUAL(result.functions[0].name, "libx.so.1+0x5000");
    CU_ASSERT_STRING_EQUAL(result.functions[0].linkage_name, "libx.so.1+0x5000");
    CU_ASSERT_EQUAL(result.functions[0].size, 0x1000);
    CU_ASSERT_EQUAL(result.frames[1].function, 0);
    CU_ASSERT_STRING_EQUAL(result.functions[2].name, "libx.so.1+0x7fff");
    CU_ASSERT_FALSE(result.functions[0].named);
    symbolize_result_release(&result);
    CU_ASSERT_EQUAL(symbolize_without_image(&result, "x", addresses, 0, NULL, NULL), 0);
    CU_ASSERT_EQUAL(result.address_count, 0);
    symbolize_result_release(&result);
}

static void test_missing_split_unit(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_program(&fixture, "-gdwarf-5 -gsplit-dwarf", "a");
    const uint64_t outer = naming_nm(&fixture, "a", "_Z5outeri");
    fixture_run(&fixture, "rm -f *.dwo");
    check_outer(&fixture, "a", outer, true, false);
    fixture_run(&fixture, "for name in $(strings -a a | grep '[.]dwo$'); do mkfifo ./$name; done");
    check_outer(&fixture, "a", outer, true, false);
    fixture_close(&fixture);
}

static void test_vdso_from_memory(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(maps);
    char line[512];
    unsigned long start = 0, end = 0;
    while (fgets(line, sizeof line, maps) && !end)
        if (strstr(line, "[vdso]"))
            sscanf(line, "%lx-%lx", &start, &end);
    fclose(maps);
    CU_ASSERT_NOT_EQUAL_FATAL(end, 0);
    static const char *const names[] = {"__vdso_clock_gettime", NULL};
    struct image_symbol symbol;
    struct naming naming = {0};
    const struct sprof_bytes bytes = {(const uint8_t *)start, end - start};
    CU_ASSERT_EQUAL_FATAL(image_open_memory(&naming.image, "[vdso]", bytes, NULL), 0);
    image_find_symbols(naming.image, names, &symbol);
    CU_ASSERT_NOT_EQUAL_FATAL(symbol.vaddr, 0);
    CU_ASSERT_EQUAL(sprof_vec_push(&naming.addresses, symbol.vaddr), 0);
    naming_run(&naming, NULL, NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(naming_function(&naming, symbol.vaddr)->name, "clock_gettime"));
    naming_close(&naming);
}

/* Whatever comes out, every index must be valid. */
static void use(const struct naming *naming)
{
    const struct symbolize_result *result = &naming->result;
    for (size_t i = 0; i < result->address_count; i++) {
        CU_ASSERT_TRUE_FATAL(result->first[i] < result->first[i + 1]);
        CU_ASSERT_TRUE_FATAL(result->first[i + 1] <= result->frame_count);
    }
    for (size_t i = 0; i < result->frame_count; i++)
        CU_ASSERT_TRUE_FATAL(result->frames[i].function < result->function_count);
    for (size_t i = 0; i < result->function_count; i++) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(result->functions[i].name);
        CU_ASSERT_PTR_NOT_NULL_FATAL(result->functions[i].linkage_name);
    }
}

static unsigned name_damaged(struct fixture *fixture, struct naming *naming, const uint8_t *data,
                             size_t size, bool as_file)
{
    struct image *image = NULL;
    fixture_write(fixture, "damaged", data, size);
    const struct image_request request = {.file.path = fixture_path(fixture, "damaged")};
    const struct sprof_bytes bytes = {data, size};
    const int code = as_file ? image_open(&image, &request, NULL)
                             : image_open_memory(&image, "damaged", bytes, NULL);
    if (code)
        return 0;
    naming->image = image;
    naming_run(naming, NULL, NULL);
    use(naming);
    symbolize_result_release(&naming->result);
    image_free(image);
    naming->image = NULL;
    return 1;
}

/* Flips fall anywhere but on the first 64 bytes, so that most copies are let in. */
static void test_damage_never_crashes(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    struct naming naming = {0};
    fixture_program(&fixture, "-gdwarf-5", "a");
    naming_add_instructions(&naming, &fixture, "a");
    const struct sprof_bytes whole = fixture_read(&fixture, "a");
    uint8_t *copy = malloc(whole.size);
    unsigned opened = 0;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        uint64_t state = seed;
        memcpy(copy, whole.data, whole.size);
        for (int flips = 0; flips < 20; flips++) {
            const uint64_t random = fixture_random(&state);
            copy[64 + (random >> 8) % (whole.size - 64)] ^= (uint8_t)(1U << (random & 7));
        }
        opened += name_damaged(&fixture, &naming, copy, whole.size, seed & 1);
    }
    CU_ASSERT_TRUE(opened > 60);
    for (size_t i = 1; i < 20; i++)
        name_damaged(&fixture, &naming, whole.data, whole.size * i / 20, i & 1);
    free(copy);
    free((void *)whole.data);
    naming_close(&naming);
    fixture_close(&fixture);
}

void sprof_suite_symbolize_image(void);
void sprof_suite_symbolize_image(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/image", NULL, NULL);
    CU_add_test(suite, "chains match addr2line", test_chains_match_addr2line);
    CU_add_test(suite, "split units say the same", test_split_units_say_the_same);
    CU_add_test(suite, "names are what people write", test_names_are_what_people_write);
    CU_add_test(suite, "separate debug files", test_separate_debug_files);
    CU_add_test(suite, "unnamed addresses", test_unnamed_addresses_share_their_bounds);
    CU_add_test(suite, "a missing split unit", test_missing_split_unit);
    CU_add_test(suite, "the vdso from memory", test_vdso_from_memory);
    CU_add_test(suite, "damage never crashes", test_damage_never_crashes);
}
