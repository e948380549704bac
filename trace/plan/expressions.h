/* trace, inside: regular expressions over the names of functions. */
#ifndef SPROF_TRACE_PLAN_EXPRESSIONS_H
#define SPROF_TRACE_PLAN_EXPRESSIONS_H

#include "trace/plan/plan.h"

/* Expressions over names; NULL is valid and finds all. */
struct trace_expressions;

/* Compiles texts, which must live as long as the expressions; of one that begins with `!` the rest
 * says what is not wanted. SPROF_EUSAGE: the message says what is wrong with which, and
 * *expressions is NULL. */
int trace_expressions_make(struct trace_expressions **expressions, const char *const *texts,
                           size_t count, struct sprof_error *error);

/* Whether some say what is wanted, not only what is not. */
bool trace_expressions_include(const struct trace_expressions *expressions);

/* Whether a function is wanted, by its name or its linkage name: 1, 0, or a negative code.
 * SPROF_EUSAGE: an expression takes too long. */
int trace_expressions_match(const struct trace_expressions *expressions,
                            const struct trace_function *function, struct sprof_error *error);

/* Whether one of those finds it that say what is not wanted: 1, 0, or a negative code. */
int trace_expressions_exclude(const struct trace_expressions *expressions,
                              const struct trace_function *function, struct sprof_error *error);

void trace_expressions_free(struct trace_expressions *expressions);

#endif
