/* Reads line tables into sorted arrays. */
#include "symbolize/lines.h"

#include "symbolize/dwarf_unit.h"
#include "symbolize/libdw_text.h"

#include <dwarf.h>

/* Real chains have at most three links; a loop ends here. */
enum { MAX_ORIGINS = 16 };

static struct flat_unit *unit_of(struct flat *flat, uint32_t unit)
{
    return &flat->units.items[unit - 1];
}

struct place symbolize_lines_of_address(struct flat *flat, size_t address)
{
    struct place place = {0};
    int line = 0;
    if (!flat->of[address].unit)
        return place;
    Dwarf_Line *row = dwarf_getsrc_die(&unit_of(flat, flat->of[address].unit)->die,
                                       flat->addresses->items[address] + flat->delta);
    if (!row)
        return place;
    place.file = dwarf_linesrc(row, NULL, NULL);
    if (dwarf_lineno(row, &line) == 0 && line > 0)
        place.line = (uint32_t)line;
    return place;
}

static bool number(Dwarf_Die *die, unsigned name, uint64_t *value)
{
    Dwarf_Attribute attribute;
    Dwarf_Word word;
    if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &word) != 0)
        return false;
    *value = word;
    return true;
}

/* A file number counts in the line table of the entry's own unit. */
static const char *file_of(Dwarf_Die *die, uint64_t index)
{
    Dwarf_Files *files;
    size_t count;
    Dwarf_Die unit;
    if (!dwarf_diecu(die, &unit, NULL, NULL) || !symbolize_libdw_unit_is_sound(&unit) ||
        dwarf_getsrcfiles(&unit, &files, &count) != 0 || index >= count)
        return NULL;
    return dwarf_filesrc(files, index, NULL, NULL);
}

static struct place place_of(Dwarf_Die *die, unsigned file_name, unsigned line_name)
{
    struct place place = {0};
    uint64_t value;
    if (number(die, file_name, &value))
        place.file = file_of(die, value);
    if (number(die, line_name, &value) && value <= UINT32_MAX)
        place.line = (uint32_t)value;
    return place;
}

struct place symbolize_lines_of_call(struct flat *flat, uint32_t entry)
{
    return place_of(&flat->entries.items[entry - 1].die, DW_AT_call_file, DW_AT_call_line);
}

/* The next entry that says more about a function; false at the end. */
static bool follow(Dwarf_Die *die)
{
    static const unsigned names[] = {DW_AT_abstract_origin, DW_AT_specification};
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (dwarf_attr(die, names[i], &attribute) && dwarf_formref_die(&attribute, &origin)) {
            *die = origin;
            return true;
        }
    return false;
}

static const char *text(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    const char *value = symbolize_libdw_text(dwarf_attr(die, name, &attribute));
    return value && value[0] ? value : NULL;
}

static int language_of(Dwarf_Die *die)
{
    Dwarf_Die unit;
    return dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_srclang(&unit) : -1;
}

/* As read_cxx of dwarf_names.c. */
static void describe_cxx(Dwarf_Die *root, struct cxx_names *cxx, struct libdw_nodes *nodes,
                         struct description *description)
{
    cxx->tree.calls = &libdw_nodes;
    cxx->tree.source = nodes;
    const struct cxx_name name =
        symbolize_cxx_names_of(cxx, symbolize_libdw_nodes_number(nodes, root));
    if (!description->linkage_name)
        description->linkage_name = name.text;
    if (description->declared.line || !name.declared)
        return;
    Dwarf_Die declared = nodes->entries.items[name.declared - 1];
    description->declared = place_of(&declared, DW_AT_decl_file, DW_AT_decl_line);
}

struct description symbolize_lines_describe(const Dwarf_Die *entry, struct cxx_names *cxx,
                                            struct libdw_nodes *nodes)
{
    Dwarf_Die die = *entry;
    const int language = language_of(&die);
    struct description description = {.ada =
                                          language == DW_LANG_Ada83 || language == DW_LANG_Ada95};
    const char *name = NULL;
    for (int i = 0; i < MAX_ORIGINS; i++) {
        if (!description.linkage_name)
            description.linkage_name = text(&die, DW_AT_linkage_name);
        if (!description.linkage_name)
            description.linkage_name = text(&die, DW_AT_MIPS_linkage_name);
        if (!name)
            name = text(&die, DW_AT_name);
        /* A definition in the file of its declaration gives the line alone. */
        const struct place declared = place_of(&die, DW_AT_decl_file, DW_AT_decl_line);
        if (!description.declared.line)
            description.declared.line = declared.line;
        if (!description.declared.file)
            description.declared.file = declared.file;
        if (!follow(&die))
            break;
    }
    if (language >= 0 && symbolize_dwarf_language_is_cxx((uint64_t)language) &&
        (!description.linkage_name || !description.declared.line))
        describe_cxx(&die, cxx, nodes, &description);
    if (!description.linkage_name)
        description.linkage_name = name;
    return description;
}

const void *symbolize_lines_identity(const Dwarf_Die *entry)
{
    Dwarf_Die die = *entry;
    for (int i = 0; i < MAX_ORIGINS; i++) {
        Dwarf_Attribute attribute;
        Dwarf_Die origin;
        if (!dwarf_attr(&die, DW_AT_abstract_origin, &attribute) ||
            !dwarf_formref_die(&attribute, &origin))
            break;
        die = origin;
    }
    return die.addr;
}
