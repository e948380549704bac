/* Which function a person means by a name. */
#ifndef SPROF_REPORT_FUNCTION_SEARCH_H
#define SPROF_REPORT_FUNCTION_SEARCH_H

#include "report/dataset.h"

/* Functions of one name in one file: static ones of several sources, the parts that a compiler
 * split one into, or those of several builds, which are modules of one path. Zero is a valid empty
 * set; release with sprof_vec_release. */
struct report_function_set {
    uint32_t *items;
    size_t count, capacity;
};

/* Finds the functions of the dataset's tree that `wanted` names: a name, a linkage name, either
 * without what a compiler appends to copies and parts (".constprop.0", ".cold"), a name without
 * parameters and template arguments, or without its scope, each also behind "module!".
 * SPROF_ENOTFOUND offers what is near, SPROF_EUSAGE lists the candidates where they are not of one
 * name and path. The caller releases the set, also on failure. */
int report_function_search(const struct report_dataset *dataset, const char *wanted,
                           struct report_function_set *set, struct sprof_error *error);

/* Finds all functions whose names the expression finds, which option --`option` gave.
 * SPROF_ENOTFOUND where there is none. The caller releases the set, also on failure. */
int report_functions_matching(const struct report_dataset *dataset, const char *option,
                              const char *expression, struct report_function_set *set,
                              struct sprof_error *error);

/* The same of names; their numbers are their places, from 1. */
int report_names_matching(const char *const *names, size_t count, const char *option,
                          const char *expression, struct report_function_set *set,
                          struct sprof_error *error);

/* A copy of the tree in which the functions of the set are its first. Returns 0 or SPROF_ENOMEM. */
int report_paths_unite(const struct model_paths *paths, const struct report_function_set *set,
                       struct model_paths *united);

/* Appends a C++ or Rust name without parameters, template arguments, return type and what follows
 * them: "void a::b<int>::c(int) const" becomes "a::b::c". 0 or SPROF_ENOMEM. */
int report_function_bare_name(struct sprof_str *out, const char *name);

#endif
