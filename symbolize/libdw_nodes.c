/* Reads libdw's entries for the tree of DWARF. */
#include "symbolize/libdw_nodes.h"

#include "symbolize/attributes.h"
#include "symbolize/libdw_text.h"

void symbolize_libdw_nodes_release(struct libdw_nodes *nodes)
{
    sprof_vec_release(&nodes->entries);
    sprof_map_release(&nodes->by_address);
}

uint64_t symbolize_libdw_nodes_number(struct libdw_nodes *nodes, const Dwarf_Die *die)
{
    uint64_t *known = sprof_map_at(&nodes->by_address, (uint64_t)(uintptr_t)die->addr);
    if (known && !*known && !sprof_vec_push(&nodes->entries, *die))
        *known = nodes->entries.count;
    return known ? *known : 0;
}

static Dwarf_Die *entry_of(struct libdw_nodes *nodes, uint64_t self)
{
    return self && self <= nodes->entries.count ? &nodes->entries.items[self - 1] : NULL;
}

static uint64_t reference(struct libdw_nodes *nodes, Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Die target;
    if (!dwarf_attr(die, name, &attribute) || !dwarf_formref_die(&attribute, &target))
        return 0;
    return symbolize_libdw_nodes_number(nodes, &target);
}

static const char *text(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return symbolize_libdw_text(dwarf_attr(die, name, &attribute));
}

static bool number(Dwarf_Die *die, unsigned name, uint64_t *value)
{
    Dwarf_Attribute attribute;
    return symbolize_attribute_number(dwarf_attr(die, name, &attribute), value);
}

static bool flag(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return symbolize_attribute_flag(dwarf_attr(die, name, &attribute));
}

static bool read_node(void *source, uint64_t self, struct dwarf_node *node)
{
    struct libdw_nodes *nodes = source;
    const Dwarf_Die *known = entry_of(nodes, self);
    *node = (struct dwarf_node){.self = self};
    if (!known)
        return false;
    Dwarf_Die die = *known; /* the entries move when others are added */
    node->tag = (uint16_t)dwarf_tag(&die);
    node->name = text(&die, DW_AT_name);
    node->linkage_name = text(&die, DW_AT_linkage_name);
    if (!node->linkage_name)
        node->linkage_name = text(&die, DW_AT_MIPS_linkage_name);
    node->template_name = text(&die, DW_AT_GNU_template_name);
    node->type = reference(nodes, &die, DW_AT_type);
    node->origin = reference(nodes, &die, DW_AT_abstract_origin);
    node->specification = reference(nodes, &die, DW_AT_specification);
    node->containing = reference(nodes, &die, DW_AT_containing_type);
    node->object_pointer = reference(nodes, &die, DW_AT_object_pointer);
    node->external = flag(&die, DW_AT_external);
    node->artificial = flag(&die, DW_AT_artificial);
    node->on_lvalues = flag(&die, DW_AT_reference);
    node->on_rvalues = flag(&die, DW_AT_rvalue_reference);
    number(&die, DW_AT_encoding, &node->encoding);
    number(&die, DW_AT_byte_size, &node->bytes);
    number(&die, DW_AT_decl_line, &node->line);
    number(&die, DW_AT_decl_column, &node->column);
    node->has_value = number(&die, DW_AT_const_value, &node->value);
    node->has_bound = number(&die, DW_AT_count, &node->bound);
    if (!node->has_bound && number(&die, DW_AT_upper_bound, &node->bound)) {
        node->has_bound = true;
        node->bound++;
    }
    return node->tag != DW_TAG_invalid;
}

static void each_child(void *source, uint64_t self, dwarf_tree_child *child, void *context)
{
    enum { MOST = 1 << 20 };
    struct libdw_nodes *nodes = source;
    const Dwarf_Die *known = entry_of(nodes, self);
    Dwarf_Die die, next;
    if (!known)
        return;
    Dwarf_Die parent = *known;
    if (dwarf_child(&parent, &die) != 0)
        return;
    for (int i = 0; i < MOST; i++) {
        const uint64_t made = symbolize_libdw_nodes_number(nodes, &die);
        if (made)
            child(context, made, (uint16_t)dwarf_tag(&die));
        if (!made || dwarf_siblingof(&die, &next) != 0)
            return;
        die = next;
    }
}

static uint64_t unit_of(void *source, uint64_t self)
{
    struct libdw_nodes *nodes = source;
    const Dwarf_Die *known = entry_of(nodes, self);
    Dwarf_Die die, unit;
    if (!known)
        return 0;
    die = *known;
    return dwarf_diecu(&die, &unit, NULL, NULL) ? symbolize_libdw_nodes_number(nodes, &unit) : 0;
}

static uint64_t position(void *source, uint64_t self)
{
    Dwarf_Die *known = entry_of(source, self);
    return known ? dwarf_dieoffset(known) : 0;
}

const struct dwarf_tree_source libdw_nodes = {read_node, each_child, unit_of, position};
