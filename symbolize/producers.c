/* Which compilers made the units of a file, as its debug information says. */
#include "symbolize/libdw_text.h"
#include "symbolize/module.h"

#include <dwarf.h>

void symbolize_each_producer(struct image *image, const struct symbolize_options *options,
                             void (*found)(void *context, const char *producer), void *context)
{
    static const struct symbolize_options defaults = {0};
    struct module module;
    uint64_t delta;
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    struct image *debug = symbolize_module_open_debug(image, options ? options : &defaults, NULL);
    if (symbolize_module_open(&module, image, options ? options : &defaults)) {
        Dwarf *dwarf = symbolize_module_dwarf(&module, debug, &delta);
        while (dwarf && dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
            Dwarf_Attribute attribute;
            const char *producer =
                symbolize_libdw_text(dwarf_attr_integrate(&die, DW_AT_producer, &attribute));
            if (producer && dwarf_tag(&die) != DW_TAG_partial_unit)
                found(context, producer);
        }
    }
    symbolize_module_release(&module);
    image_free(debug);
}
