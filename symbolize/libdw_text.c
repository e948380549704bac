/* Reads strings of libdw's entries, and checks that they end. */
#include "symbolize/libdw_text.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdint.h>
#include <string.h>

/* Whether a string ends in these bytes; false also where it is elsewhere. */
static bool ends_in(const Elf_Data *data, const char *text)
{
    const uintptr_t begin = data ? (uintptr_t)data->d_buf : 0, at = (uintptr_t)text;
    return begin && at - begin < data->d_size && memchr(text, 0, data->d_size - (at - begin));
}

/* Sections of debug information are not converted, but may be decompressed: libdw uses what
 * elf_rawdata returns then. */
static bool ends(const Dwarf_Attribute *attribute, const char *text)
{
    Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(attribute->cu));
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type != SHT_NOBITS &&
            !(header.sh_flags & SHF_ALLOC) && ends_in(elf_rawdata(section, NULL), text))
            return true;
    }
    return false;
}

const char *symbolize_libdw_text(Dwarf_Attribute *attribute)
{
    const char *text = dwarf_formstring(attribute);
    return text && attribute->form == DW_FORM_string && !ends(attribute, text) ? NULL : text;
}

const char *symbolize_libdw_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    return symbolize_libdw_text(dwarf_attr_integrate(die, DW_AT_name, &attribute));
}

bool symbolize_libdw_unit_is_sound(Dwarf_Die *unit)
{
    static const unsigned names[] = {DW_AT_name, DW_AT_comp_dir, DW_AT_dwo_name,
                                     DW_AT_GNU_dwo_name};
    Dwarf_Attribute attribute;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (dwarf_attr(unit, names[i], &attribute) && dwarf_formstring(&attribute) &&
            !symbolize_libdw_text(&attribute))
            return false;
    return true;
}
