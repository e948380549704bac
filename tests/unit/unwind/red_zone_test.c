#include "tests/unit/unwind/scene.h"

#include <CUnit/CUnit.h>
#include <string.h>

/* A root at +0x100, whose call returns to +0x110; a function at +0x800 that keeps its CFA - 8 at
 * rsp - 8. The stack pointer is at word 16, and so the slice begins there. */
enum { CALLER = 0x100, RETURN = 0x110, FUNCTION = 0x800, PLACE = 0x820, DISPATCHER = 0x1000 };

static struct scene *red_zone_scene(void)
{
    struct scene *scene = scene_new();
    CFI_BYTES_FDE(&scene->cfi, SCENE_CODE + CALLER, 0x100, 0x07, 16); /* undefined: rip */
    CFI_BYTES_FDE(&scene->cfi, SCENE_CODE + FUNCTION, 0x100, 0x0f, 5, 0x77, 0x78, 0x06, 0x23, 8);
    CFI_BYTES_FDE(&scene->cfi, SCENE_CODE + 0xa00, 0x100, 0);
    scene_ready(scene);
    scene_live(scene, SCENE_WORDS);
    scene->registers.value[ARCH_SP] = SCENE_STACK + 16 * 8;
    scene->memory.slice += 16 * 8;
    scene->memory.slice_address += 16 * 8;
    scene->memory.slice_size -= 16 * 8;
    scene->stack[22] = SCENE_TEXT + RETURN;
    return scene;
}

static void expect_root(struct scene *scene, bool stitched)
{
    const struct unwind_stack stack = scene_walk(scene, SCENE_TEXT + PLACE);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_ROOT);
    CU_ASSERT_EQUAL(stack.stitched, stitched);
    CU_ASSERT_EQUAL_FATAL(stack.count, 2);
    CU_ASSERT_EQUAL(stack.frames[1].address, SCENE_TEXT + RETURN);
    CU_ASSERT_EQUAL(stack.frames[1].found_by, MODEL_BY_CFI);
    CU_ASSERT_EQUAL(stack.top, SCENE_STACK + 23 * 8);
}

static void expect_end(struct scene *scene, enum model_end end, size_t count)
{
    const struct unwind_stack stack = scene_walk(scene, SCENE_TEXT + PLACE);
    CU_ASSERT_EQUAL(stack.end, end);
    CU_ASSERT_EQUAL(stack.count, count);
}

/* The word itself is stale in the live target; its copy in the slice is not. */
static void test_copy_above(void)
{
    struct scene *scene = red_zone_scene();
    scene_call(scene, RETURN, FUNCTION);
    scene->stack[15] = 0xbad;
    scene->stack[17] = SCENE_STACK + 21 * 8; /* points to no return address */
    scene->stack[18] = SCENE_STACK + 22 * 8;
    expect_root(scene, false);
    scene->memory.read = NULL; /* the process has ended */
    expect_root(scene, false);
    scene->space.generation++;
    expect_end(scene, MODEL_END_TRUNCATED, 1);
    scene_free(scene);
}

static void test_through_a_dispatcher(void)
{
    static const uint8_t test_and_branch[] = {0x0f, 0x84};
    struct scene *scene = red_zone_scene();
    scene_call(scene, RETURN, DISPATCHER);
    scene_distance(scene, DISPATCHER + 16, FUNCTION);
    memcpy(&scene->code[DISPATCHER + 10], test_and_branch, sizeof test_and_branch);
    scene->stack[18] = SCENE_STACK + 22 * 8;
    expect_root(scene, false);
    scene->space.generation++;
    scene_distance(scene, DISPATCHER + 16, FUNCTION + 0x100); /* to another function */
    expect_end(scene, MODEL_END_BAD_MEMORY, 1);
    scene_free(scene);
}

/* Without a copy the live target is asked, and believed where a call stands before the return. */
static void test_live_word(void)
{
    struct scene *scene = red_zone_scene();
    scene->stack[15] = SCENE_STACK + 22 * 8;
    scene_call(scene, RETURN, 0xa00);
    expect_root(scene, true);
    scene->stack[22] = SCENE_TEXT + 0xa10; /* read too late: no call there */
    expect_end(scene, MODEL_END_TRUNCATED, 1);
    scene->memory.read = NULL;
    expect_end(scene, MODEL_END_TRUNCATED, 1);
    scene_free(scene);
}

static void test_only_where_interrupted(void)
{
    struct scene *scene = red_zone_scene();
    scene_call(scene, RETURN, FUNCTION);
    scene_call(scene, PLACE, FUNCTION);
    scene->stack[18] = SCENE_STACK + 22 * 8;
    scene->stack[22] = SCENE_TEXT + PLACE; /* called by itself: then its rsp - 8 holds this */
    scene->stack[24] = SCENE_STACK + 26 * 8;
    scene->stack[26] = SCENE_TEXT + RETURN;
    expect_end(scene, MODEL_END_BAD_MEMORY, 2);
    scene_free(scene);
}

void sprof_suite_unwind_red_zone(void);
void sprof_suite_unwind_red_zone(void)
{
    CU_pSuite suite = CU_add_suite("unwind/red_zone", NULL, NULL);
    CU_add_test(suite, "a copy of the pointer", test_copy_above);
    CU_add_test(suite, "through a dispatcher", test_through_a_dispatcher);
    CU_add_test(suite, "the live word", test_live_word);
    CU_add_test(suite, "only where interrupted", test_only_where_interrupted);
}
