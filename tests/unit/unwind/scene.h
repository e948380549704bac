/* A made-up process for tests of the walk: some regions of code, a stack, registers. */
#ifndef SPROF_TESTS_UNWIND_SCENE_H
#define SPROF_TESTS_UNWIND_SCENE_H

#include "tests/unit/unwind/cfi_bytes.h"
#include "unwind/unwind.h"

enum {
    SCENE_WORDS = 1024, /* two pages: memory is read by pages */
    SCENE_REGIONS = 6,
    SCENE_CODE = 0x10000, /* vaddr of the code that `cfi` describes */
    SCENE_CODE_BYTES = 0x10000,
};

/* Addresses: the code with tables, code of other kinds, and the stack. */
#define SCENE_BIAS UINT64_C(0x555500000000)
#define SCENE_TEXT (SCENE_BIAS + SCENE_CODE)
#define SCENE_JIT UINT64_C(0x666600000000)
#define SCENE_BARE UINT64_C(0x666700000000)
#define SCENE_PENDING UINT64_C(0x666800000000)
#define SCENE_STACK UINT64_C(0x7ffd00000000)
#define SCENE_ALTERNATE UINT64_C(0x7ffc00000000)

struct scene {
    struct cfi_bytes cfi;
    struct unwind_source source;
    struct unwind_range text;
    struct unwind_table *table;
    struct unwind_region regions[SCENE_REGIONS];
    struct unwind_space space;
    struct unwind_memory memory;
    struct unwind_registers registers;
    struct unwind_walker *walker;
    uint64_t stack[SCENE_WORDS];     /* at SCENE_STACK; the slice is its beginning */
    uint64_t alternate[SCENE_WORDS]; /* at SCENE_ALTERNATE; only to be read */
    uint8_t code[SCENE_CODE_BYTES];  /* at SCENE_TEXT; only to be read */
    size_t live_words; /* of the stack that can be read; all unless a test says less */
    unsigned reads;
};

/* Begins a scene with functions added to `cfi` until scene_ready. All of the stack is captured, and
 * nothing can be read. Functions are FDEs at SCENE_CODE + …. */
struct scene *scene_new(void);

/* Builds the table and puts the stack pointer at the stack's first word. */
void scene_ready(struct scene *scene);

/* Lets memory->read reach the code, the stacks and nothing else, and captures `slice_words` only.
 */
void scene_live(struct scene *scene, size_t slice_words);

/* Writes a call instruction in front of a return address `offset` behind SCENE_TEXT. */
void scene_call_before(struct scene *scene, uint64_t offset);

/* Writes the distance to its target into a call or jump that ends at `next`; both are offsets
 * behind SCENE_TEXT. */
void scene_distance(struct scene *scene, uint64_t next, uint64_t target);

/* Writes a call instruction with its target, in front of the return address. */
void scene_call(struct scene *scene, uint64_t return_offset, uint64_t target);

struct unwind_stack scene_walk(struct scene *scene, uint64_t rip);
void scene_free(struct scene *scene);

struct scene_frame {
    uint64_t address;
    enum model_found_by found_by;
    bool is_return;
};

/* Expects exactly these frames, and shows what came instead. */
void scene_expect(struct unwind_stack stack, enum model_end end, const struct scene_frame *frames,
                  size_t count);
#define EXPECT(stack, end, ...)                                                                    \
    scene_expect((stack), (end), (const struct scene_frame[]){__VA_ARGS__},                        \
                 sizeof(const struct scene_frame[]){__VA_ARGS__} / sizeof(struct scene_frame))

#endif
