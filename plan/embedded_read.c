/* What a file itself says of probes that are in it. */
#include "plan/embedded.h"
#include "plan/planner.h"

#include <elf.h>
#include <string.h>

/* A switch that is off, and a copy behind it. */
static bool is_switch(struct planner *planner, const struct plan_embedded_function *embedded)
{
    struct sprof_bytes code;
    return plan_text_at(planner, embedded->site, &code) && code.size > embedded->displaced &&
           code.data[0] == PLAN_EMBEDDED_OFF && embedded->displaced >= PLAN_JUMP_BYTES &&
           embedded->displaced <= PLAN_DISPLACED_MAX && embedded->why < PLAN_REASONS;
}

/* The name of the function that an entry of the PLT leads to, as it stood; NULL: not known. */
static const char *name_of_imported(struct planner *planner,
                                    const struct plan_embedded_function *embedded)
{
    const struct sprof_bytes symbols = image_section(planner->image, ".dynsym", NULL);
    const struct sprof_bytes names = image_section(planner->image, ".dynstr", NULL);
    uint8_t entry[ARCH_PLT_JUMP_BYTES] = {0};
    uint64_t slot;
    Elf64_Sym symbol;
    memcpy(entry, embedded->kept,
           sizeof entry < sizeof embedded->kept ? sizeof entry : sizeof embedded->kept);
    if (!arch_code_plt_slot(entry, embedded->start, &slot))
        return NULL;
    const uint64_t *index = sprof_map_get(&planner->slot_symbols, slot);
    if (!index || *index >= symbols.size / sizeof symbol)
        return NULL;
    memcpy(&symbol, symbols.data + *index * sizeof symbol, sizeof symbol);
    if (symbol.st_name >= names.size ||
        !memchr(names.data + symbol.st_name, '\0', names.size - symbol.st_name))
        return NULL;
    return (const char *)names.data + symbol.st_name;
}

/* Entries of the PLT are no functions, and are listed as such none the less: they have probes. */
static void add_imported(struct planner *planner, const struct plan_embedded_function *embedded)
{
    const char *name = name_of_imported(planner, embedded);
    if (!is_switch(planner, embedded) || !plan_leaves_frames(name))
        return;
    struct plan_function function = {.start = embedded->start,
                                     .end = embedded->start + embedded->kept_bytes,
                                     .site = embedded->site,
                                     .displaced = embedded->displaced,
                                     .mechanism = PLAN_EMBEDDED,
                                     .why = PLAN_IMPORTED,
                                     .entry_only = true};
    function.name = function.linkage_name = sprof_arena_text(&planner->plan->texts, name);
    size_t at = 0;
    while (at < planner->functions.count && planner->functions.items[at].start < embedded->start)
        at++;
    if (!function.name ||
        (at < planner->functions.count && planner->functions.items[at].start < function.end))
        return;
    if (sprof_vec_push(&planner->functions, function)) {
        planner->failed = true;
        return;
    }
    struct plan_function *functions = planner->functions.items;
    memmove(&functions[at + 1], &functions[at],
            (planner->functions.count - 1 - at) * sizeof *functions);
    functions[at] = function;
}

/* How the function begins is not to be seen any more: the list holds what was found out then. */
void plan_find_embedded(struct planner *planner)
{
    const struct sprof_bytes list = image_section(planner->image, PLAN_EMBEDDED_LIST, NULL);
    const size_t count = plan_embedded_count(list);
    for (size_t i = 0; i < count; i++) {
        const struct plan_embedded_function embedded = plan_embedded_at(list, i);
        const ptrdiff_t index =
            plan_function_index(planner->functions.items, planner->functions.count, embedded.start);
        struct plan_function *function = index < 0 ? NULL : &planner->functions.items[index];
        if (embedded.why == PLAN_IMPORTED) {
            add_imported(planner, &embedded);
            continue;
        }
        if (!function || function->start != embedded.start || !is_switch(planner, &embedded))
            continue;
        function->mechanism = PLAN_EMBEDDED;
        function->site = embedded.site;
        function->displaced = embedded.displaced;
        function->why = embedded.why;
        function->entry_only = embedded.entry_only != 0;
        if (function->why == PLAN_NEEDS_RETURN_ADDRESS)
            planner->failed |= sprof_map_put(&planner->needs_return, function->start, 1) != 0;
    }
}
