/* symbolize, inside: C++ scopes, types and parameters as text, from DWARF's entries (Itanium C++
 * ABI, section 5.1, for what stands in a mangled name). */
#ifndef SPROF_SYMBOLIZE_CXX_TYPES_H
#define SPROF_SYMBOLIZE_CXX_TYPES_H

#include "symbolize/dwarf_tree.h"

enum { CXX_AUTO_MAX = 8 };

struct cxx_text;

/* What stands in a type besides types: scopes, and names with their template arguments. */
struct cxx_parts {
    void (*put_scope)(struct cxx_text *text, uint64_t self, int depth);
    void (*put_own_name)(struct cxx_text *text, const struct dwarf_node *node, int depth);
    void (*put_unnamed)(struct cxx_text *text, const struct dwarf_node *class, int depth);
};

/* A text under construction. */
struct cxx_text {
    struct dwarf_tree *tree;
    const struct cxx_parts *parts;
    struct sprof_str out;
    uint64_t autos[CXX_AUTO_MAX];   /* types that a generic lambda was called with, */
    unsigned auto_count, autos_put; /* and how many of its parameters have been written */
    unsigned steps;                 /* entries that were read: types may hold others without end */
    bool failed;                    /* too long, too deep, or not to be read */
};

bool symbolize_cxx_is_class(uint16_t tag);

/* A function with its scope, template arguments, parameters and what is behind them. */
void symbolize_cxx_put_function(struct cxx_text *text, uint64_t root, int depth);

/* The scope of an entry, which ends with "::", or nothing. */
void symbolize_cxx_put_scope(struct cxx_text *text, uint64_t self, int depth);

/* A type; `inner` is what its declarator holds: "*" of a pointer to it. 0 is void. */
void symbolize_cxx_put_type(struct cxx_text *text, uint64_t type, const char *inner, int depth);

/* The name of a class or function without scope, with its template arguments as types have them. */
void symbolize_cxx_put_own_name(struct cxx_text *text, const struct dwarf_node *node, int depth);

/* "(int, char const*)"; of a lambda's operator(), "(auto:1)" where it is a template's. */
void symbolize_cxx_put_parameters(struct cxx_text *text, uint64_t function, int depth);
void symbolize_cxx_put_lambda_parameters(struct cxx_text *text, uint64_t function, int depth);

/* " const" and its like behind the parameters of a member function. */
void symbolize_cxx_put_qualifiers(struct cxx_text *text, const struct dwarf_node *function,
                                  int depth);

/* A class without name: "f()::{lambda(int)#1}". */
void symbolize_cxx_put_unnamed(struct cxx_text *text, const struct dwarf_node *class, int depth);

/* What the demangler calls a fundamental type that is written so; *suffix is that of its numbers,
 * NULL for "(type)number". */
const char *symbolize_cxx_fundamental(const char *written, const char **suffix);

/* Appends to a text; reads an entry. */
void symbolize_cxx_put(struct cxx_text *text, const char *piece);
bool symbolize_cxx_read(struct cxx_text *text, uint64_t self, int depth, struct dwarf_node *node);

#endif
