/* Turns the functions of a DWARF unit into sorted arrays. */
#include "symbolize/flatten.h"

#include <dwarf.h>

/* Deeper nesting than compilers write: DWARF 5 has no limit of its own. */
enum { MAX_DEPTH = 200 };

struct flatten_walk {
    struct flat *flat;
    uint32_t unit;
    bool everywhere;
    Dwarf_Off last_offset; /* entries come in the order of the file; anything else is a loop */
};

void symbolize_flatten_each_range(struct flat *flat, Dwarf_Die *die, flatten_range *range,
                                  void *context)
{
    Dwarf_Addr base, low, high;
    ptrdiff_t offset = 0;
    while (flat->steps_left && (offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0) {
        flat->steps_left--;
        if (low < high && symbolize_dwarf_code_begins(flat->code, low))
            range(flat, low - flat->delta, high - flat->delta, context);
    }
}

/* An entry that may become the innermost one of some addresses. */
struct claim {
    Dwarf_Die *die;
    uint32_t unit, parent;
    uint32_t entry; /* FLATTEN_NONE until the first address is claimed */
};

static uint32_t add_entry(struct flat *flat, const struct claim *claim, uint64_t low, uint64_t high)
{
    const struct flat_entry entry = {*claim->die, claim->parent, claim->unit, low, high - low};
    if (sprof_vec_push(&flat->entries, entry)) {
        flat->failed = true;
        return FLATTEN_NONE;
    }
    return (uint32_t)flat->entries.count;
}

/* An address belongs to one chain: the first entry that covers it under its present innermost one.
 */
static void claim_range(struct flat *flat, uint64_t low, uint64_t high, void *context)
{
    struct claim *claim = context;
    const struct addresses *addresses = flat->addresses;
    for (size_t i = addresses_lower_bound(addresses, low);
         i < addresses->count && addresses->items[i] < high && flat->steps_left; i++) {
        flat->steps_left--;
        if (flat->of[i].unit != claim->unit || flat->of[i].entry != claim->parent)
            continue;
        if (!claim->entry)
            claim->entry = add_entry(flat, claim, low, high);
        if (claim->entry)
            flat->of[i].entry = claim->entry;
    }
}

static uint32_t claim_entry(struct flatten_walk *walk, Dwarf_Die *die, uint32_t parent)
{
    struct claim claim = {die, walk->unit, parent, FLATTEN_NONE};
    symbolize_flatten_each_range(walk->flat, die, claim_range, &claim);
    return claim.entry;
}

/* What a walk does at an entry of each kind. */
enum action {
    SKIP,
    ENTER,            /* may hold functions or inlined calls */
    ENTER_EVERYWHERE, /* holds functions only in rare languages */
    FUNCTION,
    INLINED,
};

static enum action action_of(int tag)
{
    static const struct {
        int tag;
        enum action action;
    } actions[] = {
        {DW_TAG_subprogram, FUNCTION},
        {DW_TAG_inlined_subroutine, INLINED},
        {DW_TAG_lexical_block, ENTER},
        {DW_TAG_try_block, ENTER},
        {DW_TAG_catch_block, ENTER},
        {DW_TAG_with_stmt, ENTER},
        {DW_TAG_namespace, ENTER},
        {DW_TAG_module, ENTER},
        {DW_TAG_structure_type, ENTER_EVERYWHERE},
        {DW_TAG_class_type, ENTER_EVERYWHERE},
        {DW_TAG_union_type, ENTER_EVERYWHERE},
        {DW_TAG_interface_type, ENTER_EVERYWHERE},
        {DW_TAG_enumeration_type, ENTER_EVERYWHERE},
        {DW_TAG_variant_part, ENTER_EVERYWHERE},
        {DW_TAG_variant, ENTER_EVERYWHERE},
    };
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (actions[i].tag == tag)
            return actions[i].action;
    return SKIP;
}

/* Where code begins at 0, other functions that begin there were dropped. */
static bool is_dropped(const struct flat *flat, Dwarf_Die *die)
{
    Dwarf_Addr low, high;
    return flat->code->has_zero && dwarf_lowpc(die, &low) == 0 && dwarf_highpc(die, &high) == 0 &&
           !symbolize_dwarf_code_has_function(flat->code, low, high);
}

static void walk_children(struct flatten_walk *walk, Dwarf_Die *die, uint32_t parent,
                          unsigned depth);

static void visit(struct flatten_walk *walk, Dwarf_Die *die, uint32_t parent, unsigned depth)
{
    const enum action action = action_of(dwarf_tag(die));
    uint32_t inner = parent;
    if (action == SKIP || (action == ENTER_EVERYWHERE && !walk->everywhere))
        return;
    if (action == FUNCTION) {
        inner = is_dropped(walk->flat, die) ? FLATTEN_NONE : claim_entry(walk, die, FLATTEN_NONE);
        if (!inner && !walk->everywhere)
            return;
    }
    if (action == INLINED) {
        inner = parent ? claim_entry(walk, die, parent) : FLATTEN_NONE;
        if (!inner)
            return;
    }
    walk_children(walk, die, inner, depth + 1);
}

static void walk_children(struct flatten_walk *walk, Dwarf_Die *die, uint32_t parent,
                          unsigned depth)
{
    Dwarf_Die child, next;
    if (depth > MAX_DEPTH || dwarf_child(die, &child) != 0)
        return;
    do {
        const Dwarf_Off offset = dwarf_dieoffset(&child);
        if (offset <= walk->last_offset || !walk->flat->steps_left)
            return;
        walk->last_offset = offset;
        walk->flat->steps_left--;
        visit(walk, &child, parent, depth);
        if (dwarf_siblingof(&child, &next) != 0)
            return;
        child = next;
    } while (!walk->flat->failed);
}

void symbolize_flatten_unit(struct flat *flat, uint32_t unit, bool everywhere)
{
    struct flatten_walk walk = {.flat = flat, .unit = unit, .everywhere = everywhere};
    Dwarf_Die die = flat->units.items[unit - 1].functions;
    walk_children(&walk, &die, FLATTEN_NONE, 0);
}
