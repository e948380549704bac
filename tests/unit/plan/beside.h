/* Surroundings in which a function's beginning and its copies are executed beside each other. */
#ifndef SPROF_TESTS_UNIT_PLAN_BESIDE_H
#define SPROF_TESTS_UNIT_PLAN_BESIDE_H

#include "plan/plan.h"
#include "tests/unit/plan/execute.h"

/* Offsets into the arena, and sizes. */
enum {
    BESIDE_EXITS = 8,
    BESIDE_BACK = 3, /* the exit that returns lead to */
    BESIDE_SITE = 0x1000,
    BESIDE_CODE_BYTES = 0x38,
    BESIDE_SHORT_EXIT = BESIDE_SITE + 0x40, /* near enough for short branches; 5 bytes each */
    BESIDE_CALLEE = 0x2000,                 /* notes its return address in r11, and returns */
    BESIDE_EXIT = 0x2100,                   /* EXECUTE_EXIT_BYTES each */
    BESIDE_COPIES = 0x100000,
    BESIDE_CODE_END = 0x200000,
    BESIDE_PAGE = 0x1000,
    BESIDE_DATA = 0x1000000, /* a page that is not executed; what is before is not written */
    BESIDE_DATA_BYTES = 0x400,
    BESIDE_SLOTS = BESIDE_DATA + BESIDE_DATA_BYTES, /* pointers to the callee and to exit 2 */
    BESIDE_STACK = BESIDE_DATA + 0x10000,           /* a page */
    BESIDE_STACK_BYTES = BESIDE_PAGE,               /* the stack pointer is in its middle */
};

struct beside {
    uint8_t *arena;                  /* where it is executed, */
    uint8_t *code;                   /* and where that much of it is written */
    uint8_t *far, *far_code;         /* the same beyond the reach of any distance */
    uint8_t data[BESIDE_DATA_BYTES]; /* as it is before code is executed */
    uint8_t below;                   /* so is what is below the stack pointer */
};

/* What code left. Below the stack pointer nothing is promised: all that is zero. */
struct beside_outcome {
    struct execute_state state;
    uint8_t stack[BESIDE_STACK_BYTES];
    uint8_t data[BESIDE_PAGE];
};

/* Returns false where there is no memory of that kind. */
bool beside_begin(struct beside *beside);
void beside_end(struct beside *beside);

/* Puts a beginning in place; what follows goes on to the last exit. */
void beside_put(struct beside *beside, const uint8_t *code, size_t size);

/* As a probe does: the jump has taken the bytes, and nobody may depend on them. */
void beside_take(struct beside *beside);

/* Executes what stands at `at` with `in`, whose stack pointer is set. */
void beside_execute(struct beside *beside, const struct execute_state *in, const uint8_t *at,
                    struct beside_outcome *outcome);

/* Puts a copy for afar in place, with what works near its place only at offset `at`. Returns 0 or
 * what plan_far_copy_make and, of the rest, plan_copy_make do. */
int beside_put_far(struct beside *beside, const uint8_t *code, size_t size, size_t at);

#endif
