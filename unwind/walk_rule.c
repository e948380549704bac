/* Rules by address: the cache, the regions behind it, and what they mean for a return address. */
#include "arch/arch.h"
#include "unwind/walk.h"

enum { FETCH_AHEAD_BYTES = 128 }; /* of the stack */

/* Fetches the pages of what may be the next callers, while the look-up at hand waits for its own:
 * return addresses of one region are often next to each other on the stack. Every word is taken for
 * one; for what cannot be, the page at hand is fetched again, which costs less than a branch. */
static void fetch_ahead(struct walk *walk, uint64_t offset, uint64_t sp)
{
    const struct unwind_memory *memory = walk->memory;
    const struct unwind_table *table = walk->region->table;
    const uint64_t at = sp - memory->slice_address;
    if (sp < walk->fetched_to || at > memory->slice_size ||
        memory->slice_size - at < FETCH_AHEAD_BYTES || offset >= table->span)
        return;
    walk->fetched_to = sp + FETCH_AHEAD_BYTES;
    __builtin_prefetch(unwind_table_page_at(table, (uint32_t)offset));
    for (size_t i = 0; i < FETCH_AHEAD_BYTES; i += 8) {
        uint64_t word;
        memcpy(&word, memory->slice + at + i, sizeof word);
        const uint64_t candidate = word - 1 - walk->region->bias - table->base;
        __builtin_prefetch(
            unwind_table_page_at(table, (uint32_t)(candidate < table->span ? candidate : offset)));
    }
}

/* The rule of the region that holds an address, for a frame whose stack pointer is `sp`. */
static uint64_t region_rule(struct walk *walk, uint64_t pc, uint64_t sp)
{
    const struct unwind_region *region = walk->region;
    if (!region || pc - region->start >= region->end - region->start)
        region = walk->space->find(walk->space->context, pc);
    if (!region || pc < region->start || pc >= region->end)
        return UNWIND_RULE_NOT_CODE;
    switch (region->kind) {
    case UNWIND_REGION_TABLE:
        walk->region = region;
        fetch_ahead(walk, pc - region->bias - region->table->base, sp);
        return unwind_table_lookup(region->table, pc - region->bias);
    case UNWIND_REGION_JIT: return UNWIND_RULE_FRAME_POINTER;
    case UNWIND_REGION_BARE: return UNWIND_RULE_BARE;
    case UNWIND_REGION_PENDING: break;
    }
    walk->pending = region;
    return UNWIND_RULE_PENDING;
}

uint64_t unwind_walk_missed_rule(struct walk *walk, uint64_t pc, uint64_t sp)
{
    walk->misses++;
    if (pc >= UNWIND_USER_END)
        return UNWIND_RULE_NOT_CODE;
    const uint64_t rule = region_rule(walk, pc, sp);
    const enum unwind_rule_kind kind = unwind_rule_kind(rule);
    if (kind != UNWIND_RULE_NOT_CODE && kind != UNWIND_RULE_PENDING)
        *unwind_cache_at(walk->walker->cache, pc) =
            (struct unwind_cache_entry){unwind_cache_tag(pc, walk->space->generation), rule};
    return rule;
}

uint64_t unwind_walk_rule(struct walk *walk, uint64_t pc)
{
    return walk_cached_rule(walk, walk->walker->cache, walk->space->generation, pc, walk->sp);
}

static bool is_return_target(uint64_t rule)
{
    const enum unwind_rule_kind kind = unwind_rule_kind(rule);
    return kind == UNWIND_RULE_SIGNAL || kind == UNWIND_RULE_END;
}

enum walk_belief unwind_walk_is_return_address(struct walk *walk, uint64_t address)
{
    const uint64_t rule = unwind_walk_rule(walk, address - 1);
    if (rule == UNWIND_RULE_NOT_CODE || !address)
        return WALK_NO;
    if (rule & UNWIND_RULE_FOLLOWS_CALL || is_return_target(rule))
        return WALK_YES;
    uint8_t code[ARCH_CALL_BYTES];
    if (unwind_walk_read_live(walk, address - sizeof code, code, sizeof code))
        return WALK_UNKNOWN;
    if (!arch_code_ends_with_call(code))
        return is_return_target(unwind_walk_rule(walk, address)) ? WALK_YES : WALK_NO;
    struct unwind_cache_entry *entry = unwind_cache_at(walk->walker->cache, address - 1);
    if (entry->tag == unwind_cache_tag(address - 1, walk->space->generation))
        entry->rule |= UNWIND_RULE_FOLLOWS_CALL;
    return WALK_YES;
}
