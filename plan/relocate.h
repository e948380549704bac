/* Copies of function beginnings, to be executed elsewhere: what a probe's jump overwrites. */
#ifndef SPROF_PLAN_RELOCATE_H
#define SPROF_PLAN_RELOCATE_H

#include "agent/probe.h"
#include "arch/arch.h"
#include "plan/function_plan.h"

enum {
    PLAN_COPIED_MAX = PLAN_JUMP_BYTES, /* instructions: the last begins before the jump's end */
    PLAN_COPY_BYTES_MAX = PLAN_COPIED_MAX * ARCH_MOVED_BYTES + ARCH_JUMP_BYTES,
};

/* The copy of one function's beginning. */
struct plan_copy {
    uint8_t code[PLAN_COPY_BYTES_MAX];
    uint8_t size;
    /* Where each instruction stood, and where it stands: for threads that are inside. */
    uint8_t count;
    struct {
        uint8_t original, copied;
    } places[PLAN_COPIED_MAX];
    uint8_t back, goes_on; /* the jump back, and where it leads; 0: there is none */
};

/* Makes the copy of `displaced` bytes that stand at `original` and belong at address `site`, for
 * the address `at`; it goes on behind them. `own`: how many of the bytes are the function's; what
 * follows is padding and not copied. Returns 0, SPROF_ELIMIT where an operand, a target or the way
 * back is out of reach (2 GiB), or SPROF_EUNSUPPORTED where an instruction cannot be moved: then
 * there is no copy. */
int plan_copy_make(struct plan_copy *copy, const uint8_t *original, size_t displaced, size_t own,
                   uint64_t site, uint64_t at);

/* Whether one of the instructions may fault, as on memory that is not there, or a division by
 * zero: other than by the stack's end, or by memory of the file's own. */
bool plan_may_fault(const uint8_t *original, size_t displaced);

/* Such a copy for the agent's area, however far that is away: see arch/x86_64/probe/area.S. */
struct plan_far_copy {
    uint8_t bytes[ARCH_COPY_BYTES];
    uint8_t rest; /* from there on the bytes work near their place only; 0: none do */
};

/* Makes it as plan_copy_make does. A rest has to be copied by that, and its address be put at
 * ARCH_COPY_NEXT. Returns 0, SPROF_ELIMIT where all is of that kind, or SPROF_EUNSUPPORTED. */
int plan_far_copy_make(struct plan_far_copy *copy, const uint8_t *original, size_t displaced,
                       size_t own, uint64_t site, uint64_t at);

#endif
