/* The unwinder on the tests' second processor: it is compiled from the same sources, so whatever it
 * knew of x86-64 by itself would show here. */
#include "tests/unit/unwind/scene.h"

#include "tests/unit/suites.h"

#include <CUnit/CUnit.h>

/* Functions, by offset from SCENE_TEXT. */
enum {
    LEAF = 0x000,    /* CFA = sp, return address in x30 */
    RECORD = 0x100,  /* CFA = x29+16, x29 at CFA-16, x30 at CFA-8 */
    LARGE = 0x200,   /* CFA = sp+64, x29 at CFA-64, x30 at CFA-56 */
    NO_FP = 0x300,   /* CFA = sp+32, x30 at CFA-32 */
    LOWERED = 0x400, /* CFA = sp+48, return address in x30 */
    APART = 0x500,   /* CFA = sp+32, x29 at CFA-32, x30 at CFA-8 */
    HELD = 0x600,    /* CFA = sp, return address in x7 */
    SIGNAL = 0x700,
    ROOT = 0x800,
    GAP = 0x1000, /* no table covers it */
    LENGTH = 0x100,
};

static const uint32_t call = 0x94000000, return_word = 0xd65f03c0, push_frame = 0xa9bf7bfd,
                      pop_frame = 0xa8c17bfd, nothing = 0xd503201f;

#define FDE(scene, at, ...) CFI_BYTES_FDE(&(scene)->cfi, SCENE_CODE + (at), LENGTH, __VA_ARGS__)

static void put(struct scene *scene, uint64_t offset, uint32_t word)
{
    memcpy(scene->code + offset, &word, sizeof word);
}

static void begin_cie(struct scene *scene, const char *letters)
{
    static const uint8_t program[] = {0x0c, ARCH_SP, 0}, absolute[] = {0};
    scene->cfi.return_column = ARCH_RETURN_COLUMN;
    cfi_bytes_cie_raw(&scene->cfi, letters, absolute, sizeof absolute, program, sizeof program);
}

static struct scene *scene_of_all(void)
{
    struct scene *scene = scene_new();
    scene->cfi = (struct cfi_bytes){0};
    begin_cie(scene, "zR");
    FDE(scene, LEAF, 0);
    FDE(scene, RECORD, 0x0c, ARCH_FP, 16, 0x80 + ARCH_FP, 2, 0x80 + ARCH_LINK, 1);
    FDE(scene, LARGE, 0x0e, 64, 0x80 + ARCH_FP, 8, 0x80 + ARCH_LINK, 7);
    FDE(scene, NO_FP, 0x0e, 32, 0x80 + ARCH_LINK, 4);
    FDE(scene, LOWERED, 0x0e, 48);
    FDE(scene, APART, 0x0e, 32, 0x80 + ARCH_FP, 4, 0x80 + ARCH_LINK, 1);
    FDE(scene, HELD, 0x09, ARCH_LINK, 7);
    FDE(scene, ROOT, 0x07, ARCH_LINK);
    begin_cie(scene, "zRS");
    FDE(scene, SIGNAL, 0);
    scene_ready(scene);
    for (uint64_t at = 0; at < SCENE_CODE_BYTES; at += 4)
        put(scene, at, nothing);
    return scene;
}

/* Where a function is interrupted, or returned to; live reads want a call before it. */
static uint64_t at(uint64_t offset)
{
    return SCENE_TEXT + offset + 8;
}

static void test_rules(void)
{
    static const char *const expected[] = {
        "cfa=sp+0 ra=link",
        "cfa=x29+16 x29=cfa-16 ra=cfa-8",
        "cfa=sp+64 x29=cfa-64 ra=cfa-56",
        "cfa=sp+32 ra=cfa-32",
        "cfa=sp+48 ra=link",
        "complex",
        "cfa=sp+0 ra=x7",
        "signal",
        "end",
    };
    struct scene *scene = scene_of_all();
    struct unwind_row row = {0};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        CU_ASSERT_FATAL(unwind_table_row(scene->table, SCENE_CODE + i * LENGTH, &row));
        CU_ASSERT_EQUAL(row.vaddr, SCENE_CODE + i * LENGTH);
        CU_ASSERT_STRING_EQUAL(row.rule, expected[i]);
    }
    scene_free(scene);
}

/* A leaf, its callers with every place of the return address, the root; in the fast loop alone. */
static void test_to_the_root(void)
{
    struct scene *scene = scene_of_all();
    const uint64_t signature = UINT64_C(0x2a) << 56;
    uint64_t *value = scene->registers.value;
    value[ARCH_LINK] = at(LARGE) | signature;
    value[ARCH_FP] = 0x1234;
    scene->stack[0] = SCENE_STACK + 12 * 8; /* LARGE saves it for RECORD */
    scene->stack[1] = at(NO_FP);
    scene->stack[8] = at(RECORD) | signature;
    scene->stack[12] = 0;
    scene->stack[13] = at(ROOT);
    for (int i = 0; i < 2; i++) {
        EXPECT(scene_walk(scene, at(LEAF)), MODEL_END_ROOT, {at(LEAF), MODEL_BY_CFI, false},
               {at(LARGE), MODEL_BY_CFI, true}, {at(NO_FP), MODEL_BY_CFI, true},
               {at(RECORD), MODEL_BY_CFI, true}, {at(ROOT), MODEL_BY_CFI, true});
    }
    scene_free(scene);
}

static void test_a_leaf_with_a_frame(void)
{
    struct scene *scene = scene_of_all();
    scene->registers.value[ARCH_LINK] = at(NO_FP);
    scene->stack[6] = at(ROOT);
    EXPECT(scene_walk(scene, at(LOWERED)), MODEL_END_ROOT, {at(LOWERED), MODEL_BY_CFI, false},
           {at(NO_FP), MODEL_BY_CFI, true}, {at(ROOT), MODEL_BY_CFI, true});
    scene_free(scene);
}

/* Whoever has called somebody has no return address in the link register any more. */
static void test_the_link_register_is_the_innermost_frame_s(void)
{
    struct scene *scene = scene_of_all();
    scene->registers.value[ARCH_LINK] = at(LOWERED);
    EXPECT(scene_walk(scene, at(LEAF)), MODEL_END_BAD_MEMORY, {at(LEAF), MODEL_BY_CFI, false},
           {at(LOWERED), MODEL_BY_CFI, true});
    scene_free(scene);
}

static void test_other_rules(void)
{
    struct scene *scene = scene_of_all();
    scene->registers.value[7] = at(ROOT);
    EXPECT(scene_walk(scene, at(HELD)), MODEL_END_ROOT, {at(HELD), MODEL_BY_CFI, false},
           {at(ROOT), MODEL_BY_CFI, true});
    /* This one is built without libunwind. */
    EXPECT(scene_walk(scene, at(APART)), MODEL_END_NO_CFI, {at(APART), MODEL_BY_CFI, false});
    scene_free(scene);
}

/* All registers come back, the link register with them. */
static void test_signal(void)
{
    struct scene *scene = scene_of_all();
    enum { FRAME = ARCH_SIGNAL_REGISTERS_OFFSET / 8 };
    scene->stack[FRAME + ARCH_LINK] = at(ROOT);
    scene->stack[FRAME + ARCH_SP] = SCENE_STACK + 600 * 8;
    scene->stack[FRAME + ARCH_PC] = at(LEAF);
    EXPECT(scene_walk(scene, at(SIGNAL)), MODEL_END_ROOT, {at(SIGNAL), MODEL_BY_CFI, false},
           {at(LEAF), MODEL_BY_SIGNAL, false}, {at(ROOT), MODEL_BY_CFI, true});
    scene_free(scene);
}

/* Code without a table: before it pushes, the return address is in the link register; then beside
 * the frame pointer; and where the instructions at hand say nothing, they are followed to the
 * return. */
static void test_code_without_a_table(void)
{
    struct scene *scene = scene_of_all();
    scene_live(scene, SCENE_WORDS);
    put(scene, LARGE + 4, call);
    put(scene, ROOT + 4, call);
    put(scene, GAP, push_frame);
    put(scene, GAP + 32, pop_frame);
    put(scene, GAP + 36, return_word);
    uint64_t *value = scene->registers.value;
    value[ARCH_LINK] = at(ROOT);
    EXPECT(scene_walk(scene, SCENE_TEXT + GAP), MODEL_END_ROOT,
           {SCENE_TEXT + GAP, MODEL_BY_CFI, false}, {at(ROOT), MODEL_BY_LEAF, true});
    EXPECT(scene_walk(scene, SCENE_TEXT + GAP + 36), MODEL_END_ROOT,
           {SCENE_TEXT + GAP + 36, MODEL_BY_CFI, false}, {at(ROOT), MODEL_BY_LEAF, true});
    value[ARCH_LINK] = 0; /* it has called somebody since */
    scene->stack[0] = 0x5678;
    scene->stack[1] = at(LARGE);
    scene->stack[3] = at(ROOT);
    EXPECT(scene_walk(scene, SCENE_TEXT + GAP + 16), MODEL_END_ROOT,
           {SCENE_TEXT + GAP + 16, MODEL_BY_CFI, false}, {at(LARGE), MODEL_BY_LEAF, true},
           {at(ROOT), MODEL_BY_CFI, true});
    scene_free(scene);
}

static void test_hostile_registers(void)
{
    static const uint64_t values[] = {0,
                                      1,
                                      SCENE_STACK - 8,
                                      SCENE_STACK + 8,
                                      UINT64_MAX,
                                      UINT64_MAX - 7,
                                      SCENE_TEXT,
                                      UINT64_C(1) << 48};
    static const uint64_t functions[] = {LEAF, RECORD, LARGE, NO_FP, LOWERED, HELD, SIGNAL, GAP};
    struct scene *scene = scene_of_all();
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
            for (size_t j = 0; j < sizeof values / sizeof *values; j++) {
                scene->registers.value[ARCH_SP] = values[i];
                scene->registers.value[ARCH_FP] = values[j];
                scene->registers.value[ARCH_LINK] = values[j];
                const struct unwind_stack stack = scene_walk(scene, at(functions[f]));
                CU_ASSERT(stack.count >= 1 && stack.count < 100);
            }
    scene_free(scene);
}

void sprof_register_suites(void)
{
    CU_pSuite suite = CU_add_suite("load_store/walk", NULL, NULL);
    CU_add_test(suite, "rules", test_rules);
    CU_add_test(suite, "to the root", test_to_the_root);
    CU_add_test(suite, "a leaf with a frame", test_a_leaf_with_a_frame);
    CU_add_test(suite, "the link register is the innermost frame's",
                test_the_link_register_is_the_innermost_frame_s);
    CU_add_test(suite, "other rules", test_other_rules);
    CU_add_test(suite, "signal frame", test_signal);
    CU_add_test(suite, "code without a table", test_code_without_a_table);
    CU_add_test(suite, "hostile registers", test_hostile_registers);
}
