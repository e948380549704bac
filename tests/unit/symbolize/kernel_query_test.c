#include "tests/unit/image/fixture.h"
#include "tests/unit/skip.h"
#include "tests/unit/symbolize/kernel_check.h"

#include <inttypes.h>

static void test_answers_are_taken_apart(void)
{
    static const uint64_t address = 0xffffffff81000123;
    static const struct {
        const char *text;
        struct kernel_symbol symbol; /* without a name: no symbol */
    } expected[] = {
        {"do_idle+0x23/0x100", {0xffffffff81000100, 0x100, "do_idle", NULL}},
        {"do_idle+0x0/0x1", {0xffffffff81000123, 1, "do_idle", NULL}},
        {"hook+0x123/0xfff [nf_tables]", {0xffffffff81000000, 0xfff, "hook", "nf_tables"}},
        {"a+b [x]+0x3/0x4 [m]", {0xffffffff81000120, 4, "a+b [x]", "m"}},
        {"hole+0x23/0x900000", {0xffffffff81000100, 1 << 20, "hole", NULL}},
        {"far+0x100000/0x900000", {0}},
        {"0xffffffff81000123", {0}},
        {"", {0}},
        {"+0x23/0x100", {0}},
        {"do_idle", {0}},
        {"do_idle+23/0x100", {0}},
        {"do_idle+0x23", {0}},
        {"do_idle+0x23/100", {0}},
        {"do_idle+0x100/0x100", {0}},
        {"do_idle+0x23/0x100 [", {0}},
        {"do_idle+0x23/0x100 [m] more", {0}},
        {"do_idle+0x23/0x100 []", {0}},
        {"do_idle+0x23/0x10000000000000000", {0}},
        {"wraps+0xffffffff81000124/0xffffffffffffffff", {0}},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct kernel_symbol got = {0};
        char text[64];
        snprintf(text, sizeof text, "%s", expected[i].text);
        const bool found = symbolize_kernel_query_parse(text, address, &got);
        kernel_check(found, &got, &expected[i].symbol);
    }
}

struct line {
    uint64_t address;
    char name[600];
};

/* The next line of the listing with an address in the kernel's half. */
static bool read_line(FILE *listing, struct line *line)
{
    while (fscanf(listing, "%" SCNx64 " %*c %599s%*[^\n]", &line->address, line->name) == 2)
        if (line->address >> 63)
            return true;
    return false;
}

/* Whether the kernel says of the address that the function `line` is there, up to `end`. */
static bool agrees(struct kernel_query *query, uint64_t address, const struct line *line,
                   uint64_t end)
{
    struct kernel_symbol symbol;
    return symbolize_kernel_query_find(query, address, &symbol) && symbol.start == line->address &&
           symbol.size == end - line->address && strcmp(symbol.name, line->name) == 0 &&
           !symbol.module;
}

/* Every function of the kernel's own text, at its first and at its last byte; but no holes. */
static void test_the_kernel_says_what_it_lists(void)
{
    struct kernel_query *query = symbolize_kernel_query_open();
    FILE *listing = fopen("/proc/kallsyms", "r");
    struct line function, next = {0};
    if (!query || !listing || !read_line(listing, &function)) {
        sprof_test_skip("no right to load BPF programs or to see the kernel's addresses");
    } else {
        size_t checked = 0, differing = 0;
        while (strcmp(next.name, "_etext") != 0 && read_line(listing, &next)) {
            if (next.address == function.address)
                continue; /* an alias: the first is the one the kernel names */
            if (next.address - function.address <= KERNEL_FUNCTION_MAX_BYTES) {
                checked++;
                differing += !agrees(query, function.address, &function, next.address) ||
                             !agrees(query, next.address - 1, &function, next.address);
            }
            function = next;
        }
        CU_ASSERT_TRUE(checked > 5000);
        CU_ASSERT_EQUAL(differing, 0);
    }
    if (listing)
        fclose(listing);
    symbolize_kernel_query_free(query);
}

static void test_what_is_no_code_has_no_name(void)
{
    static const uint64_t addresses[] = {0, 1, 0x400000, 1ULL << 63, UINT64_MAX};
    struct kernel_query *query = symbolize_kernel_query_open();
    struct kernel_symbol symbol;
    for (size_t i = 0; query && i < sizeof addresses / sizeof *addresses; i++)
        CU_ASSERT_FALSE(symbolize_kernel_query_find(query, addresses[i], &symbol));
    symbolize_kernel_query_free(query);
    symbolize_kernel_query_free(NULL);
}

void sprof_suite_symbolize_kernel_query(void);
void sprof_suite_symbolize_kernel_query(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/kernel_query", NULL, NULL);
    CU_add_test(suite, "answers are taken apart", test_answers_are_taken_apart);
    CU_add_test(suite, "the kernel says what it lists", test_the_kernel_says_what_it_lists);
    CU_add_test(suite, "what is no code has no name", test_what_is_no_code_has_no_name);
}
