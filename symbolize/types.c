/* Reads types of values by libdw's entries, as far as values of them can be shown. */
#include "symbolize/types.h"

#include "symbolize/attributes.h"
#include "symbolize/libdw_text.h"

#include <string.h>

/* Debug information may be damaged, and types refer to each other in circles: by pointers, which
 * are followed so far, and by values, so deep at most. */
enum { POINTERS_MOST = 1, DEPTH_MOST = 12, TYPES_MOST = 1 << 18, NAME_MOST = 200 };

struct reading {
    struct types *types;
    unsigned pointers, depth;
};

static const struct symbolize_type void_type = {.kind = SYMBOLIZE_VOID, .name = "void"};
static const struct symbolize_type unknown_type = {.kind = SYMBOLIZE_UNKNOWN, .name = "?"};

static const struct symbolize_type *read_type(struct reading reading, Dwarf_Die *die);

void types_release(struct types *types)
{
    sprof_map_release(&types->known);
    symbolize_cxx_names_release(&types->cxx);
    symbolize_libdw_nodes_release(&types->nodes);
}

/* == Attributes == */

static bool number_of(Dwarf_Die *die, unsigned name, uint64_t *value)
{
    Dwarf_Attribute attribute;
    return symbolize_attribute_number(dwarf_attr_integrate(die, name, &attribute), value);
}

static bool has_flag(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return symbolize_attribute_flag(dwarf_attr_integrate(die, name, &attribute));
}

static bool type_die(Dwarf_Die *die, Dwarf_Die *type)
{
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, DW_AT_type, &attribute) && dwarf_formref_die(&attribute, type);
}

static uint32_t bytes_of(Dwarf_Die *die)
{
    const int bytes = dwarf_bytesize(die);
    return bytes > 0 ? (uint32_t)bytes : 0;
}

/* == Names == */

static const char *keep_name(struct types *types, const char *before, const char *name,
                             const char *behind)
{
    struct sprof_str text = {0};
    sprof_str_appendf(&text, "%s%.*s%s", before, NAME_MOST, name, behind);
    const char *copy = text.failed ? NULL : sprof_arena_text(types->arena, text.text);
    sprof_str_release(&text);
    types->failed |= !copy;
    return copy ? copy : "?";
}

static const char *name_of(struct types *types, Dwarf_Die *die, const char *otherwise)
{
    const char *name = symbolize_libdw_name(die);
    return name && *name ? keep_name(types, "", name, "") : otherwise;
}

/* == Kinds == */

static void read_base(struct types *types, Dwarf_Die *die, struct symbolize_type *type)
{
    uint64_t encoding = 0;
    number_of(die, DW_AT_encoding, &encoding);
    type->name = name_of(types, die, "?");
    type->bytes = bytes_of(die);
    switch (encoding) {
    case DW_ATE_boolean: type->kind = SYMBOLIZE_BOOL; break;
    case DW_ATE_float:
        type->kind = type->bytes == 4 || type->bytes == 8 ? SYMBOLIZE_FLOAT : SYMBOLIZE_UNKNOWN;
        break;
    case DW_ATE_signed: type->kind = SYMBOLIZE_SIGNED; break;
    case DW_ATE_unsigned:
    case DW_ATE_UTF: type->kind = SYMBOLIZE_UNSIGNED; break;
    case DW_ATE_signed_char:
    case DW_ATE_unsigned_char:
        type->kind = !strcmp(type->name, "char")      ? SYMBOLIZE_CHARACTER
                     : encoding == DW_ATE_signed_char ? SYMBOLIZE_SIGNED
                                                      : SYMBOLIZE_UNSIGNED;
        break;
    default: break;
    }
    if (type->bytes > 8 && type->kind != SYMBOLIZE_UNKNOWN)
        type->kind = SYMBOLIZE_UNKNOWN;
}

/* Of arrays those of characters are shown. */
static void read_array(struct reading reading, Dwarf_Die *die, struct symbolize_type *type)
{
    Dwarf_Die of;
    Dwarf_Word bytes = 0;
    const struct symbolize_type *element = type_die(die, &of) ? read_type(reading, &of) : NULL;
    const bool is_known = element && element->bytes && !dwarf_aggregate_size(die, &bytes) &&
                          bytes && bytes <= UINT32_MAX;
    type->bytes = is_known ? (uint32_t)bytes : bytes_of(die);
    type->name = element ? keep_name(reading.types, "", element->name, " []") : "?";
    if (is_known && element->kind == SYMBOLIZE_CHARACTER)
        type->kind = SYMBOLIZE_CHARACTERS;
}

static void read_pointer(struct reading reading, Dwarf_Die *die, struct symbolize_type *type,
                         bool is_reference)
{
    Dwarf_Die to;
    const struct symbolize_type *target = &void_type;
    const bool has = type_die(die, &to);
    type->kind = is_reference ? SYMBOLIZE_REFERENCE : SYMBOLIZE_POINTER;
    type->bytes = 8;
    if (has) {
        reading.pointers++;
        target = read_type(reading, &to);
    }
    const size_t length = strlen(target->name);
    type->name = keep_name(reading.types, "", target->name,
                           is_reference                                ? " &"
                           : length && target->name[length - 1] == '*' ? "*"
                                                                       : " *");
    type->to = target->kind == SYMBOLIZE_VOID || target->kind == SYMBOLIZE_UNKNOWN ? NULL : target;
}

/* What is declared with a qualifier, or by another name. */
static void read_other(struct reading reading, Dwarf_Die *die, struct symbolize_type *type,
                       const char *qualifier)
{
    Dwarf_Die of;
    const struct symbolize_type *same = &void_type;
    if (type_die(die, &of))
        same = read_type(reading, &of);
    *type = *same;
    type->name = qualifier ? *qualifier && same->kind != SYMBOLIZE_POINTER
                                 ? keep_name(reading.types, qualifier, same->name, "")
                                 : same->name
                           : name_of(reading.types, die, same->name);
}

static void read_enumeration(struct types *types, Dwarf_Die *die, struct symbolize_type *type)
{
    SPROF_VEC(struct symbolize_enumerator) found = {0};
    Dwarf_Die child, of;
    uint64_t value, encoding = 0;
    *type = (struct symbolize_type){
        .kind = SYMBOLIZE_ENUM, .bytes = bytes_of(die), .name = name_of(types, die, "enum")};
    if (type_die(die, &of) && !has_flag(die, DW_AT_declaration))
        type->is_signed = number_of(&of, DW_AT_encoding, &encoding) && encoding == DW_ATE_signed;
    int more = dwarf_child(die, &child);
    for (; !more && found.count < SYMBOLIZE_ENUMERATORS; more = dwarf_siblingof(&child, &child))
        if (dwarf_tag(&child) == DW_TAG_enumerator &&
            number_of(&child, DW_AT_const_value, &value)) {
            const struct symbolize_enumerator one = {name_of(types, &child, "?"), value};
            types->failed |= sprof_vec_push(&found, one) != 0;
        }
    struct symbolize_enumerator *kept = sprof_arena_alloc(types->arena, found.count * sizeof *kept);
    types->failed |= !kept;
    if (kept && found.count)
        memcpy(kept, found.items, found.count * sizeof *kept);
    type->enumerators = kept;
    type->enumerator_count = kept ? (uint32_t)found.count : 0;
    sprof_vec_release(&found);
}

/* == Structures == */

struct members {
    SPROF_VEC(struct symbolize_member) list;
    bool has_more, has_class;
    bool has_destructor; /* that a person has written: copies are passed by address */
};

static void add_member(struct reading reading, struct members *members, Dwarf_Die *die,
                       uint32_t offset)
{
    Dwarf_Die of;
    const char *name = symbolize_libdw_name(die);
    if (name && !strncmp(name, "_vptr", 5)) {
        members->has_class |= offset == 0;
        return;
    }
    if (has_flag(die, DW_AT_external) || has_flag(die, DW_AT_declaration) || !type_die(die, &of))
        return; /* it is static */
    if (members->list.count >= SYMBOLIZE_MEMBERS || dwarf_hasattr(die, DW_AT_bit_size)) {
        members->has_more = true;
        return;
    }
    const struct symbolize_member member = {name_of(reading.types, die, ""),
                                            read_type(reading, &of), offset};
    reading.types->failed |= sprof_vec_push(&members->list, member) != 0;
}

static void add_members(struct reading reading, struct members *members, Dwarf_Die *die,
                        uint32_t base)
{
    Dwarf_Die child;
    int more = dwarf_child(die, &child);
    for (; !more; more = dwarf_siblingof(&child, &child)) {
        Dwarf_Die of;
        uint64_t offset = 0;
        const int tag = dwarf_tag(&child);
        const char *name = tag == DW_TAG_subprogram ? symbolize_libdw_name(&child) : NULL;
        members->has_destructor |= name && *name == '~' && !has_flag(&child, DW_AT_artificial) &&
                                   !dwarf_hasattr(&child, DW_AT_defaulted);
        if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
            continue;
        if (dwarf_hasattr(&child, DW_AT_data_member_location) &&
            !number_of(&child, DW_AT_data_member_location, &offset)) {
            members->has_more = true; /* of a virtual base */
            continue;
        }
        if (offset > UINT16_MAX)
            continue;
        if (tag == DW_TAG_member)
            add_member(reading, members, &child, base + (uint32_t)offset);
        else if (reading.depth < DEPTH_MOST && type_die(&child, &of)) {
            struct reading below = reading;
            below.depth++;
            add_members(below, members, &of, base + (uint32_t)offset);
        }
    }
}

/* A member by its name, also within members. */
static const struct symbolize_member *member_of(const struct symbolize_type *type, const char *name)
{
    for (uint32_t i = 0; i < type->member_count; i++)
        if (!strcmp(type->members[i].name, name))
            return &type->members[i];
    return NULL;
}

/* Texts with a length: libstdc++'s string and string_view, libc++'s string_view, Rust's &str. */
static void find_string(struct symbolize_type *type)
{
    static const struct {
        const char *text, *length;
    } known[] = {{"_M_dataplus", "_M_string_length"},
                 {"_M_str", "_M_len"},
                 {"__data", "__size"},
                 {"__data_", "__size_"},
                 {"data_ptr", "length"}};
    const bool is_named = strstr(type->name, "string") || !strcmp(type->name, "&str");
    for (size_t i = 0; i < sizeof known / sizeof *known && is_named; i++) {
        const struct symbolize_member *text = member_of(type, known[i].text),
                                      *length = member_of(type, known[i].length);
        if (!text || !length || length->type->bytes != 8 || text->type->bytes != 8)
            continue;
        type->kind = SYMBOLIZE_STRING;
        type->text_at = text->offset;
        type->length_at = length->offset;
        return;
    }
}

static void read_structure(struct reading reading, Dwarf_Die *die, struct symbolize_type *type)
{
    struct members members = {0};
    uint64_t convention = 0;
    *type = (struct symbolize_type){.kind = SYMBOLIZE_STRUCTURE,
                                    .bytes = bytes_of(die),
                                    .name = name_of(reading.types, die, "struct")};
    if (has_flag(die, DW_AT_declaration) || !type->bytes) {
        type->kind = SYMBOLIZE_UNKNOWN;
        return;
    }
    type->is_passed_by_address = number_of(die, DW_AT_calling_convention, &convention) &&
                                 convention == DW_CC_pass_by_reference;
    reading.depth++;
    add_members(reading, &members, die, 0);
    struct symbolize_member *kept =
        sprof_arena_alloc(reading.types->arena, members.list.count * sizeof *kept);
    reading.types->failed |= !kept;
    if (kept && members.list.count)
        memcpy(kept, members.list.items, members.list.count * sizeof *kept);
    type->members = kept;
    type->member_count = kept ? (uint32_t)members.list.count : 0;
    type->has_more = members.has_more;
    type->has_class = members.has_class;
    type->is_passed_by_address |= members.has_destructor || members.has_class;
    for (uint32_t i = 0; i < type->member_count; i++) {
        type->has_class |=
            !kept[i].offset && kept[i].type->kind == SYMBOLIZE_STRUCTURE && kept[i].type->has_class;
        type->is_passed_by_address |= kept[i].type->is_passed_by_address;
    }
    sprof_vec_release(&members.list);
    find_string(type);
}

/* == All == */

static void read_kind(struct reading reading, Dwarf_Die *die, struct symbolize_type *type)
{
    switch (dwarf_tag(die)) {
    case DW_TAG_base_type: read_base(reading.types, die, type); break;
    case DW_TAG_pointer_type: read_pointer(reading, die, type, false); break;
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type: read_pointer(reading, die, type, true); break;
    case DW_TAG_const_type: read_other(reading, die, type, "const "); break;
    case DW_TAG_volatile_type: read_other(reading, die, type, "volatile "); break;
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type: read_other(reading, die, type, ""); break;
    case DW_TAG_typedef: read_other(reading, die, type, NULL); break;
    case DW_TAG_array_type: read_array(reading, die, type); break;
    case DW_TAG_enumeration_type: read_enumeration(reading.types, die, type); break;
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_class_type: read_structure(reading, die, type); break;
    default:
        type->bytes = bytes_of(die);
        type->name = name_of(reading.types, die, "?");
        break;
    }
}

/* Behind more pointers only texts are of use. */
static bool is_beyond(struct reading reading, Dwarf_Die *die)
{
    const int tag = dwarf_tag(die);
    return reading.depth > DEPTH_MOST || reading.types->known.count > TYPES_MOST ||
           (reading.pointers > POINTERS_MOST &&
            (tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
             tag == DW_TAG_pointer_type));
}

static const struct symbolize_type *read_type(struct reading reading, Dwarf_Die *die)
{
    struct types *types = reading.types;
    const uint64_t key = (uint64_t)(uintptr_t)die->addr ^ (uint64_t)reading.pointers << 60;
    uint64_t *known = sprof_map_at(&types->known, key);
    if (known && *known)
        return (const struct symbolize_type *)(uintptr_t)*known; /* perhaps not complete yet */
    struct symbolize_type *type = sprof_arena_alloc(types->arena, sizeof *type);
    if (!known || !type) {
        types->failed = true;
        return &unknown_type;
    }
    *type = unknown_type;
    *known = (uint64_t)(uintptr_t)type;
    if (is_beyond(reading, die)) {
        type->name = name_of(types, die, "?");
        type->bytes = bytes_of(die);
        return type;
    }
    reading.depth++;
    struct symbolize_type read = unknown_type;
    read_kind(reading, die, &read);
    *type = read;
    return type;
}

const struct symbolize_type *symbolize_types_of(struct types *types, Dwarf_Die *die)
{
    Dwarf_Die of;
    return type_die(die, &of) ? read_type((struct reading){types, 0, 0}, &of) : &void_type;
}

/* == Registers == */

/* What is known of the parts of a value of at most 16 bytes. */
struct parts {
    bool has_integer[2], has_float[2]; /* in the first, in the second eight bytes */
    bool is_packed, is_unsure;
};

static void note_parts(struct parts *parts, const struct symbolize_type *type, uint32_t offset,
                       unsigned depth)
{
    if (type->kind == SYMBOLIZE_STRUCTURE || type->kind == SYMBOLIZE_STRING) {
        parts->is_unsure |= depth >= DEPTH_MOST || type->has_more;
        for (uint32_t i = 0; i < type->member_count && depth < DEPTH_MOST; i++)
            note_parts(parts, type->members[i].type, offset + type->members[i].offset, depth + 1);
        return;
    }
    if (type->kind == SYMBOLIZE_CHARACTERS && offset + type->bytes <= 16) {
        for (uint32_t i = offset / 8; i <= (offset + type->bytes - 1) / 8; i++)
            parts->has_integer[i] = true;
        return;
    }
    if (!type->bytes || type->kind == SYMBOLIZE_UNKNOWN || offset + type->bytes > 16) {
        parts->is_unsure = true;
        return;
    }
    parts->is_packed |= offset % type->bytes != 0;
    if (type->kind == SYMBOLIZE_FLOAT)
        parts->has_float[offset / 8] = true;
    else
        parts->has_integer[offset / 8] = true;
}

enum types_passing symbolize_types_classify(const struct symbolize_type *type, bool is_vector[2])
{
    struct parts parts = {0};
    if (type->is_passed_by_address || type->bytes > 16)
        return TYPES_IN_MEMORY;
    note_parts(&parts, type, 0, 0);
    if (parts.is_unsure || !type->bytes)
        return TYPES_UNSURE;
    if (parts.is_packed)
        return TYPES_IN_MEMORY;
    for (int i = 0; i < 2; i++)
        is_vector[i] = parts.has_float[i] && !parts.has_integer[i];
    if (!parts.has_integer[0] && !parts.has_float[0])
        return TYPES_NOTHING; /* an empty class */
    return type->bytes > 8 ? TYPES_IN_TWO : TYPES_IN_ONE;
}
