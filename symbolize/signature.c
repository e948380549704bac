/* Finds what functions take and return, by debug information and the calling convention. */
#include "symbolize/signature.h"
#include "symbolize/attributes.h"
#include "symbolize/classes.h"
#include "symbolize/libdw_text.h"
#include "symbolize/module.h"
#include "symbolize/paths_find.h"
#include "symbolize/types.h"
#include "symbolize/units.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { SCOPES_MOST = 16, STEPS_MOST = 1 << 26 };
enum { INTEGERS = 6, VECTORS = 8 };

struct search {
    const uint64_t *starts;
    size_t count, found_count;
    bool *is_found;
    uint64_t delta, steps;
    const struct symbolize_paths *paths; /* of each function; NULL: none */
    Dwarf *dwarf;
    struct paths_globals globals;
    Dwarf_Die unit;
    struct types types;
    int (*found)(void *context, size_t index, const struct symbolize_signature *signature);
    void *context;
    int result;
};

/* == Places == */

/* What arguments have taken so far. */
struct taken {
    unsigned integers, vectors, stack; /* registers; words */
    bool is_lost;                      /* one of a type that is not known: any of these */
};

/* Places of the stack from here on are not known where the size is not. */
static void place_on_stack(struct taken *taken, struct symbolize_value *value, unsigned words)
{
    const bool is_known = words && taken->stack + words < SYMBOLIZE_STACK_MOST;
    for (unsigned i = 0; i < words && i < 2 && is_known; i++)
        value->places[i] = (uint8_t)(SYMBOLIZE_STACK + taken->stack + i);
    taken->stack = is_known ? taken->stack + words : SYMBOLIZE_STACK_MOST;
    if (words > 2) /* more than is saved of a call */
        value->places[0] = value->places[1] = SYMBOLIZE_NOWHERE;
}

/* By the calling convention alone: for -O0 the location at the entry is a slot that the function
 * has not written yet. */
static void place_value(struct taken *taken, struct symbolize_value *value)
{
    bool is_vector[2] = {false, false};
    enum types_passing passing = symbolize_types_classify(value->type, is_vector);
    value->is_by_address = value->type->is_passed_by_address;
    if (value->is_by_address)
        passing = TYPES_IN_ONE;
    taken->is_lost |= passing == TYPES_UNSURE;
    if (taken->is_lost || passing == TYPES_NOTHING)
        return;
    const unsigned registers = passing == TYPES_IN_TWO ? 2 : passing == TYPES_IN_ONE,
                   vectors = (registers > 0 && is_vector[0] ? 1u : 0u) +
                             (registers > 1 && is_vector[1] ? 1u : 0u),
                   integers = registers - vectors;
    if (!registers || taken->integers + integers > INTEGERS || taken->vectors + vectors > VECTORS) {
        place_on_stack(taken, value, registers ? registers : (value->type->bytes + 7) / 8);
        return;
    }
    for (unsigned i = 0; i < registers; i++)
        value->places[i] = (uint8_t)(is_vector[i] ? SYMBOLIZE_VECTOR + taken->vectors++
                                                  : SYMBOLIZE_INTEGER + taken->integers++);
}

static uint8_t place_of_register(unsigned number)
{
    static const uint8_t integers[] = {[5] = 1, [4] = 2, [1] = 3, [2] = 4, [8] = 5, [9] = 6};
    if (number >= 17 && number < 17 + VECTORS)
        return (uint8_t)(SYMBOLIZE_VECTOR + number - 17);
    return number < sizeof integers && integers[number]
               ? (uint8_t)(SYMBOLIZE_INTEGER + integers[number] - 1)
               : SYMBOLIZE_NOWHERE;
}

static bool is_number(const Dwarf_Op *operation, uint64_t *number)
{
    if (operation->atom >= DW_OP_lit0 && operation->atom <= DW_OP_lit31)
        *number = operation->atom - DW_OP_lit0;
    else if (operation->atom >= DW_OP_const1u && operation->atom <= DW_OP_consts)
        *number = operation->number;
    else
        return false;
    return true;
}

/* A compiler may have dropped a parameter, and those before it: then debug information has no place
 * for it, or another one. A slot of the frame is none that holds at the entry. */
static void correct_place(Dwarf_Die *die, Dwarf_Addr entry, struct symbolize_value *value)
{
    Dwarf_Attribute attribute;
    uint64_t number;
    Dwarf_Op *operations;
    size_t length;
    if (symbolize_attribute_number(dwarf_attr_integrate(die, DW_AT_const_value, &attribute),
                                   &number)) {
        value->is_constant = true;
        value->constant = number;
        return;
    }
    if (!dwarf_attr(die, DW_AT_location, &attribute)) {
        value->places[0] = value->places[1] = SYMBOLIZE_NOWHERE;
        return;
    }
    if (dwarf_getlocation_addr(&attribute, entry, &operations, &length, 1) != 1 || !length)
        return;
    value->is_constant = length == 2 && operations[1].atom == DW_OP_stack_value &&
                         is_number(operations, &value->constant);
    const unsigned atom = operations->atom;
    const bool is_register = length == 1 && atom >= DW_OP_reg0 && atom <= DW_OP_reg31,
               is_address = length == 1 && atom >= DW_OP_breg0 && atom <= DW_OP_breg31 &&
                            !operations->number;
    const uint8_t place = is_register  ? place_of_register(atom - DW_OP_reg0)
                          : is_address ? place_of_register(atom - DW_OP_breg0)
                                       : SYMBOLIZE_NOWHERE;
    if (!place)
        return;
    value->places[0] = place;
    value->places[1] = SYMBOLIZE_NOWHERE;
    value->is_by_address = is_address;
}

/* Results that are in memory have their address in rax; the caller passes it in rdi. */
static void place_result(struct symbolize_value *result, struct taken *taken)
{
    bool is_vector[2] = {false, false};
    unsigned integers = 0, vectors = 0;
    const enum types_passing passing = symbolize_types_classify(result->type, is_vector);
    const unsigned registers = passing == TYPES_IN_TWO ? 2 : passing == TYPES_IN_ONE;
    for (unsigned i = 0; i < registers; i++)
        result->places[i] =
            (uint8_t)(is_vector[i] ? SYMBOLIZE_VECTOR + vectors++ : SYMBOLIZE_INTEGER + integers++);
    if (passing == TYPES_IN_MEMORY) {
        result->is_by_address = true;
        result->places[0] = SYMBOLIZE_INTEGER;
        taken->integers = 1;
    }
    const bool is_structure =
        result->type->kind == SYMBOLIZE_STRUCTURE || result->type->kind == SYMBOLIZE_STRING;
    taken->is_lost = passing == TYPES_UNSURE && is_structure;
}

/* == Functions == */

static void add_parameter(struct search *search, Dwarf_Die *die, Dwarf_Addr entry,
                          struct symbolize_signature *signature, struct taken *taken)
{
    const char *name = symbolize_libdw_name(die);
    if (signature->count == SYMBOLIZE_PARAMETERS) {
        signature->has_more = true;
        return;
    }
    struct symbolize_value *value = &signature->parameters[signature->count++];
    *value =
        (struct symbolize_value){.name = name ? sprof_arena_text(search->types.arena, name) : NULL,
                                 .type = symbolize_types_of(&search->types, die)};
    place_value(taken, value);
    correct_place(die, entry, value);
    if (signature->count == 1 && value->name && !strcmp(value->name, "this") && value->type->to)
        symbolize_classes_find(&search->types, die, signature);
}

/* Looks for the paths of a function whose parameters are read. */
static void find_paths(struct search *search, Dwarf_Die *die, size_t index,
                       struct symbolize_signature *signature)
{
    const struct symbolize_paths *paths = search->paths ? &search->paths[index] : NULL;
    if (!paths || !paths->count)
        return;
    struct symbolize_located *located =
        sprof_arena_alloc(search->types.arena, paths->count * sizeof *located);
    const struct paths_search in = {.dwarf = search->dwarf,
                                    .globals = &search->globals,
                                    .delta = search->delta,
                                    .unit = search->unit,
                                    .function = *die,
                                    .types = &search->types};
    search->types.failed |= !located;
    for (uint32_t i = 0; i < paths->count && located; i++)
        symbolize_paths_find(&in, paths->paths[i], signature, &located[i]);
    signature->located = located;
    signature->located_count = located ? paths->count : 0;
}

static void read_function(struct search *search, Dwarf_Die *die, Dwarf_Addr entry, size_t index)
{
    struct symbolize_signature signature = {
        .result = {.type = symbolize_types_of(&search->types, die)}};
    struct taken taken = {0};
    Dwarf_Die child;
    place_result(&signature.result, &taken);
    int more = dwarf_child(die, &child);
    for (; !more; more = dwarf_siblingof(&child, &child)) {
        const int tag = dwarf_tag(&child);
        signature.has_more |= tag == DW_TAG_unspecified_parameters;
        if (tag == DW_TAG_formal_parameter)
            add_parameter(search, &child, entry, &signature, &taken);
    }
    find_paths(search, die, index, &signature);
    search->is_found[index] = true;
    search->found_count++;
    search->result =
        search->types.failed ? SPROF_ENOMEM : search->found(search->context, index, &signature);
}

static int compare(const void *a, const void *b)
{
    const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return first < second ? -1 : first > second;
}

static void take_function(struct search *search, Dwarf_Die *die)
{
    Dwarf_Addr entry, base, end;
    if (dwarf_entrypc(die, &entry) && dwarf_ranges(die, 0, &base, &entry, &end) <= 0)
        return;
    const uint64_t start = entry - search->delta;
    const uint64_t *wanted =
        bsearch(&start, search->starts, search->count, sizeof *search->starts, compare);
    if (wanted && !search->is_found[wanted - search->starts])
        read_function(search, die, entry, (size_t)(wanted - search->starts));
}

/* Looks through the entries side by side, and into namespaces and classes. */
static void search_entries(struct search *search, Dwarf_Die *parent, unsigned depth)
{
    Dwarf_Die die;
    if (depth > SCOPES_MOST || dwarf_child(parent, &die))
        return;
    do {
        const int tag = dwarf_tag(&die);
        if (tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
            tag == DW_TAG_module)
            search_entries(search, &die, depth + 1);
        else if (tag == DW_TAG_subprogram)
            take_function(search, &die);
    } while (!search->result && search->found_count < search->count &&
             search->steps++ < STEPS_MOST && !dwarf_siblingof(&die, &die));
}

int symbolize_signatures(struct image *image, const struct symbolize_options *options,
                         const uint64_t *starts, size_t count, const struct symbolize_paths *paths,
                         struct sprof_arena *arena,
                         int (*found)(void *context, size_t index,
                                      const struct symbolize_signature *signature),
                         void *context)
{
    static const struct symbolize_options defaults = {0};
    struct search search = {.starts = starts,
                            .count = count,
                            .paths = paths,
                            .is_found = calloc(count + 1, sizeof *search.is_found),
                            .types = {.arena = arena},
                            .found = found,
                            .context = context};
    struct module module;
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    if (!search.is_found)
        return SPROF_ENOMEM;
    struct image *debug = symbolize_module_open_debug(image, options ? options : &defaults, NULL);
    if (symbolize_module_open(&module, image, options ? options : &defaults)) {
        Dwarf *dwarf = symbolize_module_dwarf(&module, debug, &search.delta);
        search.dwarf = dwarf;
        while (dwarf && !search.result && search.found_count < count &&
               dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
            search.unit = symbolize_units_functions_of(&die);
            search_entries(&search, &search.unit, 0);
        }
    }
    symbolize_module_release(&module);
    image_free(debug);
    symbolize_paths_globals_release(&search.globals);
    types_release(&search.types);
    free(search.is_found);
    return search.result;
}
