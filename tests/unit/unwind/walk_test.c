#include "model/model.h"
#include "tests/unit/unwind/scene.h"

#include <CUnit/CUnit.h>
#include <errno.h>

/* Functions of every scene here, by offset from SCENE_TEXT. */
enum {
    PLAIN = 0x000,  /* CFA = rsp+16 */
    FRAMED = 0x100, /* CFA = rbp+16, rbp at CFA-16 */
    ROOT = 0x200,
    SIGNAL = 0x300,
    PLT = 0x400,
    DRAP = 0x500,     /* CFA = *(rbp-8), rbp at rbp */
    REGISTER = 0x600, /* CFA = r10+8 */
    VFORK = 0x700,    /* CFA = rsp, return address in rdi */
    EPILOGUE = 0x800, /* CFA = rsp+8, rbp at CFA-16, popped already */
    COMPLEX = 0x900,  /* CFA = **(rsp+0)+16 */
    SAVES = 0xa00,    /* CFA = rsp+16, rbx at CFA-16 */
    PAIR = 0xc00,     /* CFA = rsp+8, from 0x10 on rsp+24 */
    JUMP = 0xd00,     /* CFA = rdi, rsp in r8, rbp in r9, return address in rdx */
    GAP = 0x1000,
    LENGTH = 0x100,
};

#define FDE(scene, at, ...) CFI_BYTES_FDE(&(scene)->cfi, SCENE_CODE + (at), LENGTH, __VA_ARGS__)

static struct scene *scene_of_all(void)
{
    struct scene *scene = scene_new();
    FDE(scene, PLAIN, 0x0e, 16);
    FDE(scene, FRAMED, 0x0c, 6, 16, 0x86, 2);
    FDE(scene, ROOT, 0x07, 16);
    FDE(scene, PLT, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
    FDE(scene, DRAP, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0);
    FDE(scene, REGISTER, 0x0c, 10, 8);
    FDE(scene, VFORK, 0x0e, 0, 0x09, 16, 5);
    FDE(scene, EPILOGUE, 0x86, 2);
    FDE(scene, COMPLEX, 0x0f, 6, 0x77, 0, 0x06, 0x06, 0x23, 16);
    FDE(scene, SAVES, 0x0e, 16, 0x83, 2);
    FDE(scene, PAIR, 0x50, 0x0e, 24);
    FDE(scene, JUMP, 0x0c, 5, 0, 0x09, 7, 8, 0x09, 6, 9, 0x09, 16, 1);
    cfi_bytes_cie(&scene->cfi, "zRS");
    FDE(scene, SIGNAL, 0);
    scene_ready(scene);
    return scene;
}

static uint64_t at(uint64_t offset)
{
    return SCENE_TEXT + offset + 8;
}

static void test_to_the_root(void)
{
    struct scene *scene = scene_of_all();
    scene->registers.value[ARCH_FP] = SCENE_STACK + 5 * 8;
    scene->stack[1] = at(FRAMED);
    scene->stack[5] = 0x1234;
    scene->stack[6] = at(ROOT);
    for (int i = 0; i < 2; i++) {
        const struct unwind_stack stack = scene_walk(scene, at(PLAIN));
        EXPECT(stack, MODEL_END_ROOT, {at(PLAIN), MODEL_BY_CFI, false},
               {at(FRAMED), MODEL_BY_CFI, true}, {at(ROOT), MODEL_BY_CFI, true});
        CU_ASSERT_FALSE(stack.stitched);
    }
    const struct unwind_counters counters = unwind_walker_counters(scene->walker);
    CU_ASSERT_EQUAL(counters.walks, 2);
    CU_ASSERT_EQUAL(counters.frames, 6);
    CU_ASSERT_EQUAL(counters.cache_misses, 3);
    CU_ASSERT_EQUAL(counters.cache_hits, 3);
    scene_free(scene);
}

/* A return address counts for the instruction before it: here the row before. */
static void test_minus_one_except_first(void)
{
    struct scene *scene = scene_of_all();
    const uint64_t border = SCENE_TEXT + PAIR + 0x10;
    scene->stack[0] = 0xbad;
    scene->stack[2] = border;
    scene->stack[3] = at(ROOT);
    EXPECT(scene_walk(scene, border), MODEL_END_ROOT, {border, MODEL_BY_CFI, false},
           {border, MODEL_BY_CFI, true}, {at(ROOT), MODEL_BY_CFI, true});
    scene_free(scene);
}

static void test_generations_do_not_mix(void)
{
    struct scene *scene = scene_of_all();
    scene->stack[1] = at(ROOT);
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_ROOT, {at(PLAIN), MODEL_BY_CFI, false},
           {at(ROOT), MODEL_BY_CFI, true});
    scene->regions[0].kind = UNWIND_REGION_PENDING;
    scene->space.generation++;
    const struct unwind_stack stack = scene_walk(scene, at(PLAIN));
    EXPECT(stack, MODEL_END_PENDING, {at(PLAIN), MODEL_BY_CFI, false});
    CU_ASSERT_PTR_EQUAL(stack.pending, &scene->regions[0]);
    scene->space.generation--;
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_ROOT, {at(PLAIN), MODEL_BY_CFI, false},
           {at(ROOT), MODEL_BY_CFI, true});
    scene_free(scene);
}

static void test_plt(void)
{
    struct scene *scene = scene_of_all();
    scene->stack[0] = at(ROOT);
    scene->stack[1] = at(ROOT) + 1;
    EXPECT(scene_walk(scene, SCENE_TEXT + PLT + 16), MODEL_END_ROOT,
           {SCENE_TEXT + PLT + 16, MODEL_BY_CFI, false}, {at(ROOT), MODEL_BY_PLT, true});
    EXPECT(scene_walk(scene, SCENE_TEXT + PLT + 16 + 11), MODEL_END_ROOT,
           {SCENE_TEXT + PLT + 16 + 11, MODEL_BY_CFI, false}, {at(ROOT) + 1, MODEL_BY_PLT, true});
    CU_ASSERT_EQUAL(unwind_walker_counters(scene->walker).plt_frames, 2);
    scene_free(scene);
}

static void test_realigned_stack(void)
{
    struct scene *scene = scene_of_all();
    scene->registers.value[ARCH_FP] = SCENE_STACK + 4 * 8;
    scene->stack[3] = SCENE_STACK + 10 * 8; /* rbp-8: where the CFA is kept */
    scene->stack[4] = SCENE_STACK + 12 * 8; /* the caller's rbp */
    scene->stack[9] = at(FRAMED);
    scene->stack[13] = at(ROOT);
    EXPECT(scene_walk(scene, at(DRAP)), MODEL_END_ROOT, {at(DRAP), MODEL_BY_CFI, false},
           {at(FRAMED), MODEL_BY_CFI, true}, {at(ROOT), MODEL_BY_CFI, true});
    scene_free(scene);
}

static void test_other_register_and_vfork(void)
{
    struct scene *scene = scene_of_all();
    scene->registers.value[X86_R10] = SCENE_STACK + 2 * 8;
    scene->registers.value[X86_RDI] = at(ROOT);
    scene->stack[2] = at(ROOT);
    EXPECT(scene_walk(scene, at(REGISTER)), MODEL_END_ROOT, {at(REGISTER), MODEL_BY_CFI, false},
           {at(ROOT), MODEL_BY_CFI, true});
    EXPECT(scene_walk(scene, at(VFORK)), MODEL_END_ROOT, {at(VFORK), MODEL_BY_CFI, false},
           {at(ROOT), MODEL_BY_CFI, true});
    scene_free(scene);
}

/* After `pop %rbp` the slot lies below the stack pointer, and the register holds the value. */
static void test_popped_rbp(void)
{
    struct scene *scene = scene_of_all();
    scene->registers.value[ARCH_FP] = SCENE_STACK + 3 * 8;
    scene->stack[0] = at(FRAMED);
    scene->stack[4] = at(ROOT);
    EXPECT(scene_walk(scene, at(EPILOGUE)), MODEL_END_ROOT, {at(EPILOGUE), MODEL_BY_CFI, false},
           {at(FRAMED), MODEL_BY_CFI, true}, {at(ROOT), MODEL_BY_CFI, true});
    scene_free(scene);
}

enum { CONTEXT_WORD = 5, R10_WORD = 2, RDI_WORD = 8, RBP_WORD = 10, RSP_WORD = 15, RIP_WORD = 16 };

/* All registers come back: the interrupted function has its CFA in r10. */
static void test_signal_frame(void)
{
    struct scene *scene = scene_of_all();
    uint64_t *context = scene->stack + 2 + CONTEXT_WORD;
    scene->stack[1] = SCENE_TEXT + SIGNAL + 1;
    context[R10_WORD] = SCENE_STACK + 40 * 8;
    context[RSP_WORD] = SCENE_STACK + 40 * 8;
    context[RIP_WORD] = SCENE_TEXT + REGISTER;
    scene->stack[40] = at(ROOT);
    const struct unwind_stack stack = scene_walk(scene, at(PLAIN));
    EXPECT(stack, MODEL_END_ROOT, {at(PLAIN), MODEL_BY_CFI, false},
           {SCENE_TEXT + SIGNAL + 1, MODEL_BY_CFI, true},
           {SCENE_TEXT + REGISTER, MODEL_BY_SIGNAL, false}, {at(ROOT), MODEL_BY_CFI, true});
    CU_ASSERT_EQUAL(unwind_walker_counters(scene->walker).signal_frames, 1);
    scene_free(scene);
}

/* In the kernel's sigreturn: the instruction pointer stands behind the trampoline already. */
static void test_signal_return(void)
{
    struct scene *scene = scene_of_all();
    uint64_t *context = scene->stack + CONTEXT_WORD;
    const uint64_t behind = SCENE_TEXT + SIGNAL + LENGTH + 0x1000;
    cfi_bytes_cie(&scene->cfi, "zRS");
    FDE(scene, SIGNAL + 0x1000, 0);
    unwind_table_free(scene->table);
    scene_ready(scene);
    context[RSP_WORD] = SCENE_STACK + 40 * 8;
    context[RIP_WORD] = SCENE_TEXT + PLAIN;
    scene->stack[41] = at(ROOT);
    scene->registers.value[X86_RAX] = (uint64_t)-ENOSYS;
    EXPECT(scene_walk(scene, behind), MODEL_END_ROOT, {behind, MODEL_BY_CFI, false},
           {SCENE_TEXT + PLAIN, MODEL_BY_SIGNAL, false}, {at(ROOT), MODEL_BY_CFI, true});
    scene->registers.value[X86_RAX] = 15; /* not in the kernel: a function of its own */
    EXPECT(scene_walk(scene, behind), MODEL_END_NO_CFI, {behind, MODEL_BY_CFI, false});
    scene_free(scene);
}

/* The handler ran on the captured stack; what it interrupted, on another one. */
static void test_signal_on_alternate_stack(void)
{
    struct scene *scene = scene_of_all();
    uint64_t *context = scene->stack + 2 + CONTEXT_WORD;
    scene_live(scene, SCENE_WORDS);
    scene_call_before(scene, ROOT + 8);
    scene->stack[1] = SCENE_TEXT + SIGNAL + 1;
    context[RSP_WORD] = SCENE_ALTERNATE;
    context[RIP_WORD] = SCENE_TEXT + PLAIN;
    scene->alternate[1] = at(ROOT);
    const struct unwind_stack stack = scene_walk(scene, at(PLAIN));
    EXPECT(stack, MODEL_END_ROOT, {at(PLAIN), MODEL_BY_CFI, false},
           {SCENE_TEXT + SIGNAL + 1, MODEL_BY_CFI, true},
           {SCENE_TEXT + PLAIN, MODEL_BY_SIGNAL, false}, {at(ROOT), MODEL_BY_CFI, true});
    CU_ASSERT_TRUE(stack.stitched);
    scene->memory.read = NULL;
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_TRUNCATED, {at(PLAIN), MODEL_BY_CFI, false},
           {SCENE_TEXT + SIGNAL + 1, MODEL_BY_CFI, true},
           {SCENE_TEXT + PLAIN, MODEL_BY_SIGNAL, false});
    scene_free(scene);
}

static void test_signal_frames_in_a_circle(void)
{
    struct scene *scene = scene_of_all();
    uint64_t *context = scene->stack + CONTEXT_WORD;
    context[RSP_WORD] = SCENE_STACK;
    context[RIP_WORD] = SCENE_TEXT + SIGNAL + 1;
    const struct unwind_stack stack = scene_walk(scene, SCENE_TEXT + SIGNAL + 1);
    CU_ASSERT_EQUAL(stack.end, MODEL_END_DEPTH_LIMIT);
    CU_ASSERT(stack.count < 100);
    scene_free(scene);
}

/* PLAIN calls itself up the whole stack; the slice holds only its beginning. */
static void recurse(struct scene *scene, size_t frames)
{
    for (size_t i = 1; i < frames; i++)
        scene->stack[2 * i - 1] = at(PLAIN);
    scene->stack[2 * frames - 1] = at(ROOT);
    scene_call_before(scene, PLAIN + 8);
    scene_call_before(scene, ROOT + 8);
}

static void test_stitched(void)
{
    struct scene *scene = scene_of_all();
    recurse(scene, 30);
    const struct unwind_stack whole = scene_walk(scene, at(PLAIN));
    CU_ASSERT_EQUAL(whole.end, MODEL_END_ROOT);
    CU_ASSERT_EQUAL(whole.count, 31);
    CU_ASSERT_FALSE(whole.stitched);
    scene_live(scene, 7);
    const struct unwind_stack stitched = scene_walk(scene, at(PLAIN));
    CU_ASSERT_EQUAL(stitched.end, MODEL_END_ROOT);
    CU_ASSERT_EQUAL(stitched.count, 31);
    CU_ASSERT_TRUE(stitched.stitched);
    const unsigned reads = scene->reads;
    scene_walk(scene, at(PLAIN));
    CU_ASSERT_EQUAL(scene->reads, 2 * reads - 1); /* the call has been checked once for all */
    scene->memory.read = NULL;
    const struct unwind_stack cut = scene_walk(scene, at(PLAIN));
    CU_ASSERT_EQUAL(cut.end, MODEL_END_TRUNCATED);
    CU_ASSERT_EQUAL(cut.count, 4);
    CU_ASSERT_FALSE(cut.stitched);
    scene_free(scene);
}

static void test_live_stack_is_not_believed(void)
{
    struct scene *scene = scene_of_all();
    recurse(scene, 30);
    scene_live(scene, 10);
    scene->stack[21] = at(SAVES); /* code, but no call stands before it */
    struct unwind_stack stack = scene_walk(scene, at(PLAIN));
    CU_ASSERT_EQUAL(stack.end, MODEL_END_TRUNCATED);
    CU_ASSERT_EQUAL(stack.count, 11);
    scene->stack[21] = SCENE_STACK; /* no code */
    stack = scene_walk(scene, at(PLAIN));
    CU_ASSERT_EQUAL(stack.end, MODEL_END_TRUNCATED);
    CU_ASSERT_EQUAL(stack.count, 11);
    scene->stack[21] = 0; /* stale zeros are no root */
    stack = scene_walk(scene, at(PLAIN));
    CU_ASSERT_EQUAL(stack.end, MODEL_END_TRUNCATED);
    scene_free(scene);
}

/* Of a program that has ended, or has become another one: nothing can be read any more, and none of
 * its calls either. */
static void test_captured_tail(void)
{
    struct scene *scene = scene_of_all();
    recurse(scene, 30);
    scene->memory.slice_size = 7 * 8;
    scene->memory.tail = (const uint8_t *)(scene->stack + 5); /* they overlap */
    scene->memory.tail_address = SCENE_STACK + 5 * 8;
    scene->memory.tail_size = sizeof scene->stack - 5 * 8;
    const struct unwind_stack stack = scene_walk(scene, at(PLAIN));
    CU_ASSERT_EQUAL(stack.end, MODEL_END_ROOT);
    CU_ASSERT_EQUAL(stack.count, 31);
    CU_ASSERT_TRUE(stack.stitched);
    scene->memory.tail_size = 10 * 8;
    const struct unwind_stack cut = scene_walk(scene, at(PLAIN));
    CU_ASSERT_EQUAL(cut.end, MODEL_END_TRUNCATED);
    CU_ASSERT_EQUAL(cut.count, 8);
    scene->memory.tail_size = sizeof scene->stack - 5 * 8;
    scene->stack[21] = 0; /* of a page that could not be captured: no root */
    CU_ASSERT_EQUAL(scene_walk(scene, at(PLAIN)).end, MODEL_END_TRUNCATED);
    scene->stack[21] = SCENE_STACK; /* no code */
    CU_ASSERT_EQUAL(scene_walk(scene, at(PLAIN)).end, MODEL_END_BAD_MEMORY);
    scene_free(scene);
}

static void test_live_stack_ends(void)
{
    struct scene *scene = scene_of_all();
    recurse(scene, 400);
    scene_live(scene, 10);
    CU_ASSERT_EQUAL(scene_walk(scene, at(PLAIN)).count, 401);
    scene->live_words = SCENE_WORDS / 2; /* 256 frames */
    const struct unwind_stack stack = scene_walk(scene, at(PLAIN));
    CU_ASSERT_EQUAL(stack.end, MODEL_END_TRUNCATED);
    CU_ASSERT_EQUAL(stack.count, 257);
    scene_free(scene);
}

static void test_tampered_memory(void)
{
    struct scene *scene = scene_of_all();
    scene->stack[1] = 0xdeadbeef;
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_BAD_MEMORY, {at(PLAIN), MODEL_BY_CFI, false});
    scene->stack[1] = UINT64_MAX;
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_BAD_MEMORY, {at(PLAIN), MODEL_BY_CFI, false});
    static const uint64_t pointers[] = {0, 8, SCENE_STACK - 512, UINT64_MAX, INT64_MAX};
    for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) {
        scene->registers.value[ARCH_FP] = pointers[i];
        EXPECT(scene_walk(scene, at(FRAMED)), MODEL_END_BAD_MEMORY,
               {at(FRAMED), MODEL_BY_CFI, false});
        EXPECT(scene_walk(scene, at(DRAP)), MODEL_END_BAD_MEMORY, {at(DRAP), MODEL_BY_CFI, false});
    }
    scene_free(scene);
}

static void test_return_address_zero(void)
{
    struct scene *scene = scene_of_all();
    scene_live(scene, SCENE_WORDS);
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_ROOT, {at(PLAIN), MODEL_BY_CFI, false});
    scene->stack[20] = at(SAVES); /* code, but nothing returns there */
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_ROOT, {at(PLAIN), MODEL_BY_CFI, false});
    scene_call_before(scene, SAVES + 8);
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_BAD_MEMORY, {at(PLAIN), MODEL_BY_CFI, false});
    scene->memory.slice_size = 16 * 8; /* the memory of the stack ends before */
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_ROOT, {at(PLAIN), MODEL_BY_CFI, false});
    scene_free(scene);
}

/* longjmp: where it goes is in registers, also on another stack. */
static void test_jump(void)
{
    struct scene *scene = scene_of_all();
    scene_live(scene, SCENE_WORDS);
    scene_call_before(scene, ROOT + 8);
    scene->registers.value[X86_RDX] = at(FRAMED);
    scene->registers.value[X86_R8] = SCENE_ALTERNATE;
    scene->registers.value[X86_R9] = SCENE_ALTERNATE + 8 * 8;
    scene->alternate[9] = at(ROOT);
    EXPECT(scene_walk(scene, at(JUMP)), MODEL_END_ROOT, {at(JUMP), MODEL_BY_CFI, false},
           {at(FRAMED), MODEL_BY_CFI, true}, {at(ROOT), MODEL_BY_CFI, true});
    scene->stack[1] = at(JUMP); /* nobody is called from there */
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_BAD_MEMORY, {at(PLAIN), MODEL_BY_CFI, false},
           {at(JUMP), MODEL_BY_CFI, true});
    scene->registers.value[X86_R8] = UINT64_MAX;
    EXPECT(scene_walk(scene, at(JUMP)), MODEL_END_BAD_MEMORY, {at(JUMP), MODEL_BY_CFI, false});
    scene_free(scene);
}

/* Behind clone's system call the parent returns, and the child has nowhere to. */
static void test_behind_clone(void)
{
    static const uint8_t code[] = {0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c, 0x18, 0x74, 0x01, 0xc3};
    struct scene *scene = scene_new();
    FDE(scene, PLAIN, 0x0e, 16);
    FDE(scene, ROOT, 0x07, 16);
    CFI_BYTES_FDE(&scene->cfi, SCENE_CODE + ROOT + LENGTH + sizeof code, LENGTH, 0x07, 16);
    memcpy(scene->code + ROOT + LENGTH, code, sizeof code);
    scene->source.text_bytes = (struct sprof_bytes){scene->code, sizeof scene->code};
    scene->source.text_vaddr = SCENE_CODE;
    scene_ready(scene);
    const uint64_t returned = SCENE_TEXT + ROOT + LENGTH + 2;
    scene->stack[0] = at(ROOT);
    scene->registers.value[X86_RAX] = 4711;
    EXPECT(scene_walk(scene, returned), MODEL_END_ROOT, {returned, MODEL_BY_CFI, false},
           {at(ROOT), MODEL_BY_CFI, true});
    scene->registers.value[X86_RAX] = 0;
    EXPECT(scene_walk(scene, returned), MODEL_END_ROOT, {returned, MODEL_BY_CFI, false});
    scene_free(scene);
}

static void test_depth_limit(void)
{
    struct scene *scene = scene_of_all();
    unwind_walker_free(scene->walker);
    scene->walker = unwind_walker_new(5);
    recurse(scene, 30);
    const struct unwind_stack stack = scene_walk(scene, at(PLAIN));
    CU_ASSERT_EQUAL(stack.end, MODEL_END_DEPTH_LIMIT);
    CU_ASSERT_EQUAL(stack.count, 5);
    scene_free(scene);
}

static void test_jit_by_frame_pointers(void)
{
    struct scene *scene = scene_of_all();
    scene->registers.value[ARCH_FP] = SCENE_STACK + 4 * 8;
    scene->stack[4] = SCENE_STACK + 8 * 8;
    scene->stack[5] = SCENE_JIT + 0x20;
    scene->stack[8] = SCENE_STACK + 12 * 8;
    scene->stack[9] = at(FRAMED);
    scene->stack[13] = at(ROOT);
    EXPECT(scene_walk(scene, SCENE_JIT + 0x10), MODEL_END_ROOT,
           {SCENE_JIT + 0x10, MODEL_BY_CFI, false}, {SCENE_JIT + 0x20, MODEL_BY_FP, true},
           {at(FRAMED), MODEL_BY_FP, true}, {at(ROOT), MODEL_BY_CFI, true});
    CU_ASSERT_EQUAL(unwind_walker_counters(scene->walker).fp_frames, 2);
    scene_free(scene);
}

/* Code that nobody knows of: the address is told, for it may be of a mapping that is new. */
static void test_callers_outside(void)
{
    struct scene *scene = scene_of_all();
    const uint64_t outside = SCENE_JIT + 0x1000000;
    scene->stack[1] = outside;
    struct unwind_stack stack = scene_walk(scene, at(PLAIN));
    EXPECT(stack, MODEL_END_BAD_MEMORY, {at(PLAIN), MODEL_BY_CFI, false});
    CU_ASSERT_EQUAL(stack.outside, outside);
    scene->registers.value[ARCH_FP] = SCENE_STACK + 4 * 8;
    scene->stack[4] = SCENE_STACK + 8 * 8;
    scene->stack[5] = outside;
    stack = scene_walk(scene, SCENE_JIT + 0x10);
    EXPECT(stack, MODEL_END_NO_CFI, {SCENE_JIT + 0x10, MODEL_BY_CFI, false});
    CU_ASSERT_EQUAL(stack.outside, outside);
    scene->stack[1] = at(ROOT);
    CU_ASSERT_EQUAL(scene_walk(scene, at(PLAIN)).outside, 0);
    scene_free(scene);
}

/* Where the frame pointer is no help, up to 16 words are searched for what follows a call. */
static void test_bare_by_scanning(void)
{
    struct scene *scene = scene_of_all();
    scene_live(scene, SCENE_WORDS);
    scene_call_before(scene, PLAIN + 8);
    scene_call_before(scene, ROOT + 8);
    scene->stack[3] = SCENE_TEXT + FRAMED; /* code, but not after a call */
    scene->stack[15] = at(PLAIN);
    scene->stack[17] = at(ROOT);
    EXPECT(scene_walk(scene, SCENE_BARE + 0x10), MODEL_END_ROOT,
           {SCENE_BARE + 0x10, MODEL_BY_CFI, false}, {at(PLAIN), MODEL_BY_SCAN, true},
           {at(ROOT), MODEL_BY_CFI, true});
    CU_ASSERT_EQUAL(unwind_walker_counters(scene->walker).scan_frames, 1);
    scene->stack[15] = 0;
    EXPECT(scene_walk(scene, SCENE_BARE + 0x10), MODEL_END_NO_CFI,
           {SCENE_BARE + 0x10, MODEL_BY_CFI, false});
    scene->stack[14] = at(ROOT); /* the only word that can be at the bottom: no guess */
    EXPECT(scene_walk(scene, SCENE_BARE + 0x10), MODEL_END_ROOT,
           {SCENE_BARE + 0x10, MODEL_BY_CFI, false}, {at(ROOT), MODEL_BY_LEAF, true});
    scene_free(scene);
}

static void test_gap_on_top(void)
{
    struct scene *scene = scene_of_all();
    scene_live(scene, SCENE_WORDS);
    scene_call_before(scene, PLAIN + 8);
    scene_call_before(scene, ROOT + 8);
    scene->stack[0] = at(PLAIN);
    scene->stack[2] = at(ROOT);
    EXPECT(scene_walk(scene, at(GAP)), MODEL_END_ROOT, {at(GAP), MODEL_BY_CFI, false},
           {at(PLAIN), MODEL_BY_SCAN, true}, {at(ROOT), MODEL_BY_CFI, true});
    /* A call through a bad pointer leaves the same picture. */
    EXPECT(scene_walk(scene, 0x10), MODEL_END_ROOT, {0x10, MODEL_BY_CFI, false},
           {at(PLAIN), MODEL_BY_SCAN, true}, {at(ROOT), MODEL_BY_CFI, true});
    scene_free(scene);
}

static void test_pending(void)
{
    struct scene *scene = scene_of_all();
    scene->stack[1] = SCENE_PENDING + 5;
    const struct unwind_stack stack = scene_walk(scene, at(PLAIN));
    EXPECT(stack, MODEL_END_PENDING, {at(PLAIN), MODEL_BY_CFI, false},
           {SCENE_PENDING + 5, MODEL_BY_CFI, true});
    CU_ASSERT_PTR_EQUAL(stack.pending, &scene->regions[3]);
    scene_free(scene);
}

/* Beyond the slice a return address counts only after a call. Code that cannot be read from the
 * process any more may be read when its file is open. */
static void test_pending_beyond_the_slice(void)
{
    struct scene *scene = scene_of_all();
    scene_live(scene, 1);
    scene->stack[1] = SCENE_PENDING + 5;
    const struct unwind_stack stack = scene_walk(scene, at(PLAIN));
    EXPECT(stack, MODEL_END_PENDING, {at(PLAIN), MODEL_BY_CFI, false});
    CU_ASSERT_PTR_EQUAL(stack.pending, &scene->regions[3]);
    scene->stack[1] = SCENE_BARE + 5;
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_TRUNCATED, {at(PLAIN), MODEL_BY_CFI, false});
    scene_free(scene);
}

static void test_empty_slice(void)
{
    struct scene *scene = scene_of_all();
    scene->memory.slice_size = 0;
    scene->memory.slice = NULL;
    EXPECT(scene_walk(scene, at(PLAIN)), MODEL_END_TRUNCATED, {at(PLAIN), MODEL_BY_CFI, false});
    scene_free(scene);
}

/* Stack pointers at both ends of the address space, where sums wrap. */
static void test_absurd_stack_pointers(void)
{
    static const uint64_t pointers[] = {0,        7, UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 15,
                                        INT64_MAX};
    static const uint64_t functions[] = {PLAIN, SIGNAL, PLT, VFORK, EPILOGUE, COMPLEX, GAP};
    struct scene *scene = scene_of_all();
    for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++)
        for (size_t j = 0; j < sizeof functions / sizeof functions[0]; j++) {
            scene->registers.value[ARCH_SP] = pointers[i];
            const struct unwind_stack stack = scene_walk(scene, at(functions[j]));
            CU_ASSERT_EQUAL(stack.count, 1);
            CU_ASSERT(stack.end == MODEL_END_BAD_MEMORY || stack.end == MODEL_END_NO_CFI ||
                      stack.end == MODEL_END_TRUNCATED || stack.end == MODEL_END_ROOT);
        }
    scene_free(scene);
}

static void test_names(void)
{
    CU_ASSERT_STRING_EQUAL(model_found_by_text(MODEL_BY_PLT), "plt");
    CU_ASSERT_STRING_EQUAL(model_found_by_text((enum model_found_by)99), "?");
    CU_ASSERT_STRING_EQUAL(model_end_text(MODEL_END_NO_CFI), "no-cfi");
    CU_ASSERT_STRING_EQUAL(model_end_text((enum model_end)99), "?");
    const struct unwind_frame frame = {.address = 100, .is_return = true};
    CU_ASSERT_EQUAL(unwind_frame_lookup_address(&frame), 99);
}

void sprof_suite_unwind_walk(void);
void sprof_suite_unwind_walk(void)
{
    CU_pSuite suite = CU_add_suite("unwind/walk", NULL, NULL);
    CU_add_test(suite, "to the root, twice", test_to_the_root);
    CU_add_test(suite, "minus one, except on top", test_minus_one_except_first);
    CU_add_test(suite, "generations do not mix", test_generations_do_not_mix);
    CU_add_test(suite, "PLT", test_plt);
    CU_add_test(suite, "realigned stack", test_realigned_stack);
    CU_add_test(suite, "CFA in another register, vfork", test_other_register_and_vfork);
    CU_add_test(suite, "rbp popped already", test_popped_rbp);
    CU_add_test(suite, "signal frame", test_signal_frame);
    CU_add_test(suite, "in the kernel's sigreturn", test_signal_return);
    CU_add_test(suite, "signal on another stack", test_signal_on_alternate_stack);
    CU_add_test(suite, "signal frames in a circle", test_signal_frames_in_a_circle);
    CU_add_test(suite, "stitched", test_stitched);
    CU_add_test(suite, "the live stack is checked", test_live_stack_is_not_believed);
    CU_add_test(suite, "a captured tail", test_captured_tail);
    CU_add_test(suite, "the live stack ends", test_live_stack_ends);
    CU_add_test(suite, "tampered memory", test_tampered_memory);
    CU_add_test(suite, "return address 0", test_return_address_zero);
    CU_add_test(suite, "longjmp", test_jump);
    CU_add_test(suite, "parent and child behind clone", test_behind_clone);
    CU_add_test(suite, "depth limit", test_depth_limit);
    CU_add_test(suite, "JIT by frame pointers", test_jit_by_frame_pointers);
    CU_add_test(suite, "callers outside all regions", test_callers_outside);
    CU_add_test(suite, "bare code by scanning", test_bare_by_scanning);
    CU_add_test(suite, "a gap on top", test_gap_on_top);
    CU_add_test(suite, "pending region", test_pending);
    CU_add_test(suite, "pending beyond the slice", test_pending_beyond_the_slice);
    CU_add_test(suite, "empty slice", test_empty_slice);
    CU_add_test(suite, "absurd stack pointers", test_absurd_stack_pointers);
    CU_add_test(suite, "names", test_names);
}
