/* What a table says of functions as a whole. */
#include "tests/unit/unwind/scene.h"

#include <CUnit/CUnit.h>

enum { PLAIN = 0x100, ROOT = 0x200, PART = 0x300, SIGNAL = 0x400, LENGTH = 0x40 };

#define FDE(scene, at, ...) CFI_BYTES_FDE(&(scene)->cfi, SCENE_CODE + (at), LENGTH, __VA_ARGS__)

static struct scene *scene_of_all(void)
{
    struct scene *scene = scene_new();
    FDE(scene, PLAIN, 0x48, 0x0e, 32, 0x48, 0x0c, 6, 16); /* rsp+8; at 8 rsp+32; at 16 rbp+16 */
    FDE(scene, ROOT, 0x07, 16);
    FDE(scene, PART, 0x0e, 32);
    cfi_bytes_cie(&scene->cfi, "zRS");
    FDE(scene, SIGNAL, 0);
    scene_ready(scene);
    return scene;
}

static void test_one_after_the_other(void)
{
    struct scene *scene = scene_of_all();
    static const uint64_t starts[] = {PLAIN, ROOT, PART, SIGNAL};
    struct unwind_function_info info;
    uint64_t vaddr = 0;
    for (size_t i = 0; i < 4; i++, vaddr = info.range.start + 1) {
        CU_ASSERT_TRUE_FATAL(unwind_table_next_function(scene->table, vaddr, &info));
        CU_ASSERT_EQUAL(info.range.start, SCENE_CODE + starts[i]);
        CU_ASSERT_EQUAL(info.range.end, SCENE_CODE + starts[i] + LENGTH);
        CU_ASSERT_FALSE(info.from_go);
    }
    CU_ASSERT_FALSE(unwind_table_next_function(scene->table, vaddr, &info));
    CU_ASSERT_TRUE(unwind_table_next_function(scene->table, SCENE_CODE + ROOT, &info));
    CU_ASSERT_EQUAL(info.range.start, SCENE_CODE + ROOT);
    scene_free(scene);
}

static void test_entries(void)
{
    struct scene *scene = scene_of_all();
    const struct unwind_table *table = scene->table;
    CU_ASSERT_EQUAL(unwind_table_entry(table, SCENE_CODE + PLAIN), UNWIND_ENTRY_CALLED);
    CU_ASSERT_EQUAL(unwind_table_entry(table, SCENE_CODE + PLAIN + 8), UNWIND_ENTRY_INSIDE);
    CU_ASSERT_EQUAL(unwind_table_entry(table, SCENE_CODE + ROOT), UNWIND_ENTRY_START);
    CU_ASSERT_EQUAL(unwind_table_entry(table, SCENE_CODE + PART), UNWIND_ENTRY_INSIDE);
    CU_ASSERT_EQUAL(unwind_table_entry(table, SCENE_CODE + SIGNAL), UNWIND_ENTRY_SIGNAL);
    CU_ASSERT_EQUAL(unwind_table_entry(table, 0), UNWIND_ENTRY_INSIDE);
    scene_free(scene);
}

static void test_frame_addresses(void)
{
    struct scene *scene = scene_of_all();
    unsigned reg;
    int64_t offset;
    CU_ASSERT_TRUE(unwind_table_cfa(scene->table, SCENE_CODE + PLAIN + 9, &reg, &offset));
    CU_ASSERT(reg == ARCH_SP && offset == 32);
    CU_ASSERT_TRUE(unwind_table_cfa(scene->table, SCENE_CODE + PLAIN + 17, &reg, &offset));
    CU_ASSERT(reg == ARCH_FP && offset == 16);
    CU_ASSERT_FALSE(unwind_table_cfa(scene->table, SCENE_CODE + ROOT, &reg, &offset));
    scene_free(scene);
}

static void note_table(void *context, uint64_t function, uint64_t table)
{
    uint64_t *found = context;
    found[0]++;
    found[1] = function;
    found[2] = table;
}

/* Two functions of one CIE with "L": one has a table, the other a pointer of 0. */
static void test_exception_tables(void)
{
    struct cfi_bytes section = {0};
    static const uint8_t program[] = {0x0c, 7, 8, 0x90, 1}, augmentation[] = {0x1b, 0};
    static const uint8_t none[] = {0};
    uint64_t found[3] = {0};
    cfi_bytes_cie_raw(&section, "zLR", augmentation, sizeof augmentation, program, sizeof program);
    const uint64_t starts[] = {0x5000, 0x6000}, length = 0x10;
    for (int i = 0; i < 2; i++) {
        struct cfi_bytes content = {0};
        const uint8_t size = 4;
        const int32_t distance = i ? 0 : 0x100; /* from where it stands */
        cfi_bytes_put(&content, &starts[i], 8);
        cfi_bytes_put(&content, &length, 8);
        cfi_bytes_put(&content, &size, 1);
        cfi_bytes_put(&content, &distance, 4);
        cfi_bytes_put(&content, none, 1);
        cfi_bytes_fde_raw(&section, content.data, content.size);
    }
    CU_ASSERT_EQUAL(unwind_each_exception_table((struct sprof_bytes){section.data, section.size},
                                                0x9000, note_table, found),
                    0);
    CU_ASSERT_EQUAL(found[0], 1);
    CU_ASSERT_EQUAL(found[1], 0x5000);
    CU_ASSERT(found[2] > 0x9100 && found[2] < 0x9100 + section.size);
}

void sprof_suite_unwind_functions(void);
void sprof_suite_unwind_functions(void)
{
    CU_pSuite suite = CU_add_suite("unwind/functions", NULL, NULL);
    CU_add_test(suite, "one after the other", test_one_after_the_other);
    CU_add_test(suite, "entries", test_entries);
    CU_add_test(suite, "frame addresses", test_frame_addresses);
    CU_add_test(suite, "exception tables", test_exception_tables);
}
