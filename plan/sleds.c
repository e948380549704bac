/* Sites that compilers left for probes: each section holds where they are. */
#include "plan/planner.h"

/* The room for a jump at a site, in bytes of whole instructions: nops, or the jump over them that
 * XRay begins its sleds with. 0: there is none. */
static size_t room_at(struct planner *planner, uint64_t site, bool is_xray)
{
    struct sprof_bytes code;
    struct arch_instruction instruction;
    size_t at = 0;
    if (!plan_text_at(planner, site, &code))
        return 0;
    if (is_xray && arch_instruction_decode(code.data, code.size, &instruction) &&
        instruction.flow == ARCH_FLOW_JUMP)
        at = instruction.length;
    while (at < PLAN_JUMP_BYTES) {
        const size_t length =
            at < code.size ? arch_code_padding(code.data + at, code.size - at) : 0;
        if (!length)
            return 0;
        at += length;
    }
    return at <= PLAN_DISPLACED_MAX ? at : 0;
}

/* A site belongs to a function whose first instruction it is, but for the mark that indirect
 * branches lead to; nops before the entry are for other uses. */
static void add_site(struct planner *planner, uint64_t site, enum plan_mechanism mechanism)
{
    const ptrdiff_t index =
        plan_function_index(planner->functions.items, planner->functions.count, site);
    struct plan_function *function = index < 0 ? NULL : &planner->functions.items[index];
    enum { LANDING_MAX = 4 };
    const size_t room = room_at(planner, site, mechanism == PLAN_XRAY);
    if (!function || site - function->start > LANDING_MAX || !room)
        return;
    function->mechanism = (uint8_t)mechanism;
    function->site = site;
    function->displaced = (uint8_t)room;
}

/* A section of addresses. Those of a position-independent file stand in its relocations. */
static void add_sites(struct planner *planner, const char *section, enum plan_mechanism mechanism)
{
    uint64_t vaddr;
    const struct sprof_bytes sites = image_section(planner->image, section, &vaddr);
    for (size_t at = 0; at + 8 <= sites.size; at += 8) {
        uint64_t site;
        memcpy(&site, sites.data + at, sizeof site);
        if (!site) {
            const uint64_t *relocated = sprof_map_get(&planner->relocated, vaddr + at);
            site = relocated ? *relocated : 0;
        }
        add_site(planner, site, mechanism);
    }
}

/* xray_instr_map: entries of 32 bytes; in version 2 and later the address counts from where it
 * stands. (LLVM, compiler-rt/include/xray/xray_interface.h, XRaySledEntry.) */
static void add_xray(struct planner *planner)
{
    enum { ENTRY_BYTES = 32, KIND_AT = 16, VERSION_AT = 18, FUNCTION_ENTRY = 0, FROM_HERE = 2 };
    uint64_t vaddr;
    const struct sprof_bytes map = image_section(planner->image, "xray_instr_map", &vaddr);
    for (size_t at = 0; at + ENTRY_BYTES <= map.size; at += ENTRY_BYTES) {
        uint64_t site;
        memcpy(&site, map.data + at, sizeof site);
        if (map.data[at + KIND_AT] != FUNCTION_ENTRY)
            continue;
        if (map.data[at + VERSION_AT] >= FROM_HERE)
            site += vaddr + at;
        add_site(planner, site, PLAN_XRAY);
    }
}

void plan_find_sleds(struct planner *planner)
{
    add_sites(planner, "__patchable_function_entries", PLAN_SLED);
    add_sites(planner, "__mcount_loc", PLAN_FENTRY);
    add_xray(planner);
}
