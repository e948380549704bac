#include "tests/unit/symbolize/naming.h"

/* A function with a size, a gap, a function without one, a data mark, aliases of each rank. */
static const char assembler[] = "    .text\n"
                                "    .globl __first, first, first_long\n"
                                "    .weak weak_first\n"
                                "    .type __first, @function\n"
                                "    .type first, @function\n"
                                "    .type first_long, @function\n"
                                "    .type weak_first, @function\n"
                                "    .type fst, @function\n"
                                "__first:\n"
                                "first:\n"
                                "first_long:\n"
                                "weak_first:\n"
                                "fst:\n"
                                "    .skip 16, 0x90\n"
                                "    .size __first, 16\n"
                                "    .size first, 16\n"
                                "    .size first_long, 16\n"
                                "    .size weak_first, 16\n"
                                "    .size fst, 16\n"
                                "    .skip 16, 0xcc\n"
                                "    .type unsized, @function\n"
                                "    .globl unsized\n"
                                "unsized:\n"
                                "    .skip 16, 0x90\n"
                                "    .globl _start\n"
                                "    .type _start, @function\n"
                                "_start:\n"
                                "    .skip 32, 0x90\n"
                                "    .size _start, 32\n"
                                "    .globl inner\n"
                                "    .type inner, @function\n"
                                "    .set inner, _start + 8\n"
                                "    .size inner, 8\n"
                                "    .globl chosen, picked\n"
                                "    .type chosen, @gnu_indirect_function\n"
                                "    .type picked, @gnu_indirect_function\n"
                                "    .type resolve, @function\n"
                                "chosen:\n"
                                "resolve:\n"
                                "    .skip 16, 0x90\n"
                                "    .size chosen, 16\n"
                                "    .size resolve, 16\n"
                                "picked:\n"
                                "    .skip 16, 0x90\n"
                                "    .size picked, 16\n";

static void check_name(const struct naming *naming, uint64_t address, const char *name,
                       uint64_t start, uint64_t size)
{
    const struct symbolize_function *function = naming_function(naming, address);
    CU_ASSERT_TRUE(function->named);
    CU_ASSERT_STRING_EQUAL(function->name, name);
    CU_ASSERT_STRING_EQUAL(function->linkage_name, name);
    CU_ASSERT_EQUAL(function->start, start);
    CU_ASSERT_EQUAL(function->size, size);
}

static bool second_function(void *context, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
    const uint64_t *known = context;
    *start = known[0];
    *end = known[1];
    return vaddr >= *start && vaddr < *end;
}

static void test_sizes_gaps_and_aliases(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "a.s", assembler);
    fixture_run(&fixture, "cc -nostdlib -static -no-pie a.s -o a");
    const uint64_t first = naming_nm(&fixture, "a", "__first");
    const uint64_t gap = first + 16, unsized = first + 32, start = first + 48;
    const uint64_t addresses[] = {first, first + 15, gap,        gap + 15,   unsized,   unsized + 9,
                                  start, start + 8,  start + 16, start + 32, start + 48};
    struct naming naming = {.image = naming_image(fixture_path(&fixture, "a"))};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
        CU_ASSERT_EQUAL(sprof_vec_push(&naming.addresses, addresses[i]), 0);
    naming_run(&naming, NULL, NULL);
    check_name(&naming, first, "first", first, 16);
    check_name(&naming, first + 15, "first", first, 16);
    CU_ASSERT_FALSE(naming_function(&naming, gap)->named);
    CU_ASSERT_FALSE(naming_function(&naming, gap + 15)->named);
    check_name(&naming, unsized, "unsized", unsized, 16);
    check_name(&naming, unsized + 9, "unsized", unsized, 16);
    check_name(&naming, start, "_start", start, 32);
    check_name(&naming, start + 8, "inner", start + 8, 8);
    check_name(&naming, start + 16, "_start", start, 32);
    check_name(&naming, start + 32, "resolve", start + 32, 16);
    check_name(&naming, start + 48, "picked", start + 48, 16);
    symbolize_result_release(&naming.result);

    /* Unwind tables that know a function inside end the one that has no size. */
    uint64_t known[] = {unsized + 8, unsized + 16};
    const struct symbolize_bounds bounds = {second_function, known};
    naming_run(&naming, &bounds, NULL);
    check_name(&naming, unsized, "unsized", unsized, 16);
    const struct symbolize_function *inside = naming_function(&naming, unsized + 9);
    CU_ASSERT_FALSE(inside->named);
    CU_ASSERT_EQUAL(inside->start, unsized + 8);
    CU_ASSERT_EQUAL(inside->size, 8);
    naming_close(&naming);
    fixture_close(&fixture);
}

/* One exported name of the machine's libc per line: "ADDRESS SIZE NAME". */
static const char *take_symbol(const char *text, uint64_t *address, char *name, size_t size)
{
    char *end;
    *address = strtoull(text, &end, 16);
    strtoull(end, &end, 16);
    while (*end == ' ')
        end++;
    const size_t length = strcspn(end, "\n");
    snprintf(name, size, "%.*s", (int)length, end);
    return end[length] ? end + length + 1 : end + length;
}

static const char libc_symbols[] =
    "nm -D -S --defined-only %s | awk 'NF == 4 && $3 ~ /[TW]/ && $2 !~ /^0+$/ "
    "{sub(/@.*/, \"\", $4); print $1, $2, $4}'";

static void libc_path(const struct fixture *fixture, char *path, size_t size)
{
    char *output = fixture_output(fixture, "cc -print-file-name=libc.so.6");
    output[strcspn(output, "\n")] = '\0';
    snprintf(path, size, "%s", output);
    free(output);
}

/* Each start gets one of the names that nm lists there. */
static void test_libc_matches_nm(void)
{
    struct fixture fixture;
    char path[512], command[1024];
    fixture_open(&fixture);
    libc_path(&fixture, path, sizeof path);
    snprintf(command, sizeof command, libc_symbols, path);
    char *text = fixture_output(&fixture, command);
    struct naming naming = {.image = naming_image(path)};
    naming_add_lines(&naming, text);
    CU_ASSERT_TRUE(naming.addresses.count > 1000);
    /* No debug file: the names are those of .dynsym. */
    naming_run(&naming, NULL, fixture.directory);
    bool *seen = calloc(naming.addresses.count, sizeof *seen);
    for (const char *line = text; *line;) {
        uint64_t address;
        char name[256];
        line = take_symbol(line, &address, name, sizeof name);
        const uint64_t *place = bsearch(&address, naming.addresses.items, naming.addresses.count,
                                        sizeof address, naming_compare);
        if (!strcmp(naming_function(&naming, address)->linkage_name, name))
            seen[place - naming.addresses.items] = true;
    }
    for (size_t i = 0; i < naming.addresses.count; i++)
        CU_ASSERT_TRUE(seen[i]);
    free(seen);
    free(text);
    naming_close(&naming);
    fixture_close(&fixture);
}

void sprof_suite_symbolize_symbols(void);
void sprof_suite_symbolize_symbols(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/symbols", NULL, NULL);
    CU_add_test(suite, "sizes, gaps and aliases", test_sizes_gaps_and_aliases);
    CU_add_test(suite, "libc matches nm", test_libc_matches_nm);
}
