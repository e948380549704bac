/* trace, inside: regular expressions over the names of functions. */
#ifndef SPROF_PLAN_EXPRESSIONS_H
#define SPROF_PLAN_EXPRESSIONS_H

#include "plan/function_plan.h"

/* Expressions over names; NULL is valid and finds all. */
struct plan_expressions;

/* Compiles texts, which must live as long as the expressions; of one that begins with `!` the rest
 * says what is not wanted. SPROF_EUSAGE: the message says what is wrong with which, and
 * *expressions is NULL. */
int plan_expressions_make(struct plan_expressions **expressions, const char *const *texts,
                          size_t count, struct sprof_error *error);

/* Whether some say what is wanted, not only what is not. */
bool plan_expressions_include(const struct plan_expressions *expressions);

/* Whether a function is wanted, by its name or its linkage name: 1, 0, or a negative code.
 * SPROF_EUSAGE: an expression takes too long. */
int plan_expressions_match(const struct plan_expressions *expressions,
                           const struct plan_function *function, struct sprof_error *error);

/* Whether one of those finds it that say what is not wanted: 1, 0, or a negative code. */
int plan_expressions_exclude(const struct plan_expressions *expressions,
                             const struct plan_function *function, struct sprof_error *error);

void plan_expressions_free(struct plan_expressions *expressions);

#endif
