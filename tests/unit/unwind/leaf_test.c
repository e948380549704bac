#include "tests/unit/unwind/scene.h"

#include <CUnit/CUnit.h>
#include <string.h>

/* A root at +0x100 whose call returns to +0x110, and code without a table from +0x800 on, up to
 * another function at +0x900. */
static struct scene *leaf_scene(void)
{
    struct scene *scene = scene_new();
    CFI_BYTES_FDE(&scene->cfi, SCENE_CODE + 0x100, 0x100, 0x07, 16); /* undefined: rip */
    CFI_BYTES_FDE(&scene->cfi, SCENE_CODE + 0x900, 0x100, 0);
    scene_ready(scene);
    scene_live(scene, SCENE_WORDS);
    return scene;
}

static void test_target_of_the_call(void)
{
    struct scene *scene = leaf_scene();
    scene_call(scene, 0x110, 0x800);
    scene->stack[0] = SCENE_TEXT + 0x110;
    const struct unwind_stack stack = scene_walk(scene, SCENE_TEXT + 0x820);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_ROOT);
    CU_ASSERT_EQUAL_FATAL(stack.count, 2);
    CU_ASSERT_EQUAL(stack.frames[1].address, SCENE_TEXT + 0x110);
    CU_ASSERT_EQUAL(stack.frames[1].found_by, MODEL_BY_LEAF);
    scene_free(scene);
}

/* A copy of an instruction with a uprobe: where functions begin and return, the return address is
 * on top, whatever the frame pointer leads to. Where it is not, that is no copy of sprof's. */
static void test_copied_instruction(void)
{
    struct scene *scene = leaf_scene();
    scene_call(scene, 0x110, 0x700);
    scene_call(scene, 0x120, 0x700);
    scene->stack[0] = SCENE_TEXT + 0x120;
    scene->stack[9] = SCENE_TEXT + 0x110;
    scene->registers.value[ARCH_FP] = SCENE_STACK + 64;
    scene->regions[2].holds_copies = true;
    struct unwind_stack stack = scene_walk(scene, SCENE_BARE + 0x80);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_ROOT);
    CU_ASSERT_EQUAL_FATAL(stack.count, 2);
    CU_ASSERT_EQUAL(stack.frames[1].address, SCENE_TEXT + 0x120);
    CU_ASSERT_EQUAL(stack.frames[1].found_by, MODEL_BY_LEAF);
    scene->stack[0] = 0;
    stack = scene_walk(scene, SCENE_BARE + 0x80);
    CU_ASSERT_EQUAL_FATAL(stack.count, 2);
    CU_ASSERT_EQUAL(stack.frames[1].address, SCENE_TEXT + 0x110);
    CU_ASSERT_EQUAL(stack.frames[1].found_by, MODEL_BY_FP);
    scene_free(scene);
}

static void test_another_function_between(void)
{
    struct scene *scene = leaf_scene();
    scene_call(scene, 0x110, 0x800);
    scene->stack[0] = SCENE_TEXT + 0x110;
    const struct unwind_stack stack = scene_walk(scene, SCENE_TEXT + 0xa20);
    CU_ASSERT_EQUAL_FATAL(stack.count, 2);
    CU_ASSERT_EQUAL(stack.frames[1].found_by, MODEL_BY_SCAN);
    scene_free(scene);
}

static void test_prologue(void)
{
    static const uint8_t set_up[] = {0x55, 0x48, 0x89, 0xe5};
    struct scene *scene = leaf_scene();
    scene_call(scene, 0x110, 0x700); /* through a pointer, say: the target tells nothing */
    memcpy(&scene->code[0x840], set_up, sizeof set_up);
    scene->stack[0] = SCENE_STACK + 0x100;
    scene->stack[1] = SCENE_TEXT + 0x110;
    const struct unwind_stack stack = scene_walk(scene, SCENE_TEXT + 0x841);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_ROOT);
    CU_ASSERT_EQUAL_FATAL(stack.count, 2);
    CU_ASSERT_EQUAL(stack.frames[1].address, SCENE_TEXT + 0x110);
    CU_ASSERT_EQUAL(stack.frames[1].found_by, MODEL_BY_LEAF);
    scene_free(scene);
}

static void test_stale_word_below_a_frame(void)
{
    struct scene *scene = leaf_scene();
    scene_call(scene, 0x110, 0x700);
    scene_call(scene, 0x980, 0x700);
    scene->code[0x7f0] = 0xc3; /* what was called ended before the code at hand */
    scene->code[0x7f1] = 0xcc;
    scene->stack[0] = SCENE_TEXT + 0x980; /* left over from an earlier call */
    scene->stack[20] = 0;
    scene->stack[21] = SCENE_TEXT + 0x110;
    scene->registers.value[ARCH_FP] = SCENE_STACK + 20 * 8;
    const struct unwind_stack stack = scene_walk(scene, SCENE_TEXT + 0x820);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_ROOT);
    CU_ASSERT_EQUAL_FATAL(stack.count, 2);
    CU_ASSERT_EQUAL(stack.frames[1].address, SCENE_TEXT + 0x110);
    CU_ASSERT_EQUAL(stack.frames[1].found_by, MODEL_BY_FP);
    scene_free(scene);
}

void sprof_suite_unwind_leaf(void);
void sprof_suite_unwind_leaf(void)
{
    CU_pSuite suite = CU_add_suite("unwind/leaf", NULL, NULL);
    CU_add_test(suite, "the target of the call", test_target_of_the_call);
    CU_add_test(suite, "a copied instruction", test_copied_instruction);
    CU_add_test(suite, "another function between", test_another_function_between);
    CU_add_test(suite, "in the prologue", test_prologue);
    CU_add_test(suite, "a stale word below a frame", test_stale_word_below_a_frame);
}
