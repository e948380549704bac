/* Writes the scopes of C++ functions and types, and numbers lambdas as mangled names do. */
#include "symbolize/cxx_types.h"

#include "symbolize/demangle.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* == Lambdas and other classes without names == */

/* Where a class stands in its source: what it is numbered by. */
struct standing {
    uint64_t line, column, position;
};

static bool is_before(const struct standing *a, const struct standing *b)
{
    if (a->line != b->line)
        return a->line < b->line;
    if (a->column != b->column)
        return a->column < b->column;
    return a->position < b->position;
}

struct call_operator {
    struct cxx_text *text;
    uint64_t found;
};

static void find_call_operator(void *context, uint64_t child, uint16_t tag)
{
    struct call_operator *call = context;
    struct dwarf_node node;
    if (tag == DW_TAG_subprogram && !call->found &&
        symbolize_cxx_read(call->text, child, 0, &node) && node.name &&
        !strncmp(node.name, "operator()", 10))
        call->found = child;
}

/* The operator() of a class that is a lambda, 0 where it is none. */
static uint64_t call_operator_of(struct cxx_text *text, const struct dwarf_node *class)
{
    struct call_operator call = {.text = text};
    if (class->name && strncmp(class->name, "<lambda", 7))
        return 0;
    text->tree->calls->each_child(text->tree->source, class->self, find_call_operator, &call);
    return call.found;
}

struct numbering {
    struct cxx_text *text;
    struct standing standing;
    bool of_lambdas;
    unsigned number;
    int depth;
};

static struct standing standing_of(const struct cxx_text *text, const struct dwarf_node *class)
{
    return (struct standing){class->line, class->column,
                             text->tree->calls->position(text->tree->source, class->self)};
}

static void number_class(void *context, uint64_t child, uint16_t tag)
{
    struct numbering *numbering = context;
    struct cxx_text *text = numbering->text;
    struct dwarf_node node;
    if (tag == DW_TAG_lexical_block && numbering->depth < 32) {
        numbering->depth++;
        text->tree->calls->each_child(text->tree->source, child, number_class, numbering);
        numbering->depth--;
    }
    if ((!symbolize_cxx_is_class(tag) && tag != DW_TAG_enumeration_type) ||
        !symbolize_cxx_read(text, child, 0, &node) || (node.name && node.name[0] != '<'))
        return;
    const struct standing standing = standing_of(text, &node);
    if (is_before(&standing, &numbering->standing) &&
        (call_operator_of(text, &node) != 0) == numbering->of_lambdas)
        numbering->number++;
}

/* The function or namespace around an entry, past blocks; a unit's root where there is none. */
static uint64_t scope_of(struct cxx_text *text, uint64_t self, struct dwarf_node *scope)
{
    for (int depth = 0; depth < 64; depth++) {
        if (!symbolize_dwarf_tree_parent(text->tree, self, scope))
            break;
        self = scope->self;
        if (scope->tag != DW_TAG_lexical_block && scope->tag != DW_TAG_try_block &&
            scope->tag != DW_TAG_catch_block)
            return self;
    }
    *scope = (struct dwarf_node){0};
    return text->tree->calls->unit(text->tree->source, self);
}

/* A class without name is called as the typedef that it was declared in. */
struct naming_typedef {
    struct cxx_text *text;
    uint64_t class, found;
};

static void find_typedef(void *context, uint64_t child, uint16_t tag)
{
    struct naming_typedef *naming = context;
    struct dwarf_node node;
    if (tag == DW_TAG_typedef && !naming->found &&
        symbolize_cxx_read(naming->text, child, 0, &node) && node.type == naming->class &&
        node.name)
        naming->found = child;
}

/* The number counts the classes of a scope that have none, or the lambdas; GCC's from 1 on in each
 * function, whatever their parameters are (until version 13). */
void symbolize_cxx_put_unnamed(struct cxx_text *text, const struct dwarf_node *class, int depth)
{
    struct dwarf_node scope;
    const uint64_t call = call_operator_of(text, class);
    struct numbering numbering = {
        .text = text, .standing = standing_of(text, class), .of_lambdas = call, .number = 1};
    const uint64_t around = scope_of(text, class->self, &scope);
    struct naming_typedef naming = {.text = text, .class = class->self};
    char number[24];
    if (around && !call)
        text->tree->calls->each_child(text->tree->source, around, find_typedef, &naming);
    if (naming.found && symbolize_cxx_read(text, naming.found, depth, &scope)) {
        symbolize_cxx_put_scope(text, naming.found, depth + 1);
        symbolize_cxx_put(text, scope.name);
        return;
    }
    symbolize_cxx_put_scope(text, class->self, depth + 1);
    if (around)
        text->tree->calls->each_child(text->tree->source, around, number_class, &numbering);
    snprintf(number, sizeof number, "#%u}", numbering.number);
    symbolize_cxx_put(text, call ? "{lambda" : "{unnamed type");
    if (call)
        symbolize_cxx_put_lambda_parameters(text, call, depth + 1);
    symbolize_cxx_put(text, number);
}

/* == Scopes == */

static void put_namespace(struct cxx_text *text, const struct dwarf_node *scope, int depth)
{
    symbolize_cxx_put_scope(text, scope->self, depth + 1);
    symbolize_cxx_put(text, scope->name && *scope->name ? scope->name : "(anonymous namespace)");
}

void symbolize_cxx_put_scope(struct cxx_text *text, uint64_t self, int depth)
{
    struct dwarf_node scope;
    if (depth > 64)
        text->failed = true;
    if (text->failed)
        return;
    scope_of(text, self, &scope);
    switch (scope.tag) {
    case DW_TAG_namespace: put_namespace(text, &scope, depth); break;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type: symbolize_cxx_put_type(text, scope.self, "", depth + 1); break;
    case DW_TAG_subprogram: symbolize_cxx_put_function(text, scope.self, depth + 1); break;
    default: return;
    }
    symbolize_cxx_put(text, "::");
}

/* == Functions == */

/* Follows origins and specifications to the last entry, past a linkage name on the way. */
static bool find_root(struct cxx_text *text, uint64_t self, int depth, struct dwarf_node *root,
                      const char **linkage_name)
{
    enum { MOST = 16 };
    *linkage_name = NULL;
    for (int i = 0; i < MOST && symbolize_cxx_read(text, self, depth, root); i++) {
        if (!*linkage_name)
            *linkage_name = root->linkage_name;
        self = root->origin ? root->origin : root->specification;
        if (!self)
            return true;
    }
    return false;
}

void symbolize_cxx_put_function(struct cxx_text *text, uint64_t self, int depth)
{
    struct dwarf_node root, parent;
    const char *linkage_name;
    if (!find_root(text, self, depth, &root, &linkage_name))
        return;
    if (linkage_name) {
        char *name = symbolize_demangle_name(linkage_name, false);
        symbolize_cxx_put(text, name ? name : linkage_name);
        free(name);
        return;
    }
    if (!root.name) {
        text->failed = true;
        return;
    }
    const bool is_member = symbolize_dwarf_tree_parent(text->tree, root.self, &parent) &&
                           symbolize_cxx_is_class(parent.tag);
    if (root.external && !is_member) { /* main, or of C's linkage */
        symbolize_cxx_put(text, root.name);
        return;
    }
    symbolize_cxx_put_scope(text, root.self, depth + 1);
    symbolize_cxx_put_own_name(text, &root, depth + 1);
    symbolize_cxx_put_parameters(text, root.self, depth + 1);
    symbolize_cxx_put_qualifiers(text, &root, depth + 1);
}
