/* Writes C++ types and template arguments as libiberty's demangler does. */
#include "symbolize/cxx_types.h"

#include "symbolize/demangle.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64, MAX_LENGTH = 16 << 10, MAX_STEPS = 1 << 14 };

void symbolize_cxx_put(struct cxx_text *text, const char *piece)
{
    if (text->out.length + strlen(piece) > MAX_LENGTH)
        text->failed = true;
    if (!text->failed)
        sprof_str_append(&text->out, piece);
}

bool symbolize_cxx_read(struct cxx_text *text, uint64_t self, int depth, struct dwarf_node *node)
{
    const bool done = !text->failed && depth < MAX_DEPTH && ++text->steps < MAX_STEPS &&
                      text->tree->calls->read(text->tree->source, self, node);
    text->failed |= !done;
    return done;
}

bool symbolize_cxx_is_class(uint16_t tag)
{
    return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/* == Fundamental types == */

static const struct {
    const char *written, *printed;
    const char *suffix; /* of a number of this type; NULL: "(type)number" */
} fundamental[] = {
    {"int", "int", ""},
    {"unsigned int", "unsigned int", "u"},
    {"long int", "long", "l"},
    {"long", "long", "l"},
    {"long unsigned int", "unsigned long", "ul"},
    {"unsigned long", "unsigned long", "ul"},
    {"long long int", "long long", "ll"},
    {"long long", "long long", "ll"},
    {"long long unsigned int", "unsigned long long", "ull"},
    {"unsigned long long", "unsigned long long", "ull"},
    {"short int", "short", NULL},
    {"short unsigned int", "unsigned short", NULL},
    {"__int128 unsigned", "unsigned __int128", NULL},
    {"_Bool", "bool", NULL},
};

const char *symbolize_cxx_fundamental(const char *written, const char **suffix)
{
    *suffix = NULL;
    for (size_t i = 0; i < sizeof fundamental / sizeof *fundamental; i++)
        if (!strcmp(fundamental[i].written, written)) {
            *suffix = fundamental[i].suffix;
            return fundamental[i].printed;
        }
    return written;
}

/* == Parameters == */

struct parameters {
    struct cxx_text *text;
    unsigned count;
    int depth;
};

static void note_auto(void *context, uint64_t child, uint16_t tag)
{
    struct parameters *parameters = context;
    struct cxx_text *text = parameters->text;
    struct dwarf_node node;
    if (tag == DW_TAG_template_type_parameter && text->auto_count < CXX_AUTO_MAX &&
        symbolize_cxx_read(text, child, parameters->depth, &node) && node.name &&
        !strncmp(node.name, "auto:", 5))
        text->autos[text->auto_count++] = node.type;
}

/* Of a generic lambda's parameter the next type that was deduced: "auto:1". A reference is deduced
 * for "auto &&" alone. */
static bool put_auto(struct cxx_text *text, uint64_t type)
{
    char name[24];
    struct dwarf_node node;
    if (text->autos_put >= text->auto_count || text->autos[text->autos_put] != type || !type ||
        !symbolize_cxx_read(text, type, 0, &node))
        return false;
    snprintf(name, sizeof name, "auto:%u%s", ++text->autos_put,
             node.tag == DW_TAG_reference_type ? "&&" : "");
    symbolize_cxx_put(text, name);
    return true;
}

/* The qualifiers of a parameter itself are no part of its function's name. */
static uint64_t without_qualifiers(struct cxx_text *text, uint64_t type, int depth)
{
    struct dwarf_node node;
    while (type && symbolize_cxx_read(text, type, depth++, &node) &&
           (node.tag == DW_TAG_const_type || node.tag == DW_TAG_volatile_type ||
            node.tag == DW_TAG_restrict_type || node.tag == DW_TAG_typedef)) {
        if (node.tag == DW_TAG_typedef) {
            struct dwarf_node target;
            if (!node.type || !symbolize_cxx_read(text, node.type, depth, &target) ||
                (symbolize_cxx_is_class(target.tag) && !target.name))
                break;
        }
        type = node.type;
    }
    return type;
}

static void put_parameter(void *context, uint64_t child, uint16_t tag)
{
    struct parameters *parameters = context;
    struct cxx_text *text = parameters->text;
    struct dwarf_node node;
    if (tag == DW_TAG_GNU_formal_parameter_pack && parameters->depth < MAX_DEPTH)
        text->tree->calls->each_child(text->tree->source, child, put_parameter, parameters);
    if (tag != DW_TAG_formal_parameter && tag != DW_TAG_unspecified_parameters)
        return;
    if (!symbolize_cxx_read(text, child, parameters->depth, &node) || node.artificial)
        return;
    for (int i = 0; !node.type && node.origin && i < 4; i++)
        if (!symbolize_cxx_read(text, node.origin, parameters->depth, &node))
            return;
    if (parameters->count++)
        symbolize_cxx_put(text, ", ");
    if (tag == DW_TAG_unspecified_parameters)
        symbolize_cxx_put(text, "...");
    else
        symbolize_cxx_put_type(text, without_qualifiers(text, node.type, parameters->depth), "",
                               parameters->depth + 1);
}

void symbolize_cxx_put_parameters(struct cxx_text *text, uint64_t function, int depth)
{
    struct parameters parameters = {.text = text, .depth = depth};
    symbolize_cxx_put(text, "(");
    text->tree->calls->each_child(text->tree->source, function, put_parameter, &parameters);
    symbolize_cxx_put(text, ")");
}

void symbolize_cxx_put_lambda_parameters(struct cxx_text *text, uint64_t function, int depth)
{
    struct parameters parameters = {.text = text, .depth = depth};
    text->auto_count = text->autos_put = 0;
    text->tree->calls->each_child(text->tree->source, function, note_auto, &parameters);
    symbolize_cxx_put_parameters(text, function, depth);
    text->auto_count = 0;
}

/* == Types == */

static void note_first_parameter(void *context, uint64_t child, uint16_t tag)
{
    uint64_t *first = context;
    if (!*first && tag == DW_TAG_formal_parameter)
        *first = child;
}

/* " const" behind the parameters of a member function whose `this` points to a constant. */
void symbolize_cxx_put_qualifiers(struct cxx_text *text, const struct dwarf_node *function,
                                  int depth)
{
    uint64_t object = function->object_pointer;
    struct dwarf_node node;
    if (!object)
        text->tree->calls->each_child(text->tree->source, function->self, note_first_parameter,
                                      &object);
    if (object && symbolize_cxx_read(text, object, depth, &node) && node.artificial) {
        uint64_t type = node.type;
        while (type && symbolize_cxx_read(text, type, depth++, &node) &&
               node.tag == DW_TAG_const_type)
            type = node.type;
        type = type && node.tag == DW_TAG_pointer_type ? node.type : 0;
        bool constant = false, changing = false;
        while (type && symbolize_cxx_read(text, type, depth++, &node) &&
               (node.tag == DW_TAG_const_type || node.tag == DW_TAG_volatile_type)) {
            constant |= node.tag == DW_TAG_const_type;
            changing |= node.tag == DW_TAG_volatile_type;
            type = node.type;
        }
        symbolize_cxx_put(text, constant ? " const" : "");
        symbolize_cxx_put(text, changing ? " volatile" : "");
    }
    if (function->on_lvalues)
        symbolize_cxx_put(text, " &");
    if (function->on_rvalues)
        symbolize_cxx_put(text, " &&");
}

/* "void (*)(int)": the declarator stands between the type and what it is made of. */
static void put_enclosed(struct cxx_text *text, const struct dwarf_node *node, const char *inner,
                         int depth)
{
    symbolize_cxx_put_type(text, node->type, "", depth + 1);
    symbolize_cxx_put(text, " ");
    if (*inner) {
        symbolize_cxx_put(text, "(");
        symbolize_cxx_put(text, inner + (*inner == ' '));
        symbolize_cxx_put(text, ")");
    }
}

static void put_dimension(void *context, uint64_t child, uint16_t tag)
{
    struct cxx_text *text = context;
    struct dwarf_node node;
    char digits[32] = "[]";
    if (tag != DW_TAG_subrange_type || !symbolize_cxx_read(text, child, 0, &node))
        return;
    if (node.has_bound)
        snprintf(digits, sizeof digits, "[%" PRIu64 "]", node.bound);
    symbolize_cxx_put(text, digits);
}

static void put_wrapped(struct cxx_text *text, const struct dwarf_node *node, const char *mark,
                        const char *inner, int depth)
{
    struct sprof_str made = {0};
    if (sprof_str_appendf(&made, "%s%s", mark, inner) || made.length > MAX_LENGTH)
        text->failed = true;
    else
        symbolize_cxx_put_type(text, node->type, made.text, depth + 1);
    sprof_str_release(&made);
}

static void put_member_pointer(struct cxx_text *text, const struct dwarf_node *node,
                               const char *inner, int depth)
{
    struct cxx_text owner = {.tree = text->tree, .parts = text->parts, .steps = text->steps};
    symbolize_cxx_put(&owner, " ");
    symbolize_cxx_put_type(&owner, node->containing, "", depth + 1);
    symbolize_cxx_put(&owner, "::*");
    text->failed |= owner.failed || owner.out.failed;
    text->steps = owner.steps;
    if (!text->failed)
        put_wrapped(text, node, owner.out.text, inner, depth);
    sprof_str_release(&owner.out);
}

/* GCC says of an unnamed class with the name of its typedef how that is mangled. */
static bool put_linkage_name(struct cxx_text *text, const struct dwarf_node *node)
{
    struct sprof_str mangled = {0};
    char *name = NULL;
    if (node->name || !node->linkage_name)
        return false;
    if (!sprof_str_appendf(&mangled, "_Z%s", node->linkage_name))
        name = symbolize_demangle_name(mangled.text, false);
    const bool known = name != NULL;
    if (known)
        symbolize_cxx_put(text, name);
    sprof_str_release(&mangled);
    free(name);
    return known;
}

static void put_named(struct cxx_text *text, const struct dwarf_node *node, int depth)
{
    const uint64_t declared = node->specification ? node->specification : node->self;
    struct dwarf_node named = *node;
    if (node->specification && !node->name && !symbolize_cxx_read(text, declared, depth, &named))
        return;
    text->parts->put_scope(text, declared, depth + 1);
    if (!named.name)
        text->failed = true;
    else
        text->parts->put_own_name(text, &named, depth + 1);
}

static void put_typedef(struct cxx_text *text, const struct dwarf_node *node, const char *inner,
                        int depth)
{
    struct dwarf_node target;
    if (!node->type) {
        symbolize_cxx_put_type(text, 0, inner, depth + 1);
    } else if (symbolize_cxx_read(text, node->type, depth, &target) &&
               symbolize_cxx_is_class(target.tag) && !target.name && node->name) {
        put_named(text, node, depth); /* an unnamed class is called as its typedef */
        symbolize_cxx_put(text, inner);
    } else {
        symbolize_cxx_put_type(text, node->type, inner, depth + 1);
    }
}

void symbolize_cxx_put_type(struct cxx_text *text, uint64_t type, const char *inner, int depth)
{
    struct dwarf_node node;
    const char *suffix;
    if (!type) {
        symbolize_cxx_put(text, "void");
        symbolize_cxx_put(text, inner);
        return;
    }
    if (put_auto(text, type)) {
        symbolize_cxx_put(text, inner);
        return;
    }
    if (!symbolize_cxx_read(text, type, depth, &node))
        return;
    switch (node.tag) {
    case DW_TAG_pointer_type: put_wrapped(text, &node, "*", inner, depth); break;
    case DW_TAG_reference_type: put_wrapped(text, &node, "&", inner, depth); break;
    case DW_TAG_rvalue_reference_type: put_wrapped(text, &node, "&&", inner, depth); break;
    case DW_TAG_const_type: put_wrapped(text, &node, " const", inner, depth); break;
    case DW_TAG_volatile_type: put_wrapped(text, &node, " volatile", inner, depth); break;
    case DW_TAG_restrict_type: put_wrapped(text, &node, " __restrict", inner, depth); break;
    case DW_TAG_typedef: put_typedef(text, &node, inner, depth); break;
    case DW_TAG_ptr_to_member_type: put_member_pointer(text, &node, inner, depth); break;
    case DW_TAG_array_type:
        put_enclosed(text, &node, inner, depth);
        symbolize_cxx_put(text, *inner ? " " : "");
        text->tree->calls->each_child(text->tree->source, node.self, put_dimension, text);
        break;
    case DW_TAG_subroutine_type:
        put_enclosed(text, &node, inner, depth);
        symbolize_cxx_put_parameters(text, node.self, depth + 1);
        symbolize_cxx_put_qualifiers(text, &node, depth + 1);
        break;
    case DW_TAG_base_type:
    case DW_TAG_unspecified_type:
        symbolize_cxx_put(text, node.name ? symbolize_cxx_fundamental(node.name, &suffix) : "?");
        symbolize_cxx_put(text, inner);
        break;
    default:
        if (symbolize_cxx_is_class(node.tag) || node.tag == DW_TAG_enumeration_type) {
            if (node.name || node.specification)
                put_named(text, &node, depth);
            else if (!put_linkage_name(text, &node))
                text->parts->put_unnamed(text, &node, depth);
            symbolize_cxx_put(text, inner);
        } else {
            text->failed = true;
        }
    }
}
