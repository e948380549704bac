/* Instructions that the tracer has moved out of a function's beginning into memory of its own,
 * where no table covers them. They are few, in a row, and end with the jump back: the frame is what
 * the function's rule says at the place where that leads, but for what the instructions in between
 * are about to do. */
#include "unwind/walk.h"

#include "arch/arch.h"

enum {
    CODE_BYTES = 6 * ARCH_MOVED_BYTES, /* of instructions and the jump back */
    INSTRUCTIONS_MAX = 8,
    JUMP_BYTES_BEFORE = 24, /* of a function, of which the jump to its probe is the first five */
};

struct row {
    uint64_t back;   /* where it goes on; 0: it returns */
    bool calls;      /* … when what it calls has returned: a push and a jump were that call */
    uint64_t sp, fp; /* as they will be there */
};

/* Reads the code from ARCH_PUSHED_BYTES before the instruction on, or as near as there is any. */
static size_t read_code(struct walk *walk, uint8_t code[CODE_BYTES], size_t *before)
{
    static const uint8_t starts[] = {ARCH_PUSHED_BYTES, ARCH_PUSHED_PART, 0};
    for (size_t i = 0; i < sizeof starts; i++)
        for (size_t size = CODE_BYTES; size >= CODE_BYTES / 8; size /= 2) {
            *before = starts[i];
            if (!unwind_walk_read_live(walk, walk->pc - *before, code, size))
                return size;
        }
    return 0;
}

/* Whether the push of a call's return address has begun already; *at moves behind it. */
static bool has_pushed(const uint8_t *code, size_t size, size_t *at, uint64_t *address)
{
    static const uint8_t done[] = {ARCH_PUSHED_BYTES, ARCH_PUSHED_PART};
    for (size_t i = 0; i < sizeof done; i++)
        if (*at >= done[i] &&
            arch_code_pushes(code + *at - done[i], size - (*at - done[i]), address)) {
            *at += ARCH_PUSHED_BYTES - done[i];
            return true;
        }
    return false;
}

/* Follows the code to the jump back; false where there is anything but a row of instructions. */
static bool follow(struct walk *walk, struct row *row)
{
    uint8_t code[CODE_BYTES];
    size_t at;
    const size_t size = read_code(walk, code, &at);
    const uint64_t start = walk->pc - at;
    *row = (struct row){.sp = walk->sp, .fp = walk->fp};
    if (size && has_pushed(code, size, &at, &row->back)) {
        row->sp += 8;
        return row->calls = true;
    }
    for (int i = 0; i < INSTRUCTIONS_MAX; i++) {
        struct arch_instruction instruction;
        if (at < size && arch_code_pushes(code + at, size - at, &row->back))
            return row->calls = true;
        if (at >= size || !arch_instruction_decode(code + at, size - at, &instruction))
            return false;
        at += instruction.length;
        switch ((enum arch_effect)instruction.effect) {
        case ARCH_EFFECT_NONE:
        case ARCH_EFFECT_BRANCHES: break;
        case ARCH_EFFECT_ADDS_SP: row->sp += (uint64_t)instruction.value; break;
        case ARCH_EFFECT_LOADS_FP:
        case ARCH_EFFECT_CHANGES_FP:
            row->fp =
                arch_code_sets_fp(code + at - instruction.length, instruction.length) ? row->sp : 0;
            break;
        case ARCH_EFFECT_JUMPS: row->back = start + at + (uint64_t)instruction.value; return true;
        case ARCH_EFFECT_RETURNS: return true;
        default: return false;
        }
    }
    return false;
}

/* Whether a function has a jump to its probe among the bytes before the place. */
static bool is_probed(struct walk *walk, uint64_t back)
{
    uint8_t code[JUMP_BYTES_BEFORE];
    const struct unwind_region *moved = walk->space->find(walk->space->context, walk->pc);
    const uint64_t start = moved ? moved->start : 0, end = moved ? moved->end : 0;
    if (unwind_walk_read_live(walk, back - sizeof code, code, sizeof code))
        return false;
    for (size_t i = 0; i + ARCH_JUMP_BYTES <= sizeof code; i++) {
        struct arch_instruction jump;
        if (!arch_instruction_decode(code + i, ARCH_JUMP_BYTES, &jump) ||
            jump.flow != ARCH_FLOW_JUMP || jump.length != ARCH_JUMP_BYTES)
            continue;
        const uint64_t target = back - sizeof code + i + ARCH_JUMP_BYTES + (uint64_t)jump.value;
        if ((target >= start && target < end) ||
            unwind_rule_kind(unwind_walk_rule(walk, target)) == UNWIND_RULE_THUNK)
            return true;
    }
    return false;
}

/* All of a short function was moved: its name is unknown. */
static bool take_returned(struct walk *walk, const struct row *row, struct walk_caller *caller)
{
    *caller = (struct walk_caller){
        .sp = row->sp + ARCH_CALL_PUSHES, .fp = walk->fp, .found_by = MODEL_BY_LEAF};
    return ARCH_CALL_PUSHES && row->sp >= walk->sp && row->fp == walk->fp &&
           unwind_walk_read_word(walk, row->sp, &caller->address) == WALK_READ_OK &&
           unwind_walk_is_return_address(walk, caller->address) == WALK_YES;
}

/* On the way to a thunk that a jump of five bytes does not reach. */
static bool take_on_the_way(struct walk *walk, struct walk_caller *caller)
{
    uint8_t code[ARCH_PLT_JUMP_BYTES];
    uint64_t slot, thunk;
    if (unwind_walk_read_live(walk, walk->pc, code, sizeof code) ||
        !arch_code_plt_slot(code, walk->pc, &slot) ||
        unwind_walk_read_live(walk, slot, &thunk, sizeof thunk) ||
        unwind_rule_kind(unwind_walk_rule(walk, thunk)) != UNWIND_RULE_THUNK)
        return false;
    *caller = (struct walk_caller){
        .sp = walk->sp + ARCH_CALL_PUSHES, .fp = walk->fp, .found_by = MODEL_BY_CFI};
    if (unwind_walk_read_word(walk, walk->sp, &caller->address) != WALK_READ_OK)
        return false;
    walk->walker->frames[walk->count - 1].address = thunk;
    return true;
}

bool unwind_walk_moved_caller(struct walk *walk, struct walk_caller *caller)
{
    struct row row;
    if (!walk->walker->knows_thunks || unwind_walk_is_return(walk))
        return false;
    if (take_on_the_way(walk, caller))
        return true;
    if (!follow(walk, &row))
        return false;
    if (!row.back)
        return take_returned(walk, &row, caller);
    if (!is_probed(walk, row.back))
        return false;
    const uint64_t place = row.back - row.calls; /* within the call */
    const uint64_t rule = unwind_walk_rule(walk, place);
    const uint64_t base = rule & UNWIND_RULE_BASE_FP ? row.fp : row.sp;
    const uint64_t cfa = base + (uint64_t)unwind_rule_offset(rule);
    if (unwind_rule_kind(rule) != UNWIND_RULE_CFA || rule & UNWIND_RULE_FROM_CODE ||
        (rule & UNWIND_RULE_RETURN_MASK) != UNWIND_RULE_RETURN_PUSHED || !base ||
        cfa < walk->sp + ARCH_CALL_PUSHES || cfa >= UNWIND_USER_END)
        return false;
    *caller = (struct walk_caller){.sp = cfa, .fp = walk->fp, .found_by = MODEL_BY_CFI};
    const uint64_t slot = cfa + (uint64_t)unwind_rule_slot(rule);
    /* What is to be pushed yet is where it was. */
    if (rule & UNWIND_RULE_FP_SAVED && !(rule & UNWIND_RULE_SLOT_FROM_FP) && slot >= walk->sp &&
        unwind_walk_read_word(walk, slot, &caller->fp) != WALK_READ_OK)
        return false;
    if (unwind_walk_read_return(walk, rule, cfa, &caller->address) != WALK_READ_OK)
        return false;
    walk->walker->frames[walk->count - 1].address = place;
    return true;
}
