/* Steps without rules, from the best guess to the worst. What is found by guessing is marked so. */
#include "unwind/walk.h"

enum {
    SCAN_WORDS = 16,
    LINKS_MAX = 64,            /* of a chain of frame pointers that are looked at ahead */
    FRAME_BYTES_MAX = 8 << 20, /* between a stack pointer and the frame pointer it belongs to */
};

static bool follows(uint64_t fp, uint64_t sp)
{
    return fp >= sp && fp - sp <= FRAME_BYTES_MAX && !(fp & 7);
}

static bool is_made_at_run_time(struct walk *walk, uint64_t pc)
{
    return unwind_rule_kind(unwind_walk_rule(walk, pc)) == UNWIND_RULE_FRAME_POINTER;
}

/* Code made at run time may push a return address and jump, as Java's interpreter does. Such an
 * address is believed where the chain of frame pointers goes on from it, through no other kind of
 * code, to one that follows a call. */
static bool leads_to_call(struct walk *walk, const struct walk_caller *pushed)
{
    const enum walk_source from = walk->from;
    uint64_t address = pushed->address, fp = pushed->fp, sp = pushed->sp;
    enum walk_belief belief = WALK_NO;
    for (int i = 0; i < LINKS_MAX && belief == WALK_NO; i++) {
        uint64_t next_fp;
        if (!is_made_at_run_time(walk, address - 1) || !follows(fp, sp) ||
            unwind_walk_read_word(walk, fp, &next_fp) != WALK_READ_OK ||
            unwind_walk_read_word(walk, fp + 8, &address) != WALK_READ_OK)
            break;
        address = arch_return_address(address);
        belief = unwind_walk_is_return_address(walk, address);
        sp = fp + 16;
        fp = next_fp;
    }
    walk->from = from;
    return belief == WALK_YES;
}

/* The frame pointer, believed while it grows and what it leads to is code after a call. */
static bool frame_pointer_caller(struct walk *walk, struct walk_caller *caller)
{
    const uint64_t fp = walk->fp;
    if (!follows(fp, walk->sp))
        return false;
    *caller = (struct walk_caller){.sp = fp + 16, .found_by = MODEL_BY_FP};
    if (unwind_walk_read_word(walk, fp, &caller->fp) != WALK_READ_OK ||
        unwind_walk_read_word(walk, fp + 8, &caller->address) != WALK_READ_OK)
        return false;
    caller->address = arch_return_address(caller->address);
    if (!caller->address && !caller->fp)
        return walk->from == WALK_FROM_SLICE; /* the chain ends as the ABI demands */
    if (unwind_walk_rule(walk, caller->address - 1) == UNWIND_RULE_NOT_CODE)
        walk->outside = caller->address;
    return unwind_walk_is_return_address(walk, caller->address) != WALK_NO ||
           (is_made_at_run_time(walk, walk->pc) && leads_to_call(walk, caller));
}

/* The first believable return address at or above the stack pointer. Code that cannot be read is
 * taken at its word, except in an interrupted frame, where nothing else supports it. */
static bool scan_caller(struct walk *walk, unsigned words, enum walk_belief needed,
                        struct walk_caller *caller)
{
    const uint64_t start = (walk->sp + 7) & ~UINT64_C(7);
    for (unsigned i = 0; i < words; i++) {
        *caller = (struct walk_caller){
            .sp = start + 8 * (i + 1), .fp = walk->fp, .found_by = MODEL_BY_SCAN};
        if (unwind_walk_read_word(walk, start + 8 * i, &caller->address) != WALK_READ_OK)
            return false;
        if (unwind_walk_is_return_address(walk, caller->address) >= needed)
            return true;
    }
    return false;
}

static bool go_on_counted(struct walk *walk, const struct walk_caller *caller)
{
    struct unwind_counters *counters = &walk->walker->counters;
    if (!unwind_walk_go_on(walk, caller))
        return false;
    counters->fp_frames += caller->found_by == MODEL_BY_FP;
    counters->scan_frames += caller->found_by == MODEL_BY_SCAN;
    counters->leaf_frames += caller->found_by == MODEL_BY_LEAF;
    return true;
}

static bool scan_or_end(struct walk *walk)
{
    struct walk_caller caller;
    const bool found = scan_caller(walk, SCAN_WORDS, WALK_UNKNOWN, &caller);
    if (walk->pending) /* no guessing while a table that may have the rule is built */
        return unwind_walk_end(walk, MODEL_END_PENDING);
    if (!found)
        return unwind_walk_end(walk, MODEL_END_NO_CFI);
    /* Only one word of a stack says where _start called, the last: nothing has been passed over. */
    if (unwind_rule_kind(unwind_walk_rule(walk, caller.address - 1)) == UNWIND_RULE_END)
        caller.found_by = MODEL_BY_LEAF;
    return go_on_counted(walk, &caller);
}

/* What an interrupted frame's own frame pointer leads to, where code shows that it was called from
 * there: a leaf's is its caller's, and would pass that over. */
static bool proven_frame_pointer_caller(struct walk *walk, struct walk_caller *caller)
{
    return !unwind_walk_is_return(walk) && frame_pointer_caller(walk, caller) && caller->address &&
           unwind_walk_is_return_address(walk, caller->address) == WALK_YES;
}

/* The word at the stack pointer: code without a table mostly has no frame. */
static bool top_word_caller(struct walk *walk, struct walk_caller *caller)
{
    return !unwind_walk_is_return(walk) && !walk->pending && scan_caller(walk, 1, WALK_YES, caller);
}

/* Goes on with the first attempt that finds a caller, else with a search. */
static bool go_on_by(struct walk *walk,
                     bool (*const *attempts)(struct walk *, struct walk_caller *))
{
    struct walk_caller caller;
    for (; *attempts; attempts++) {
        walk->from = WALK_FROM_SLICE;
        if ((*attempts)(walk, &caller))
            return go_on_counted(walk, &caller);
    }
    walk->from = WALK_FROM_SLICE;
    return scan_or_end(walk);
}

bool unwind_walk_fallback_frame_pointer(struct walk *walk, uint64_t rule)
{
    static bool (*const attempts[])(struct walk *, struct walk_caller *) = {
        unwind_walk_moved_caller, unwind_walk_leaf_caller, frame_pointer_caller, NULL};
    (void)rule;
    return go_on_by(walk, attempts);
}

/* First what the rule cache remembers of the code: it holds when the process has gone, too. */
bool unwind_walk_fallback_gap(struct walk *walk, uint64_t rule)
{
    static bool (*const attempts[])(struct walk *, struct walk_caller *) = {
        unwind_walk_code_caller, unwind_walk_leaf_caller, proven_frame_pointer_caller,
        top_word_caller,         frame_pointer_caller,    NULL};
    (void)rule;
    struct walk_caller caller;
    return unwind_walk_copied_caller(walk, &caller) ? go_on_counted(walk, &caller)
                                                    : go_on_by(walk, attempts);
}
