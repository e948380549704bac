/* Names like the one that was asked for: the one edit distance of the program. */
#ifndef SPROF_BASE_SUGGEST_H
#define SPROF_BASE_SUGGEST_H

#include "base/str.h"

enum { SPROF_SUGGESTIONS_MAX = 5, SPROF_DISTANCE_NEVER = 1000 };

/* How many letters must be added, left out or replaced to make `name` of `word` (the edit distance
 * of V. I. Levenshtein, 1966), without regard to case. SPROF_DISTANCE_NEVER where either is longer
 * than 60 letters, or more than a third of the word would change. */
size_t sprof_suggest_distance(const char *word, const char *name);

/* The name that a mistyped word was to be, of a NULL-terminated list: one letter away, else the
 * first that begins with the word, else the nearest. Its index, or -1. */
int sprof_suggest_nearest(const char *word, const char *const *names);

/* The best of the names offered so far; zero is a valid start. Names are borrowed. */
struct sprof_suggestions {
    const char *names[SPROF_SUGGESTIONS_MAX];
    size_t distances[SPROF_SUGGESTIONS_MAX];
    size_t count;
};

/* Offers a name. Kept where it holds the word, or it, or it without scope and parameters, is within
 * sprof_suggest_distance of the word. A ^ before the word and a $ behind it, as in regular
 * expressions, and a * before or behind it, as in globs, are no part of it; one of more than 60
 * letters is near nothing. */
void sprof_suggest_offer(struct sprof_suggestions *suggestions, const char *expression,
                         const char *name);

/* "; near it: a, b, c" or nothing. 0 or SPROF_ENOMEM. */
int sprof_suggest_append(struct sprof_str *out, const struct sprof_suggestions *suggestions);

#endif
