#include "symbolize/function_index.h"

#include "tests/unit/image/fixture.h"

static const struct sprof_digest key = {1, 2};

/* Two functions: one with a call inlined in a call, one of two pieces; and a single address. */
static void fill(struct function_index *index)
{
    *index = (struct function_index){0};
    const uint32_t file = symbolize_function_index_text(index, "/src/a.c");
    const struct index_description descriptions[] = {
        {.linkage_name = symbolize_function_index_text(index, "outer"), .file = file, .line = 3},
        {.linkage_name = symbolize_function_index_text(index, "middle"), .file = file, .line = 10},
        {.linkage_name = symbolize_function_index_text(index, "leaf"), .file = file, .line = 20}};
    const struct index_call calls[] = {{.description = 2, .file = file, .line = 5},
                                       {.description = 3, .parent = 1, .file = file, .line = 12},
                                       {.description = 3, .file = file, .line = 7}};
    const struct index_range ranges[] = {{4, 32, 1}, {8, 16, 2}, {40, 44, 3}};
    const struct index_line lines[] = {{0, file, 4},   {4, file, 11}, {8, file, 21},
                                       {16, file, 12}, {32, file, 6}, {0, file, 30}};
    const struct index_piece pieces[] = {
        {.low = 0x2000, .high = 0x2010, .description = 1},
        {.low = 0x1000,
         .high = 0x1040,
         .description = 1,
         .call_count = 3,
         .range_count = 3,
         .line_count = 5},
        {.low = 0x3000, .high = 0x3001, .first_range = 3, .first_line = 5, .line_count = 1},
        {.low = 0x1008, .high = 0x1010, .description = 2, .first_range = 3}};
    for (size_t i = 0; i < 3; i++)
        sprof_vec_push(&index->descriptions, descriptions[i]);
    for (size_t i = 0; i < 3; i++)
        sprof_vec_push(&index->calls, calls[i]);
    for (size_t i = 0; i < 3; i++)
        sprof_vec_push(&index->ranges, ranges[i]);
    for (size_t i = 0; i < 6; i++)
        sprof_vec_push(&index->lines, lines[i]);
    for (size_t i = 0; i < 4; i++)
        sprof_vec_push(&index->pieces, pieces[i]);
    symbolize_function_index_sort(index);
}

static uint32_t line_at(const struct function_index *index, uint64_t vaddr)
{
    const struct index_piece *piece = symbolize_function_index_find(index, vaddr);
    const struct index_line *line =
        piece ? symbolize_function_index_line(index, piece, vaddr) : NULL;
    return line ? line->line : 0;
}

/* The names of the calls at an address, innermost first, joined by '<'. */
static const char *calls_at(const struct function_index *index, uint64_t vaddr)
{
    static char text[128];
    const struct index_piece *piece = symbolize_function_index_find(index, vaddr);
    text[0] = '\0';
    for (const struct index_call *call = symbolize_function_index_innermost(index, piece, vaddr);
         call; call = symbolize_function_index_outer(index, piece, call)) {
        strcat(text, symbolize_function_index_text_of(
                         index, index->descriptions.items[call->description - 1].linkage_name));
        strcat(text, "<");
    }
    return text;
}

static void check(const struct function_index *index)
{
    CU_ASSERT_EQUAL(index->pieces.count, 3); /* the one inside another is gone */
    CU_ASSERT_STRING_EQUAL(calls_at(index, 0x1000), "");
    CU_ASSERT_STRING_EQUAL(calls_at(index, 0x1004), "middle<");
    CU_ASSERT_STRING_EQUAL(calls_at(index, 0x100f), "leaf<middle<");
    CU_ASSERT_STRING_EQUAL(calls_at(index, 0x1010), "middle<");
    CU_ASSERT_STRING_EQUAL(calls_at(index, 0x1020), "");
    CU_ASSERT_STRING_EQUAL(calls_at(index, 0x1029), "leaf<");
    CU_ASSERT_EQUAL(line_at(index, 0x1003), 4);
    CU_ASSERT_EQUAL(line_at(index, 0x100f), 21);
    CU_ASSERT_EQUAL(line_at(index, 0x103f), 6);
    CU_ASSERT_EQUAL(line_at(index, 0x3000), 30);
    CU_ASSERT_EQUAL(line_at(index, 0x2000), 0);
    CU_ASSERT_PTR_NULL(symbolize_function_index_find(index, 0xfff));
    CU_ASSERT_PTR_NULL(symbolize_function_index_find(index, 0x1040));
    CU_ASSERT_PTR_NULL(symbolize_function_index_find(index, 0x3001));
}

static void test_what_covers_an_address(void)
{
    struct function_index index = {0};
    fill(&index);
    check(&index);
    symbolize_function_index_release(&index);
}

static void test_stored_and_grown(void)
{
    struct function_index index = {0}, loaded = {0}, again = {0};
    struct fixture fixture;
    fixture_open(&fixture);
    struct cache *cache = cache_open(fixture_path(&fixture, "cache"));
    CU_ASSERT_FALSE(symbolize_function_index_load(&loaded, cache, key));
    fill(&index);
    symbolize_function_index_store(&index, cache, key);
    check(&index);
    CU_ASSERT_TRUE(symbolize_function_index_load(&loaded, cache, key));
    check(&loaded);
    loaded.descriptions.items[0].name = symbolize_function_index_text(&loaded, "outer(int)");
    CU_ASSERT_STRING_EQUAL(
        symbolize_function_index_text_of(&loaded, loaded.descriptions.items[0].name), "outer(int)");
    symbolize_function_index_store(&loaded, cache, key);
    CU_ASSERT_TRUE(symbolize_function_index_load(&again, cache, key));
    check(&again);
    CU_ASSERT_STRING_EQUAL(
        symbolize_function_index_text_of(&again, again.descriptions.items[0].name), "outer(int)");
    symbolize_function_index_release(&index);
    symbolize_function_index_release(&loaded);
    symbolize_function_index_release(&again);
    cache_free(cache, 0);
    fixture_close(&fixture);
}

/* A million names that are each other's ends would be longer than any memory. */
static void test_texts_that_share_their_ends(void)
{
    struct function_index index;
    struct fixture fixture;
    fixture_open(&fixture);
    struct cache *cache = cache_open(fixture_path(&fixture, "cache"));
    fill(&index);
    symbolize_function_index_store(&index, cache, key);
    symbolize_function_index_release(&index);
    CU_ASSERT_TRUE_FATAL(symbolize_function_index_load(&index, cache, key));
    symbolize_function_index_own(&index);
    index.descriptions.items[0].linkage_name++;
    CU_ASSERT_STRING_EQUAL(
        symbolize_function_index_text_of(&index, index.descriptions.items[0].linkage_name), "uter");
    symbolize_function_index_store(&index, cache, key);
    symbolize_function_index_release(&index);
    CU_ASSERT_FALSE(symbolize_function_index_load(&index, cache, key));
    cache_free(cache, 0);
    fixture_close(&fixture);
}

/* Whatever the bytes say, asking is safe. */
static void test_changed_bytes(void)
{
    static const uint8_t values[] = {0, 1, 0x7f, 0xff};
    struct function_index index = {0};
    struct fixture fixture;
    fixture_open(&fixture);
    struct cache *cache = cache_open(fixture_path(&fixture, "cache"));
    fill(&index);
    symbolize_function_index_store(&index, cache, key);
    symbolize_function_index_release(&index);
    const struct sprof_bytes good = cache_get(cache, CACHE_LINES, key);
    CU_ASSERT_PTR_NOT_NULL_FATAL(good.data);
    size_t refused = 0;
    for (size_t i = 0; i < good.size * sizeof values; i++) {
        uint8_t *bytes = malloc(good.size);
        memcpy(bytes, good.data, good.size);
        bytes[i / sizeof values] = values[i % sizeof values];
        if (!symbolize_function_index_take(&index, (struct sprof_bytes){bytes, good.size})) {
            refused++;
            continue;
        }
        for (uint64_t vaddr = 0xff0; vaddr < 0x3010; vaddr += 4) {
            const struct index_piece *piece = symbolize_function_index_find(&index, vaddr);
            const struct index_call *call =
                piece ? symbolize_function_index_innermost(&index, piece, vaddr) : NULL;
            while (call)
                call = symbolize_function_index_outer(&index, piece, call);
            line_at(&index, vaddr);
        }
        symbolize_function_index_release(&index);
    }
    CU_ASSERT_TRUE(refused > good.size / 4);
    for (size_t size = 0; size < good.size; size++) {
        uint8_t *bytes = malloc(size + 1);
        memcpy(bytes, good.data, size);
        CU_ASSERT_FALSE(symbolize_function_index_take(&index, (struct sprof_bytes){bytes, size}));
    }
    free((void *)good.data);
    cache_free(cache, 0);
    fixture_close(&fixture);
}

void sprof_suite_symbolize_function_index(void);
void sprof_suite_symbolize_function_index(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/function_index", NULL, NULL);
    CU_add_test(suite, "what covers an address", test_what_covers_an_address);
    CU_add_test(suite, "stored and grown", test_stored_and_grown);
    CU_add_test(suite, "texts that share their ends", test_texts_that_share_their_ends);
    CU_add_test(suite, "changed bytes", test_changed_bytes);
}
