/* Code that no table covers (musl, hand-written assembly), followed from where it stands to where
 * it returns. Compilers keep the stack balanced: whichever way leads to a return, the pops on it
 * say how far away the return address is. Followed are jumps and both ways of branches, calls are
 * stepped over; ways that run into nothing, such as those behind a call that never returns, are
 * given up for the next. What is found must be a return address behind a call. */
#include "arch/arch.h"
#include "unwind/walk.h"

enum {
    WAYS_MAX = 32,
    INSTRUCTIONS_MAX = 2048,
    SEEN_SLOTS = 4096, /* twice the instructions, a power of two */
    CODE_BYTES = 512,
    PAGE_BYTES = 4096,
};

/* One way through the code: what has happened to the stack and the frame pointer on it. Slots and
 * offsets count from the current frame's stack pointer, or frame pointer where `from_fp`. */
struct way {
    uint64_t pc;
    int64_t offset; /* of the stack pointer */
    int64_t slot;   /* where the frame pointer was popped from */
    bool from_fp, fp_popped, fp_changed;
    bool link_popped; /* ARCH_LINK, from behind the frame pointer */
};

struct follower {
    struct walk *walk;
    struct way ways[WAYS_MAX];
    unsigned way_count;
    unsigned instructions;
    uint64_t seen[SEEN_SLOTS];
    uint8_t code[CODE_BYTES];
    uint64_t code_address;
    size_t code_size;
    bool unreadable; /* some code could not be read: now, but perhaps later */
};

/* Whether a way has been here before; remembers it. */
static bool was_seen(struct follower *follower, uint64_t pc)
{
    size_t at = (size_t)sprof_hash_mix(pc) & (SEEN_SLOTS - 1);
    while (follower->seen[at] && follower->seen[at] != pc)
        at = (at + 1) & (SEEN_SLOTS - 1);
    const bool seen = follower->seen[at] == pc;
    follower->seen[at] = pc;
    return seen;
}

static bool fetch(struct follower *follower, uint64_t pc)
{
    const size_t page_left = PAGE_BYTES - (size_t)(pc % PAGE_BYTES);
    follower->code_address = pc;
    follower->code_size = CODE_BYTES;
    if (!unwind_walk_read_live(follower->walk, pc, follower->code, CODE_BYTES))
        return true;
    follower->code_size = page_left < CODE_BYTES ? page_left : 0;
    if (follower->code_size &&
        !unwind_walk_read_live(follower->walk, pc, follower->code, follower->code_size))
        return true;
    follower->unreadable = true;
    return false;
}

static bool decode(struct follower *follower, uint64_t pc, struct arch_instruction *instruction)
{
    const uint64_t offset = pc - follower->code_address;
    if (offset < follower->code_size &&
        arch_instruction_decode(follower->code + offset, follower->code_size - (size_t)offset,
                                instruction))
        return true;
    return fetch(follower, pc) &&
           arch_instruction_decode(follower->code, follower->code_size, instruction);
}

static void branch(struct follower *follower, const struct way *way, uint64_t target)
{
    if (follower->way_count == WAYS_MAX)
        return;
    follower->ways[follower->way_count] = *way;
    follower->ways[follower->way_count++].pc = target;
}

static void pop_fp(struct way *way)
{
    /* What was pushed on this way itself is what the register holds already. */
    way->fp_popped = way->offset >= 0;
    way->slot = way->offset;
    way->offset += 8;
    way->fp_changed = true;
}

static void pop_frame(struct way *way, int64_t size)
{
    way->link_popped = way->offset >= 0;
    pop_fp(way);
    way->offset += size - 8;
}

static bool sp_from_fp(struct way *way, int64_t distance)
{
    way->from_fp = true;
    way->offset = distance;
    return !way->fp_changed;
}

/* Takes one instruction; false where the way ends. *returns: it is a return. */
static bool take(struct follower *follower, struct way *way, bool *returns)
{
    struct arch_instruction instruction;
    if (was_seen(follower, way->pc) || !decode(follower, way->pc, &instruction))
        return false;
    way->pc += instruction.length;
    const uint64_t target = way->pc + (uint64_t)instruction.value;
    switch ((enum arch_effect)instruction.effect) {
    case ARCH_EFFECT_NONE: return true;
    case ARCH_EFFECT_CHANGES_FP: way->fp_changed = true; return true;
    case ARCH_EFFECT_CHANGES_SP: return false;
    case ARCH_EFFECT_ADDS_SP: way->offset += instruction.value; return true;
    case ARCH_EFFECT_POPS_FP: pop_fp(way); return true;
    case ARCH_EFFECT_POPS_FRAME: pop_frame(way, instruction.value); return true;
    case ARCH_EFFECT_SP_FROM_FP: return sp_from_fp(way, instruction.value);
    case ARCH_EFFECT_LEAVES:
        if (!sp_from_fp(way, 0))
            return false;
        pop_fp(way);
        return true;
    case ARCH_EFFECT_RETURNS: *returns = true; return false;
    case ARCH_EFFECT_JUMPS: way->pc = target; return true;
    case ARCH_EFFECT_BRANCHES: branch(follower, way, target); return true;
    case ARCH_EFFECT_STOPS: return false;
    }
    return false;
}

/* What the way says about the frame, as a rule; a GAP where it says nothing that can be. */
static uint64_t rule_of(const struct way *way)
{
    const int64_t cfa = way->offset + ARCH_CALL_PUSHES, slot = way->slot - cfa;
    if (way->offset < 0 || cfa != (int32_t)cfa)
        return UNWIND_RULE_GAP;
    uint64_t rule = unwind_rule_cfa(way->from_fp, (int32_t)cfa) | UNWIND_RULE_FROM_CODE;
    if (!way->fp_popped || slot > -16 || slot & 7 || slot / 8 != (int16_t)(slot / 8))
        return way->link_popped ? UNWIND_RULE_GAP : rule;
    if (way->link_popped)
        rule = (rule & ~(uint64_t)UNWIND_RULE_RETURN_MASK) | UNWIND_RULE_RETURN_SLOT;
    return rule | UNWIND_RULE_FP_SAVED | (uint64_t)(uint16_t)(slot / 8) << 16;
}

/* Follows a rule that was found in the code; false where it does not lead to a return address. */
static bool follow_rule(struct walk *walk, uint64_t rule, struct walk_caller *caller)
{
    const uint64_t base = rule & UNWIND_RULE_BASE_FP ? walk->fp : walk->sp;
    const uint64_t cfa = base + (uint64_t)unwind_rule_offset(rule);
    const uint64_t slot = cfa + (uint64_t)unwind_rule_slot(rule);
    *caller = (struct walk_caller){.sp = cfa, .fp = walk->fp, .found_by = MODEL_BY_LEAF};
    if (cfa < walk->sp + ARCH_CALL_PUSHES || cfa >= UNWIND_USER_END)
        return false;
    if (rule & UNWIND_RULE_FP_SAVED && slot >= walk->sp &&
        unwind_walk_read_word(walk, slot, &caller->fp) != WALK_READ_OK)
        return false;
    return unwind_walk_read_return(walk, rule, cfa, &caller->address) == WALK_READ_OK &&
           unwind_walk_is_return_address(walk, caller->address) == WALK_YES;
}

/* Follows one way to its end; true where that is a return to a believable caller. The first way
 * that returns at all leaves its rule, too. */
static bool follow_way(struct follower *follower, struct way way, uint64_t *rule,
                       struct walk_caller *caller)
{
    bool returns = false;
    while (follower->instructions++ < INSTRUCTIONS_MAX && take(follower, &way, &returns))
        ;
    const uint64_t found = returns ? rule_of(&way) : UNWIND_RULE_GAP;
    if (unwind_rule_kind(found) != UNWIND_RULE_CFA)
        return false;
    const bool believed = follow_rule(follower->walk, found, caller);
    if (believed || unwind_rule_kind(*rule) != UNWIND_RULE_CFA)
        *rule = found;
    return believed;
}

/* Returns 0 with a believable caller, SPROF_ENOTFOUND, or SPROF_EIO where code cannot be read. */
static int follow_code(struct walk *walk, uint64_t *rule, struct walk_caller *caller)
{
    struct follower follower;
    follower.walk = walk;
    follower.way_count = 0;
    follower.instructions = 0;
    follower.code_size = 0;
    follower.unreadable = false;
    memset(follower.seen, 0, sizeof follower.seen);
    branch(&follower, &(struct way){0}, walk->pc + unwind_walk_is_return(walk));
    while (follower.way_count && follower.instructions < INSTRUCTIONS_MAX)
        if (follow_way(&follower, follower.ways[--follower.way_count], rule, caller))
            return 0;
    return follower.unreadable ? SPROF_EIO : SPROF_ENOTFOUND;
}

static void remember(struct walk *walk, uint64_t rule)
{
    struct unwind_cache_entry *entry = unwind_cache_at(walk->walker->cache, walk->pc);
    if (entry->tag == unwind_cache_tag(walk->pc, walk->space->generation))
        entry->rule = rule | (entry->rule & UNWIND_RULE_FOLLOWS_CALL);
}

bool unwind_walk_code_caller(struct walk *walk, struct walk_caller *caller)
{
    uint64_t rule = unwind_walk_rule(walk, walk->pc);
    const enum unwind_rule_kind kind = unwind_rule_kind(rule);
    if (rule & UNWIND_RULE_FROM_CODE && kind == UNWIND_RULE_CFA)
        return follow_rule(walk, rule, caller);
    if (!walk->memory->read || (kind != UNWIND_RULE_GAP && kind != UNWIND_RULE_BARE) ||
        rule & UNWIND_RULE_LEADS_NOWHERE)
        return false;
    /* Another stack may show what this one does not: a way that returns is tried again there. */
    const int code = follow_code(walk, &rule, caller);
    if (unwind_rule_kind(rule) == UNWIND_RULE_CFA)
        remember(walk, rule);
    else if (code == SPROF_ENOTFOUND)
        remember(walk, kind | UNWIND_RULE_LEADS_NOWHERE);
    return !code;
}
