/* symbolize, inside: names. */
#ifndef SPROF_SYMBOLIZE_DEMANGLE_H
#define SPROF_SYMBOLIZE_DEMANGLE_H

#include <stdbool.h>

/* As symbolize_demangle; with `ada`, names without any mark are read as GNAT writes them. */
char *symbolize_demangle_name(const char *name, bool ada);

/* Orders the names of one address: negative when `left` is the better one to show. Fewer leading
 * underscores, then shorter, then alphabetical, so that the choice is the same every time. */
int symbolize_demangle_compare_aliases(const char *left, const char *right);

#endif
