/* Interrupted code that no table covers: hand-written assembly, a JIT's built-in routines, the
 * middle of clone3. Before anything is guessed, the code itself is read: a prologue or an epilogue
 * says where the return address is, and so does a call whose target is the code at hand. */
#include "unwind/walk.h"

#include "arch/arch.h"

enum {
    /* From the target of a call to the instruction that was interrupted in it. */
    FUNCTION_BYTES_MAX = 4096,
};

static bool take_at(struct walk *walk, uint64_t slot, uint64_t fp, struct walk_caller *caller)
{
    *caller = (struct walk_caller){.sp = slot + 8, .fp = fp, .found_by = MODEL_BY_LEAF};
    if (unwind_walk_read_word(walk, slot, &caller->address) != WALK_READ_OK)
        return false;
    caller->address = arch_return_address(caller->address);
    return unwind_walk_is_return_address(walk, caller->address) == WALK_YES;
}

/* The caller of a function that has not changed the stack. */
static bool take_on_entry(struct walk *walk, struct walk_caller *caller)
{
    if (ARCH_CALL_PUSHES)
        return take_at(walk, walk->sp, walk->fp, caller);
    if (!walk_link_is_known(walk))
        return false;
    *caller = (struct walk_caller){
        .address = arch_return_address(walk->full.value[ARCH_LINK < 0 ? 0 : ARCH_LINK]),
        .sp = walk->sp,
        .fp = walk->fp,
        .found_by = MODEL_BY_LEAF,
    };
    return unwind_walk_is_return_address(walk, caller->address) == WALK_YES;
}

static bool caller_by_stage(struct walk *walk, struct walk_caller *caller)
{
    uint8_t code[ARCH_STAGE_BEFORE + ARCH_STAGE_AFTER];
    uint64_t saved_fp;
    if (unwind_walk_read_live(walk, walk->pc - ARCH_STAGE_BEFORE, code, sizeof code))
        return false;
    switch (arch_code_stage(code)) {
    case ARCH_STAGE_NO_FRAME: return take_on_entry(walk, caller);
    case ARCH_STAGE_FP_PUSHED:
        return unwind_walk_read_word(walk, walk->sp, &saved_fp) == WALK_READ_OK &&
               take_at(walk, walk->sp + 8, saved_fp, caller);
    case ARCH_STAGE_UNKNOWN: break;
    }
    return false;
}

bool unwind_walk_call_target(struct walk *walk, uint64_t return_address, uint64_t *target)
{
    uint8_t call[ARCH_CALL_BYTES], entry[ARCH_PLT_JUMP_BYTES];
    uint64_t slot;
    if (unwind_walk_read_live(walk, return_address - sizeof call, call, sizeof call) ||
        !arch_code_call_target(call, return_address, target))
        return false;
    if (!unwind_walk_read_live(walk, *target, entry, sizeof entry) &&
        arch_code_plt_slot(entry, *target, &slot))
        return !unwind_walk_read_live(walk, slot, target, sizeof *target);
    return true;
}

/* Whether the function that was called goes on to the interrupted instruction: no other begins
 * between, as far as tables and padding show. */
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
    return !unwind_walk_read_live(walk, target, code, (size_t)distance) &&
           !arch_code_holds_end((struct sprof_bytes){code, (size_t)distance});
}

static bool caller_by_target(struct walk *walk, struct walk_caller *caller)
{
    uint64_t target;
    return take_on_entry(walk, caller) && unwind_walk_call_target(walk, caller->address, &target) &&
           is_inside(walk, target);
}

/* The kernel has the processor execute a copy of an instruction with a uprobe. Such stand where
 * functions begin and where they return: the stack is as a call leaves it. */
bool unwind_walk_copied_caller(struct walk *walk, struct walk_caller *caller)
{
    if (unwind_walk_is_return(walk))
        return false;
    const struct unwind_region *region = walk->space->find(walk->space->context, walk->pc);
    return region && region->holds_copies && take_on_entry(walk, caller);
}

bool unwind_walk_leaf_caller(struct walk *walk, struct walk_caller *caller)
{
    return !unwind_walk_is_return(walk) &&
           (caller_by_stage(walk, caller) || caller_by_target(walk, caller));
}
