/* Names modules that are not traced, where the chosen function is. */
#ifndef SPROF_PROBING_ELSEWHERE_H
#define SPROF_PROBING_ELSEWHERE_H

#include <stdbool.h>

struct cache;
struct plan_expressions;
struct probing_program;
struct sprof_str;

/* Appends "; --module FILE has FUNCTION" for the first module of the process with a function of
 * these expressions. Plans all modules: for errors alone. `cache` may be NULL. Returns false if
 * there is none. */
bool probing_append_elsewhere(struct sprof_str *text, const struct probing_program *program,
                              const struct plan_expressions *expressions, struct cache *cache);

#endif
