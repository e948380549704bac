#include "report/near.h"

#include <string.h>
#include <strings.h>

enum { LONGEST = 60, NEVER = 1000 };

static char lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The edit distance (V. Levenshtein, 1966), one row of the matrix at a time. */
static size_t edit_distance(const char *word, const char *name)
{
    const size_t columns = strlen(name);
    if (columns > LONGEST || strlen(word) > LONGEST)
        return NEVER;
    size_t row[LONGEST + 1];
    for (size_t i = 0; i <= columns; i++)
        row[i] = i;
    for (size_t line = 1; word[line - 1]; line++) {
        size_t diagonal = row[0];
        row[0] = line;
        for (size_t i = 1; i <= columns; i++) {
            const size_t replaced = diagonal + (lower(word[line - 1]) != lower(name[i - 1]));
            diagonal = row[i];
            row[i] = least(replaced, least(row[i], row[i - 1]) + 1);
        }
    }
    return row[columns];
}

static size_t distance_of(const char *word, const char *name)
{
    if (strcasestr(name, word))
        return 0;
    const size_t distance = edit_distance(word, name);
    return distance <= strlen(word) / 3 + 1 ? distance : NEVER;
}

void near_offer(struct near_names *near, const char *word, const char *name)
{
    const size_t distance = distance_of(word, name);
    if (distance == NEVER)
        return;
    for (size_t i = 0; i < near->count; i++)
        if (!strcmp(near->names[i], name))
            return;
    size_t at = near->count < NEAR_MOST ? near->count++ : NEAR_MOST;
    for (; at > 0 && near->distances[at - 1] > distance; at--) {
        if (at == NEAR_MOST)
            continue;
        near->names[at] = near->names[at - 1];
        near->distances[at] = near->distances[at - 1];
    }
    if (at < NEAR_MOST) {
        near->names[at] = name;
        near->distances[at] = distance;
    }
}

int near_append(struct sprof_str *out, const struct near_names *near)
{
    int result = 0;
    for (size_t i = 0; i < near->count && !result; i++)
        result = sprof_str_appendf(out, "%s%.100s", i ? ", " : "; near it: ", near->names[i]);
    return result;
}
