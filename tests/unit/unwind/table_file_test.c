#include "tests/unit/unwind/cfi_bytes.h"
#include "unwind/table.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct unwind_range text = {0x1000, 0x9000};

/* Functions of every kind of rule, and a crowd of rows. */
static struct unwind_table *build(void)
{
    static struct cfi_bytes section;
    section = (struct cfi_bytes){0};
    cfi_bytes_cie(&section, "zR");
    CFI_BYTES_FDE(&section, 0x1000, 0x100, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x48, 0x0c, 7,
                  8);
    CFI_BYTES_FDE(&section, 0x1100, 0x100, 0x07, 16);
    CFI_BYTES_FDE(&section, 0x1200, 0x100, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0);
    CFI_BYTES_FDE(&section, 0x1300, 0x100, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33,
                  0x24, 0x22);
    CFI_BYTES_FDE(&section, 0x1400, 0x100, 0x0e, 0, 0x09, 16, 5);
    CFI_BYTES_FDE(&section, 0x1600, 0x100, 0x0c, 3, 16, 0x83, 2, 0x0a, 0x44, 0x0e, 32, 0x0b);
    CFI_BYTES_FDE(&section, 0x1900, 0x100, 0x0c, 5, 0, 0x09, 7, 8, 0x09, 6, 9, 0x09, 16, 1);
    uint8_t crowd[3 * 40];
    for (size_t i = 0; i < 40; i++)
        memcpy(crowd + 3 * i, (const uint8_t[]){0x41, 0x0e, (uint8_t)(8 + 8 * (i % 3))}, 3);
    cfi_bytes_fde(&section, 0x8000, 0x100, crowd, sizeof crowd);
    const struct unwind_plt plt = {{0x7000, 0x7100}, 11};
    const struct unwind_source source = {.eh_frame = {section.data, section.size},
                                         .eh_frame_vaddr = 0x20000,
                                         .text = &text,
                                         .text_count = 1,
                                         .plt = &plt,
                                         .plt_count = 1};
    struct unwind_table *table = NULL;
    CU_ASSERT_EQUAL_FATAL(unwind_table_build(&table, &source, NULL), 0);
    return table;
}

static struct sprof_bytes save(void)
{
    struct unwind_table *table = build();
    struct sprof_bytes bytes = {0};
    CU_ASSERT_EQUAL_FATAL(unwind_table_save(table, &bytes), 0);
    unwind_table_free(table);
    return bytes;
}

static void test_loaded_table_is_the_same(void)
{
    struct unwind_table *built = build();
    const struct sprof_bytes bytes = save();
    struct unwind_table *loaded = unwind_table_load(bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(loaded);
    struct unwind_row expected, got;
    for (uint64_t from = 0; unwind_table_row(built, from, &expected); from = expected.vaddr + 1) {
        CU_ASSERT_FATAL(unwind_table_row(loaded, from, &got));
        CU_ASSERT_EQUAL(got.vaddr, expected.vaddr);
        CU_ASSERT_STRING_EQUAL(got.rule, expected.rule);
        CU_ASSERT_EQUAL(unwind_table_lookup(loaded, got.vaddr),
                        unwind_table_lookup(built, got.vaddr));
        struct unwind_range function, other;
        CU_ASSERT_EQUAL(unwind_table_function(built, got.vaddr, &function),
                        unwind_table_function(loaded, got.vaddr, &other));
    }
    const struct unwind_table_facts a = unwind_table_facts(built), b = unwind_table_facts(loaded);
    CU_ASSERT_EQUAL(a.rows, b.rows);
    CU_ASSERT_EQUAL(a.rules, b.rules);
    CU_ASSERT_EQUAL(a.functions, b.functions);
    CU_ASSERT_TRUE(loaded->kept[UNWIND_KEPT_EH_FRAME].size > 0);
    CU_ASSERT_EQUAL(memcmp(loaded->kept[UNWIND_KEPT_EH_FRAME].data,
                           built->kept[UNWIND_KEPT_EH_FRAME].data,
                           built->kept[UNWIND_KEPT_EH_FRAME].size),
                    0);
    struct sprof_bytes again = {0};
    CU_ASSERT_EQUAL(unwind_table_save(loaded, &again), 0);
    CU_ASSERT_EQUAL_FATAL(again.size, bytes.size);
    CU_ASSERT_EQUAL(memcmp(again.data, bytes.data, bytes.size), 0);
    free((void *)again.data);
    free((void *)bytes.data);
    unwind_table_free(built);
    unwind_table_free(loaded);
}

/* Caches on disk hold tables of this version. Where the digest changes, what is built has changed:
 * raise UNWIND_TABLE_VERSION, and write both numbers here. */
static void test_a_changed_table_has_another_version(void)
{
    const struct sprof_bytes bytes = save();
    struct sprof_digest digest = {0};
    sprof_digest_add(&digest, bytes.data, bytes.size);
    CU_ASSERT_EQUAL(UNWIND_TABLE_VERSION, 7);
    CU_ASSERT_EQUAL(digest.low, UINT64_C(0x6127377fec87b159));
    if (digest.low != UINT64_C(0x6127377fec87b159))
        printf("\n    the digest is %#llx\n", (unsigned long long)digest.low);
    free((void *)bytes.data);
}

static void test_damaged_bytes(void)
{
    const struct sprof_bytes bytes = save();
    for (size_t size = 0; size < bytes.size; size += 8)
        CU_ASSERT_PTR_NULL(unwind_table_load((struct sprof_bytes){bytes.data, size}));
    uint8_t *changed = (uint8_t *)bytes.data;
    size_t refused = 0;
    for (size_t i = 0; i < bytes.size; i++) {
        changed[i] ^= 0xff;
        struct unwind_table *table = unwind_table_load(bytes);
        refused += !table;
        for (uint64_t vaddr = 0; table && vaddr < 0x9100; vaddr += 7)
            unwind_table_lookup(table, vaddr);
        unwind_table_free(table);
        changed[i] ^= 0xff;
    }
    CU_ASSERT_EQUAL(refused, bytes.size);
    free((void *)bytes.data);
}

static void look_everywhere(const struct unwind_table *table)
{
    struct unwind_row row;
    struct unwind_range range;
    struct unwind_function_info info;
    for (uint64_t vaddr = 0x900; vaddr < 0x9100; vaddr++) {
        unwind_table_lookup(table, vaddr);
        if (unwind_table_function(table, vaddr, &range))
            CU_ASSERT_TRUE(range.start <= vaddr && vaddr < range.end);
        if (unwind_table_next_function(table, vaddr, &info))
            CU_ASSERT_TRUE(info.range.start >= vaddr && info.range.end >= info.range.start);
    }
    for (uint64_t from = 0; unwind_table_row(table, from, &row); from = row.vaddr + 1)
        CU_ASSERT_TRUE_FATAL(row.vaddr >= from);
    for (size_t i = 0; i < table->function_count; i++)
        unwind_table_kept(table, unwind_table_nth(table, i));
}

/* Each of these would make a look-up read beyond the arrays, or never end: what concerns all of
 * them is refused, and what one page or function says is borne. */
static void test_forged_tables(void)
{
    struct unwind_table *table = build();
    struct sprof_bytes bytes;
    struct unwind_page *crowded = NULL;
    for (size_t i = 0; i < table->page_count && !crowded; i++)
        if (table->pages[i].start[UNWIND_PAGE_ROWS] != UNWIND_NO_START)
            crowded = &table->pages[i];
    CU_ASSERT_PTR_NOT_NULL_FATAL(crowded);
#define EXPECT_REFUSED(lvalue, value)                                                              \
    do {                                                                                           \
        const uint64_t good = (uint64_t)(lvalue);                                                  \
        (lvalue) = (value);                                                                        \
        CU_ASSERT_EQUAL_FATAL(unwind_table_save(table, &bytes), 0);                                \
        CU_ASSERT_PTR_NULL(unwind_table_load(bytes));                                              \
        free((void *)bytes.data);                                                                  \
        (lvalue) = (__typeof__(lvalue))good;                                                       \
    } while (0)
#define EXPECT_BORNE(lvalue, value)                                                                \
    do {                                                                                           \
        const uint64_t good = (uint64_t)(lvalue);                                                  \
        (lvalue) = (value);                                                                        \
        CU_ASSERT_EQUAL_FATAL(unwind_table_save(table, &bytes), 0);                                \
        struct unwind_table *forged = unwind_table_load(bytes);                                    \
        CU_ASSERT_PTR_NOT_NULL_FATAL(forged);                                                      \
        look_everywhere(forged);                                                                   \
        unwind_table_free(forged);                                                                 \
        free((void *)bytes.data);                                                                  \
        (lvalue) = (__typeof__(lvalue))good;                                                       \
    } while (0)
    EXPECT_BORNE(crowded->more, (uint32_t)(crowded - table->pages));
    EXPECT_BORNE(crowded->more, (uint32_t)table->page_count);
    EXPECT_BORNE(crowded->start[UNWIND_PAGE_ROWS + 1], 0);
    EXPECT_BORNE(crowded->start[3], 0);
    EXPECT_BORNE(crowded->rule[2], (uint16_t)table->rules.count);
    EXPECT_BORNE(table->pages[0].start[0], UNWIND_NO_START);
    EXPECT_BORNE(table->pages[table->page_count - 1].start[0], 1);
    EXPECT_REFUSED(table->blocks[0].shift, 40);
    EXPECT_REFUSED(table->blocks[0].shift, 2);
    EXPECT_REFUSED(table->blocks[1].first, 7000);
    EXPECT_BORNE(table->functions[2].start, 0);
    EXPECT_BORNE(table->functions[1].kept_in, UNWIND_KEPTS);
    EXPECT_BORNE(table->functions[1].entry, UINT32_MAX);
    EXPECT_REFUSED(table->rules.rules[1], UNWIND_RULE_PENDING);
    EXPECT_REFUSED(table->rules.rules[1], 15);
    EXPECT_REFUSED(table->rules.rules[1], UNWIND_RULE_JUMP | UINT64_C(99) << 32);
    CU_ASSERT_EQUAL_FATAL(unwind_table_save(table, &bytes), 0);
    struct unwind_table *good = unwind_table_load(bytes);
    CU_ASSERT_PTR_NOT_NULL(good);
    unwind_table_free(good);
    free((void *)bytes.data);
    unwind_table_free(table);
}

/* == In a file == */

enum { MANY = 20000 };

/* Functions enough for a table that is not read at once. */
static struct unwind_table *build_large(void)
{
    static const struct unwind_range large_text = {0x100000, 0x100000 + MANY * 0x100};
    enum { AT_ONCE = 50 };
    uint8_t *bytes = malloc(MANY / AT_ONCE * CFI_BYTES_MAX);
    size_t size = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    for (uint32_t i = 0; i < MANY; i += AT_ONCE) {
        struct cfi_bytes section = {0};
        cfi_bytes_cie(&section, "zR");
        for (uint32_t k = i; k < i + AT_ONCE; k++)
            CFI_BYTES_FDE(&section, 0x100000 + k * 0x100, 0x100, 0x41, 0x0e,
                          (uint8_t)(16 + k % 5 * 8), 0x86, 2, 0x43, 0x0d, 6, 0x48, 0x0c, 7, 8);
        memcpy(bytes + size, section.data, section.size);
        size += section.size;
    }
    const struct unwind_source source = {.eh_frame = {bytes, size},
                                         .eh_frame_vaddr = 0x2000000,
                                         .text = &large_text,
                                         .text_count = 1};
    struct unwind_table *table = NULL;
    CU_ASSERT_EQUAL_FATAL(unwind_table_build(&table, &source, NULL), 0);
    free(bytes);
    return table;
}

enum { BEFORE = 40 }; /* bytes of something else, as a cache has them */

static int file_of(struct sprof_bytes bytes)
{
    const int fd = memfd_create("table", 0);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(pwrite(fd, bytes.data, bytes.size, BEFORE), (ssize_t)bytes.size);
    return fd;
}

/* Rules of every 0x40th byte that differ between two tables. */
static size_t differences(const struct unwind_table *left, const struct unwind_table *right)
{
    size_t different = 0;
    for (uint64_t vaddr = 0x100000; vaddr < 0x100000 + MANY * 0x100; vaddr += 0x40)
        different += unwind_table_lookup(left, vaddr) != unwind_table_lookup(right, vaddr);
    return different;
}

static void test_pieces_come_when_they_are_needed(void)
{
    struct unwind_table *built = build_large();
    struct sprof_bytes bytes, again;
    CU_ASSERT_EQUAL_FATAL(unwind_table_save(built, &bytes), 0);
    CU_ASSERT_TRUE(bytes.size > 512 * 1024);
    struct unwind_table *opened = unwind_table_open(file_of(bytes), BEFORE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(opened);
    const size_t page = 4096;
    unsigned char *present = calloc(bytes.size / page + 2, 1);
    CU_ASSERT_EQUAL(unwind_table_lookup(opened, 0x100201), unwind_table_lookup(built, 0x100201));
    size_t count = 0;
    const uintptr_t start = (uintptr_t)opened->blocks & ~(uintptr_t)(page - 1);
    CU_ASSERT_EQUAL(mincore((void *)start, bytes.size, present), 0);
    for (size_t i = 0; i < bytes.size / page; i++)
        count += present[i] & 1;
    CU_ASSERT_TRUE(count * page < bytes.size / 8);
    CU_ASSERT_EQUAL(differences(built, opened), 0);
    CU_ASSERT_EQUAL(unwind_table_save(opened, &again), 0);
    CU_ASSERT_EQUAL(again.size, bytes.size);
    CU_ASSERT_EQUAL(memcmp(again.data, bytes.data, bytes.size), 0);
    unwind_table_free(opened);
    unwind_table_free(built);
    free(present);
    free((void *)bytes.data);
    free((void *)again.data);
}

/* A piece that was damaged on the disk has no rows; the others have theirs. */
static void test_damaged_files(void)
{
    struct unwind_table *built = build_large();
    struct sprof_bytes bytes;
    CU_ASSERT_EQUAL_FATAL(unwind_table_save(built, &bytes), 0);
    const size_t all = MANY * 4;
    uint8_t *middle = (uint8_t *)bytes.data + bytes.size / 2;
    *middle ^= 1;
    struct unwind_table *table = unwind_table_open(file_of(bytes), BEFORE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    const size_t different = differences(built, table);
    CU_ASSERT_TRUE(different > 0 && different < all / 20);
    unwind_table_free(table);
    *middle ^= 1;
    const int fd = file_of(bytes);
    table = unwind_table_open(fd, BEFORE);
    CU_ASSERT_EQUAL(ftruncate(fd, (off_t)bytes.size / 2), 0); /* while it is open */
    CU_ASSERT_TRUE(table && differences(built, table) > all / 20);
    unwind_table_free(table);
    for (size_t i = 0; i < 200; i++) {
        ((uint8_t *)bytes.data)[i] ^= 0x10;
        CU_ASSERT_PTR_NULL(unwind_table_open(file_of(bytes), BEFORE));
        ((uint8_t *)bytes.data)[i] ^= 0x10;
    }
    CU_ASSERT_PTR_NULL(unwind_table_open(file_of((struct sprof_bytes){bytes.data, 0}), BEFORE));
    unwind_table_free(built);
    free((void *)bytes.data);
}

void sprof_suite_unwind_table_file(void);
void sprof_suite_unwind_table_file(void)
{
    CU_pSuite suite = CU_add_suite("unwind/table_file", NULL, NULL);
    CU_add_test(suite, "a loaded table is the same", test_loaded_table_is_the_same);
    CU_add_test(suite, "a changed table has another version",
                test_a_changed_table_has_another_version);
    CU_add_test(suite, "damaged bytes", test_damaged_bytes);
    CU_add_test(suite, "forged tables", test_forged_tables);
    CU_add_test(suite, "pieces come when they are needed", test_pieces_come_when_they_are_needed);
    CU_add_test(suite, "damaged files", test_damaged_files);
}
