/* Which function a person means by a name. */
#ifndef SPROF_REPORT_FUNCTION_SEARCH_H
#define SPROF_REPORT_FUNCTION_SEARCH_H

#include "report/profile.h"

/* Finds the function of the profile's tree that `wanted` names: a name, a linkage name, a name
 * without parameters and template arguments, or without its scope, each also behind "module!".
 * Functions of one name in one module become one function (the tree is rewritten). SPROF_ENOTFOUND
 * offers what is near, SPROF_EUSAGE lists the candidates. */
int report_function_search(struct profile *profile, const char *wanted, uint32_t *function,
                           struct sprof_error *error);

/* Appends a C++ or Rust name without parameters, template arguments, return type and what follows
 * them: "void a::b<int>::c(int) const" becomes "a::b::c". 0 or SPROF_ENOMEM. */
int report_function_bare_name(struct sprof_str *out, const char *name);

#endif
