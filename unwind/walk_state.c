/* What every step does with the walk: reads a return address, makes the caller the current frame,
 * ends. */
#include "unwind/walk.h"

enum { BOTTOM_BYTES = 512 }; /* above a return address of 0, searched for signs of callers */

bool unwind_walk_end(struct walk *walk, enum model_end end)
{
    walk->end = end;
    return false;
}

bool unwind_walk_is_return(const struct walk *walk)
{
    return walk->walker->frames[walk->count - 1].is_return;
}

/* Whether a return address of 0 is where a thread or a coroutine starts: not if calls go on above
 * it. Then the frame is not as its table says, as while an exception is being handed over. */
static bool is_bottom(struct walk *walk, const struct walk_caller *caller)
{
    if (caller->found_by == MODEL_BY_FP)
        return true; /* the frame pointer is 0, too */
    for (uint64_t at = caller->sp, last = at + BOTTOM_BYTES; at < last; at += 8) {
        uint64_t word;
        if (walk->slice_end < 8 || at > walk->slice_end - 8)
            return true;
        if (unwind_walk_read_word(walk, at, &word) == WALK_READ_OK && word &&
            unwind_walk_is_return_address(walk, word) == WALK_YES)
            return false;
    }
    return true;
}

/* An address from memory that is not the sample's own: the walk goes on only where code shows that
 * it was called from there. Code that cannot be read now may be when its file is open. */
static bool believe(struct walk *walk, uint64_t address)
{
    const enum walk_belief belief = unwind_walk_is_return_address(walk, address);
    if (belief == WALK_YES)
        return true;
    const bool waits = belief == WALK_UNKNOWN &&
                       unwind_rule_kind(unwind_walk_rule(walk, address - 1)) == UNWIND_RULE_PENDING;
    return unwind_walk_end(walk, waits ? MODEL_END_PENDING : MODEL_END_TRUNCATED);
}

bool unwind_walk_go_on(struct walk *walk, const struct walk_caller *caller)
{
    struct unwind_walker *walker = walk->walker;
    if (!caller->address && walk->from == WALK_FROM_SLICE && caller->found_by != MODEL_BY_SCAN)
        return unwind_walk_end(walk,
                               is_bottom(walk, caller) ? MODEL_END_ROOT : MODEL_END_BAD_MEMORY);
    const bool doubtful = walk->from == WALK_FROM_LIVE || (walk->from && !caller->address);
    if (doubtful && caller->found_by != MODEL_BY_SIGNAL && !believe(walk, caller->address))
        return false;
    const uint64_t pc = caller->address - (caller->found_by != MODEL_BY_SIGNAL);
    if (unwind_walk_rule(walk, pc) == UNWIND_RULE_NOT_CODE) {
        walk->outside = caller->address;
        return unwind_walk_end(walk, MODEL_END_BAD_MEMORY);
    }
    if (walk->count == walker->max_frames)
        return unwind_walk_end(walk, MODEL_END_DEPTH_LIMIT);
    walker->frames[walk->count++] = (struct unwind_frame){.address = caller->address,
                                                          .found_by = (uint8_t)caller->found_by,
                                                          .is_return = pc != caller->address};
    walk->stitched |= walk->from != WALK_FROM_SLICE;
    walk->pc = pc;
    walk->sp = caller->sp;
    walk->fp = caller->fp;
    return true;
}

enum walk_read unwind_walk_read_return(struct walk *walk, uint64_t rule, uint64_t cfa,
                                       uint64_t *address)
{
    if (rule & UNWIND_RULE_RETURN_LINK) {
        if (!walk_link_is_known(walk))
            return WALK_READ_BAD;
        *address = arch_return_address(walk->full.value[ARCH_LINK < 0 ? 0 : ARCH_LINK]);
        return WALK_READ_OK;
    }
    const enum walk_read result = unwind_walk_read_word(walk, walk_return_slot(rule, cfa), address);
    *address = arch_return_address(*address);
    return result;
}
