/* names, inside: the parts of a name. */
#ifndef SPROF_NAMES_PARSE_H
#define SPROF_NAMES_PARSE_H

#include <stdbool.h>
#include <stddef.h>

enum { NAMES_PARTS = 64, NAMES_HOLES = 96 };

/* Text that is left out of short names. Bytes from `begin` up to `end`, with the brackets. */
struct names_hole {
    size_t begin, end;
    bool noise; /* an ABI tag or a crate's hash: only the full name has it */
};

/* A component: what stands between "::". Holes lie between `begin` and `end`. */
struct names_part {
    size_t begin, end;
    size_t parameters, behind; /* "(…)", and where qualifiers behind it begin; equal: none */
    size_t behind_end;
    size_t first_hole, holes;
};

struct names_parsed {
    struct names_part parts[NAMES_PARTS];
    struct names_hole holes[NAMES_HOLES];
    size_t count, hole_count;
    size_t prefix; /* bytes of "vtable for " and the like, which stay */
    size_t suffix; /* where " [clone .cold]" begins; else the end */
};

/* False where the text is not understood: unbalanced brackets, too many parts, other languages. */
bool names_parse(const char *text, struct names_parsed *parsed);

/* The byte behind the bracket that closes the one at `at`; 0: none does. */
size_t names_closing(const char *text, size_t at);

/* Bytes of "operator<<" and the like with its symbol, where one begins at `at`; else 0. */
size_t names_operator(const char *text, size_t at);

/* Where " as " stands in the "<T as Trait>" that begins at `at`; 0: it is none. */
size_t names_trait(const char *text, size_t at);

#endif
