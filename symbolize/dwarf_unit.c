/* Reads DWARF's units, abbreviations and forms. */
#include "symbolize/dwarf_unit.h"

#include <dwarf.h>

static const uint64_t max_steps = UINT64_C(1) << 28;
enum {
    MAX_CODE = 1 << 16,
    MAX_ATTRIBUTES = 1000, /* of an entry; their sizes fit 16 bits */
};

/* == Forms == */

static const char *text_at(struct sprof_bytes section, uint64_t offset)
{
    struct sprof_reader reader = sprof_reader_of(section);
    sprof_reader_seek(&reader, offset < section.size ? (size_t)offset : section.size + 1);
    return reader.failed ? NULL : sprof_reader_text(&reader);
}

uint64_t symbolize_dwarf_number_at(struct sprof_bytes section, uint64_t offset, size_t size)
{
    uint64_t value = 0;
    if (offset <= section.size && section.size - offset >= size)
        memcpy(&value, section.data + offset, size);
    return value;
}

static uint64_t read_size(struct sprof_reader *reader, size_t size)
{
    uint64_t value = 0;
    const uint8_t *bytes = sprof_reader_take(reader, size);
    if (bytes)
        memcpy(&value, bytes, size);
    return value;
}

/* The bytes of a form whose size does not depend on the data; -1 otherwise. */
static int fixed_size(uint16_t form, const struct dwarf_unit *unit)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const: return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1: return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2: return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3: return 3;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset: return unit->offset_size;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4: return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_addr: return 8;
    case DW_FORM_data16: return 16;
    case DW_FORM_ref_addr: return unit->version == 2 ? 8 : unit->offset_size;
    default: return -1;
    }
}

const char *symbolize_dwarf_text(const struct dwarf *dwarf, const struct dwarf_unit *unit,
                                 const struct dwarf_value *value)
{
    if (value->class != DWARF_TEXT || value->number > UINT32_MAX)
        return NULL;
    if (value->form == DW_FORM_string)
        return value->text;
    if (value->form == DW_FORM_strp)
        return text_at(dwarf->sections.str, value->number);
    if (value->form == DW_FORM_line_strp)
        return text_at(dwarf->sections.line_str, value->number);
    const uint64_t at = unit->str_offsets_base + value->number * unit->offset_size;
    return text_at(dwarf->sections.str,
                   symbolize_dwarf_number_at(dwarf->sections.str_offsets, at, unit->offset_size));
}

uint64_t symbolize_dwarf_address(const struct dwarf *dwarf, const struct dwarf_unit *unit,
                                 uint64_t index)
{
    return index > UINT32_MAX
               ? 0
               : symbolize_dwarf_number_at(dwarf->sections.addr, unit->addr_base + index * 8, 8);
}

bool symbolize_dwarf_value_read(const struct dwarf *dwarf, const struct dwarf_unit *unit,
                                struct sprof_reader *reader, uint16_t form, int64_t implicit,
                                struct dwarf_value *value)
{
    const int size = fixed_size(form, unit);
    const uint64_t fixed = size > 0 && size <= 8 ? read_size(reader, (size_t)size) : 0;
    *value = (struct dwarf_value){.class = DWARF_NUMBER, .form = form, .number = fixed};
    switch (form) {
    case DW_FORM_addr: value->class = DWARF_ADDRESS; break;
    case DW_FORM_flag_present: value->number = 1; break;
    case DW_FORM_implicit_const: value->number = (uint64_t)implicit; break;
    case DW_FORM_data1:
    case DW_FORM_data2:
    case DW_FORM_data4:
    case DW_FORM_data8:
    case DW_FORM_flag: break;
    case DW_FORM_sec_offset: value->class = DWARF_OFFSET; break;
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
        value->class = DWARF_REFERENCE;
        value->number += unit->offset;
        break;
    case DW_FORM_ref_addr: value->class = DWARF_REFERENCE; break;
    case DW_FORM_ref_udata:
        value->class = DWARF_REFERENCE;
        value->number = unit->offset + sprof_reader_uleb(reader);
        break;
    case DW_FORM_strp:
    case DW_FORM_line_strp: value->class = DWARF_TEXT; break;
    case DW_FORM_string:
        value->class = DWARF_TEXT;
        value->text = sprof_reader_text(reader);
        break;
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_strx:
        value->number = form == DW_FORM_strx ? sprof_reader_uleb(reader) : fixed;
        value->class = DWARF_TEXT;
        break;
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_addrx:
        value->number = form == DW_FORM_addrx ? sprof_reader_uleb(reader) : fixed;
        value->class = DWARF_ADDRESS;
        value->number = symbolize_dwarf_address(dwarf, unit, value->number);
        break;
    case DW_FORM_udata: value->number = sprof_reader_uleb(reader); break;
    case DW_FORM_sdata: value->number = (uint64_t)sprof_reader_sleb(reader); break;
    case DW_FORM_rnglistx:
        value->class = DWARF_INDEX;
        value->number = sprof_reader_uleb(reader);
        break;
    case DW_FORM_loclistx: sprof_reader_uleb(reader); break;
    case DW_FORM_ref_sig8: value->class = DWARF_NONE; break;
    case DW_FORM_data16:
        value->class = DWARF_NONE;
        sprof_reader_take(reader, 16);
        break;
    case DW_FORM_block1: sprof_reader_take(reader, sprof_reader_u8(reader)); break;
    case DW_FORM_block2: sprof_reader_take(reader, sprof_reader_u16(reader)); break;
    case DW_FORM_block4: sprof_reader_take(reader, sprof_reader_u32(reader)); break;
    case DW_FORM_block:
    case DW_FORM_exprloc: sprof_reader_take(reader, (size_t)sprof_reader_uleb(reader)); break;
    default: reader->failed = 1; /* of another file, or unknown */
    }
    return !reader->failed;
}

/* == Abbreviations == */

/* What dwz moved into a file that several share. */
static bool is_of_another_file(uint16_t form)
{
    return form == DW_FORM_GNU_strp_alt || form == DW_FORM_GNU_ref_alt ||
           form == DW_FORM_strp_sup || form == DW_FORM_ref_sup4 || form == DW_FORM_ref_sup8;
}

static bool is_function(uint16_t tag)
{
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* Functions and calls, and what they may stand in. */
static bool is_walked(const struct dwarf_abbreviation *kind)
{
    switch (kind->tag) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine: return true;
    case DW_TAG_compile_unit:
    case DW_TAG_partial_unit:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt: return kind->children;
    default: return false;
    }
}

/* The attributes that a walk looks at. */
static bool is_needed(const struct dwarf_abbreviation *kind, uint16_t name)
{
    switch (name) {
    case DW_AT_sibling: return kind->children;
    case DW_AT_low_pc:
    case DW_AT_high_pc:
    case DW_AT_ranges: return is_function(kind->tag);
    case DW_AT_abstract_origin:
    case DW_AT_call_file:
    case DW_AT_call_line: return kind->tag == DW_TAG_inlined_subroutine;
    default: return false;
    }
}

/* The class of the forms that are plain numbers in the entry. */
static enum dwarf_class plain_class(uint16_t form)
{
    switch (form) {
    case DW_FORM_data1:
    case DW_FORM_data2:
    case DW_FORM_data4:
    case DW_FORM_data8: return DWARF_NUMBER;
    case DW_FORM_addr: return DWARF_ADDRESS;
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8: return DWARF_REFERENCE;
    case DW_FORM_sec_offset: return DWARF_OFFSET;
    default: return DWARF_NONE;
    }
}

/* Attributes of fixed size that are not needed become bytes to skip. */
static void make_steps(struct dwarf *dwarf, const struct dwarf_unit *unit,
                       struct dwarf_abbreviation *made)
{
    uint32_t skip = 0;
    made->passed = !is_walked(made);
    made->first_step = (uint32_t)dwarf->steps.count;
    for (uint32_t i = 0; i < made->count; i++) {
        const struct dwarf_attribute *attribute = &dwarf->attributes.items[made->first + i];
        const int size = fixed_size(attribute->form, unit);
        const bool needed = is_needed(made, attribute->name);
        if (!needed && size >= 0) {
            skip += (uint32_t)size;
            continue;
        }
        const enum dwarf_class class = plain_class(attribute->form);
        const struct dwarf_step step = {
            .skip = (uint16_t)skip,
            .name = needed ? attribute->name : 0,
            .form = attribute->form,
            .bytes = class == DWARF_NONE ? 0 : (uint8_t)size,
            .class = (uint8_t) class,
            .implicit = attribute->implicit,
        };
        dwarf->failed |= sprof_vec_push(&dwarf->steps, step) != 0;
        skip = 0;
    }
    made->step_count = (uint32_t)dwarf->steps.count - made->first_step;
    made->tail = skip;
}

static bool read_abbreviation(struct dwarf *dwarf, struct dwarf_unit *unit,
                              struct sprof_reader *reader, uint64_t code)
{
    struct dwarf_abbreviation made = {.first = (uint32_t)dwarf->attributes.count};
    const uint64_t tag = sprof_reader_uleb(reader);
    made.children = sprof_reader_u8(reader) != 0;
    made.tag = tag <= UINT16_MAX ? (uint16_t)tag : UINT16_MAX;
    for (;;) {
        const uint64_t name = sprof_reader_uleb(reader), form = sprof_reader_uleb(reader);
        if (reader->failed || name > UINT16_MAX || form > UINT16_MAX ||
            made.count > MAX_ATTRIBUTES || is_of_another_file((uint16_t)form))
            return false;
        if (!name && !form)
            break;
        const struct dwarf_attribute attribute = {
            .name = (uint16_t)name,
            .form = (uint16_t)form,
            .implicit = form == DW_FORM_implicit_const ? sprof_reader_sleb(reader) : 0,
        };
        made.count++;
        if (sprof_vec_push(&dwarf->attributes, attribute))
            dwarf->failed = true;
    }
    if (!dwarf->failed)
        make_steps(dwarf, unit, &made);
    const struct dwarf_abbreviation none = {0};
    while (!dwarf->failed && unit->abbreviation_count < code) {
        dwarf->failed |= sprof_vec_push(&dwarf->abbreviations, none) != 0;
        unit->abbreviation_count++;
    }
    if (!dwarf->failed)
        dwarf->abbreviations.items[unit->first_abbreviation + code - 1] = made;
    return !dwarf->failed;
}

/* Units may share a table. It is read for the first of them whose forms have the same sizes: these
 * differ between version 2 and the later ones, and between 32-bit and 64-bit DWARF. */
static bool read_abbreviations(struct dwarf *dwarf, struct dwarf_unit *unit)
{
    const uint64_t key =
        unit->abbrev_offset * 4 + (unit->version == 2) * 2u + (unit->offset_size == 8);
    const uint64_t *known = sprof_map_get(&dwarf->abbreviation_tables, key);
    if (known) {
        const struct dwarf_unit *first = &dwarf->units.items[*known - 1];
        unit->first_abbreviation = first->first_abbreviation;
        unit->abbreviation_count = first->abbreviation_count;
        return true;
    }
    struct sprof_reader reader = sprof_reader_of(dwarf->sections.abbrev);
    sprof_reader_seek(&reader, (size_t)unit->abbrev_offset);
    unit->first_abbreviation = (uint32_t)dwarf->abbreviations.count;
    for (;;) {
        const uint64_t code = sprof_reader_uleb(&reader);
        if (reader.failed || code > MAX_CODE)
            return false;
        if (!code)
            break;
        if (!read_abbreviation(dwarf, unit, &reader, code))
            return false;
    }
    dwarf->failed |= sprof_map_put(&dwarf->abbreviation_tables, key,
                                   (uint64_t)(unit - dwarf->units.items) + 1) != 0;
    return !dwarf->failed;
}

/* == Units == */

static bool is_whole_unit(uint8_t type)
{
    return type == DW_UT_compile || type == DW_UT_partial;
}

bool symbolize_dwarf_length_read(struct sprof_reader *reader, uint64_t *length,
                                 uint8_t *offset_size)
{
    enum { RESERVED = 0xfffffff0, WIDE = 0xffffffff };
    *length = sprof_reader_u32(reader);
    *offset_size = *length == WIDE ? 8 : 4;
    if (*length == WIDE)
        *length = sprof_reader_u64(reader);
    else if (*length >= RESERVED)
        return false;
    return !reader->failed && *length <= sprof_reader_left(reader);
}

uint64_t symbolize_dwarf_offset_read(struct sprof_reader *reader, uint8_t offset_size)
{
    return offset_size == 8 ? sprof_reader_u64(reader) : sprof_reader_u32(reader);
}

/* Reads one header; false at the end. */
static bool read_header(struct dwarf *dwarf, struct sprof_reader *reader)
{
    struct dwarf_unit unit = {.offset = sprof_reader_offset(reader)};
    uint64_t length;
    if (!symbolize_dwarf_length_read(reader, &length, &unit.offset_size))
        return false;
    unit.end = sprof_reader_offset(reader) + length;
    unit.version = sprof_reader_u16(reader);
    uint8_t type = DW_UT_compile, address_size;
    if (unit.version >= 5) {
        type = sprof_reader_u8(reader);
        address_size = sprof_reader_u8(reader);
        unit.abbrev_offset = symbolize_dwarf_offset_read(reader, unit.offset_size);
    } else {
        unit.abbrev_offset = symbolize_dwarf_offset_read(reader, unit.offset_size);
        address_size = sprof_reader_u8(reader);
    }
    unit.entries = sprof_reader_offset(reader);
    unit.readable = !reader->failed && unit.version >= 2 && unit.version <= 5 &&
                    address_size == 8 && is_whole_unit(type) && unit.entries <= unit.end &&
                    unit.end <= UINT32_MAX && unit.abbrev_offset <= UINT32_MAX;
    /* Unless an attribute sets a base, entries begin behind their section's header (version 5). */
    unit.str_offsets_base = unit.addr_base = unit.offset_size == 8 ? 16 : 8;
    reader->failed = 0;
    sprof_reader_seek(reader, (size_t)unit.end);
    dwarf->failed |= sprof_vec_push(&dwarf->units, unit) != 0;
    return !dwarf->failed && !reader->failed;
}

void symbolize_dwarf_open(struct dwarf *dwarf, const struct dwarf_sections *sections)
{
    *dwarf = (struct dwarf){.sections = *sections, .steps_left = max_steps};
    struct sprof_reader reader = sprof_reader_of(sections->info);
    while (sprof_reader_left(&reader) && read_header(dwarf, &reader))
        ;
}

void symbolize_dwarf_share(struct dwarf *share, const struct dwarf *whole, size_t first, size_t end,
                           uint64_t steps)
{
    *share = (struct dwarf){.sections = whole->sections, .code = whole->code, .steps_left = steps};
    share->failed = sprof_vec_reserve(&share->units, end - first) != 0;
    for (size_t i = first; i < end && !share->failed; i++) {
        struct dwarf_unit *unit = &share->units.items[share->units.count++];
        *unit = whole->units.items[i];
        unit->opened = false;
        unit->abbreviation_count = unit->line_table = 0;
    }
}

void symbolize_dwarf_refill_steps(struct dwarf *dwarf)
{
    dwarf->steps_left = max_steps;
}

void symbolize_dwarf_release(struct dwarf *dwarf)
{
    sprof_vec_release(&dwarf->units);
    sprof_vec_release(&dwarf->abbreviations);
    sprof_vec_release(&dwarf->attributes);
    sprof_vec_release(&dwarf->steps);
    sprof_map_release(&dwarf->abbreviation_tables);
    *dwarf = (struct dwarf){0};
}

void symbolize_dwarf_extent_take(struct dwarf_extent *extent, uint16_t name,
                                 const struct dwarf_value *value)
{
    if (name == DW_AT_low_pc) {
        extent->low_pc = value->number;
        extent->low_is_known = true;
    } else if (name == DW_AT_high_pc) {
        extent->high_pc = value->number;
        extent->high_is_offset = value->class == DWARF_NUMBER;
    } else {
        extent->ranges = value->number;
        extent->ranges_class = value->class;
    }
}

static bool is_ada(uint64_t language)
{
    return language == DW_LANG_Ada83 || language == DW_LANG_Ada95;
}

bool symbolize_dwarf_language_is_cxx(uint64_t language)
{
    enum { CXX_17 = 0x2b, CXX_20 = 0x2c }; /* since DWARF 5 */
    return language == DW_LANG_C_plus_plus || language == DW_LANG_C_plus_plus_03 ||
           language == DW_LANG_C_plus_plus_11 || language == DW_LANG_C_plus_plus_14 ||
           language == DW_LANG_ObjC_plus_plus || language == CXX_17 || language == CXX_20;
}

/* The bases come first, because forms of other attributes of the root count from them. */
static void read_bases(const struct dwarf *dwarf, struct dwarf_unit *unit,
                       const struct dwarf_abbreviation *root, struct sprof_reader reader)
{
    for (uint32_t i = 0; i < root->count; i++) {
        const struct dwarf_attribute *attribute = &dwarf->attributes.items[root->first + i];
        struct dwarf_value value;
        if (!symbolize_dwarf_value_read(dwarf, unit, &reader, attribute->form, attribute->implicit,
                                        &value))
            return;
        switch (attribute->name) {
        case DW_AT_str_offsets_base: unit->str_offsets_base = value.number; break;
        case DW_AT_addr_base: unit->addr_base = value.number; break;
        case DW_AT_rnglists_base: unit->rnglists_base = value.number; break;
        case DW_AT_dwo_name:
        case DW_AT_GNU_dwo_name: unit->readable = false; break;
        default: break;
        }
    }
}

static void read_root(const struct dwarf *dwarf, struct dwarf_unit *unit,
                      const struct dwarf_abbreviation *root, struct sprof_reader *reader)
{
    for (uint32_t i = 0; i < root->count; i++) {
        const struct dwarf_attribute *attribute = &dwarf->attributes.items[root->first + i];
        struct dwarf_value value;
        if (!symbolize_dwarf_value_read(dwarf, unit, reader, attribute->form, attribute->implicit,
                                        &value)) {
            unit->readable = false;
            return;
        }
        switch (attribute->name) {
        case DW_AT_low_pc:
        case DW_AT_high_pc:
        case DW_AT_ranges:
            symbolize_dwarf_extent_take(&unit->extent, attribute->name, &value);
            break;
        case DW_AT_stmt_list:
            unit->line_offset = value.number;
            unit->has_lines = true;
            break;
        case DW_AT_comp_dir: unit->directory = symbolize_dwarf_text(dwarf, unit, &value); break;
        case DW_AT_language:
            unit->ada = is_ada(value.number);
            unit->cxx = symbolize_dwarf_language_is_cxx(value.number);
            break;
        default: break;
        }
    }
}

bool symbolize_dwarf_unit_open(struct dwarf *dwarf, struct dwarf_unit *unit)
{
    if (unit->opened || !unit->readable)
        return unit->readable;
    unit->opened = true;
    unit->readable = read_abbreviations(dwarf, unit);
    if (!unit->readable)
        return false;
    const struct sprof_bytes bytes = {dwarf->sections.info.data + unit->entries,
                                      (size_t)(unit->end - unit->entries)};
    struct sprof_reader reader = sprof_reader_of(bytes);
    const uint64_t code = sprof_reader_uleb(&reader);
    unit->readable = code && code <= unit->abbreviation_count;
    if (!unit->readable)
        return false;
    const struct dwarf_abbreviation *root =
        &dwarf->abbreviations.items[unit->first_abbreviation + code - 1];
    read_bases(dwarf, unit, root, reader);
    read_root(dwarf, unit, root, &reader);
    return unit->readable;
}

struct dwarf_unit *symbolize_dwarf_unit_of(struct dwarf *dwarf, uint64_t offset)
{
    size_t low = 0, high = dwarf->units.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (dwarf->units.items[middle].end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    struct dwarf_unit *unit = low < dwarf->units.count ? &dwarf->units.items[low] : NULL;
    return unit && offset >= unit->entries && symbolize_dwarf_unit_open(dwarf, unit) ? unit : NULL;
}
