/* names: how names of functions are written where people read them. A demangled name holds all that
 * a linker needs; people want its scopes and its last component, and the rest only where
 * two names would look the same. Names of C++, Rust, Go and D are understood; every other text
 * stays as it is. */
#ifndef SPROF_NAMES_H
#define SPROF_NAMES_H

#include "base/base.h"

#include <stddef.h>

/* What is written of a name. */
enum names_detail {
    NAMES_SHORT,      /* scopes and the last component: "std::map::lower_bound" */
    NAMES_ARGUMENTS,  /* … with template arguments: "std::map<int, char>::lower_bound" */
    NAMES_PARAMETERS, /* … with parameters instead: "std::map::lower_bound(int const&)" */
    NAMES_BOTH,       /* … with both */
    NAMES_DEEP,       /* … and with the template arguments of these */
    NAMES_FULL,       /* the name as it is */
    NAMES_DETAILS
};

/* Appends a name with so much of its detail, never an empty text for one that is not empty. 0 or
 * SPROF_ENOMEM. */
int names_append(struct sprof_str *out, const char *name, enum names_detail detail);

/* The byte at which the last component of a name begins, also of one that names_append wrote: what
 * is never cut. A closure's owner belongs to it. */
size_t names_last(const char *name);

/* Sets shown[i] to what people read for names[i]: the least detail with which no two different
 * names of the `count` look the same. The texts live in the arena, or are the names themselves. 0
 * or SPROF_ENOMEM. */
int names_shorten(struct sprof_arena *arena, const char *const *names, size_t count,
                  const char **shown);

/* Names that are shown one after the other, as in messages while a program runs. */
struct names_screen;

/* NULL when out of memory. */
struct names_screen *names_screen_new(void);
void names_screen_free(struct names_screen *screen);

/* What to write for a name: the least detail with which it differs from all names shown before, and
 * the same text each time. The text lives as long as the screen and the name. Without a screen, and
 * when out of memory, it is the name. */
const char *names_screen_show(struct names_screen *screen, const char *name);

#endif
