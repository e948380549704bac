/* Debug information with anything in it: an index is made of it that can be asked, and every name
 * in it is read, by a bounded amount of work and memory. */
#include "tests/fuzz/dwarf_sections.h"
#include "tests/fuzz/fuzz.h"

/* The program has one unit with ten functions: whatever is changed, sections of a few KB do not
 * become an index of many megabytes. */
enum { ITEMS_MAX = 1 << 20 };

static void flatten(const struct dwarf_sections *sections, const struct addresses *addresses,
                    bool sound)
{
    struct function_index index = {0};
    struct dwarf_names dwarf;
    symbolize_dwarf_names_open(&dwarf, sections, &index);
    symbolize_dwarf_functions_add(&dwarf, 0, addresses, NULL);
    symbolize_function_index_sort(&index);
    FUZZ_REQUIRE(index.pieces.count + index.calls.count + index.ranges.count + index.lines.count <
                 ITEMS_MAX);
    FUZZ_REQUIRE(!sound || index.calls.count > 2); /* the sound one has inlined calls */
    for (size_t i = 0; i < index.descriptions.count; i++)
        if (index.descriptions.items[i].entry)
            symbolize_dwarf_names_describe(&dwarf, &index.descriptions.items[i]);
    dwarf_sections_look_up(&index);
    symbolize_dwarf_names_release(&dwarf);
    symbolize_function_index_release(&index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct addresses addresses = dwarf_sections_addresses();
    struct dwarf_sections sections = dwarf_sections_changed(data, size);
    flatten(&sections, &addresses, !size);
    flatten(&sections, NULL, !size);
    dwarf_sections_release(&sections);
    return 0;
}
