/* Names like the one that was asked for. */
#ifndef SPROF_REPORT_NEAR_H
#define SPROF_REPORT_NEAR_H

#include "base/base.h"

enum { NEAR_MOST = 5 };

/* The best of the names offered so far; zero is a valid start. Names are borrowed. */
struct near_names {
    const char *names[NEAR_MOST];
    size_t distances[NEAR_MOST];
    size_t count;
};

/* Offers a name. Kept where it holds the word, or differs from it by few letters; case is ignored.
 */
void near_offer(struct near_names *near, const char *word, const char *name);

/* "; near it: a, b, c" or nothing. 0 or SPROF_ENOMEM. */
int near_append(struct sprof_str *out, const struct near_names *near);

#endif
