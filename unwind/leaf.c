/* Interrupted code that no table covers: hand-written assembly, a JIT's built-in routines, the
 * middle of clone3. Before anything is guessed, the code itself is read: a prologue or an epilogue
 * says where the return address is, and so does a call whose target is the code at hand. */
#include "unwind/walk.h"

#include "unwind/arch/x86_64/code.h"

enum {
    /* From the target of a call to the instruction that was interrupted in it. */
    FUNCTION_BYTES_MAX = 4096,
};

static bool take_at(struct walk *walk, uint64_t slot, uint64_t bp, struct walk_caller *caller)
{
    *caller = (struct walk_caller){.sp = slot + 8, .bp = bp, .found_by = MODEL_BY_LEAF};
    return walk_read_word(walk, slot, &caller->address) == WALK_READ_OK &&
           walk_is_return_address(walk, caller->address) == WALK_YES;
}

static bool caller_by_stage(struct walk *walk, struct walk_caller *caller)
{
    uint8_t code[UNWIND_STAGE_BEFORE + UNWIND_STAGE_AFTER];
    uint64_t saved_bp;
    if (walk_read_live(walk, walk->pc - UNWIND_STAGE_BEFORE, code, sizeof code))
        return false;
    switch (unwind_code_stage(code)) {
    case UNWIND_STAGE_NO_FRAME: return take_at(walk, walk->sp, walk->bp, caller);
    case UNWIND_STAGE_RBP_PUSHED:
        return walk_read_word(walk, walk->sp, &saved_bp) == WALK_READ_OK &&
               take_at(walk, walk->sp + 8, saved_bp, caller);
    case UNWIND_STAGE_UNKNOWN: break;
    }
    return false;
}

bool walk_call_target(struct walk *walk, uint64_t return_address, uint64_t *target)
{
    uint8_t call[UNWIND_CALL_BYTES], entry[UNWIND_PLT_ENTRY_BYTES];
    uint64_t slot;
    if (walk_read_live(walk, return_address - sizeof call, call, sizeof call) ||
        !unwind_code_call_target(call, return_address, target))
        return false;
    if (!walk_read_live(walk, *target, entry, sizeof entry) &&
        unwind_code_plt_slot(entry, *target, &slot))
        return !walk_read_live(walk, slot, target, sizeof *target);
    return true;
}

/* Whether the function that was called goes on to the interrupted instruction: no other begins
 * between, as far as tables and padding tell. */
static bool is_inside(struct walk *walk, uint64_t target)
{
    uint8_t code[FUNCTION_BYTES_MAX];
    const uint64_t distance = walk->pc - target;
    const struct unwind_region *region = walk->space->find(walk->space->context, walk->pc);
    if (!region || target < region->start || distance >= sizeof code)
        return false;
    if (region->kind == UNWIND_REGION_TABLE &&
        unwind_table_starts_between(region->table, target - region->bias, walk->pc - region->bias))
        return false;
    return !walk_read_live(walk, target, code, (size_t)distance) &&
           !unwind_code_holds_end((struct sprof_bytes){code, (size_t)distance});
}

static bool caller_by_target(struct walk *walk, struct walk_caller *caller)
{
    uint64_t target;
    return take_at(walk, walk->sp, walk->bp, caller) &&
           walk_call_target(walk, caller->address, &target) && is_inside(walk, target);
}

bool walk_leaf_caller(struct walk *walk, struct walk_caller *caller)
{
    return !walk_is_return(walk) &&
           (caller_by_stage(walk, caller) || caller_by_target(walk, caller));
}
