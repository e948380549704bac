/* rules, inside: the signs and numbers of comparisons. */
#ifndef SPROF_RULES_COMPARISON_H
#define SPROF_RULES_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>

enum comparison { NO_COMPARISON, EQUAL, NOT_EQUAL, LESS, AT_MOST, MORE, AT_LEAST };

/* The comparison that a text begins with, and the length of its sign; NO_COMPARISON and 0: none. */
enum comparison rules_comparison(const char *text, size_t *length);

/* Whether a word is the sign of that length, alone or with a value behind it. "<x" may be an
 * expression, as in `call <lambda`. */
bool rules_comparison_ends(const char *word, size_t word_length, size_t length);

/* Parses "-7", "0x10", "2.5". False: no number, or beyond the range. */
bool rules_number(const char *text, size_t length, long double *number);

#endif
