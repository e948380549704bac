/* Reads entries of .debug_info for the tree of DWARF. */
#include "symbolize/dwarf_nodes.h"

#include "symbolize/dwarf_entry.h"

#include <dwarf.h>

struct reading {
    const struct dwarf *dwarf;
    const struct dwarf_unit *unit;
    struct dwarf_node *node;
};

static void take(void *context, uint16_t name, const struct dwarf_value *value)
{
    const struct reading *reading = context;
    struct dwarf_node *node = reading->node;
    const uint64_t reference = value->class == DWARF_REFERENCE ? value->number : 0;
    const bool is_number = value->class == DWARF_NUMBER && value->form != DW_FORM_exprloc &&
                           value->form != DW_FORM_block1;
    switch (name) {
    case DW_AT_name: node->name = symbolize_dwarf_text(reading->dwarf, reading->unit, value); break;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
        node->linkage_name = symbolize_dwarf_text(reading->dwarf, reading->unit, value);
        break;
    case DW_AT_GNU_template_name:
        node->template_name = symbolize_dwarf_text(reading->dwarf, reading->unit, value);
        break;
    case DW_AT_type: node->type = reference; break;
    case DW_AT_abstract_origin: node->origin = reference; break;
    case DW_AT_specification: node->specification = reference; break;
    case DW_AT_containing_type: node->containing = reference; break;
    case DW_AT_object_pointer: node->object_pointer = reference; break;
    case DW_AT_external: node->external = value->number != 0; break;
    case DW_AT_artificial: node->artificial = value->number != 0; break;
    case DW_AT_reference: node->on_lvalues = value->number != 0; break;
    case DW_AT_rvalue_reference: node->on_rvalues = value->number != 0; break;
    case DW_AT_encoding: node->encoding = value->number; break;
    case DW_AT_byte_size: node->bytes = value->number; break;
    case DW_AT_decl_line: node->line = value->number; break;
    case DW_AT_decl_column: node->column = value->number; break;
    case DW_AT_const_value:
        node->has_value = is_number;
        node->value = value->number;
        break;
    case DW_AT_upper_bound:
    case DW_AT_count:
        node->has_bound = is_number;
        node->bound = value->number + (name == DW_AT_upper_bound);
        break;
    default: break;
    }
}

static bool read_node(void *source, uint64_t self, struct dwarf_node *node)
{
    struct dwarf *dwarf = source;
    const struct dwarf_unit *unit = symbolize_dwarf_unit_of(dwarf, self);
    struct reading reading = {dwarf, unit, node};
    *node = (struct dwarf_node){.self = self};
    if (!unit || !dwarf->steps_left)
        return false;
    dwarf->steps_left--;
    return symbolize_dwarf_each_attribute(dwarf, unit, self, &node->tag, take, &reading);
}

static void each_child(void *source, uint64_t self, dwarf_tree_child *child, void *context)
{
    const struct dwarf_unit *unit = symbolize_dwarf_unit_of(source, self);
    if (unit)
        symbolize_dwarf_each_child(source, unit, self, child, context);
}

static uint64_t unit_of(void *source, uint64_t self)
{
    const struct dwarf_unit *unit = symbolize_dwarf_unit_of(source, self);
    return unit ? unit->entries : 0;
}

static uint64_t position(void *source, uint64_t self)
{
    (void)source;
    return self;
}

const struct dwarf_tree_source dwarf_nodes = {read_node, each_child, unit_of, position};
