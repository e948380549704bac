#include "tests/unit/unwind/cfi_bytes.h"
#include "unwind/table.h"

#include <CUnit/CUnit.h>
#include <stdio.h>

enum { TEXT = 0x1000, TEXT_END = 0x9000 };

static const struct unwind_range text = {TEXT, TEXT_END};

static struct unwind_source source_of(const struct cfi_bytes *eh_frame)
{
    return (struct unwind_source){.eh_frame = {eh_frame->data, eh_frame->size},
                                  .eh_frame_vaddr = 0x20000,
                                  .text = &text,
                                  .text_count = 1};
}

static struct unwind_table *build(const struct unwind_source *source)
{
    struct unwind_table *table = NULL;
    CU_ASSERT_EQUAL_FATAL(unwind_table_build(&table, source, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    return table;
}

struct expected_row {
    uint64_t vaddr;
    const char *rule;
};

static void expect_rows(const struct unwind_table *table, const struct expected_row *rows,
                        size_t count)
{
    struct unwind_row row;
    uint64_t from = 0;
    for (size_t i = 0; i < count; i++, from = row.vaddr + 1) {
        CU_ASSERT_FATAL(unwind_table_row(table, from, &row));
        CU_ASSERT_EQUAL(row.vaddr, rows[i].vaddr);
        CU_ASSERT_STRING_EQUAL(row.rule, rows[i].rule);
        if (row.vaddr != rows[i].vaddr || strcmp(row.rule, rows[i].rule))
            printf("\n    row %zu: %#llx %s", i, (unsigned long long)row.vaddr, row.rule);
    }
    CU_ASSERT_FALSE(unwind_table_row(table, from, &row));
    CU_ASSERT_EQUAL(unwind_table_facts(table).rows, count);
}
#define EXPECT_ROWS(table, ...)                                                                    \
    expect_rows((table), (const struct expected_row[]){__VA_ARGS__},                               \
                sizeof(const struct expected_row[]){__VA_ARGS__} / sizeof(struct expected_row))

/* push %rbp; mov %rsp,%rbp; …; leave */
#define USUAL_PROGRAM 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x48, 0x0c, 7, 8

static void test_usual_function(void)
{
    struct cfi_bytes section = {0};
    cfi_bytes_cie(&section, "zR");
    CFI_BYTES_FDE(&section, 0x1000, 0x10, USUAL_PROGRAM);
    const struct unwind_source source = source_of(&section);
    struct unwind_table *table = build(&source);
    EXPECT_ROWS(table, {0x1000, "cfa=rsp+8 ra=cfa-8"}, {0x1001, "cfa=rsp+16 rbp=cfa-16 ra=cfa-8"},
                {0x1004, "cfa=rbp+16 rbp=cfa-16 ra=cfa-8"},
                {0x100c, "cfa=rsp+8 rbp=cfa-16 ra=cfa-8"});
    unwind_table_free(table);
}

static void test_unsorted_and_merged(void)
{
    struct cfi_bytes section = {0};
    cfi_bytes_cie(&section, "zR");
    CFI_BYTES_FDE(&section, 0x3000, 0x10, 0);
    CFI_BYTES_FDE(&section, 0x1000, 0x10, 0);
    CFI_BYTES_FDE(&section, 0x1010, 0x10, 0x44, 0x0e, 16);
    const struct unwind_source source = source_of(&section);
    struct unwind_table *table = build(&source);
    EXPECT_ROWS(table, {0x1000, "cfa=rsp+8 ra=cfa-8"}, {0x1014, "cfa=rsp+16 ra=cfa-8"},
                {0x1020, "gap"}, {0x3000, "cfa=rsp+8 ra=cfa-8"});
    struct unwind_range range;
    CU_ASSERT_TRUE(unwind_table_function(table, 0x101f, &range));
    CU_ASSERT_EQUAL(range.start, 0x1010);
    CU_ASSERT_EQUAL(range.end, 0x1020);
    CU_ASSERT_FALSE(unwind_table_function(table, 0x1020, &range));
    CU_ASSERT_FALSE(unwind_table_function(table, 0xfff, &range));
    unwind_table_free(table);
}

static void test_overlap_later_start_wins(void)
{
    struct cfi_bytes section = {0};
    cfi_bytes_cie(&section, "zR");
    CFI_BYTES_FDE(&section, 0x1000, 0x100, 0);
    CFI_BYTES_FDE(&section, 0x1080, 0x20, 0x0e, 24);
    CFI_BYTES_FDE(&section, 0x1080, 0x20, 0x0e, 32);
    const struct unwind_source source = source_of(&section);
    struct unwind_table *table = build(&source);
    EXPECT_ROWS(table, {0x1000, "cfa=rsp+8 ra=cfa-8"}, {0x1080, "cfa=rsp+24 ra=cfa-8"},
                {0x10a0, "gap"});
    unwind_table_free(table);
}

static void test_outside_of_text(void)
{
    struct cfi_bytes section = {0};
    cfi_bytes_cie(&section, "zR");
    CFI_BYTES_FDE(&section, 0x1000, 0x10, 0);
    CFI_BYTES_FDE(&section, 0x0, 0x10, 0x0e, 24);
    CFI_BYTES_FDE(&section, 0x9000, 0x10, 0x0e, 24);
    const struct unwind_source source = source_of(&section);
    struct unwind_table *table = build(&source);
    CU_ASSERT_EQUAL(unwind_table_facts(table).functions, 1);
    unwind_table_free(table);
}

static void test_malformed_among_good(void)
{
    struct cfi_bytes section = {0};
    cfi_bytes_cie(&section, "zR");
    CFI_BYTES_FDE(&section, 0x1000, 0x10, 0);
    CFI_BYTES_FDE(&section, 0x2000, 0x10, 0x44, 0x3f);                /* no such instruction */
    CFI_BYTES_FDE(&section, 0x3000, 0x10, 0x0b);                      /* nothing to restore */
    CFI_BYTES_FDE(&section, 0x4000, 0x10, 0x0f, 3, 0x2f, 0xfd, 0xff); /* an expression that loops */
    CFI_BYTES_FDE(&section, 0x5000, 0x10, 0x0e, 16);
    const struct unwind_source source = source_of(&section);
    struct unwind_table *table = build(&source);
    CU_ASSERT_EQUAL(unwind_table_facts(table).functions, 2);
    CU_ASSERT_EQUAL(unwind_table_facts(table).bad_functions, 3);
    EXPECT_ROWS(table, {0x1000, "cfa=rsp+8 ra=cfa-8"}, {0x1010, "gap"},
                {0x5000, "cfa=rsp+16 ra=cfa-8"});
    unwind_table_free(table);
}

static void test_nothing_usable(void)
{
    struct cfi_bytes section = {0};
    struct unwind_table *table = NULL;
    struct sprof_error error = {0};
    struct unwind_source source = source_of(&section);
    CU_ASSERT_EQUAL(unwind_table_build(&table, &source, &error), SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NULL(table);
    CU_ASSERT(error.message[0] != 0);
    cfi_bytes_put(&section, "\x10\0\0\0garbage garbage!", 20);
    source = source_of(&section);
    CU_ASSERT_EQUAL(unwind_table_build(&table, &source, &error), SPROF_EFORMAT);
    CU_ASSERT_PTR_NULL(table);
}

static void test_rule_kinds(void)
{
    static const char *const expected[] = {
        "end",
        "cfa=r10+0 ra=cfa-8",
        "cfa=*(rbp-8)+0 rbp=*(rbp+0) ra=cfa-8",
        "cfa=*(rsp+120)+8 ra=cfa-8",
        "plt push=11",
        "cfa=rsp+0 ra=rdi",
        "complex",
        "cfa=rbp-48 ra=cfa-8",
        "cfa=rsp+8 ra=cfa-16",
        "complex",
        "cfa=rsp+8 ra=cfa-8",
        "rsp=r8 rbp=r9 ra=rdx",
        "complex",
        "rsp=r8 rbp=rbp ra=rdx",
    };
    struct cfi_bytes section = {0};
    cfi_bytes_cie(&section, "zR");
    CFI_BYTES_FDE(&section, 0x1000, 16, 0x07, 16);
    CFI_BYTES_FDE(&section, 0x1010, 16, 0x0c, 10, 0);
    CFI_BYTES_FDE(&section, 0x1020, 16, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0);
    CFI_BYTES_FDE(&section, 0x1030, 16, 0x0f, 6, 0x77, 0xf8, 0, 0x06, 0x23, 8);
    CFI_BYTES_FDE(&section, 0x1040, 16, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33,
                  0x24, 0x22);
    CFI_BYTES_FDE(&section, 0x1050, 16, 0x0e, 0, 0x09, 16, 5);
    CFI_BYTES_FDE(&section, 0x1060, 16, 0x0f, 4, 0x77, 0, 0x06, 0x06); /* a double dereference */
    CFI_BYTES_FDE(&section, 0x1070, 16, 0x0f, 2, 0x76, 0x50);
    CFI_BYTES_FDE(&section, 0x1080, 16, 0x90, 2); /* the return address elsewhere */
    CFI_BYTES_FDE(&section, 0x1090, 16, 0x16, 6, 1, 0x31);
    CFI_BYTES_FDE(&section, 0x10a0, 16, 0x0a, 0x0e, 99, 0x90, 2, 0x0b);
    CFI_BYTES_FDE(&section, 0x10b0, 16, 0x0c, 5, 0, 0x09, 7, 8, 0x09, 6, 9, 0x09, 16, 1);
    CFI_BYTES_FDE(&section, 0x10c0, 16, 0x0c, 5, 0, 0x09, 7, 8, 0x09, 6, 9); /* but no address */
    CFI_BYTES_FDE(&section, 0x10d0, 16, 0x0c, 5, 0, 0x09, 7, 8, 0x09, 16, 1);
    const struct unwind_source source = source_of(&section);
    struct unwind_table *table = build(&source);
    struct unwind_row row = {0};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        if (i && !strcmp(expected[i], expected[i - 1]))
            continue; /* merged with the row before */
        CU_ASSERT_FATAL(unwind_table_row(table, row.vaddr + 1, &row));
        CU_ASSERT_EQUAL(row.vaddr, 0x1000 + i * 16);
        CU_ASSERT_STRING_EQUAL(row.rule, expected[i]);
    }
    CU_ASSERT_EQUAL(unwind_table_facts(table).complex_rows, 3);
    unwind_table_free(table);
}

static void test_signal_augmentation(void)
{
    struct cfi_bytes section = {0};
    cfi_bytes_cie(&section, "zRS");
    CFI_BYTES_FDE(&section, 0x1000, 16, 0);
    const struct unwind_source source = source_of(&section);
    struct unwind_table *table = build(&source);
    EXPECT_ROWS(table, {0x1000, "signal"});
    unwind_table_free(table);
}

/* pcrel, datarel, textrel and their sizes; personality and LSDA skipped. */
static void test_pointer_encodings(void)
{
    static const struct {
        uint8_t encoding;
        int64_t base; /* INT64_MIN: the pointer's own address */
        size_t size;
    } forms[] = {{0x00, 0, 8},         {0x03, 0, 4},      {0x0b, 0, 4},     {0x0a, 0, 2},
                 {0x1b, INT64_MIN, 4}, {0x3b, 0x5000, 4}, {0x2c, 0x6000, 8}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        static const uint8_t program[] = {0x0c, 7, 8, 0x90, 1};
        const uint8_t augmentation[] = {0x9b, 1, 2, 3, 4, 0x1b, forms[i].encoding};
        struct cfi_bytes section = {0}, content = {0};
        cfi_bytes_cie_raw(&section, "zPLR", augmentation, sizeof augmentation, program,
                          sizeof program);
        struct unwind_source source = source_of(&section);
        source.got_vaddr = 0x5000;
        source.text_vaddr = 0x6000;
        const int64_t own = (int64_t)(source.eh_frame_vaddr + section.size + 8);
        const int64_t pointer = 0x1230 - (forms[i].base == INT64_MIN ? own : forms[i].base);
        const uint64_t length = 0x40;
        cfi_bytes_put(&content, &pointer, forms[i].size);
        cfi_bytes_put(&content, &length, forms[i].size);
        cfi_bytes_put(&content,
                      "\x04"
                      "abcd",
                      5);
        cfi_bytes_fde_raw(&section, content.data, content.size);
        source.eh_frame.size = section.size;
        struct unwind_table *table = build(&source);
        EXPECT_ROWS(table, {0x1000, "gap"}, {0x1230, "cfa=rsp+8 ra=cfa-8"});
        unwind_table_free(table);
    }
}

static void test_versions_and_dwarf64(void)
{
    for (unsigned form = 0; form < 12; form++) {
        struct cfi_bytes section = {.version = (const uint8_t[]){1, 3, 4}[form % 3],
                                    .wide = form / 3 % 2,
                                    .debug_frame = form / 6};
        cfi_bytes_cie(&section, section.debug_frame ? "" : "zR");
        CFI_BYTES_FDE(&section, 0x1000, 0x10, USUAL_PROGRAM);
        struct unwind_source source = source_of(&section);
        if (section.debug_frame) {
            source.debug_frame = source.eh_frame;
            source.eh_frame = (struct sprof_bytes){0};
        }
        struct unwind_table *table = build(&source);
        CU_ASSERT_EQUAL(unwind_table_facts(table).rows, 4);
        unwind_table_free(table);
    }
}

static void test_debug_frame_fills_gaps(void)
{
    struct cfi_bytes section = {0}, debug = {.debug_frame = true, .version = 3};
    cfi_bytes_cie(&section, "zR");
    CFI_BYTES_FDE(&section, 0x1000, 0x10, 0x0e, 16);
    cfi_bytes_cie(&debug, "");
    CFI_BYTES_FDE(&debug, 0x1000, 0x10, 0x0e, 24);
    CFI_BYTES_FDE(&debug, 0x1010, 0x10, 0x0e, 32);
    struct unwind_source source = source_of(&section);
    source.debug_frame = (struct sprof_bytes){debug.data, debug.size};
    struct unwind_table *table = build(&source);
    EXPECT_ROWS(table, {0x1000, "cfa=rsp+16 ra=cfa-8"}, {0x1010, "cfa=rsp+32 ra=cfa-8"});
    unwind_table_free(table);
}

static void free_pascal_fde(struct cfi_bytes *section, uint64_t start, const uint8_t *program,
                            size_t size)
{
    const uint64_t length = 0x10;
    struct cfi_bytes content = {0};
    cfi_bytes_put(&content, "\0\0\0", 4); /* 8 bytes point to the CIE, although lengths have 4 */
    cfi_bytes_put(&content, &start, sizeof start);
    cfi_bytes_put(&content, &length, sizeof length);
    cfi_bytes_put(&content, program, size);
    cfi_bytes_fde_raw(section, content.data, content.size);
}

/* Its functions count where the code does what their rows say: pushed registers are forgotten. */
static void test_free_pascal(void)
{
    static const uint8_t lowered[] = {0x48, 0x8d, 0x64, 0x24, 0xf8}; /* lea -8(%rsp),%rsp */
    static const uint8_t program[] = {0x45, 0x0e, 16}, after_push[] = {0x46, 0x0e, 16};
    static const uint8_t framed[] = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6};
    static const uint8_t set_up[] = {0x55, 0x48, 0x89, 0xe5}, none[] = {0};
    static uint8_t code[0x60];
    memset(code, 0x90, sizeof code);
    memcpy(code, lowered, sizeof lowered);
    code[0x10] = 0x53; /* push %rbx */
    memcpy(code + 0x11, lowered, sizeof lowered);
    memcpy(code + 0x20, set_up, sizeof set_up);
    code[0x44] = 0x53;
    struct cfi_bytes debug = {.debug_frame = true};
    cfi_bytes_cie(&debug, "");
    free_pascal_fde(&debug, 0x1000, program, sizeof program);
    free_pascal_fde(&debug, 0x1010, after_push, sizeof after_push);
    free_pascal_fde(&debug, 0x1020, framed, sizeof framed);
    free_pascal_fde(&debug, 0x1030, none, sizeof none);
    free_pascal_fde(&debug, 0x1040, none, sizeof none);
    CFI_BYTES_FDE(&debug, 0x1050, 0x10, 0x44, 0x0e, 16); /* another compiler is believed */
    const struct unwind_source source = {.debug_frame = {debug.data, debug.size},
                                         .text_bytes = {code, sizeof code},
                                         .text_vaddr = 0x1000,
                                         .text = &text,
                                         .text_count = 1};
    struct unwind_table *table = build(&source);
    EXPECT_ROWS(table, {0x1000, "cfa=rsp+8 ra=cfa-8"}, {0x1005, "cfa=rsp+16 ra=cfa-8"},
                {0x1010, "gap"}, {0x1020, "cfa=rsp+8 ra=cfa-8"},
                {0x1021, "cfa=rsp+16 rbp=cfa-16 ra=cfa-8"},
                {0x1024, "cfa=rbp+16 rbp=cfa-16 ra=cfa-8"}, {0x1030, "cfa=rsp+8 ra=cfa-8"},
                {0x1040, "gap"}, {0x1050, "cfa=rsp+8 ra=cfa-8"}, {0x1054, "cfa=rsp+16 ra=cfa-8"});
    unwind_table_free(table);
}

static void test_plt_sections(void)
{
    struct cfi_bytes section = {0};
    cfi_bytes_cie(&section, "zR");
    CFI_BYTES_FDE(&section, 0x3000, 0x10, 0);
    const struct unwind_plt plt[] = {{{0x1000, 0x1040}, 11}, {{0x2000, 0x2020}, 0}};
    struct unwind_source source = source_of(&section);
    source.plt = plt;
    source.plt_count = 2;
    struct unwind_table *table = build(&source);
    EXPECT_ROWS(table, {0x1000, "cfa=rsp+16 ra=cfa-8"}, {0x1006, "cfa=rsp+24 ra=cfa-8"},
                {0x1010, "plt push=11"}, {0x1040, "gap"}, {0x2000, "cfa=rsp+8 ra=cfa-8"},
                {0x2020, "gap"}, {0x3000, "cfa=rsp+8 ra=cfa-8"});
    CU_ASSERT_EQUAL(unwind_table_facts(table).functions, 1);
    unwind_table_free(table);
}

static void test_roots(void)
{
    struct cfi_bytes section = {0};
    cfi_bytes_cie(&section, "zR");
    CFI_BYTES_FDE(&section, 0x1000, 0x10, 0);
    CFI_BYTES_FDE(&section, 0x2000, 0x20, 0);
    const uint64_t roots[] = {0x1008, 0x1ff0};
    struct unwind_source source = source_of(&section);
    source.entry_vaddr = 0x1800;
    source.root_vaddr = roots;
    source.root_count = 2;
    struct unwind_table *table = build(&source);
    EXPECT_ROWS(table, {0x1000, "end"}, {0x1010, "gap"}, {0x1800, "end"}, {0x1840, "gap"},
                {0x1ff0, "end"}, {0x2000, "cfa=rsp+8 ra=cfa-8"}, {0x2020, "gap"});
    unwind_table_free(table);
}

static void test_known_bytes(void)
{
    static uint8_t code[0x200];
    static const uint8_t restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    static const uint8_t start[] = {0x48, 0x31, 0xed, 0x48, 0x89, 0xe7, 0x48, 0x8d, 0x35};
    memset(code, 0x90, sizeof code);
    memcpy(code + 0x40, start, sizeof start);
    memcpy(code + 0x80, restorer, sizeof restorer);
    memcpy(code + 0x104, restorer, sizeof restorer); /* covered: the table knows better */
    struct cfi_bytes section = {0};
    cfi_bytes_cie(&section, "zR");
    CFI_BYTES_FDE(&section, 0x1100, 0x100, 0);
    struct unwind_source source = source_of(&section);
    source.text_bytes = (struct sprof_bytes){code, sizeof code};
    source.text_vaddr = 0x1000;
    struct unwind_table *table = build(&source);
    EXPECT_ROWS(table, {0x1000, "gap"}, {0x1040, "end"}, {0x1058, "gap"}, {0x107f, "signal"},
                {0x1089, "gap"}, {0x1100, "cfa=rsp+8 ra=cfa-8"});
    unwind_table_free(table);
    memcpy(code, start, sizeof start); /* a gap may begin with it */
    table = build(&source);
    EXPECT_ROWS(table, {0x1000, "end"}, {0x1018, "gap"}, {0x1040, "end"}, {0x1058, "gap"},
                {0x107f, "signal"}, {0x1089, "gap"}, {0x1100, "cfa=rsp+8 ra=cfa-8"});
    unwind_table_free(table);
}

/* Code in a file: what was asked for, and how often. */
struct code_file {
    const uint8_t *bytes;
    size_t size, reads, most;
};

static size_t read_code(void *context, uint64_t offset, void *buffer, size_t size)
{
    struct code_file *file = context;
    const size_t left = offset < file->size ? file->size - (size_t)offset : 0;
    const size_t got = size < left ? size : left;
    memcpy(buffer, file->bytes + offset, got);
    file->reads++;
    file->most = got > file->most ? got : file->most;
    return got;
}

/* Known code in gaps far apart, small and large, and across the bounds of what is read at once. */
static void test_code_is_read_where_it_matters(void)
{
    enum { SIZE = 0x400000, LARGE_GAP = 0x30000 };
    static const uint8_t restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    uint8_t *code = malloc(SIZE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(code);
    memset(code, 0x90, SIZE);
    struct cfi_bytes section = {0};
    cfi_bytes_cie(&section, "zR");
    CFI_BYTES_FDE(&section, 0x1000, 0x200000, 0);
    CFI_BYTES_FDE(&section, 0x201000 + LARGE_GAP, 0x1000, 0);
    CFI_BYTES_FDE(&section, 0x202100 + LARGE_GAP, 0x400000 - 0x201200 - LARGE_GAP, 0);
    memcpy(code + 0x200000 + 0xfff8, restorer, sizeof restorer);
    memcpy(code + 0x200000 + LARGE_GAP - 16, restorer, sizeof restorer);
    memcpy(code + 0x201000 + LARGE_GAP + 0x20, restorer, sizeof restorer);
    static const struct unwind_range whole = {0x1000, 0x1000 + SIZE};
    struct unwind_source source = source_of(&section);
    source.text = &whole;
    source.text_vaddr = 0x1000;
    source.text_bytes = (struct sprof_bytes){code, SIZE};
    struct unwind_table *in_memory = build(&source);
    struct code_file file = {code, SIZE, 0, 0};
    source.text_bytes = (struct sprof_bytes){0};
    source.text_size = SIZE;
    source.read_text = read_code;
    source.text_context = &file;
    struct unwind_table *in_file = build(&source);
    struct sprof_bytes expected, got;
    CU_ASSERT_EQUAL_FATAL(unwind_table_save(in_memory, &expected), 0);
    CU_ASSERT_EQUAL_FATAL(unwind_table_save(in_file, &got), 0);
    CU_ASSERT_EQUAL(expected.size, got.size);
    CU_ASSERT_EQUAL(memcmp(expected.data, got.data, expected.size), 0);
    CU_ASSERT_EQUAL(unwind_table_lookup(in_file, 0x201000 + 0xfff8), UNWIND_RULE_SIGNAL);
    CU_ASSERT_EQUAL(unwind_table_lookup(in_file, 0x202020 + LARGE_GAP), UNWIND_RULE_SIGNAL);
    CU_ASSERT_TRUE(file.reads <= 4 && file.most <= LARGE_GAP);
    file.size = 0; /* cut short meanwhile */
    struct unwind_table *without = build(&source);
    CU_ASSERT_EQUAL(unwind_table_lookup(without, 0x202020 + LARGE_GAP), UNWIND_RULE_GAP);
    unwind_table_free(without);
    unwind_table_free(in_file);
    unwind_table_free(in_memory);
    free((void *)expected.data);
    free((void *)got.data);
    free(code);
}

static void test_header_gives_the_base(void)
{
    static const uint8_t program[] = {0x0c, 7, 8, 0x90, 1}, pcrel[] = {0x1b};
    static const uint8_t header[] = {1, 0x1b, 0x03, 0x3b, 0xfc, 0x0f, 0, 0, 0, 0, 0, 0};
    struct cfi_bytes section = {0}, content = {0};
    cfi_bytes_cie_raw(&section, "zR", pcrel, 1, program, sizeof program);
    struct unwind_source source = source_of(&section);
    const int32_t pointer = 0x1000 - (0x31000 + (int32_t)section.size + 8), length = 16;
    cfi_bytes_put(&content, &pointer, 4);
    cfi_bytes_put(&content, &length, 4);
    cfi_bytes_put(&content, "", 1);
    cfi_bytes_fde_raw(&section, content.data, content.size);
    source.eh_frame.size = section.size;
    source.eh_frame_vaddr = 0;
    source.eh_frame_hdr = (struct sprof_bytes){header, sizeof header};
    source.eh_frame_hdr_vaddr = 0x30000; /* 0x30004 + 0xffc = 0x31000 */
    struct unwind_table *table = build(&source);
    EXPECT_ROWS(table, {0x1000, "cfa=rsp+8 ra=cfa-8"});
    unwind_table_free(table);
}

void sprof_suite_unwind_table_build(void);
void sprof_suite_unwind_table_build(void)
{
    CU_pSuite suite = CU_add_suite("unwind/table_build", NULL, NULL);
    CU_add_test(suite, "a usual function", test_usual_function);
    CU_add_test(suite, "unsorted functions, equal rows", test_unsorted_and_merged);
    CU_add_test(suite, "of overlapping functions the later start wins",
                test_overlap_later_start_wins);
    CU_add_test(suite, "functions outside of the text", test_outside_of_text);
    CU_add_test(suite, "malformed functions among good ones", test_malformed_among_good);
    CU_add_test(suite, "nothing usable", test_nothing_usable);
    CU_add_test(suite, "every kind of rule", test_rule_kinds);
    CU_add_test(suite, "augmentation S", test_signal_augmentation);
    CU_add_test(suite, "pointer encodings", test_pointer_encodings);
    CU_add_test(suite, "versions, DWARF64, both sections", test_versions_and_dwarf64);
    CU_add_test(suite, ".debug_frame fills gaps", test_debug_frame_fills_gaps);
    CU_add_test(suite, "Free Pascal's .debug_frame", test_free_pascal);
    CU_add_test(suite, "PLT sections", test_plt_sections);
    CU_add_test(suite, "roots by address", test_roots);
    CU_add_test(suite, "code known by its bytes", test_known_bytes);
    CU_add_test(suite, "code is read where it matters", test_code_is_read_where_it_matters);
    CU_add_test(suite, ".eh_frame_hdr gives the base", test_header_gives_the_base);
}
