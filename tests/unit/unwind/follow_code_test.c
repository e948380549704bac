/* Code without tables, followed to its return. */
#include "tests/unit/unwind/scene.h"

#include <CUnit/CUnit.h>

enum { ROOT = 0x200, CODE = 0x1000, CALLER = 0x2000, BEFORE = 0x800 };

static struct scene *scene_of(const uint8_t *code, size_t size)
{
    struct scene *scene = scene_new();
    CFI_BYTES_FDE(&scene->cfi, SCENE_CODE + ROOT, 0x100, 0x07, 16);
    CFI_BYTES_FDE(&scene->cfi, SCENE_CODE + CALLER, 0x100, 0x0c, 6, 16, 0x86, 2);
    scene_ready(scene);
    scene_live(scene, SCENE_WORDS);
    scene_call_before(scene, ROOT + 8);
    scene_call_before(scene, CALLER + 8);
    memset(scene->code + CODE, 0xcc, 0x200);
    memcpy(scene->code + CODE, code, size);
    return scene;
}
#define SCENE(...) scene_of((const uint8_t[]){__VA_ARGS__}, sizeof(const uint8_t[]){__VA_ARGS__})

static int read_nothing(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context, (void)address, (void)buffer, (void)size;
    return SPROF_EIO;
}

/* Walks from CODE + at; the caller is expected behind `words` words, with rbp restored there or in
 * the register, so that the frame after it is found. */
static void expect_caller(struct scene *scene, uint64_t at, size_t words)
{
    scene->stack[words] = SCENE_TEXT + CALLER + 8;
    scene->stack[101] = SCENE_TEXT + ROOT + 8;
    for (int round = 0; round < 2; round++) {
        const struct unwind_stack stack = scene_walk(scene, SCENE_TEXT + CODE + at);
        CU_ASSERT_EQUAL(stack.end, MODEL_END_ROOT);
        CU_ASSERT_EQUAL_FATAL(stack.count, 3);
        CU_ASSERT_EQUAL(stack.frames[1].address, SCENE_TEXT + CALLER + 8);
        CU_ASSERT_EQUAL(stack.frames[1].found_by, MODEL_BY_LEAF);
    }
    scene_free(scene);
}

/* add $40,%rsp; pop %rbx; pop %rbp; pop %r12; ret */
static void test_pops(void)
{
    struct scene *scene = SCENE(0x90, 0x48, 0x83, 0xc4, 40, 0x5b, 0x5d, 0x41, 0x5c, 0xc3);
    scene->stack[6] = SCENE_STACK + 100 * 8;
    expect_caller(scene, 0, 8);
}

/* The same behind a call: a return address is followed from where it returns to. */
static void test_return_address(void)
{
    struct scene *scene = SCENE(0xe8, 0, 0, 0, 0, 0x5d, 0xc3);
    scene->registers.value[ARCH_FP] = SCENE_STACK + 4 * 8;
    scene->stack[4] = 0xbad;
    scene->stack[5] = SCENE_TEXT + CODE + 5; /* CALLER's frame returns into the code */
    scene->stack[6] = SCENE_STACK + 100 * 8;
    scene->stack[7] = SCENE_TEXT + CALLER + 8;
    scene->stack[101] = SCENE_TEXT + ROOT + 8;
    const struct unwind_stack stack = scene_walk(scene, SCENE_TEXT + CALLER + 8);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_ROOT);
    CU_ASSERT_EQUAL_FATAL(stack.count, 4);
    CU_ASSERT_EQUAL(stack.frames[2].found_by, MODEL_BY_LEAF);
    scene_free(scene);
}

static void test_leave(void)
{
    struct scene *scene = SCENE(0x48, 0x89, 0xd8, 0x48, 0x89, 0xd8, 0xc9, 0xc3);
    scene->registers.value[ARCH_FP] = SCENE_STACK + 20 * 8;
    scene->stack[20] = SCENE_STACK + 100 * 8;
    expect_caller(scene, 0, 21);
}

/* cmp; jne over a call that never returns; the fall-through way runs into int3. */
static void test_other_branch(void)
{
    struct scene *scene =
        SCENE(0x85, 0xc0, 0x75, 7, 0xe8, 0, 0, 0, 0, 0xcc, 0xcc, 0x48, 0x83, 0xc4, 8, 0xc3);
    scene->registers.value[ARCH_FP] = SCENE_STACK + 100 * 8;
    expect_caller(scene, 0, 1);
}

/* A loop without end but for a branch out of it. */
static void test_loop(void)
{
    struct scene *scene =
        SCENE(0x53, 0x83, 0xc0, 1, 0x74, 2, 0xeb, 0xf9, 0x5b, 0x48, 0x83, 0xc4, 16, 0x5b, 0xc3);
    scene->registers.value[ARCH_FP] = SCENE_STACK + 100 * 8;
    expect_caller(scene, 1, 4);
}

/* push and pop of rbp on the way itself say nothing of the caller's. */
static void test_push_and_pop(void)
{
    struct scene *scene = SCENE(0x90, 0x55, 0x31, 0xed, 0x5d, 0x58, 0xc3);
    scene->registers.value[ARCH_FP] = SCENE_STACK + 100 * 8;
    expect_caller(scene, 0, 1);
}

/* nop; mov %rbx,%rsp; mov 8(%rsp),%rbp; add $16,%rsp; ret: a kernel with an aligned stack. */
static void test_register_keeps_sp(void)
{
    struct scene *scene =
        SCENE(0x90, 0x48, 0x89, 0xdc, 0x48, 0x8b, 0x6c, 0x24, 8, 0x48, 0x83, 0xc4, 16, 0xc3);
    scene->registers.value[X86_RBX] = SCENE_STACK + 5 * 8;
    scene->registers.value[ARCH_FP] = 0xbad;
    scene->stack[6] = SCENE_STACK + 100 * 8;
    expect_caller(scene, 0, 7);
}

/* mov %rbp,%rsp; pop %rsp; pop %rbp; ret: the old stack pointer lies on the new stack. */
static void test_stack_keeps_sp(void)
{
    struct scene *scene = SCENE(0x48, 0x89, 0xec, 0x5c, 0x5d, 0xc3);
    scene->registers.value[ARCH_FP] = SCENE_STACK + 4 * 8;
    scene->stack[4] = SCENE_STACK + 9 * 8;
    scene->stack[9] = SCENE_STACK + 100 * 8;
    expect_caller(scene, 0, 10);
    scene = SCENE(0x90, 0x48, 0x8b, 0x64, 0x24, 24, 0xc3); /* mov 24(%rsp),%rsp */
    scene->registers.value[ARCH_FP] = SCENE_STACK + 100 * 8;
    scene->stack[3] = SCENE_STACK + 12 * 8;
    expect_caller(scene, 0, 12);
}

static void expect_no_caller(struct scene *scene)
{
    const uint64_t top = SCENE_STACK + 20 * 8;
    scene->registers.value[X86_RBX] = scene->registers.value[X86_R10] = top;
    scene->stack[20] = SCENE_TEXT + CALLER + 8;
    CU_ASSERT_EQUAL(scene_walk(scene, SCENE_TEXT + CODE).end, MODEL_END_NO_CFI);
    scene_free(scene);
}

/* What the register has here is not what it will have there. */
static void test_register_is_written(void)
{
    expect_no_caller(SCENE(0x31, 0xdb, 0x48, 0x89, 0xdc, 0xc3));                /* xor %ebx,%ebx */
    expect_no_caller(SCENE(0x5b, 0x48, 0x89, 0xdc, 0xc3));                      /* pop %rbx */
    expect_no_caller(SCENE(0xe8, 0, 0, 0, 0, 0x4c, 0x89, 0xd4, 0xc3));          /* a call; r10 */
    expect_no_caller(SCENE(0x48, 0x83, 0xec, 8, 0x48, 0x8b, 0x24, 0x24, 0xc3)); /* pushed here */
    struct scene *scene = SCENE(0xe8, 0, 0, 0, 0, 0x48, 0x89, 0xdc, 0xc3);      /* a call; rbx */
    scene->registers.value[X86_RBX] = SCENE_STACK + 20 * 8;
    scene->registers.value[ARCH_FP] = SCENE_STACK + 100 * 8;
    expect_caller(scene, 0, 20);
}

static void test_long_code(void)
{
    struct scene *scene = SCENE(0x90);
    memset(scene->code + CODE, 0x90, 3000);
    scene->code[CODE + 3000] = 0x5b; /* pop %rbx; ret */
    scene->code[CODE + 3001] = 0xc3;
    scene->registers.value[ARCH_FP] = SCENE_STACK + 100 * 8;
    expect_caller(scene, 0, 1);
}

static void test_leads_nowhere(void)
{
    struct scene *scene = SCENE(0x48, 0x29, 0xc4, 0xc3); /* sub %rax,%rsp */
    struct unwind_stack stack = scene_walk(scene, SCENE_TEXT + CODE);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_NO_CFI);
    const unsigned reads = scene->reads;
    stack = scene_walk(scene, SCENE_TEXT + CODE);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_NO_CFI);
    CU_ASSERT(scene->reads < 2 * reads); /* it is not followed again */
    scene_free(scene);
}

/* What the pops lead to is no return address: a guess is still a guess. */
static void test_not_believed(void)
{
    struct scene *scene = SCENE(0x48, 0x83, 0xc4, 8, 0xc3);
    scene->stack[1] = SCENE_TEXT + BEFORE;
    scene->stack[5] = SCENE_TEXT + CALLER + 8;
    const struct unwind_stack stack = scene_walk(scene, SCENE_TEXT + CODE);
    CU_ASSERT_FATAL(stack.count >= 2);
    CU_ASSERT_EQUAL(stack.frames[1].found_by, MODEL_BY_SCAN);
    scene->registers.value[ARCH_FP] = SCENE_STACK + 100 * 8;
    expect_caller(scene, 0, 1); /* on another stack */
}

/* The process has ended: what was found before holds, and what was not is not given up. */
static void test_gone(void)
{
    struct scene *scene = SCENE(0x48, 0x83, 0xc4, 8, 0x90, 0xc3);
    scene->registers.value[ARCH_FP] = SCENE_STACK + 100 * 8;
    scene->stack[1] = SCENE_TEXT + CALLER + 8;
    scene->stack[101] = SCENE_TEXT + ROOT + 8;
    int (*const read)(void *, uint64_t, void *, size_t) = scene->memory.read;
    CU_ASSERT_EQUAL(scene_walk(scene, SCENE_TEXT + CODE).count, 3);
    scene->memory.read = read_nothing;
    const struct unwind_stack stack = scene_walk(scene, SCENE_TEXT + CODE);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_ROOT);
    CU_ASSERT_EQUAL_FATAL(stack.count, 3);
    CU_ASSERT_EQUAL(stack.frames[1].found_by, MODEL_BY_LEAF);
    scene->stack[0] = SCENE_TEXT + CALLER + 8;
    scene_walk(scene, SCENE_TEXT + CODE + 4);
    scene->memory.read = read;
    scene->stack[1] = 0;
    const struct unwind_stack later = scene_walk(scene, SCENE_TEXT + CODE + 4);
    CU_ASSERT_EQUAL_FATAL(later.count, 3);
    CU_ASSERT_EQUAL(later.frames[1].found_by, MODEL_BY_LEAF);
    scene_free(scene);
}

/* A table that may tell is being built: nothing is guessed, nor remembered. */
static void test_pending(void)
{
    struct scene *scene = SCENE(0x48, 0x83, 0xc4, 8, 0xc3);
    scene->stack[1] = SCENE_PENDING + 0x20;
    scene->stack[5] = SCENE_TEXT + CALLER + 8;
    const struct unwind_stack stack = scene_walk(scene, SCENE_TEXT + CODE);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_PENDING);
    CU_ASSERT_PTR_EQUAL(stack.pending, &scene->regions[3]);
    CU_ASSERT_EQUAL(stack.count, 1);
    scene->registers.value[ARCH_FP] = SCENE_STACK + 100 * 8;
    expect_caller(scene, 0, 1);
}

void sprof_suite_unwind_follow_code(void);
void sprof_suite_unwind_follow_code(void)
{
    CU_pSuite suite = CU_add_suite("unwind/follow_code", NULL, NULL);
    CU_add_test(suite, "pops", test_pops);
    CU_add_test(suite, "a return address", test_return_address);
    CU_add_test(suite, "leave", test_leave);
    CU_add_test(suite, "the other branch", test_other_branch);
    CU_add_test(suite, "a loop", test_loop);
    CU_add_test(suite, "push and pop", test_push_and_pop);
    CU_add_test(suite, "a register keeps the stack pointer", test_register_keeps_sp);
    CU_add_test(suite, "the stack keeps the stack pointer", test_stack_keeps_sp);
    CU_add_test(suite, "the register is written", test_register_is_written);
    CU_add_test(suite, "long code", test_long_code);
    CU_add_test(suite, "leads nowhere", test_leads_nowhere);
    CU_add_test(suite, "not believed", test_not_believed);
    CU_add_test(suite, "after the process has ended", test_gone);
    CU_add_test(suite, "while a table is being built", test_pending);
}
