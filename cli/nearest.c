#include "cli/options.h"

#include <string.h>

#define LONGEST 40

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The edit distance of two words (V. I. Levenshtein, 1966), with two rows of its matrix. */
static size_t edit_distance(const char *a, const char *b)
{
    const size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length > LONGEST || b_length > LONGEST)
        return LONGEST;
    size_t above[LONGEST + 1], row[LONGEST + 1];
    for (size_t i = 0; i <= b_length; i++)
        above[i] = i;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            const size_t replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = smaller(replaced, smaller(above[j], row[j - 1]) + 1);
        }
        memcpy(above, row, sizeof above);
    }
    return above[b_length];
}

int cli_nearest(const char *word, const char *const *names)
{
    int nearest = -1;
    size_t least = strlen(word) / 3 + 1; /* a third of the letters may be wrong */
    for (int i = 0; names[i]; i++) {
        const size_t distance = edit_distance(word, names[i]);
        const bool begins = strlen(word) >= 3 && !strncmp(names[i], word, strlen(word));
        if (distance <= least || (begins && nearest < 0)) {
            nearest = i;
            least = begins ? least : distance ? distance - 1 : 0;
        }
    }
    return nearest;
}
