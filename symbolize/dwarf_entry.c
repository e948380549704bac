/* Reads DWARF's entries and lists of ranges. */
#include "symbolize/dwarf_entry.h"

#include <dwarf.h>

/* == Entries == */

/* The bytes of .debug_info from an entry to the end of its unit; empty outside of the unit. */
static struct sprof_reader reader_at(const struct dwarf *dwarf, const struct dwarf_unit *unit,
                                     uint64_t offset)
{
    struct sprof_bytes bytes = {dwarf->sections.info.data, (size_t)unit->end};
    struct sprof_reader reader = sprof_reader_of(bytes);
    sprof_reader_seek(&reader, offset < unit->entries ? SIZE_MAX : (size_t)offset);
    return reader;
}

/* The abbreviation of the entry that begins here; NULL for the end of a list of children (*end) and
 * for damage. */
static inline const struct dwarf_abbreviation *read_kind(const struct dwarf_abbreviation *kinds,
                                                         uint32_t count,
                                                         struct sprof_reader *reader, bool *end)
{
    const uint64_t code = sprof_reader_uleb(reader);
    *end = !code && !reader->failed;
    return code && code <= count && kinds[code - 1].tag ? &kinds[code - 1] : NULL;
}

/* The number at the beginning of the bytes, of which there are enough. */
static inline uint64_t plain_number(const uint8_t *bytes, uint8_t size)
{
    uint64_t number = 0;
    switch (size) {
    case 1: return *bytes;
    case 2: memcpy(&number, bytes, 2); return number;
    case 4: memcpy(&number, bytes, 4); return number;
    default: memcpy(&number, bytes, 8); return number;
    }
}

/* Plain numbers and short expressions are most of what is met. */
static inline bool take_step(const struct dwarf *dwarf, const struct dwarf_unit *unit,
                             struct sprof_reader *reader, const struct dwarf_step *step,
                             struct dwarf_value *value)
{
    const bool expression = step->form == DW_FORM_exprloc && !step->name;
    const size_t left = sprof_reader_left(reader);
    const uint8_t *at = left > step->skip ? reader->next + step->skip : NULL;
    if (at && expression && *at < 0x80 && left - step->skip > *at) {
        reader->next = at + 1 + *at;
        return true;
    }
    if (at && step->bytes && left - step->skip >= step->bytes) {
        const uint64_t number = plain_number(at, step->bytes);
        reader->next = at + step->bytes;
        value->class = (enum dwarf_class)step->class;
        value->number = step->class == DWARF_REFERENCE ? number + unit->offset : number;
        return true;
    }
    sprof_reader_take(reader, step->skip);
    if (expression)
        return sprof_reader_take(reader, (size_t)sprof_reader_uleb(reader)) || !reader->failed;
    return symbolize_dwarf_value_read(dwarf, unit, reader, step->form, step->implicit, value);
}

static void take(struct dwarf_entry *entry, uint16_t name, const struct dwarf_value *value)
{
    switch (name) {
    case DW_AT_sibling: entry->sibling = value->number; break;
    case DW_AT_low_pc:
    case DW_AT_high_pc:
    case DW_AT_ranges: symbolize_dwarf_extent_take(&entry->extent, name, value); break;
    case DW_AT_abstract_origin:
        entry->origin = value->class == DWARF_REFERENCE ? value->number : 0;
        break;
    case DW_AT_call_file: entry->call_file = value->number + 1; break;
    case DW_AT_call_line: entry->call_line = value->number; break;
    default: break;
    }
}

/* None: the table that they would be in may not be there. */
static const struct dwarf_step *steps_of(const struct dwarf *dwarf,
                                         const struct dwarf_abbreviation *kind)
{
    return kind->step_count ? &dwarf->steps.items[kind->first_step] : NULL;
}

static const struct dwarf_abbreviation *kinds_of(const struct dwarf *dwarf,
                                                 const struct dwarf_unit *unit)
{
    return unit->abbreviation_count ? &dwarf->abbreviations.items[unit->first_abbreviation] : NULL;
}

/* Goes past an entry whose attributes are not all of fixed size, and to its sibling where it names
 * one. Returns whether children follow. */
static bool pass(const struct dwarf *dwarf, const struct dwarf_unit *unit,
                 struct sprof_reader *reader, const struct dwarf_abbreviation *kind,
                 uint64_t offset)
{
    const struct dwarf_step *steps = steps_of(dwarf, kind);
    struct dwarf_value value;
    for (uint32_t i = 0; i < kind->step_count; i++) {
        if (!take_step(dwarf, unit, reader, &steps[i], &value)) {
            reader->failed = 1;
            return false;
        }
        if (steps[i].name == DW_AT_sibling && value.number > offset) {
            sprof_reader_seek(reader, (size_t)value.number);
            return false;
        }
    }
    sprof_reader_take(reader, kind->tail);
    return kind->children;
}

static bool read_entry(const struct dwarf *dwarf, const struct dwarf_unit *unit,
                       struct sprof_reader *reader, const struct dwarf_abbreviation *kind,
                       uint64_t offset, struct dwarf_entry *entry)
{
    const struct dwarf_step *steps = steps_of(dwarf, kind);
    struct dwarf_value value;
    *entry =
        (struct dwarf_entry){.offset = offset, .tag = kind->tag, .has_children = kind->children};
    for (uint32_t i = 0; i < kind->step_count; i++) {
        if (!take_step(dwarf, unit, reader, &steps[i], &value))
            return false;
        take(entry, steps[i].name, &value);
    }
    sprof_reader_take(reader, kind->tail);
    entry->children = sprof_reader_offset(reader);
    return !reader->failed;
}

bool symbolize_dwarf_entry_next(struct dwarf *dwarf, const struct dwarf_unit *unit, uint64_t offset,
                                struct dwarf_entry *entry)
{
    const struct dwarf_abbreviation *kinds = kinds_of(dwarf, unit);
    struct sprof_reader reader = reader_at(dwarf, unit, offset);
    uint64_t inside = 0; /* lists of children that have been entered and not been left */
    while (dwarf->steps_left && !reader.failed) {
        bool end;
        const uint64_t at = sprof_reader_offset(&reader);
        const struct dwarf_abbreviation *kind =
            read_kind(kinds, unit->abbreviation_count, &reader, &end);
        dwarf->steps_left--;
        if (!kind && !end)
            return false;
        if (!kind && !inside) {
            *entry = (struct dwarf_entry){.offset = at, .children = sprof_reader_offset(&reader)};
            return true;
        }
        if (!kind) {
            inside--;
        } else if (!inside && !kind->passed) {
            return read_entry(dwarf, unit, &reader, kind, at, entry);
        } else if (!kind->step_count && sprof_reader_left(&reader) >= kind->tail) {
            reader.next += kind->tail;
            inside += kind->children;
        } else {
            inside += pass(dwarf, unit, &reader, kind, at);
        }
    }
    return false;
}

void symbolize_dwarf_each_child(struct dwarf *dwarf, const struct dwarf_unit *unit, uint64_t offset,
                                dwarf_child *child, void *context)
{
    const struct dwarf_abbreviation *kinds = kinds_of(dwarf, unit);
    struct sprof_reader reader = reader_at(dwarf, unit, offset);
    uint64_t inside = 0; /* lists of children of the children that have been entered */
    bool end, begun = false;
    while (dwarf->steps_left && !reader.failed) {
        const uint64_t at = sprof_reader_offset(&reader);
        const struct dwarf_abbreviation *kind =
            read_kind(kinds, unit->abbreviation_count, &reader, &end);
        dwarf->steps_left--;
        if ((!kind && !end) || (end && !inside) || (!begun && !kind->children))
            return;
        if (!kind) {
            inside--;
            continue;
        }
        if (begun && !inside)
            child(context, at, kind->tag);
        /* The siblings of the entry itself are of no interest. */
        const uint64_t from = begun ? at : UINT64_MAX;
        const bool enters = kind->step_count || sprof_reader_left(&reader) < kind->tail
                                ? pass(dwarf, unit, &reader, kind, from)
                                : (reader.next += kind->tail, kind->children);
        inside += begun && enters;
        begun = true;
    }
}

bool symbolize_dwarf_each_attribute(struct dwarf *dwarf, const struct dwarf_unit *unit,
                                    uint64_t offset, uint16_t *tag,
                                    dwarf_attribute_value *attribute_value, void *context)
{
    struct sprof_reader reader = reader_at(dwarf, unit, offset);
    bool end;
    const struct dwarf_abbreviation *kind =
        read_kind(kinds_of(dwarf, unit), unit->abbreviation_count, &reader, &end);
    *tag = kind ? kind->tag : 0;
    for (uint32_t i = 0; kind && i < kind->count; i++) {
        const struct dwarf_attribute *attribute = &dwarf->attributes.items[kind->first + i];
        struct dwarf_value value;
        if (!symbolize_dwarf_value_read(dwarf, unit, &reader, attribute->form, attribute->implicit,
                                        &value))
            return false;
        attribute_value(context, attribute->name, &value);
    }
    return kind != NULL;
}

static void take_naming(void *context, uint16_t name, const struct dwarf_value *value)
{
    struct dwarf_naming *naming = context;
    const bool refers = value->class == DWARF_REFERENCE;
    switch (name) {
    case DW_AT_name: naming->name = *value; break;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name: naming->linkage_name = *value; break;
    case DW_AT_abstract_origin: naming->origin = refers ? value->number : 0; break;
    case DW_AT_specification: naming->specification = refers ? value->number : 0; break;
    case DW_AT_decl_file: naming->file = value->number + 1; break;
    case DW_AT_decl_line: naming->line = value->number; break;
    default: break;
    }
}

bool symbolize_dwarf_naming_read(struct dwarf *dwarf, const struct dwarf_unit *unit,
                                 uint64_t offset, struct dwarf_naming *naming)
{
    uint16_t tag;
    *naming = (struct dwarf_naming){0};
    return symbolize_dwarf_each_attribute(dwarf, unit, offset, &tag, take_naming, naming);
}

/* == Ranges == */

/* Calls back for a range of the image; false ends. */
static bool give(const struct dwarf *dwarf, uint64_t low, uint64_t high, dwarf_range *range,
                 void *context)
{
    return low >= high || !symbolize_dwarf_code_begins(&dwarf->code, low) ||
           range(context, low, high);
}

/* .debug_ranges (DWARF 4, section 2.17.3). Ranges that count from a dropped section are dropped,
 * too. */
static void each_old_range(struct dwarf *dwarf, const struct dwarf_unit *unit, uint64_t offset,
                           dwarf_range *range, void *context)
{
    struct sprof_reader reader = sprof_reader_of(dwarf->sections.ranges);
    uint64_t base = unit->extent.low_pc;
    bool dropped = false;
    sprof_reader_seek(&reader, offset <= SIZE_MAX ? (size_t)offset : SIZE_MAX);
    while (dwarf->steps_left) {
        const uint64_t low = sprof_reader_u64(&reader), high = sprof_reader_u64(&reader);
        dwarf->steps_left--;
        if (reader.failed || (!low && !high))
            return;
        if (low == UINT64_MAX) {
            base = high;
            dropped = base && !symbolize_dwarf_code_begins(&dwarf->code, base);
        } else if (!dropped && !give(dwarf, base + low, base + high, range, context)) {
            return;
        }
    }
}

/* .debug_rnglists (DWARF 5, section 7.25). */
static void each_new_range(struct dwarf *dwarf, const struct dwarf_unit *unit, uint64_t offset,
                           dwarf_range *range, void *context)
{
    struct sprof_reader reader = sprof_reader_of(dwarf->sections.rnglists);
    uint64_t base = unit->extent.low_pc;
    bool dropped = false; /* what counts from the base */
    sprof_reader_seek(&reader, offset <= SIZE_MAX ? (size_t)offset : SIZE_MAX);
    while (dwarf->steps_left && !reader.failed) {
        uint64_t low = 0, high = 0;
        dwarf->steps_left--;
        const uint8_t kind = sprof_reader_u8(&reader);
        switch (kind) {
        case DW_RLE_base_addressx:
        case DW_RLE_base_address:
            base = kind == DW_RLE_base_address
                       ? sprof_reader_u64(&reader)
                       : symbolize_dwarf_address(dwarf, unit, sprof_reader_uleb(&reader));
            dropped = !symbolize_dwarf_code_begins(&dwarf->code, base);
            continue;
        case DW_RLE_startx_endx:
            low = symbolize_dwarf_address(dwarf, unit, sprof_reader_uleb(&reader));
            high = symbolize_dwarf_address(dwarf, unit, sprof_reader_uleb(&reader));
            break;
        case DW_RLE_startx_length:
            low = symbolize_dwarf_address(dwarf, unit, sprof_reader_uleb(&reader));
            high = low + sprof_reader_uleb(&reader);
            break;
        case DW_RLE_offset_pair:
            low = base + sprof_reader_uleb(&reader);
            high = base + sprof_reader_uleb(&reader);
            if (dropped)
                continue;
            break;
        case DW_RLE_start_end:
            low = sprof_reader_u64(&reader);
            high = sprof_reader_u64(&reader);
            break;
        case DW_RLE_start_length:
            low = sprof_reader_u64(&reader);
            high = low + sprof_reader_uleb(&reader);
            break;
        default: return;
        }
        if (!reader.failed && !give(dwarf, low, high, range, context))
            return;
    }
}

void symbolize_dwarf_each_range(struct dwarf *dwarf, const struct dwarf_unit *unit,
                                const struct dwarf_extent *extent, dwarf_range *range,
                                void *context)
{
    if (extent->ranges_class == DWARF_INDEX) {
        const uint8_t size = unit->offset_size;
        const uint64_t at = unit->rnglists_base + extent->ranges * size;
        if (extent->ranges <= UINT32_MAX)
            each_new_range(dwarf, unit,
                           unit->rnglists_base +
                               symbolize_dwarf_number_at(dwarf->sections.rnglists, at, size),
                           range, context);
    } else if (extent->ranges_class != DWARF_NONE) {
        if (unit->version >= 5)
            each_new_range(dwarf, unit, extent->ranges, range, context);
        else
            each_old_range(dwarf, unit, extent->ranges, range, context);
    } else if (extent->low_is_known) {
        const uint64_t high =
            extent->high_is_offset ? extent->low_pc + extent->high_pc : extent->high_pc;
        give(dwarf, extent->low_pc, high, range, context);
    }
}
