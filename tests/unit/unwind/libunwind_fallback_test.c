#include "tests/unit/unwind/scene.h"

#include <CUnit/CUnit.h>

/* Functions of the scene, by offset from SCENE_TEXT. */
enum {
    PLAIN = 0x000, /* CFA = rsp+16 */
    ROOT = 0x100,
    COMPLEX = 0x200, /* CFA = **(rsp+0)+16 */
    BEYOND = 0x300,  /* as COMPLEX, and rbx in a register that there is not */
    SAVES = 0x400,   /* CFA = rsp+16, rbx at CFA-16 */
    BY_RBX = 0x500,  /* CFA = rbx+16 */
    PAIR = 0x600,    /* CFA = rsp+8, from 0x10 on rsp+24 */
    LENGTH = 0x100,
};

#define FDE(scene, at, ...) CFI_BYTES_FDE(&(scene)->cfi, SCENE_CODE + (at), LENGTH, __VA_ARGS__)

static struct scene *complex_scene(void)
{
    struct scene *scene = scene_new();
    FDE(scene, PLAIN, 0x0e, 16);
    FDE(scene, ROOT, 0x07, 16);
    FDE(scene, COMPLEX, 0x0f, 6, 0x77, 0, 0x06, 0x06, 0x23, 16);
    FDE(scene, BEYOND, 0x0f, 6, 0x77, 0, 0x06, 0x06, 0x23, 16, 0x09, 3, 0xff, 0xff, 0xff, 0x7f);
    FDE(scene, SAVES, 0x0e, 16, 0x83, 2);
    FDE(scene, BY_RBX, 0x0c, 3, 16);
    FDE(scene, PAIR, 0x50, 0x0e, 24);
    scene_ready(scene);
    return scene;
}

static uint64_t at(uint64_t offset)
{
    return SCENE_TEXT + offset + 8;
}

/* libunwind evaluates what no rule holds. */
static void test_complex_row(void)
{
    struct scene *scene = complex_scene();
    scene->stack[0] = SCENE_STACK + 3 * 8;
    scene->stack[3] = SCENE_STACK + 4 * 8; /* CFA = this + 16 */
    scene->stack[5] = at(PLAIN);
    scene->stack[7] = at(ROOT);
    EXPECT(scene_walk(scene, at(COMPLEX)), MODEL_END_ROOT, {at(COMPLEX), MODEL_BY_CFI, false},
           {at(PLAIN), MODEL_BY_CFI, true}, {at(ROOT), MODEL_BY_CFI, true});
    CU_ASSERT_EQUAL(unwind_walker_counters(scene->walker).complex_rows, 1);
    CU_ASSERT_EQUAL(unwind_walker_counters(scene->walker).complex_failed, 0);
    scene_free(scene);
}

/* rbx is not tracked: libunwind fetches it from where the frame before saved it, twice. */
static void test_register_of_a_later_frame(void)
{
    struct scene *scene = complex_scene();
    scene->stack[0] = SCENE_STACK + 2 * 8;
    scene->stack[1] = at(BY_RBX);
    scene->stack[3] = at(SAVES);
    scene->stack[4] = SCENE_STACK + 6 * 8;
    scene->stack[5] = SCENE_TEXT + PAIR + 0x10; /* the border of two rows */
    scene->stack[6] = at(BY_RBX);
    scene->stack[7] = at(ROOT);
    scene->registers.value[X86_RBX] = 0xbad;
    EXPECT(scene_walk(scene, at(SAVES)), MODEL_END_ROOT, {at(SAVES), MODEL_BY_CFI, false},
           {at(BY_RBX), MODEL_BY_CFI, true}, {at(SAVES), MODEL_BY_CFI, true},
           {SCENE_TEXT + PAIR + 0x10, MODEL_BY_CFI, true}, {at(BY_RBX), MODEL_BY_CFI, true},
           {at(ROOT), MODEL_BY_CFI, true});
    CU_ASSERT_EQUAL(unwind_walker_counters(scene->walker).complex_rows, 2);
    CU_ASSERT_EQUAL(unwind_walker_counters(scene->walker).complex_failed, 0);
    scene_free(scene);
}

/* libunwind would look for it there. */
static void test_complex_row_with_a_register_beyond(void)
{
    struct scene *scene = complex_scene();
    scene->stack[0] = SCENE_STACK + 3 * 8;
    scene->stack[3] = SCENE_STACK + 4 * 8;
    scene->stack[5] = at(ROOT);
    CU_ASSERT_EQUAL(scene_walk(scene, at(BEYOND)).frames[0].address, at(BEYOND));
    CU_ASSERT_EQUAL(unwind_walker_counters(scene->walker).complex_failed, 1);
    scene_free(scene);
}

static void test_complex_without_memory(void)
{
    struct scene *scene = complex_scene();
    scene->stack[0] = 0x10;
    const struct unwind_stack stack = scene_walk(scene, at(COMPLEX));
    CU_ASSERT_EQUAL(stack.count, 1);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_NO_CFI);
    CU_ASSERT_EQUAL(unwind_walker_counters(scene->walker).complex_failed, 1);
    scene_free(scene);
}

void sprof_suite_unwind_libunwind_fallback(void);
void sprof_suite_unwind_libunwind_fallback(void)
{
    CU_pSuite suite = CU_add_suite("unwind/libunwind_fallback", NULL, NULL);
    CU_add_test(suite, "complex row", test_complex_row);
    CU_add_test(suite, "a register of a later frame", test_register_of_a_later_frame);
    CU_add_test(suite, "a complex row with a register beyond",
                test_complex_row_with_a_register_beyond);
    CU_add_test(suite, "complex row without memory", test_complex_without_memory);
}
