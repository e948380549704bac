/* Walks the entries of units and flattens the wanted functions. */
#include "symbolize/dwarf_functions.h"

#include "symbolize/dwarf_entry.h"
#include "symbolize/dwarf_rows.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_DEPTH = 200,
    MAX_PIECES = 64,      /* of one function */
    MAX_RANGES = 1 << 16, /* of inlined calls in one function */
};

/* A range of an inlined call, in vaddrs. */
struct range {
    uint64_t low, high;
    uint32_t call;
};

/* What was found of the function at hand stands behind that of outer ones; this is where its own
 * begins. */
struct own {
    size_t piece, call, range;
};

struct function_walk {
    struct dwarf_names *names;
    struct function_index *index;
    uint64_t delta;
    const struct addresses *addresses; /* NULL: everything is wanted */
    struct dwarf_unit *unit;
    struct sprof_map descriptions; /* of the unit's calls: offset of what is called → number */
    SPROF_VEC(struct index_piece) pieces;
    SPROF_VEC(struct index_call) calls;
    SPROF_VEC(struct range) ranges;
    SPROF_VEC(struct range) extent; /* of the unit, in order; without ranges it may be anywhere */
    struct own own;
    struct dwarf_zero zero;
    size_t unit_ranges;
    bool broken; /* an entry could not be read */
};

static uint32_t line_of(uint64_t line)
{
    return line <= UINT32_MAX ? (uint32_t)line : 0;
}

/* == Functions == */

/* Names are read when an address needs them: most of the calls in a function have none. */
static uint32_t add_description(struct function_walk *walk, uint64_t offset)
{
    const struct index_description made = {.entry = (uint32_t)offset, .ada = walk->unit->ada};
    if (sprof_vec_push(&walk->index->descriptions, made))
        walk->index->failed = true;
    return (uint32_t)walk->index->descriptions.count;
}

/* All calls of a function name the same origin. */
static uint32_t describe_call(struct function_walk *walk, const struct dwarf_entry *entry)
{
    const uint64_t origin = entry->origin ? entry->origin : entry->offset;
    const uint64_t *known = sprof_map_get(&walk->descriptions, origin);
    if (known)
        return (uint32_t)*known;
    const uint32_t number = add_description(walk, origin <= UINT32_MAX ? origin : 0);
    walk->index->failed |= sprof_map_put(&walk->descriptions, origin, number) != 0;
    return number;
}

/* Whether the unit's own ranges leave room for a function: of functions that the linker dropped
 * with others in one section, all but the first may seem to begin among code. */
static bool is_in_unit(const struct function_walk *walk, uint64_t low)
{
    size_t first = 0, end = walk->extent.count;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        if (walk->extent.items[middle].high <= low)
            first = middle + 1;
        else
            end = middle;
    }
    return !walk->extent.count ||
           (first < walk->extent.count && walk->extent.items[first].low <= low);
}

static bool is_in_image(struct function_walk *walk, uint64_t low, uint64_t high)
{
    const struct dwarf_code *code = &walk->names->dwarf.code;
    const bool is_there = symbolize_dwarf_code_has_function(code, low, high);
    if (code->has_zero && low == code->zero) {
        walk->zero.has_dropped |= !is_there;
        walk->zero.end = is_there ? high : walk->zero.end;
    }
    return is_there && is_in_unit(walk, low - walk->delta);
}

static bool note_piece(void *context, uint64_t low, uint64_t high)
{
    struct function_walk *walk = context;
    const struct index_piece piece = {.low = low - walk->delta, .high = high - walk->delta};
    if (!is_in_image(walk, low, high))
        return true;
    if (high - low > UINT32_MAX || sprof_vec_push(&walk->pieces, piece))
        return false;
    return walk->pieces.count - walk->own.piece < MAX_PIECES;
}

/* Whether one of the pieces holds a wanted address. */
static bool is_wanted(const struct function_walk *walk)
{
    const struct addresses *addresses = walk->addresses;
    if (!addresses)
        return walk->pieces.count > walk->own.piece;
    for (size_t i = walk->own.piece; i < walk->pieces.count; i++) {
        const size_t at = addresses_lower_bound(addresses, walk->pieces.items[i].low);
        if (at < addresses->count && addresses->items[at] < walk->pieces.items[i].high)
            return true;
    }
    return false;
}

/* A range of the newest call. */
static bool note_range(void *context, uint64_t low, uint64_t high)
{
    struct function_walk *walk = context;
    const struct range range = {low - walk->delta, high - walk->delta,
                                (uint32_t)(walk->calls.count - walk->own.call)};
    walk->broken |=
        walk->ranges.count - walk->own.range >= MAX_RANGES || sprof_vec_push(&walk->ranges, range);
    return !walk->broken;
}

/* Returns where what follows the children begins; 0 where that is not known, or nothing does. */
static uint64_t walk_children(struct function_walk *walk, uint64_t at, uint32_t parent,
                              bool in_function, unsigned depth);

/* DWARF 2 has no entry of several ranges: without extensions (-gstrict-dwarf), clang gives such a
 * call none, but its inner calls theirs. */
static bool has_no_extent(const struct dwarf_extent *extent)
{
    return extent->ranges_class == DWARF_NONE && !extent->low_is_known && !extent->high_pc;
}

static bool is_range_below(const struct function_walk *walk, const struct range *range,
                           uint32_t call)
{
    return walk->calls.items[walk->own.call + range->call - 1].parent == call;
}

/* Gives a call without ranges those of its inner calls, in front of them. */
static void take_inner_ranges(struct function_walk *walk, uint32_t call, size_t first)
{
    const size_t count = walk->ranges.count;
    size_t taken = 0;
    for (size_t i = first; i < count; i++)
        taken += is_range_below(walk, &walk->ranges.items[i], call);
    walk->broken |= count + taken - walk->own.range > MAX_RANGES ||
                    sprof_vec_reserve(&walk->ranges, count + taken);
    if (walk->broken || !taken)
        return;
    struct range *outer = walk->ranges.items + first, *inner = outer + taken;
    memmove(inner, outer, (count - first) * sizeof *inner);
    walk->ranges.count += taken;
    for (size_t i = 0; i < count - first; i++)
        if (is_range_below(walk, &inner[i], call))
            *outer++ = (struct range){inner[i].low, inner[i].high, call};
}

static uint64_t walk_call(struct function_walk *walk, const struct dwarf_entry *entry,
                          uint32_t parent, unsigned depth)
{
    const size_t before = walk->ranges.count;
    const bool takes_inner = has_no_extent(&entry->extent) && entry->has_children;
    const struct index_call call = {.parent = parent, .line = line_of(entry->call_line)};
    uint64_t next = 0;
    if (sprof_vec_push(&walk->calls, call)) {
        walk->index->failed = true;
        return 0;
    }
    const size_t number = walk->calls.count - walk->own.call;
    symbolize_dwarf_each_range(&walk->names->dwarf, walk->unit, &entry->extent, note_range, walk);
    if (entry->has_children && (takes_inner || walk->ranges.count > before))
        next = walk_children(walk, entry->children, (uint32_t)number, true, depth + 1);
    if (takes_inner)
        take_inner_ranges(walk, (uint32_t)number, before);
    if (walk->ranges.count == before) {
        walk->calls.count = walk->own.call + number - 1;
        return next;
    }
    struct index_call *made = &walk->calls.items[walk->own.call + number - 1];
    made->description = describe_call(walk, entry);
    if (entry->call_file)
        made->file = symbolize_dwarf_names_file(walk->names, walk->unit, entry->call_file - 1);
    return next;
}

/* The function's pieces share its calls; the ranges of these are cut to each of the pieces. */
static void add_pieces(struct function_walk *walk, uint32_t description)
{
    struct function_index *index = walk->index;
    const uint32_t first_call = (uint32_t)index->calls.count;
    for (size_t i = walk->own.call; i < walk->calls.count; i++)
        index->failed |= sprof_vec_push(&index->calls, walk->calls.items[i]) != 0;
    for (size_t i = walk->own.piece; i < walk->pieces.count; i++) {
        struct index_piece piece = walk->pieces.items[i];
        piece.description = description;
        piece.first_call = first_call;
        piece.call_count = (uint32_t)(walk->calls.count - walk->own.call);
        piece.first_range = (uint32_t)index->ranges.count;
        for (size_t k = walk->own.range; k < walk->ranges.count; k++) {
            const struct range *range = &walk->ranges.items[k];
            const uint64_t low = range->low > piece.low ? range->low : piece.low;
            const uint64_t high = range->high < piece.high ? range->high : piece.high;
            const struct index_range made = {(uint32_t)(low - piece.low),
                                             (uint32_t)(high - piece.low), range->call};
            if (low < high)
                index->failed |= sprof_vec_push(&index->ranges, made) != 0;
        }
        piece.range_count = (uint32_t)(index->ranges.count - piece.first_range);
        index->failed |= sprof_vec_push(&index->pieces, piece) != 0;
    }
}

/* Functions inside functions are met while the outer one is at hand. One that could not be read to
 * its end is left out. */
static uint64_t walk_function(struct function_walk *walk, const struct dwarf_entry *entry,
                              unsigned depth)
{
    const struct own outer = walk->own;
    uint64_t next = 0;
    walk->own = (struct own){walk->pieces.count, walk->calls.count, walk->ranges.count};
    symbolize_dwarf_each_range(&walk->names->dwarf, walk->unit, &entry->extent, note_piece, walk);
    if (is_wanted(walk)) {
        if (entry->has_children)
            next = walk_children(walk, entry->children, 0, true, depth + 1);
        if (!walk->broken)
            add_pieces(walk, add_description(walk, entry->offset));
    }
    walk->pieces.count = walk->own.piece;
    walk->calls.count = walk->own.call;
    walk->ranges.count = walk->own.range;
    walk->own = outer;
    return next;
}

static bool may_hold_functions(uint16_t tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_lexical_block ||
           tag == DW_TAG_try_block || tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

/* Where the entries after one and its children begin; 0 where that cannot be found. */
static uint64_t behind(struct function_walk *walk, const struct dwarf_entry *entry, unsigned depth)
{
    if (!entry->has_children)
        return entry->children;
    if (entry->sibling > entry->offset)
        return entry->sibling;
    uint64_t at = entry->children;
    struct dwarf_entry child;
    while (at && depth < MAX_DEPTH &&
           symbolize_dwarf_entry_next(&walk->names->dwarf, walk->unit, at, &child)) {
        if (!child.tag)
            return child.children;
        at = behind(walk, &child, depth + 1);
    }
    walk->broken = true;
    return 0;
}

static uint64_t walk_children(struct function_walk *walk, uint64_t at, uint32_t parent,
                              bool in_function, unsigned depth)
{
    struct dwarf_entry entry;
    while (depth < MAX_DEPTH && !walk->index->failed &&
           symbolize_dwarf_entry_next(&walk->names->dwarf, walk->unit, at, &entry)) {
        uint64_t next = 0;
        if (!entry.tag)
            return entry.children;
        if (entry.tag == DW_TAG_subprogram)
            next = walk_function(walk, &entry, depth);
        else if (entry.tag == DW_TAG_inlined_subroutine && in_function)
            next = walk_call(walk, &entry, parent, depth);
        else if (may_hold_functions(entry.tag) && entry.has_children)
            next = walk_children(walk, entry.children, parent, in_function, depth + 1);
        at = next ? next : behind(walk, &entry, depth);
        if (walk->broken)
            return 0;
    }
    walk->broken = true;
    return 0;
}

/* == Units == */

static bool note_extent(void *context, uint64_t low, uint64_t high)
{
    struct function_walk *walk = context;
    const struct range range = {low - walk->delta, high - walk->delta, 0};
    walk->index->failed |= sprof_vec_push(&walk->extent, range) != 0;
    return !walk->index->failed && walk->extent.count < MAX_RANGES;
}

static int by_low(const void *left, const void *right)
{
    const struct range *a = left, *b = right;
    return (a->low > b->low) - (a->low < b->low);
}

/* Brings the unit's ranges into order; of those that overlap, the later one ends further. */
static void sort_extent(struct function_walk *walk)
{
    struct range *items = walk->extent.items;
    bool sorted = true;
    for (size_t i = 1; i < walk->extent.count; i++)
        sorted &= items[i - 1].low <= items[i].low;
    if (!sorted)
        qsort(items, walk->extent.count, sizeof *items, by_low);
    for (size_t i = 1; i < walk->extent.count; i++)
        if (items[i].high < items[i - 1].high)
            items[i].high = items[i - 1].high;
}

static bool extent_is_wanted(const struct function_walk *walk)
{
    const struct addresses *addresses = walk->addresses;
    for (size_t i = 0; i < walk->extent.count; i++) {
        const struct range *range = &walk->extent.items[i];
        const size_t at = addresses_lower_bound(addresses, range->low);
        if (at < addresses->count && addresses->items[at] < range->high)
            return true;
    }
    return false;
}

/* A unit without them may have its code anywhere. DWARF 2 has one range at most, which GCC writes
 * for code of several sections, too, and leaves out all but one of them. */
static bool has_ranges(const struct dwarf_unit *unit)
{
    enum { ONE_RANGE = 2 };
    const struct dwarf_extent *extent = &unit->extent;
    return extent->ranges_class != DWARF_NONE ||
           (unit->version > ONE_RANGE && extent->low_is_known && extent->high_pc);
}

/* Whether a unit holds an address, or any code where all is wanted; of one that gives no ranges,
 * that is not known. */
static bool unit_is_wanted(struct function_walk *walk, struct dwarf_unit *unit)
{
    walk->extent.count = 0;
    if (!has_ranges(unit))
        return true;
    symbolize_dwarf_each_range(&walk->names->dwarf, unit, &unit->extent, note_extent, walk);
    if (walk->addresses ? !extent_is_wanted(walk) : !walk->extent.count)
        return false;
    if (walk->extent.count == MAX_RANGES)
        walk->extent.count = 0;
    sort_extent(walk);
    return true;
}

static bool note_unit_range(void *context, uint64_t low, uint64_t high)
{
    struct function_walk *walk = context;
    struct function_index *index = walk->index;
    const struct index_piece piece = {.low = low - walk->delta,
                                      .high = high - walk->delta,
                                      .first_call = (uint32_t)index->calls.count,
                                      .first_range = (uint32_t)index->ranges.count};
    if (high - low > UINT32_MAX)
        return false;
    index->failed |= sprof_vec_push(&index->pieces, piece) != 0;
    return !index->failed && ++walk->unit_ranges < MAX_RANGES;
}

/* Of assembly only lines are known: its code is one piece without a function. */
static void add_unit_without_functions(struct function_walk *walk)
{
    walk->unit_ranges = 0;
    symbolize_dwarf_each_range(&walk->names->dwarf, walk->unit, &walk->unit->extent,
                               note_unit_range, walk);
}

/* What so many addresses add to the index at most, in programs with many inlined calls: to grow
 * step by step would be to copy it again and again. Memory that is not used is not touched. */
void dwarf_functions_reserve(struct function_index *index, const struct addresses *addresses)
{
    enum { MOST = 1 << 16 };
    const size_t asked = addresses ? addresses->count : 0, count = asked < MOST ? asked : MOST;
    index->failed |=
        sprof_vec_reserve(&index->descriptions, index->descriptions.count + 12 * count) ||
        sprof_vec_reserve(&index->calls, index->calls.count + 40 * count) ||
        sprof_vec_reserve(&index->ranges, index->ranges.count + 64 * count) ||
        sprof_vec_reserve(&index->lines, index->lines.count + 48 * count);
}

void symbolize_dwarf_functions_add_units(struct dwarf_names *names, uint64_t delta,
                                         const struct addresses *addresses, const atomic_bool *stop,
                                         size_t first, size_t end)
{
    struct function_walk walk = {
        .names = names, .index = names->index, .delta = delta, .addresses = addresses};
    struct dwarf_rows rows = {.names = names, .delta = delta};
    for (size_t i = first; i < end && !walk.index->failed; i++) {
        struct dwarf_entry root;
        struct dwarf_unit *unit = walk.unit = &names->dwarf.units.items[i];
        if (stop && atomic_load_explicit(stop, memory_order_relaxed))
            break;
        if (!symbolize_dwarf_unit_open(&names->dwarf, unit) || !unit_is_wanted(&walk, unit))
            continue;
        const size_t first_piece = walk.index->pieces.count;
        walk.broken = false;
        walk.zero = (struct dwarf_zero){0};
        sprof_map_clear(&walk.descriptions);
        if (symbolize_dwarf_entry_next(&names->dwarf, unit, unit->entries, &root) &&
            root.has_children)
            walk_children(&walk, root.children, 0, false, 0);
        if (!addresses && !walk.broken && walk.index->pieces.count == first_piece)
            add_unit_without_functions(&walk);
        rows.zero = walk.zero;
        symbolize_dwarf_rows_add(&rows, unit, first_piece);
    }
    walk.index->failed |= names->dwarf.failed;
    sprof_vec_release(&walk.pieces);
    sprof_vec_release(&walk.calls);
    sprof_vec_release(&walk.ranges);
    sprof_vec_release(&walk.extent);
    sprof_map_release(&walk.descriptions);
    symbolize_dwarf_rows_release(&rows);
}

void symbolize_dwarf_functions_add(struct dwarf_names *names, uint64_t delta,
                                   const struct addresses *addresses, const atomic_bool *stop)
{
    dwarf_functions_reserve(names->index, addresses);
    symbolize_dwarf_functions_add_units(names, delta, addresses, stop, 0, names->dwarf.units.count);
}

struct claim {
    struct dwarf *dwarf;
    const struct addresses *addresses;
    uint64_t delta;
    bool *claimed;
};

static bool claim_range(void *context, uint64_t low, uint64_t high)
{
    const struct claim *claim = context;
    const struct addresses *addresses = claim->addresses;
    for (size_t i = addresses_lower_bound(addresses, low - claim->delta);
         i < addresses->count && addresses->items[i] < high - claim->delta &&
         claim->dwarf->steps_left;
         i++) {
        claim->dwarf->steps_left--;
        claim->claimed[i] = true;
    }
    return true;
}

bool symbolize_dwarf_functions_claim(struct dwarf_names *names, uint64_t delta,
                                     const struct addresses *addresses, bool *claimed)
{
    struct dwarf *dwarf = &names->dwarf;
    struct claim claim = {dwarf, addresses, delta, claimed};
    for (size_t i = 0; i < dwarf->units.count; i++) {
        struct dwarf_unit *unit = &dwarf->units.items[i];
        if (!symbolize_dwarf_unit_open(dwarf, unit) || !has_ranges(unit))
            return false;
        symbolize_dwarf_each_range(dwarf, unit, &unit->extent, claim_range, &claim);
    }
    return dwarf->steps_left > 0;
}
