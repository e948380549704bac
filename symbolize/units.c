/* Finds the DWARF unit of an address. */
#include "symbolize/units.h"

#include "symbolize/libdw_text.h"

#include <dwarf.h>
#include <stdlib.h>

/* Entries and ranges looked at per image: seconds at most, and above what real images need. */
static const uint64_t max_steps = UINT64_C(1) << 26;

enum { NO_UNIT = 0 };

Dwarf_Die symbolize_units_functions_of(Dwarf_Die *die)
{
    uint8_t type = 0;
    Dwarf_Die split;
    if (dwarf_cu_info(die->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) != 0 ||
        type != DW_UT_skeleton || !symbolize_libdw_unit_is_sound(die) ||
        dwarf_cu_info(die->cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) != 0 ||
        dwarf_tag(&split) == DW_TAG_invalid)
        return *die;
    return split;
}

/* Whether a unit's functions should be in another file, and are not. */
static void note_missing(struct flat *flat, Dwarf_Die *die)
{
    static const unsigned names[] = {DW_AT_dwo_name, DW_AT_GNU_dwo_name};
    Dwarf_Attribute attribute;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *name = symbolize_libdw_text(dwarf_attr(die, names[i], &attribute));
        if (name && !flat->missing.count++)
            sprof_str_append(&flat->missing.first, name);
    }
}

/* The number of a unit, which is new or known already. */
static uint32_t add_unit(struct flat *flat, Dwarf_Die *die)
{
    const uint64_t *known = sprof_map_get(&flat->by_offset, dwarf_dieoffset(die));
    if (known)
        return (uint32_t)*known;
    if (!symbolize_libdw_unit_is_sound(die))
        return NO_UNIT;
    const struct flat_unit unit = {.die = *die, .functions = symbolize_units_functions_of(die)};
    if (unit.functions.addr == die->addr)
        note_missing(flat, die);
    if (sprof_vec_push(&flat->units, unit) ||
        sprof_map_put(&flat->by_offset, dwarf_dieoffset(die), flat->units.count)) {
        flat->failed = true;
        return NO_UNIT;
    }
    return (uint32_t)flat->units.count;
}

static bool is_open(const struct flat *flat, size_t address)
{
    return flat->of[address].entry == FLATTEN_NONE;
}

static void walk_new_unit(struct flat *flat, uint32_t unit)
{
    if (unit == NO_UNIT || flat->units.items[unit - 1].walked || flat->failed)
        return;
    flat->units.items[unit - 1].walked = true;
    symbolize_flatten_unit(flat, unit, false);
}

/* Units some address of which is still without a function. */
static void walk_again_everywhere(struct flat *flat)
{
    for (size_t i = 0; i < flat->addresses->count && !flat->failed; i++) {
        const uint32_t unit = flat->of[i].unit;
        if (!is_open(flat, i) || !unit || flat->units.items[unit - 1].walked_everywhere)
            continue;
        flat->units.items[unit - 1].walked_everywhere = true;
        symbolize_flatten_unit(flat, unit, true);
    }
}

/* A function that several units have is in the image once, as the first of them has it: a linker
 * that keeps one of the copies may give its range to the others, too. */
static void assign_by_aranges(struct flat *flat, Dwarf *dwarf)
{
    const struct addresses *addresses = flat->addresses;
    Dwarf_Aranges *aranges;
    size_t count;
    Dwarf_Off *units = calloc(addresses->count + 1, sizeof *units); /* offset + 1; 0: none */
    flat->failed |= !units;
    if (!units || dwarf_getaranges(dwarf, &aranges, &count) != 0)
        count = 0;
    for (size_t k = 0; k < count && flat->steps_left; k++) {
        Dwarf_Addr start;
        Dwarf_Word length;
        Dwarf_Off offset;
        if (dwarf_getarangeinfo(dwarf_onearange(aranges, k), &start, &length, &offset) ||
            !symbolize_dwarf_code_begins(flat->code, start))
            continue;
        flat->steps_left--;
        for (size_t i = addresses_lower_bound(addresses, start - flat->delta);
             i < addresses->count && addresses->items[i] + flat->delta - start < length &&
             flat->steps_left;
             i++) {
            flat->steps_left--;
            if (!units[i] || offset < units[i] - 1)
                units[i] = offset + 1;
        }
    }
    for (size_t i = 0; i < addresses->count && units && !flat->failed; i++) {
        Dwarf_Die die;
        if (units[i] && dwarf_offdie(dwarf, units[i] - 1, &die))
            flat->of[i].unit = add_unit(flat, &die);
    }
    free(units);
}

/* A unit whose ranges are being matched. */
struct candidate {
    Dwarf_Die *die;
    uint32_t unit; /* NO_UNIT until it is needed */
    bool has_ranges;
};

static void assign_range(struct flat *flat, uint64_t low, uint64_t high, void *context)
{
    struct candidate *candidate = context;
    const struct addresses *addresses = flat->addresses;
    candidate->has_ranges = true;
    for (size_t i = addresses_lower_bound(addresses, low);
         i < addresses->count && addresses->items[i] < high && flat->steps_left; i++) {
        flat->steps_left--;
        if (!is_open(flat, i))
            continue;
        if (!candidate->unit)
            candidate->unit = add_unit(flat, candidate->die);
        if (candidate->unit && flat->of[i].unit != candidate->unit) {
            flat->of[i].unit = candidate->unit;
            flat->units.items[candidate->unit - 1].walked = false;
        }
    }
}

/* A unit that does not say where its code is may have any address that no other has. */
static void try_unit(struct flat *flat, Dwarf_Die *die)
{
    const uint32_t unit = add_unit(flat, die);
    if (!unit)
        return;
    flat->units.items[unit - 1].walked = true;
    for (size_t i = 0; i < flat->addresses->count; i++)
        if (is_open(flat, i) && !flat->of[i].unit)
            flat->of[i].unit = unit;
    symbolize_flatten_unit(flat, unit, false);
    for (size_t i = 0; i < flat->addresses->count; i++)
        if (is_open(flat, i) && flat->of[i].unit == unit)
            flat->of[i].unit = NO_UNIT;
}

static bool has_open_address(const struct flat *flat)
{
    for (size_t i = 0; i < flat->addresses->count; i++)
        if (is_open(flat, i))
            return true;
    return false;
}

static bool holds_code(Dwarf_Die *die)
{
    const int tag = dwarf_tag(die);
    return tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit;
}

static void assign_by_units(struct flat *flat, Dwarf *dwarf)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    SPROF_VEC(Dwarf_Die) silent = {0};
    while (!flat->failed && flat->steps_left &&
           dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
        flat->steps_left--;
        struct candidate candidate = {.die = &die};
        if (!holds_code(&die))
            continue;
        symbolize_flatten_each_range(flat, &die, assign_range, &candidate);
        walk_new_unit(flat, candidate.unit);
        if (!candidate.has_ranges && sprof_vec_push(&silent, die))
            flat->failed = true;
    }
    for (size_t i = 0; i < silent.count && !flat->failed && has_open_address(flat); i++)
        try_unit(flat, &silent.items[i]);
    sprof_vec_release(&silent);
}

int symbolize_units_flatten(struct flat *flat, Dwarf *dwarf, uint64_t delta,
                            const struct dwarf_code *code, const struct addresses *addresses)
{
    *flat = (struct flat){
        .addresses = addresses, .code = code, .delta = delta, .steps_left = max_steps};
    flat->of = calloc(addresses->count + 1, sizeof *flat->of);
    if (!flat->of)
        return SPROF_ENOMEM;
    assign_by_aranges(flat, dwarf);
    for (uint32_t unit = 1; unit <= flat->units.count; unit++)
        walk_new_unit(flat, unit);
    if (has_open_address(flat))
        assign_by_units(flat, dwarf);
    walk_again_everywhere(flat);
    return flat->failed ? SPROF_ENOMEM : 0;
}

void symbolize_units_release(struct flat *flat)
{
    free(flat->of);
    sprof_vec_release(&flat->entries);
    sprof_vec_release(&flat->units);
    sprof_map_release(&flat->by_offset);
    sprof_str_release(&flat->missing.first);
    *flat = (struct flat){0};
}
