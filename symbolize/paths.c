/* Finds the values that paths name, by libdw's entries. */
#include "symbolize/paths.h"
#include "symbolize/attributes.h"
#include "symbolize/libdw_text.h"
#include "symbolize/paths_find.h"
#include "symbolize/units.h"

#include <dwarf.h>
#include <stdarg.h>
#include <string.h>

enum { SCOPES_MOST = 16, FIELDS_MOST = 1 << 12, QUALIFIERS_MOST = 32, ENTRIES_MOST = 1 << 24 };

/* == Problems == */

__attribute__((format(printf, 4, 5))) static void refuse(const struct paths_search *search,
                                                         struct symbolize_located *located,
                                                         const char *at, const char *format, ...)
{
    struct sprof_str text = {0};
    va_list arguments;
    char line[512];
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    sprof_utf8_clean(&text, line);
    located->problem = text.failed ? NULL : sprof_arena_text(search->types->arena, text.text);
    if (!located->problem)
        located->problem = "is not known: memory ran out";
    located->problem_at = at;
    sprof_str_release(&text);
}

static void refuse_name(const struct paths_search *search, struct symbolize_located *located,
                        const char *at, const char *what, const struct sprof_suggestions *near)
{
    struct sprof_str text = {0};
    sprof_suggest_append(&text, near);
    refuse(search, located, at, "%s%s", what, text.text ? text.text : "");
    sprof_str_release(&text);
}

/* `what` is said of the variable with which a path begins. */
static void refuse_variable(const struct paths_search *search, struct symbolize_located *located,
                            const struct symbolize_path *path, const char *what)
{
    refuse(search, located, path->name, "'%.*s' %s", (int)path->name_length, path->name, what);
}

static bool is_named(Dwarf_Die *die, const char *name, uint32_t length)
{
    const char *own = symbolize_libdw_name(die);
    return own && strlen(own) == length && !memcmp(own, name, length);
}

/* A word of a path as a text of its own, for suggestions. */
struct word {
    char text[64];
};

static struct word word_of(const char *name, uint32_t length)
{
    struct word word;
    snprintf(word.text, sizeof word.text, "%.*s", (int)length, name);
    return word;
}

/* == Variables == */

/* The address of a variable. False: it has none that is always the same; *why. */
static bool has_place(Dwarf_Die *die, uint64_t *address, const char **why)
{
    Dwarf_Attribute attribute, at;
    Dwarf_Op *operations;
    size_t count;
    *why = "is a local variable, which is gone when the call has ended: capture a field or static "
           "variable that has the value, or note it in the program by sprof_note() of <sprof.h>";
    if (!dwarf_attr_integrate(die, DW_AT_location, &attribute)) {
        *why = "has no place: the compiler has put its value into the code";
        return false;
    }
    if (dwarf_getlocation(&attribute, &operations, &count) || !count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (operations[i].atom == DW_OP_GNU_push_tls_address ||
            operations[i].atom == DW_OP_form_tls_address) {
            *why = "is another variable in each thread, and is not read: capture it by a pointer "
                   "that leads to it, or note it in the program by sprof_note() of <sprof.h>";
            return false;
        }
    if (count != 1)
        return false;
    if (operations->atom == DW_OP_addr) {
        *address = operations->number;
        return true;
    }
    Dwarf_Addr found;
    if ((operations->atom != DW_OP_addrx && operations->atom != DW_OP_GNU_addr_index) ||
        dwarf_getlocation_attr(&attribute, operations, &at) || dwarf_formaddr(&at, &found))
        return false;
    *address = found;
    return true;
}

/* A variable of the function, or of a block in it. */
static bool find_local(Dwarf_Die *parent, const struct symbolize_path *path, unsigned depth,
                       Dwarf_Die *found, struct sprof_suggestions *near)
{
    const struct word word = word_of(path->name, path->name_length);
    Dwarf_Die die;
    bool is = false;
    if (depth > SCOPES_MOST || dwarf_child(parent, &die))
        return false;
    do {
        const int tag = dwarf_tag(&die);
        if (tag == DW_TAG_lexical_block && !is)
            is = find_local(&die, path, depth + 1, found, near);
        if (tag != DW_TAG_variable || is)
            continue;
        is = is_named(&die, path->name, path->name_length);
        if (is)
            *found = die;
        else if (symbolize_libdw_name(&die))
            sprof_suggest_offer(near, word.text, symbolize_libdw_name(&die));
    } while (!is && !dwarf_siblingof(&die, &die));
    return is;
}

/* The last part of a name, and whether the scopes before it, as far as they are given, are those of
 * an entry at that depth. */
struct scoped_name {
    const char *last;
    uint32_t last_length;
    uint32_t scopes; /* how many are given */
    struct {
        const char *name;
        uint32_t length;
    } scope[SCOPES_MOST];
};

static struct scoped_name split_name(const struct symbolize_path *path)
{
    struct scoped_name name = {0};
    const char *at = path->name, *end = path->name + path->name_length, *colon;
    while ((colon = memmem(at, (size_t)(end - at), "::", 2))) {
        if (colon > at && name.scopes < SCOPES_MOST) {
            name.scope[name.scopes].name = at;
            name.scope[name.scopes++].length = (uint32_t)(colon - at);
        }
        at = colon + 2;
    }
    name.last = at;
    name.last_length = (uint32_t)(end - at);
    return name;
}

struct global_search {
    const struct scoped_name *name;
    struct paths_global *global;
    uint64_t steps;
    struct word word;
};

/* `matched`: so many of the scopes have been entered. */
static void search_globals(struct global_search *search, Dwarf_Die *parent, uint32_t matched,
                           unsigned depth)
{
    const struct scoped_name *name = search->name;
    struct paths_global *global = search->global;
    Dwarf_Die die;
    if (depth > SCOPES_MOST || dwarf_child(parent, &die))
        return;
    do {
        const int tag = dwarf_tag(&die);
        const bool is_scope =
            tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
        const char *why = NULL;
        if (is_scope) {
            const bool is_next = matched < name->scopes && is_named(&die, name->scope[matched].name,
                                                                    name->scope[matched].length);
            search_globals(search, &die, matched + is_next, depth + 1);
        }
        /* A definition beside its class says of which it is by its declaration alone. */
        const bool is_apart = dwarf_hasattr(&die, DW_AT_specification);
        if (tag != DW_TAG_variable || global->is_found || (matched < name->scopes && !is_apart))
            continue;
        if (is_named(&die, name->last, name->last_length)) {
            global->is_found = has_place(&die, &global->address, &why);
            if (global->is_found)
                global->found = die;
            else if (!dwarf_hasattr(&die, DW_AT_declaration))
                global->why = why;
        } else if (symbolize_libdw_name(&die)) {
            sprof_suggest_offer(&global->near, search->word.text, symbolize_libdw_name(&die));
        }
    } while (!global->is_found && search->steps++ < ENTRIES_MOST && !dwarf_siblingof(&die, &die));
}

static void search_file(Dwarf *dwarf, struct global_search *search)
{
    Dwarf_CU *next = NULL;
    Dwarf_Die die;
    while (!search->global->is_found && search->steps < ENTRIES_MOST &&
           dwarf_get_units(dwarf, next, &next, NULL, NULL, &die, NULL) == 0) {
        Dwarf_Die all = symbolize_units_functions_of(&die);
        search_globals(search, &all, 0, 0);
    }
}

static const struct paths_global *known_global(const struct paths_globals *globals,
                                               const struct symbolize_path *path)
{
    for (size_t i = 0; i < globals->items.count; i++) {
        const struct paths_global *known = &globals->items.items[i];
        if (known->name_length == path->name_length &&
            !memcmp(known->name, path->name, path->name_length))
            return known;
    }
    return NULL;
}

/* Looks in the function's unit first: others may have variables of the same name. */
static struct paths_global find_global(const struct paths_search *of,
                                       const struct symbolize_path *path,
                                       const struct sprof_suggestions *near)
{
    const struct scoped_name name = split_name(path);
    struct paths_global own = {.near = *near},
                        all = {.name = path->name, .name_length = path->name_length};
    struct global_search search = {
        .name = &name, .global = &own, .word = word_of(name.last, name.last_length)};
    Dwarf_Die unit = of->unit;
    search_globals(&search, &unit, 0, 0);
    if (own.is_found)
        return own;
    const struct paths_global *known = known_global(of->globals, path);
    if (!known) {
        search.global = &all;
        search.steps = 0;
        search_file(of->dwarf, &search);
        known = sprof_vec_push(&of->globals->items, all)
                    ? &all
                    : &of->globals->items.items[of->globals->items.count - 1];
    }
    all = *known;
    all.why = all.why ? all.why : own.why;
    for (size_t i = 0; i < own.near.count; i++)
        sprof_suggest_offer(&all.near, search.word.text, own.near.names[i]);
    return all;
}

void symbolize_paths_globals_release(struct paths_globals *globals)
{
    sprof_vec_release(&globals->items);
}

/* == Types == */

bool symbolize_paths_type(Dwarf_Die *holder, Dwarf_Die *type)
{
    Dwarf_Die at = *holder;
    for (int i = 0; i < QUALIFIERS_MOST; i++) {
        Dwarf_Attribute attribute;
        if (!dwarf_attr_integrate(&at, DW_AT_type, &attribute) ||
            !dwarf_formref_die(&attribute, type))
            return false;
        switch (dwarf_tag(type)) {
        case DW_TAG_typedef:
        case DW_TAG_const_type:
        case DW_TAG_volatile_type:
        case DW_TAG_restrict_type:
        case DW_TAG_atomic_type: at = *type; break;
        default: return true;
        }
    }
    return false;
}

static bool is_pointer(Dwarf_Die *type)
{
    const int tag = dwarf_tag(type);
    return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
           tag == DW_TAG_rvalue_reference_type;
}

static bool is_structure(Dwarf_Die *type)
{
    const int tag = dwarf_tag(type);
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* A field of a structure, of its bases, and of members without a name. *offset: added to. *steps:
 * as many entries are looked at: damaged ones may be bases of themselves. */
static bool find_field(Dwarf_Die *structure, const char *name, uint32_t length, uint32_t *steps,
                       Dwarf_Die *field, uint64_t *offset, struct sprof_suggestions *near)
{
    const struct word word = word_of(name, length);
    Dwarf_Die die, of;
    bool is = false;
    if (!*steps || !--*steps || dwarf_child(structure, &die))
        return false;
    do {
        const int tag = dwarf_tag(&die);
        Dwarf_Attribute attribute;
        uint64_t at = 0;
        const bool is_member = tag == DW_TAG_member && !dwarf_hasattr(&die, DW_AT_declaration);
        if (!is_member && tag != DW_TAG_inheritance)
            continue;
        if (dwarf_hasattr(&die, DW_AT_data_member_location) &&
            !symbolize_attribute_number(dwarf_attr(&die, DW_AT_data_member_location, &attribute),
                                        &at))
            continue; /* of a virtual base */
        uint64_t below = 0;
        if (is_member && symbolize_libdw_name(&die)) {
            is = is_named(&die, name, length) && !dwarf_hasattr(&die, DW_AT_bit_size);
            if (is)
                *field = die;
            if (!dwarf_hasattr(&die, DW_AT_bit_size))
                sprof_suggest_offer(near, word.text, symbolize_libdw_name(&die));
        } else if (symbolize_paths_type(&die, &of) && is_structure(&of)) {
            is = find_field(&of, name, length, steps, field, &below, near);
        }
        if (is)
            *offset += at + below;
    } while (!is && *steps && --*steps && !dwarf_siblingof(&die, &die));
    return is;
}

/* == The way == */

/* Where the way has come to: `holder` has the type of what lies there. */
struct way {
    Dwarf_Die holder;
    uint64_t offset;
};

static bool add_offset(struct symbolize_located *located, const struct way *way)
{
    located->offsets[located->follows] = (uint32_t)way->offset;
    return way->offset <= UINT16_MAX;
}

/* Goes on where the pointer leads that lies there. */
static bool follow(struct symbolize_located *located, struct way *way, const Dwarf_Die *pointer)
{
    if (!add_offset(located, way))
        return false;
    located->follows++;
    way->holder = *pointer;
    way->offset = 0;
    return true;
}

static bool take_step(const struct paths_search *search, const struct symbolize_path *path,
                      uint32_t step, struct symbolize_located *located, struct way *way)
{
    const char *name = path->steps[step].name;
    const uint32_t length = path->steps[step].length;
    uint32_t steps = FIELDS_MOST;
    struct sprof_suggestions near = {0};
    Dwarf_Die type;
    bool has = symbolize_paths_type(&way->holder, &type);
    if (has && is_pointer(&type)) {
        if (!follow(located, way, &type)) {
            refuse(search, located, name, "lies too far behind the beginning of its structure");
            return false;
        }
        has = symbolize_paths_type(&way->holder, &type);
    }
    if (!has || !is_structure(&type)) {
        refuse(search, located, name, "what stands before it is no structure, nor leads to one");
        return false;
    }
    const char *structure = symbolize_libdw_name(&type);
    if (find_field(&type, name, length, &steps, &way->holder, &way->offset, &near))
        return true;
    char what[256];
    snprintf(what, sizeof what,
             dwarf_hasattr(&type, DW_AT_declaration)
                 ? "'%.100s' is only declared where the function is"
                 : "'%.100s' has no such field that is made of bytes",
             structure ? structure : "the structure");
    refuse_name(search, located, name, what, &near);
    return false;
}

static void walk(const struct paths_search *search, const struct symbolize_path *path,
                 struct symbolize_located *located, struct way *way)
{
    Dwarf_Die type;
    for (uint32_t i = 0; i < path->step_count; i++)
        if (!take_step(search, path, i, located, way))
            return;
    if (path->is_followed) {
        const bool has = symbolize_paths_type(&way->holder, &type);
        if (!has || !is_pointer(&type) || !follow(located, way, &type)) {
            refuse(search, located, path->text, "* stands before what is no pointer");
            return;
        }
    }
    if (!add_offset(located, way)) {
        refuse(search, located, path->name, "lies too far behind the beginning of its structure");
        return;
    }
    located->type = symbolize_types_of(search->types, &way->holder);
    if (located->type->kind == SYMBOLIZE_VOID || located->type->kind == SYMBOLIZE_UNKNOWN)
        refuse(search, located, path->name, "has a type of which no value can be shown: %s",
               located->type->name);
}

/* == Beginnings == */

/* The parameter of that name, by its number among the described ones. */
static bool find_parameter(Dwarf_Die *function, const char *name, uint32_t length, Dwarf_Die *found,
                           uint32_t *number, struct sprof_suggestions *near)
{
    const struct word word = word_of(name, length);
    Dwarf_Die die;
    *number = 0;
    for (int more = dwarf_child(function, &die); !more; more = dwarf_siblingof(&die, &die)) {
        if (dwarf_tag(&die) != DW_TAG_formal_parameter)
            continue;
        if (is_named(&die, name, length)) {
            *found = die;
            return *number < SYMBOLIZE_PARAMETERS;
        }
        if (symbolize_libdw_name(&die))
            sprof_suggest_offer(near, word.text, symbolize_libdw_name(&die));
        ++*number;
    }
    return false;
}

/* A value in registers has no address; one whose address is passed, and a pointer, have. */
static void begin_parameter(const struct paths_search *search, const struct symbolize_path *path,
                            const struct symbolize_signature *signature,
                            struct symbolize_located *located)
{
    const struct symbolize_value *value = &signature->parameters[located->parameter];
    located->base = SYMBOLIZE_OF_PARAMETER;
    located->is_direct = value->is_by_address;
    const bool leads = value->is_by_address || value->type->kind == SYMBOLIZE_POINTER ||
                       value->type->kind == SYMBOLIZE_REFERENCE;
    if (value->is_constant || !value->places[0])
        refuse_variable(search, located, path, "is not passed: the compiler has left it out");
    else if (!leads && (path->step_count || path->is_followed))
        refuse_variable(search, located, path,
                        "is passed in registers, so its fields have no address; --args shows them");
}

/* Fields of the object of a member function need no `this`. */
static bool find_own_field(const struct paths_search *search, const struct symbolize_path *path,
                           Dwarf_Die *self, struct way *way, struct symbolize_located *located,
                           struct sprof_suggestions *near)
{
    Dwarf_Die type, of;
    uint32_t steps = FIELDS_MOST;
    way->holder = *self;
    way->offset = 0;
    (void)search;
    return symbolize_paths_type(self, &type) && is_pointer(&type) &&
           symbolize_paths_type(&type, &of) && is_structure(&of) && follow(located, way, &type) &&
           find_field(&of, path->name, path->name_length, &steps, &way->holder, &way->offset, near);
}

static void begin_global(const struct paths_search *search, const struct symbolize_path *path,
                         struct symbolize_located *located, struct way *way,
                         const struct sprof_suggestions *near)
{
    const struct paths_global global = find_global(search, path, near);
    if (global.is_found) {
        located->base = SYMBOLIZE_OF_PLACE;
        located->place = global.address - search->delta;
        way->holder = global.found;
    } else if (global.why) {
        refuse_variable(search, located, path, global.why);
    } else {
        refuse_name(search, located, path->name,
                    "no parameter, static variable or variable of the file has that name",
                    &global.near);
    }
}

void symbolize_paths_find(const struct paths_search *search, const struct symbolize_path *path,
                          const struct symbolize_signature *signature,
                          struct symbolize_located *located)
{
    struct sprof_suggestions near = {0};
    Dwarf_Die function = search->function, found;
    struct way way = {0};
    const char *why;
    uint32_t first;
    *located = (struct symbolize_located){0};
    if (find_parameter(&function, path->name, path->name_length, &found, &located->parameter,
                       &near)) {
        way.holder = found;
        begin_parameter(search, path, signature, located);
    } else if (find_local(&function, path, 0, &found, &near)) {
        located->base = SYMBOLIZE_OF_PLACE;
        way.holder = found;
        if (!has_place(&found, &located->place, &why))
            refuse_variable(search, located, path, why);
        located->place -= search->delta;
    } else if (find_parameter(&function, "this", 4, &found, &first,
                              &(struct sprof_suggestions){0}) &&
               find_own_field(search, path, &found, &way, located, &near)) {
        located->parameter = first;
        located->base = SYMBOLIZE_OF_PARAMETER;
    } else {
        located->follows = 0;
        way = (struct way){0};
        begin_global(search, path, located, &way, &near);
    }
    if (!located->problem)
        walk(search, path, located, &way);
}
