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

/* Puts a moved call at the end of a region without tables, so that `left` bytes follow the place
 * where `pushed` bytes of it have run; returns that place. */
static uint64_t put_moved_call(struct scene *scene, uint64_t back, uint64_t pushed, uint64_t left)
{
    enum { MOVED = SCENE_CODE_BYTES - 0x100 };
    static const uint8_t writes_high[] = {0xc7, 0x44, 0x24, 0x04};
    const uint64_t place = SCENE_CODE_BYTES - left;
    uint8_t *code = scene->code + place - pushed;
    memset(scene->code + MOVED, 0x90, SCENE_CODE_BYTES - MOVED);
    code[0] = 0x68;
    memcpy(code + 1, &back, 4);
    memcpy(code + 5, writes_high, sizeof writes_high);
    memcpy(code + 9, (const uint8_t *)&back + 4, 4);
    scene->regions[0].end = scene->regions[1].start = SCENE_TEXT + MOVED;
    scene->regions[1].end = SCENE_TEXT + SCENE_CODE_BYTES;
    return SCENE_TEXT + place;
}

/* Calls that a tracer has moved: a push of the return address in two steps, and a jump. Little of
 * the code can be read where the region ends. */
static void test_moved_calls(void)
{
    static const struct {
        uint64_t pushed, left;
    } places[] = {{0, 64}, {5, 64}, {13, 64}, {5, 30}, {5, 8}, {13, 8}};
    struct scene *scene = scene_of_thunks();
    const uint64_t thunk = SCENE_TEXT + THUNK, back = SCENE_TEXT + PLAIN + 0x18;
    scene_live(scene, SCENE_WORDS);
    scene->stack[0] = at(ROOT); /* the walker meets a thunk */
    EXPECT(scene_walk(scene, thunk), MODEL_END_ROOT, {thunk, MODEL_BY_CFI, false},
           {at(ROOT), MODEL_BY_CFI, true});
    scene->code[PLAIN + 0x08] = 0xe9; /* its function's jump to the probe */
    scene_distance(scene, PLAIN + 0x0d, SCENE_CODE_BYTES - 0x80);
    scene->stack[0] = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const uint64_t place = put_moved_call(scene, back, places[i].pushed, places[i].left);
        uint64_t *slot = &scene->stack[places[i].pushed ? 2 : 1];
        *slot = at(ROOT);
        EXPECT(scene_walk(scene, place), MODEL_END_ROOT, {back - 1, MODEL_BY_CFI, false},
               {at(ROOT), MODEL_BY_CFI, true});
        *slot = 0;
    }
    scene_free(scene);
}

void sprof_suite_unwind_thunk(void);
void sprof_suite_unwind_thunk(void)
{
    CU_pSuite suite = CU_add_suite("unwind/thunk", NULL, NULL);
    CU_add_test(suite, "of functions", test_thunks);
    CU_add_test(suite, "of ended calls", test_thunks_of_ended_calls);
    CU_add_test(suite, "of places that call", test_thunks_of_points);
    CU_add_test(suite, "of moved calls", test_moved_calls);
}
