/* Walks through what a tracer has put between callers and functions. */
#include "model/model.h"
#include "tests/unit/unwind/scene.h"

#include <CUnit/CUnit.h>

/* Functions, by offset from SCENE_TEXT. */
enum {
    PLAIN = 0x000, /* CFA = rsp+16 */
    ROOT = 0x200,
    THUNK = 0xe00, /* of a function with a probe */
    POINT = 0xf00, /* … and of a place that calls */
    LENGTH = 0x100,
};

#define FDE(scene, at, ...) CFI_BYTES_FDE(&(scene)->cfi, SCENE_CODE + (at), LENGTH, __VA_ARGS__)

static struct scene *scene_of_thunks(void)
{
    struct scene *scene = scene_new();
    FDE(scene, PLAIN, 0x0e, 16);
    FDE(scene, ROOT, 0x07, 16);
    FDE(scene, THUNK, 0x10, 16, 46, 0x39, 0x1c, 0x80, 0, 0x08, 63, 0x1a, 0x08, 20, 0x2a, 0x80, 0,
        0x08, 63, 0x1a, 0x08, 37, 0x2a, 0x1c, 0x31, 0x1c, 0x28, 22, 0, 0x0e, 0xff, 0xff, 0xff, 0xff,
        0xff, 1, 0, 0, 0x1a, 0x33, 0x24, 0x0e, 0, 0, 0, 0, 0, 0x44, 0, 0, 0x22);
    FDE(scene, POINT, 0x10, 16, 56, 0x3a, 0x1c, 0x80, 0, 0x08, 63, 0x1a, 0x08, 20, 0x2a, 0x80, 0,
        0x08, 63, 0x1a, 0x08, 37, 0x2a, 0x1c, 0x31, 0x1c, 0x28, 32, 0, 0x0e, 0, 0, 0, 0, 0, 1, 0, 0,
        0x27, 0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0x1a, 0x33, 0x24, 0x0e, 0, 0, 0, 0, 0,
        0x44, 0, 0, 0x22);
    scene_ready(scene);
    return scene;
}

static uint64_t at(uint64_t offset)
{
    return SCENE_TEXT + offset + 8;
}

/* Return addresses that a tracer has replaced: the callers' are in its records. */
static void test_thunks(void)
{
    struct scene *scene = scene_of_thunks();
    const uint64_t thunk = SCENE_TEXT + THUNK;
    struct model_open_call calls[] = {{SCENE_STACK + 3 * 8, at(ROOT), 7},
                                      {SCENE_STACK + 1 * 8, at(PLAIN), 9}};
    scene->stack[1] = scene->stack[3] = thunk + 26;
    scene->memory.calls = calls;
    scene->memory.call_count = 2;
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_ROOT, {at(PLAIN), MODEL_BY_CFI, false},
           {at(PLAIN), MODEL_BY_CFI, true}, {at(ROOT), MODEL_BY_CFI, true});
    scene->memory.call_count = 1; /* one is not known, and nothing can be read */
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_TRUNCATED, {at(PLAIN), MODEL_BY_CFI, false},
           {thunk + 26, MODEL_BY_CFI, true});
    scene->memory.call_count = 2;
    calls[1].return_address = thunk + 26; /* forged */
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_BAD_MEMORY, {at(PLAIN), MODEL_BY_CFI, false},
           {thunk + 26, MODEL_BY_CFI, true});
    calls[1].return_address = at(PLAIN);
    scene->registers.value[ARCH_SP] = SCENE_STACK + 8; /* entered, and returning */
    scene->stack[1] = at(PLAIN);
    EXPECT(scene_walk(scene, thunk), MODEL_END_ROOT, {thunk, MODEL_BY_CFI, false},
           {at(PLAIN), MODEL_BY_CFI, true}, {at(ROOT), MODEL_BY_CFI, true});
    scene->stack[1] = 0;
    scene->registers.value[ARCH_SP] = SCENE_STACK;
    EXPECT(scene_walk(scene, thunk + 29), MODEL_END_ROOT, {thunk + 29, MODEL_BY_CFI, false},
           {at(PLAIN), MODEL_BY_CFI, true}, {at(ROOT), MODEL_BY_CFI, true});
    scene_free(scene);
}

/* A call that ends, seen from what the thunk calls then and from the thunk itself: its record has
 * left the chain, and its return address is on the stack again. */
static void test_thunks_of_ended_calls(void)
{
    struct scene *scene = scene_of_thunks();
    const uint64_t leaving = SCENE_TEXT + THUNK + 34;
    struct model_open_call call = {SCENE_STACK + 3 * 8, at(ROOT), 7};
    scene_live(scene, SCENE_WORDS);
    scene_call_before(scene, PLAIN + 8);
    scene->stack[1] = leaving;
    scene->stack[3] = at(PLAIN);
    scene->stack[5] = at(ROOT);
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_ROOT, {at(PLAIN), MODEL_BY_CFI, false},
           {at(PLAIN), MODEL_BY_CFI, true}, {at(ROOT), MODEL_BY_CFI, true});
    scene->stack[3] = 0x1234; /* a result of the function: it has not come so far */
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_TRUNCATED, {at(PLAIN), MODEL_BY_CFI, false},
           {leaving, MODEL_BY_CFI, true});
    scene->stack[3] = at(PLAIN); /* the same by accident: the record counts */
    scene->memory.calls = &call;
    scene->memory.call_count = 1;
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_ROOT, {at(PLAIN), MODEL_BY_CFI, false},
           {at(ROOT), MODEL_BY_CFI, true});
    scene->memory.call_count = 0;
    scene->stack[1] = at(ROOT);
    EXPECT(scene_walk(scene, leaving), MODEL_END_ROOT, {leaving, MODEL_BY_CFI, false},
           {at(ROOT), MODEL_BY_CFI, true});
    scene_free(scene);
}

/* A place that calls has the slot of the function that it calls, and a record of its own. */
static void test_thunks_of_points(void)
{
    struct scene *scene = scene_of_thunks();
    const uint64_t thunk = SCENE_TEXT + THUNK, point = SCENE_TEXT + POINT;
    const uint64_t slot = SCENE_STACK + 1 * 8;
    struct model_open_call calls[] = {{slot | 1, at(ROOT), 7}, {slot, point + 26, 9}};
    scene->stack[1] = thunk + 26;
    scene->memory.calls = calls;
    scene->memory.call_count = 2;
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_ROOT, {at(PLAIN), MODEL_BY_CFI, false},
           {at(ROOT), MODEL_BY_CFI, true});
    scene->stack[1] = point + 26; /* the function has no probe */
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_ROOT, {at(PLAIN), MODEL_BY_CFI, false},
           {at(ROOT), MODEL_BY_CFI, true});
    calls[0].return_address = point + 26; /* forged */
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_BAD_MEMORY, {at(PLAIN), MODEL_BY_CFI, false},
           {point + 26, MODEL_BY_CFI, true});
    calls[0] = (struct model_open_call){slot, at(ROOT), 7}; /* not that of the place */
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_TRUNCATED, {at(PLAIN), MODEL_BY_CFI, false},
           {point + 26, MODEL_BY_CFI, true});
    scene_free(scene);
}

void sprof_suite_unwind_thunk(void);
void sprof_suite_unwind_thunk(void)
{
    CU_pSuite suite = CU_add_suite("unwind/thunk", NULL, NULL);
    CU_add_test(suite, "of functions", test_thunks);
    CU_add_test(suite, "of ended calls", test_thunks_of_ended_calls);
    CU_add_test(suite, "of places that call", test_thunks_of_points);
}
