/* Names what lies at an address of data: the global or static object by the symbols of the image,
 * and the member of it, or the element, by debug information. */
#include "symbolize/demangle.h"
#include "symbolize/libdw_text.h"
#include "symbolize/module.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* Debug information may be damaged, or very large: so many entries are read at most. */
enum { ENTRIES_MOST = 4 << 20, DEPTH_MOST = 16 };

struct object {
    size_t index;        /* in the request */
    uint64_t address;    /* … vaddr */
    uint64_t start, end; /* of its symbol */
    const char *symbol;  /* libdwfl's; NULL: no symbol covers the address */
    struct sprof_str path;
    bool is_described; /* `path` is as deep as debug information goes */
};

struct objects {
    struct module module;
    struct image *debug;            /* its separate debug file; NULL: none */
    SPROF_VEC(struct object) items; /* in ascending order of addresses */
    size_t entries;
};

/* == Symbols == */

static void offer_symbol(struct objects *objects, const char *name, uint64_t start, uint64_t size)
{
    for (size_t i = 0; i < objects->items.count; i++) {
        struct object *object = &objects->items.items[i];
        if (object->address < start || object->address - start >= size)
            continue;
        if (object->symbol && object->start >= start)
            continue;
        object->symbol = name;
        object->start = start;
        object->end = start + size;
    }
}

/* Drops addresses that no segment of the image holds, as those of the heap, which may be many. */
static void keep_own(struct objects *objects)
{
    Dwarf_Addr bias;
    Elf *elf = dwfl_module_getelf(objects->module.dwfl_module, &bias);
    size_t segments = 0, kept = 0;
    if (!elf || elf_getphdrnum(elf, &segments))
        segments = 0;
    for (size_t i = 0; i < objects->items.count; i++) {
        const struct object object = objects->items.items[i];
        bool is_own = false;
        for (size_t s = 0; s < segments && !is_own; s++) {
            GElf_Phdr segment;
            is_own = gelf_getphdr(elf, (int)s, &segment) && segment.p_type == PT_LOAD &&
                     object.address >= segment.p_vaddr &&
                     object.address - segment.p_vaddr < segment.p_memsz;
        }
        if (is_own)
            objects->items.items[kept++] = object;
    }
    objects->items.count = kept;
}

static void read_symbols(struct objects *objects)
{
    const int total = dwfl_module_getsymtab(objects->module.dwfl_module);
    for (int i = 1; i < total; i++) {
        GElf_Sym symbol;
        GElf_Addr value;
        GElf_Word section;
        Elf *elf;
        Dwarf_Addr bias;
        const char *name = dwfl_module_getsym_info(objects->module.dwfl_module, i, &symbol, &value,
                                                   &section, &elf, &bias);
        if (name && *name && GELF_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_size)
            offer_symbol(objects, name, value - objects->module.bias, symbol.st_size);
    }
}

/* == Members == */

static bool number_of(Dwarf_Die *die, unsigned name, uint64_t *value)
{
    Dwarf_Attribute attribute;
    Dwarf_Word word;
    if (!dwarf_attr_integrate(die, name, &attribute) || dwarf_formudata(&attribute, &word))
        return false;
    *value = word;
    return true;
}

/* The type behind names and qualifiers. */
static bool real_type(Dwarf_Die *die, Dwarf_Die *type)
{
    Dwarf_Attribute attribute;
    Dwarf_Die named;
    return dwarf_attr_integrate(die, DW_AT_type, &attribute) &&
           dwarf_formref_die(&attribute, &named) && !dwarf_peel_type(&named, type);
}

static bool is_class(Dwarf_Die *type)
{
    const int tag = dwarf_tag(type);
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* The member or base class that holds an offset. */
static bool find_member(Dwarf_Die *class, uint64_t offset, Dwarf_Die *member, uint64_t *at)
{
    Dwarf_Die child, type;
    for (int more = dwarf_child(class, &child); !more; more = dwarf_siblingof(&child, &child)) {
        const int tag = dwarf_tag(&child);
        Dwarf_Word size;
        *at = 0;
        if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || !real_type(&child, &type) ||
            dwarf_aggregate_size(&type, &size))
            continue;
        if (dwarf_hasattr(&child, DW_AT_data_member_location)
                ? !number_of(&child, DW_AT_data_member_location, at)
                : dwarf_hasattr(&child, DW_AT_external))
            continue;
        if (offset >= *at && offset - *at < size) {
            *member = child;
            return true;
        }
    }
    return false;
}

/* Names that begin so are a library's own: for a mutex its own name is enough. */
static bool is_reserved(const char *name)
{
    return name && *name == '_';
}

/* Goes into an element of an array; of several dimensions into that of all of them as one. */
static bool append_element(struct sprof_str *path, Dwarf_Die *type, uint64_t *offset)
{
    Dwarf_Die element;
    Dwarf_Word size;
    if (!real_type(type, &element) || dwarf_aggregate_size(&element, &size) || !size)
        return false;
    sprof_str_appendf(path, "[%llu]", (unsigned long long)(*offset / size));
    *offset %= size;
    *type = element;
    return true;
}

/* ".mutex", "[3].mutex": from the type of an object to what lies at the offset. */
static void append_members(struct sprof_str *path, Dwarf_Die *variable, uint64_t offset)
{
    Dwarf_Die type, member;
    bool goes_on = real_type(variable, &type);
    for (int depth = 0; goes_on && depth < DEPTH_MOST; depth++) {
        uint64_t at;
        if (dwarf_tag(&type) == DW_TAG_array_type) {
            goes_on = append_element(path, &type, &offset);
            continue;
        }
        if (!is_class(&type) || !find_member(&type, offset, &member, &at))
            break;
        const char *name = symbolize_libdw_name(&member);
        if (dwarf_tag(&member) == DW_TAG_member && is_reserved(name))
            break;
        if (dwarf_tag(&member) == DW_TAG_member && name)
            sprof_str_appendf(path, ".%.100s", name);
        offset -= at;
        goes_on = real_type(&member, &type);
    }
}

/* == Variables == */

static bool address_of(Dwarf_Die *variable, uint64_t *address)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *operations;
    size_t count;
    if (!dwarf_attr(variable, DW_AT_location, &attribute) ||
        dwarf_getlocation(&attribute, &operations, &count) || count != 1)
        return false;
    if (operations[0].atom == DW_OP_addr) {
        *address = operations[0].number;
        return true;
    }
    Dwarf_Attribute indexed; /* DW_OP_addrx: its address is in a table */
    return !dwarf_getlocation_attr(&attribute, operations, &indexed) &&
           !dwarf_formaddr(&indexed, (Dwarf_Addr *)address);
}

static void take_variable(struct objects *objects, Dwarf_Die *variable, uint64_t delta)
{
    uint64_t address;
    if (!address_of(variable, &address))
        return;
    for (size_t i = 0; i < objects->items.count; i++) {
        struct object *object = &objects->items.items[i];
        if (object->symbol && !object->is_described && object->start == address - delta) {
            append_members(&object->path, variable, object->address - object->start);
            object->is_described = true;
        }
    }
}

/* Variables of files, namespaces and classes, and static ones of functions and blocks. */
static void read_variables(struct objects *objects, Dwarf_Die *scope, uint64_t delta, int depth)
{
    Dwarf_Die child;
    if (depth > DEPTH_MOST)
        return;
    for (int more = dwarf_child(scope, &child); !more && objects->entries < ENTRIES_MOST;
         more = dwarf_siblingof(&child, &child)) {
        objects->entries++;
        switch (dwarf_tag(&child)) {
        case DW_TAG_variable: take_variable(objects, &child, delta); break;
        case DW_TAG_namespace:
        case DW_TAG_subprogram:
        case DW_TAG_lexical_block: read_variables(objects, &child, delta, depth + 1); break;
        default: break;
        }
    }
}

static void read_debug_information(struct objects *objects)
{
    uint64_t delta = 0;
    Dwarf *dwarf = symbolize_module_dwarf(&objects->module, objects->debug, &delta);
    Dwarf_CU *unit = NULL;
    Dwarf_Die entry, skeleton;
    while (dwarf && !dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &entry, &skeleton))
        read_variables(objects, skeleton.addr ? &skeleton : &entry, delta, 0);
}

/* == All == */

/* "shop::ledger.mutex"; without debug information "shop::ledger+0x28". */
static int give(const struct object *object,
                int (*found)(void *context, size_t index, const char *name), void *context)
{
    char *demangled = symbolize_demangle(object->symbol);
    struct sprof_str name = {0};
    sprof_str_append(&name, demangled ? demangled : object->symbol);
    const uint64_t offset = object->address - object->start;
    if (object->path.length)
        sprof_str_append(&name, object->path.text);
    else if (offset && !object->is_described)
        sprof_str_appendf(&name, "+0x%llx", (unsigned long long)offset);
    const int result = name.failed ? SPROF_ENOMEM : found(context, object->index, name.text);
    sprof_str_release(&name);
    free(demangled);
    return result;
}

int symbolize_objects(struct image *image, const struct symbolize_options *options,
                      const uint64_t *addresses, size_t count,
                      int (*found)(void *context, size_t index, const char *name), void *context)
{
    struct objects objects = {.debug = symbolize_module_open_debug(image, options, NULL)};
    int result = 0;
    bool has_symbols = false;
    for (size_t i = 0; i < count && !result; i++)
        result =
            sprof_vec_push(&objects.items, (struct object){.index = i, .address = addresses[i]});
    const bool opened = symbolize_module_open(&objects.module, image, options);
    if (opened && !result) {
        keep_own(&objects);
        read_symbols(&objects);
    }
    for (size_t i = 0; i < objects.items.count; i++)
        has_symbols |= objects.items.items[i].symbol != NULL;
    if (opened && has_symbols && !result)
        read_debug_information(&objects);
    for (size_t i = 0; i < objects.items.count; i++) {
        struct object *object = &objects.items.items[i];
        if (object->symbol && !result)
            result = give(object, found, context);
        sprof_str_release(&object->path);
    }
    symbolize_module_release(&objects.module);
    image_free(objects.debug);
    sprof_vec_release(&objects.items);
    return result;
}
