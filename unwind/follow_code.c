/* Code that no table covers (musl, hand-written assembly), followed from where it stands to where
 * it returns. Compilers keep the stack balanced: whichever way leads to a return, the pops on it
 * say how far away the return address is. Followed are jumps and both ways of branches, calls are
 * stepped over; ways that run into nothing, such as those behind a call that never returns, are
 * given up for the next. What is found must be a return address behind a call. */
#include "arch/arch.h"
#include "unwind/walk.h"

enum {
    WAYS_MAX = 32,
    INSTRUCTIONS_MAX = 8192, /* kernels for matrices have 5 500 */
    SEEN_MAX = 2048,
    SEEN_SLOTS = 2 * SEEN_MAX, /* a power of two */
    CODE_BYTES = 512,
    PAGE_BYTES = 4096,
};

/* One way through the code: what has happened to the stack and the frame pointer on it. Slots and
 * offsets count from the base: what a register had in the current frame, or a word that lies at a
 * distance from that, `loaded_at`. */
struct way {
    uint64_t pc;
    int base; /* the register: ARCH_SP, ARCH_FP, or a third one */
    bool is_loaded;
    int64_t loaded_at;
    int64_t offset; /* of the stack pointer */
    int64_t slot;   /* where the frame pointer was popped from */
    uint32_t
        written; /* the registers that have other values than in the current frame, a bit each */
    bool fp_popped, fp_changed;
    bool link_popped; /* ARCH_LINK, from behind the frame pointer */
};

struct follower {
    struct walk *walk;
    struct way ways[WAYS_MAX];
    unsigned way_count;
    unsigned instructions, seen_count;
    uint64_t seen[SEEN_SLOTS];
    uint8_t code[CODE_BYTES];
    uint64_t code_address;
    size_t code_size;
    bool unreadable; /* some code could not be read: now, but perhaps later */
};

/* Whether a way has been at this jump before; remembers it. */
static bool was_seen(struct follower *follower, uint64_t pc)
{
    if (follower->seen_count++ == SEEN_MAX)
        return true;
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
    way->base = ARCH_FP;
    way->is_loaded = false;
    way->offset = distance;
    return !way->fp_changed;
}

/* Only of an interrupted frame all registers are known, and only where nothing has written the
 * register since. */
static bool sp_from_register(const struct walk *walk, struct way *way, int reg, int64_t distance)
{
    way->base = reg;
    way->is_loaded = false;
    way->offset = distance;
    return walk_is_full(walk) && !unwind_walk_is_return(walk) && !(way->written >> reg & 1);
}

/* The word is the current frame's own: this way has pushed nothing above it. */
static bool load_sp(struct way *way, int64_t distance)
{
    if (way->is_loaded)
        return false;
    way->loaded_at = way->offset + distance;
    way->is_loaded = true;
    way->offset = 0;
    return way->base != ARCH_SP || way->loaded_at >= 0;
}

/* The word at a distance from the stack pointer, as pop_fp takes it, but the stack stays. */
static void load_fp(struct way *way, int64_t distance)
{
    way->fp_popped = way->offset + distance >= 0;
    way->slot = way->offset + distance;
    way->fp_changed = true;
}

static void note_written(struct way *way, const struct arch_instruction *instruction)
{
    const bool calls =
        instruction->flow == ARCH_FLOW_CALL || instruction->flow == ARCH_FLOW_CALL_INDIRECT;
    way->written |= instruction->written | (calls ? ~(uint32_t)ARCH_CALLEE_SAVED : 0);
}

/* Takes one instruction; false where the way ends. *returns: it is a return. */
static bool take(struct follower *follower, struct way *way, bool *returns)
{
    struct arch_instruction instruction;
    if (!decode(follower, way->pc, &instruction))
        return false;
    const bool jumps =
        instruction.effect == ARCH_EFFECT_JUMPS || instruction.effect == ARCH_EFFECT_BRANCHES;
    if (jumps && was_seen(follower, way->pc))
        return false;
    way->pc += instruction.length;
    note_written(way, &instruction);
    const uint64_t target = way->pc + (uint64_t)instruction.value;
    switch ((enum arch_effect)instruction.effect) {
    case ARCH_EFFECT_NONE: return true;
    case ARCH_EFFECT_CHANGES_FP: way->fp_changed = true; return true;
    case ARCH_EFFECT_CHANGES_SP: return false;
    case ARCH_EFFECT_ADDS_SP: way->offset += instruction.value; return true;
    case ARCH_EFFECT_POPS_FP: pop_fp(way); return true;
    case ARCH_EFFECT_POPS_FRAME: pop_frame(way, instruction.value); return true;
    case ARCH_EFFECT_SP_FROM_FP: return sp_from_fp(way, instruction.value);
    case ARCH_EFFECT_SP_FROM_REGISTER:
        return sp_from_register(follower->walk, way, instruction.source, instruction.value);
    case ARCH_EFFECT_LOADS_SP: return load_sp(way, instruction.value);
    case ARCH_EFFECT_LOADS_FP: load_fp(way, instruction.value); return true;
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

/* The rule without what is saved: the CFA is `cfa` from the way's base. */
static uint64_t cfa_rule_of(const struct way *way, int64_t cfa)
{
    const bool base_fp = way->base == ARCH_FP, plain = base_fp || way->base == ARCH_SP;
    const uint64_t base = unwind_rule_with_register((unsigned)way->base) |
                          UNWIND_RULE_BASE_FROM_CODE | UNWIND_RULE_RETURN_ON_ENTRY;
    if (way->is_loaded)
        return way->loaded_at != (int16_t)way->loaded_at || cfa != (int16_t)cfa
                   ? UNWIND_RULE_GAP
                   : UNWIND_RULE_DEREF | base | (uint64_t)(uint16_t)way->loaded_at << 32 |
                         (uint64_t)(uint16_t)cfa << 48;
    return plain ? unwind_rule_cfa(base_fp, (int32_t)cfa) | UNWIND_RULE_FROM_CODE
                 : UNWIND_RULE_REGISTER | base | (uint64_t)(uint32_t)cfa << 32;
}

/* What the way says about the frame, as a rule; a GAP where it says nothing that can be. */
static uint64_t rule_of(const struct way *way)
{
    const int64_t cfa = way->offset + ARCH_CALL_PUSHES, slot = way->slot - cfa;
    if ((way->base == ARCH_SP && !way->is_loaded && way->offset < 0) || cfa != (int32_t)cfa)
        return UNWIND_RULE_GAP;
    uint64_t rule = cfa_rule_of(way, cfa);
    if (!way->fp_popped || slot > -16 || slot & 7 || slot / 8 != (int16_t)(slot / 8))
        return way->link_popped ? UNWIND_RULE_GAP : rule;
    if (way->link_popped)
        rule = (rule & ~(uint64_t)UNWIND_RULE_RETURN_MASK) | UNWIND_RULE_RETURN_SLOT;
    return rule | UNWIND_RULE_FP_SAVED | (uint64_t)(uint16_t)(slot / 8) << 16;
}

/* The CFA to which a rule leads that was found in the code; false where it leads to none. */
static bool cfa_of(struct walk *walk, uint64_t rule, uint64_t *cfa)
{
    const enum unwind_rule_kind kind = unwind_rule_kind(rule);
    const unsigned reg = kind == UNWIND_RULE_CFA ? rule & UNWIND_RULE_BASE_FP ? ARCH_FP : ARCH_SP
                                                 : unwind_rule_register(rule);
    const uint64_t base = reg == ARCH_SP   ? walk->sp
                          : reg == ARCH_FP ? walk->fp
                                           : walk->full.value[reg];
    *cfa = base + (uint64_t)unwind_rule_offset(rule);
    if (kind != UNWIND_RULE_DEREF)
        return true;
    const enum walk_read result =
        unwind_walk_read_word(walk, base + (uint64_t)unwind_rule_deref_a(rule), cfa);
    *cfa += (uint64_t)unwind_rule_deref_b(rule);
    return result == WALK_READ_OK;
}

/* Follows a rule that was found in the code; false where it does not lead to a return address. */
static bool follow_rule(struct walk *walk, uint64_t rule, struct walk_caller *caller)
{
    uint64_t cfa;
    if (!cfa_of(walk, rule, &cfa) || cfa < walk->sp + ARCH_CALL_PUSHES || cfa >= UNWIND_USER_END)
        return false;
    const uint64_t slot = cfa + (uint64_t)unwind_rule_slot(rule);
    *caller = (struct walk_caller){.sp = cfa, .fp = walk->fp, .found_by = MODEL_BY_LEAF};
    if (rule & UNWIND_RULE_FP_SAVED && slot >= walk->sp &&
        unwind_walk_read_word(walk, slot, &caller->fp) != WALK_READ_OK)
        return false;
    return unwind_walk_read_return(walk, rule, cfa, &caller->address) == WALK_READ_OK &&
           unwind_walk_is_return_address(walk, caller->address) == WALK_YES;
}

/* Follows one way to its end; true where that is a return to a believable caller. The first way
 * that returns at all leaves its rule, too: but not one with another base, which is not tried
 * again. */
static bool follow_way(struct follower *follower, struct way way, uint64_t *rule,
                       struct walk_caller *caller)
{
    bool returns = false;
    while (follower->instructions++ < INSTRUCTIONS_MAX && take(follower, &way, &returns))
        ;
    const uint64_t found = returns ? rule_of(&way) : UNWIND_RULE_GAP;
    if (found == UNWIND_RULE_GAP)
        return false;
    const bool believed = follow_rule(follower->walk, found, caller);
    const bool is_first =
        unwind_rule_kind(found) == UNWIND_RULE_CFA && unwind_rule_kind(*rule) != UNWIND_RULE_CFA;
    if (believed || is_first)
        *rule = found;
    return believed;
}

/* Returns 0 with a believable caller, SPROF_ENOTFOUND, or SPROF_EIO where code cannot be read. */
static int follow_code(struct walk *walk, uint64_t *rule, struct walk_caller *caller)
{
    struct follower follower;
    follower.walk = walk;
    follower.way_count = 0;
    follower.instructions = follower.seen_count = 0;
    follower.code_size = 0;
    follower.unreadable = false;
    memset(follower.seen, 0, sizeof follower.seen);
    branch(&follower, &(struct way){.base = ARCH_SP}, walk->pc + unwind_walk_is_return(walk));
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
    if (unwind_rule_kind(rule) != kind)
        remember(walk, rule);
    else if (code == SPROF_ENOTFOUND)
        remember(walk, kind | UNWIND_RULE_LEADS_NOWHERE);
    return !code;
}
