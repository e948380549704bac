/* report, inside: names in columns that are too narrow for them. */
#ifndef SPROF_REPORT_NAME_CUT_H
#define SPROF_REPORT_NAME_CUT_H

#include "base/base.h"

/* What the names of one column look like, so that no two look the same. Zero is a valid empty one.
 */
struct report_cut_names {
    struct sprof_map shown; /* hash of a text → the name that it stands for, a pointer */
};

/* Columns of the last component, and of the sign that its scopes were cut. */
size_t report_name_least(const char *name);

/* Takes note of a name that is shown whole: names that are cut will look different. Names live as
 * long as `names`. 0 or SPROF_ENOMEM. */
int report_name_whole(struct report_cut_names *names, const char *name);

/* Appends a clean name in at most `width` columns. Its scopes are cut, and its last component only
 * where that alone is wider. `names` NULL: it may look like another one. 0 or SPROF_ENOMEM. */
int report_name_cut(struct report_cut_names *names, struct sprof_str *out, const char *name,
                    size_t width);

void report_cut_names_release(struct report_cut_names *names);

#endif
