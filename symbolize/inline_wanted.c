/* Functions that were declared inline and have a body of their own all the same, by DWARF. */
#include "symbolize/libdw_text.h"
#include "symbolize/module.h"
#include "symbolize/units.h"

#include <dwarf.h>
#include <string.h>

enum { NAMESPACES_MAX = 16 };                    /* one inside the other */
static const size_t max_steps = (size_t)1 << 24; /* entries: above what the largest programs have */

struct search {
    void (*found)(void *context, uint64_t start);
    void *context;
    uint64_t delta;
    size_t steps;
};

/* DW_AT_inline stands at the abstract instance to which the body refers (DWARF 5, section 3.3.8).
 * What the compiler declares by itself, as the destructor of a class without one, is not wanted;
 * gcc marks lambdas so, too, which people have written. */
static bool is_wanted(Dwarf_Die *die)
{
    const char *name = symbolize_libdw_name(die);
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (dwarf_attr_integrate(die, DW_AT_artificial, &attribute) &&
        (!name || strcmp(name, "operator()") != 0))
        return false;
    return dwarf_formudata(dwarf_attr_integrate(die, DW_AT_inline, &attribute), &value) == 0 &&
           (value == DW_INL_declared_not_inlined || value == DW_INL_declared_inlined);
}

/* Looks through the entries side by side, and into namespaces. */
static void search_entries(struct search *search, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;
    Dwarf_Addr start;
    if (depth > NAMESPACES_MAX || dwarf_child(parent, &die) != 0)
        return;
    do {
        const int tag = dwarf_tag(&die);
        if (tag == DW_TAG_namespace)
            search_entries(search, &die, depth + 1);
        else if (tag == DW_TAG_subprogram && dwarf_entrypc(&die, &start) == 0 && is_wanted(&die))
            search->found(search->context, start - search->delta);
    } while (search->steps++ < max_steps && dwarf_siblingof(&die, &die) == 0);
}

void symbolize_each_inline_wanted(struct image *image, const struct symbolize_options *options,
                                  void (*found)(void *context, uint64_t start), void *context)
{
    static const struct symbolize_options defaults = {0};
    struct search search = {.found = found, .context = context};
    struct module module;
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    struct image *debug = symbolize_module_open_debug(image, options ? options : &defaults, NULL);
    if (symbolize_module_open(&module, image, options ? options : &defaults)) {
        Dwarf *dwarf = symbolize_module_dwarf(&module, debug, &search.delta);
        while (dwarf && dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
            Dwarf_Die functions = symbolize_units_functions_of(&die);
            search_entries(&search, &functions, 0);
        }
    }
    symbolize_module_release(&module);
    image_free(debug);
}
