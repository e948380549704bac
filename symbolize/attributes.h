/* symbolize, inside: values of DWARF attributes. */
#ifndef SPROF_SYMBOLIZE_ATTRIBUTES_H
#define SPROF_SYMBOLIZE_ATTRIBUTES_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/* A constant. Of the forms only sdata has a sign of its own: libdw extends the others' too, and
 * would make -56 of an enumerator that is 200. False where there is none, or no attribute. */
static inline bool symbolize_attribute_number(Dwarf_Attribute *attribute, uint64_t *value)
{
    Dwarf_Word word;
    Dwarf_Sword is_signed;
    if (!attribute)
        return false;
    if (dwarf_whatform(attribute) == DW_FORM_sdata && !dwarf_formsdata(attribute, &is_signed))
        *value = (uint64_t)is_signed;
    else if (!dwarf_formudata(attribute, &word))
        *value = word;
    else
        return false;
    return true;
}

/* False where the flag is absent, too. */
static inline bool symbolize_attribute_flag(Dwarf_Attribute *attribute)
{
    bool value = false;
    return attribute && !dwarf_formflag(attribute, &value) && value;
}

#endif
