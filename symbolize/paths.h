/* symbolize: values that a function can reach, by paths as they stand in its source: parameters,
 * its static variables, those of its file, their fields, and what pointers lead to. */
#ifndef SPROF_SYMBOLIZE_PATHS_H
#define SPROF_SYMBOLIZE_PATHS_H

#include "symbolize/signature.h"

enum { SYMBOLIZE_STEPS = 8 };

/* "r->headers.host", "*count", "config::level". Texts are borrowed and not ended. */
struct symbolize_path {
    const char *text; /* as a whole; what follows is in it */
    uint32_t length;
    const char *name; /* of a variable, perhaps with scopes */
    uint32_t name_length;
    struct {
        const char *name; /* of a field */
        uint32_t length;
    } steps[SYMBOLIZE_STEPS];
    uint32_t step_count;
    bool is_followed; /* what the last one points to is meant */
};

enum symbolize_base {
    SYMBOLIZE_OF_PARAMETER,
    SYMBOLIZE_OF_PLACE, /* in the image */
};

/* Where the value of a path is: at base + offsets[0]; after each follow at the address that stands
 * there, plus the next offset. A parameter's base is where its value would lie, or with
 * `is_direct` the address that it holds. */
struct symbolize_located {
    const char *problem;    /* why there is no such value, as a part of a sentence; NULL: there is
                               and the rest holds */
    const char *problem_at; /* in the path's text */
    const struct symbolize_type *type;
    enum symbolize_base base;
    uint32_t parameter; /* its number, from 0 */
    bool is_direct;     /* base is the address in the parameter's word */
    uint64_t place;     /* vaddr */
    uint32_t follows;
    uint32_t offsets[SYMBOLIZE_STEPS + 3];
};

/* Paths that are looked for in one function. */
struct symbolize_paths {
    const struct symbolize_path *const *paths;
    uint32_t count;
};

#endif
