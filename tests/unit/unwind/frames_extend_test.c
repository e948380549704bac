#include "tests/unit/unwind/cfi_bytes.h"
#include "unwind/unwind.h"

#include <CUnit/CUnit.h>
#include <stdio.h>

enum { OLD = 0x20000, OLD_HEADER = 0x1f000, NEW_HEADER = 0x30000, PIECE = 0x8000 };

static const struct unwind_range text = {0x1000, 0x9000};

/* .eh_frame_hdr as linkers write it, for the functions that are given. */
struct header {
    uint8_t forms[4];
    int32_t eh_frame;
    uint32_t count;
    int32_t places[2][2];
};

static struct header header_of(int32_t first, int32_t second)
{
    return (struct header){{1, 0x1b, 3, 0x3b},
                           OLD - OLD_HEADER - 4,
                           2,
                           {{first - OLD_HEADER, OLD - OLD_HEADER + 0x18},
                            {second - OLD_HEADER, OLD - OLD_HEADER + 0x38}}};
}

static struct unwind_frames frames_of(const struct cfi_bytes *section, const struct header *header)
{
    return (struct unwind_frames){.eh_frame = {section->data, section->size},
                                  .eh_frame_vaddr = OLD,
                                  .eh_frame_hdr = {(const uint8_t *)header, sizeof *header},
                                  .eh_frame_hdr_vaddr = OLD_HEADER,
                                  .is_fixed = true};
}

/* push %rbp; mov %rsp,%rbp; …; leave */
#define USUAL_PROGRAM 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x48, 0x0c, 7, 8

static void expect_row(const struct unwind_table *table, uint64_t vaddr, const char *rule)
{
    struct unwind_row row;
    CU_ASSERT_FATAL(unwind_table_row(table, vaddr, &row));
    CU_ASSERT_EQUAL(row.vaddr, vaddr);
    CU_ASSERT_STRING_EQUAL(row.rule, rule);
    if (row.vaddr != vaddr || strcmp(row.rule, rule))
        printf("\n    %#llx %s", (unsigned long long)row.vaddr, row.rule);
}

static void test_moved_prologue(void)
{
    struct cfi_bytes section = {0};
    cfi_bytes_cie(&section, "zR");
    CFI_BYTES_FDE(&section, 0x1000, 0x10, USUAL_PROGRAM);
    CFI_BYTES_FDE(&section, 0x2000, 0x10, 0x44, 0x0e, 32);
    const struct header header = header_of(0x1000, 0x2000);
    struct unwind_frames frames = frames_of(&section, &header);
    /* A way in of sixteen bytes, the two instructions with seven more between them, and a jump
     * back; of the second function a call that pushes. */
    const struct unwind_moved moved[] = {
        {PIECE,
         PIECE + 0x30,
         3,
         {{PIECE + 16, 0x1000, 0}, {PIECE + 24, 0x1001, 0}, {PIECE + 27, 0x1004, 0}}},
        {PIECE + 0x40,
         PIECE + 0x60,
         3,
         {{PIECE + 0x40, 0x2000, 0}, {PIECE + 0x48, 0x2004, 0}, {PIECE + 0x4e, 0x2004, 8}}},
    };
    frames.moved = moved;
    frames.moved_count = 2;
    struct sprof_str new_header = {0}, eh_frame = {0};
    CU_ASSERT_EQUAL_FATAL(unwind_frames_extend(&new_header, &eh_frame, &frames, NEW_HEADER), 0);
    const struct unwind_source source = {
        .eh_frame = {(const uint8_t *)eh_frame.text, eh_frame.length},
        .eh_frame_vaddr = NEW_HEADER + 64,
        .text = &text,
        .text_count = 1};
    struct unwind_table *table = NULL;
    CU_ASSERT_EQUAL_FATAL(unwind_table_build(&table, &source, NULL), 0);
    CU_ASSERT_EQUAL(unwind_table_facts(table).functions, 4);
    expect_row(table, 0x1001, "cfa=rsp+16 rbp=cfa-16 ra=cfa-8");
    expect_row(table, 0x2004, "cfa=rsp+32 ra=cfa-8");
    expect_row(table, PIECE, "cfa=rsp+8 ra=cfa-8");
    expect_row(table, PIECE + 24, "cfa=rsp+16 rbp=cfa-16 ra=cfa-8");
    expect_row(table, PIECE + 27, "cfa=rbp+16 rbp=cfa-16 ra=cfa-8");
    expect_row(table, PIECE + 0x30, "gap");
    expect_row(table, PIECE + 0x40, "cfa=rsp+8 ra=cfa-8");
    expect_row(table, PIECE + 0x48, "cfa=rsp+32 ra=cfa-8");
    expect_row(table, PIECE + 0x4e, "cfa=rsp+40 ra=cfa-8");
    unwind_table_free(table);
    /* All four are found by the header, in order. */
    uint32_t count;
    int32_t places[4][2];
    CU_ASSERT_EQUAL_FATAL(new_header.length, 12 + sizeof places);
    memcpy(&count, new_header.text + 8, sizeof count);
    memcpy(places, new_header.text + 12, sizeof places);
    CU_ASSERT_EQUAL(count, 4);
    const uint64_t starts[] = {0x1000, 0x2000, PIECE, PIECE + 0x40};
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL((uint64_t)(int64_t)places[i][0] + NEW_HEADER, starts[i]);
        CU_ASSERT_TRUE(places[i][1] >= 64 && (size_t)places[i][1] < 64 + eh_frame.length);
    }
    sprof_str_release(&new_header);
    sprof_str_release(&eh_frame);
}

static void expect_refused(const struct unwind_frames *frames)
{
    struct sprof_str header = {0}, eh_frame = {0};
    CU_ASSERT_EQUAL(unwind_frames_extend(&header, &eh_frame, frames, NEW_HEADER),
                    SPROF_EUNSUPPORTED);
    sprof_str_release(&header);
    sprof_str_release(&eh_frame);
}

/* What cannot be written anew is refused, and not guessed. */
static void test_refused(void)
{
    struct cfi_bytes section = {0};
    cfi_bytes_cie(&section, "zR");
    CFI_BYTES_FDE(&section, 0x1000, 0x10, USUAL_PROGRAM);
    CFI_BYTES_FDE(&section, 0x2000, 0x10, 0x44, 0x0e, 32);
    struct header header = header_of(0x1000, 0x2000);
    struct unwind_frames frames = frames_of(&section, &header);
    frames.is_fixed = false; /* the addresses in it are changed when it is loaded */
    expect_refused(&frames);
    frames.is_fixed = true;
    header.forms[3] = 0xff; /* without a table */
    expect_refused(&frames);
    header.forms[3] = 0x3b;
    header.count = 3; /* cut off */
    expect_refused(&frames);
    header.count = 2;
    frames.eh_frame.size -= 4;
    expect_refused(&frames);
    /* DW_CFA_set_loc holds an address. */
    CFI_BYTES_FDE(&section, 0x3000, 0x10, 0x01, 4, 0x30, 0, 0, 0, 0, 0, 0, 0x0e, 16);
    frames.eh_frame = (struct sprof_bytes){section.data, section.size};
    expect_refused(&frames);
}

void sprof_suite_unwind_frames_extend(void);
void sprof_suite_unwind_frames_extend(void)
{
    CU_pSuite suite = CU_add_suite("unwind/frames_extend", NULL, NULL);
    CU_add_test(suite, "rows of moved prologues", test_moved_prologue);
    CU_add_test(suite, "what cannot be written anew", test_refused);
}
