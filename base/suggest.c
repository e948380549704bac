/* Finds names like the wanted one. */
#include "base/suggest.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 60 };

static char lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* One row of the matrix at a time. Two words that share no letter are not near, however short. */
size_t sprof_suggest_distance(const char *word, const char *name)
{
    const size_t columns = strlen(name), lines = strlen(word);
    if (columns > LONGEST || lines > LONGEST)
        return SPROF_DISTANCE_NEVER;
    size_t row[LONGEST + 1];
    for (size_t i = 0; i <= columns; i++)
        row[i] = i;
    for (size_t line = 1; line <= lines; line++) {
        size_t diagonal = row[0];
        row[0] = line;
        for (size_t i = 1; i <= columns; i++) {
            const size_t replaced = diagonal + (lower(word[line - 1]) != lower(name[i - 1]));
            diagonal = row[i];
            row[i] = least(replaced, least(row[i], row[i - 1]) + 1);
        }
    }
    const bool shares = row[columns] < least(columns, lines) || row[columns] == 0;
    return shares && row[columns] <= lines / 3 + 1 ? row[columns] : SPROF_DISTANCE_NEVER;
}

int sprof_suggest_nearest(const char *word, const char *const *names)
{
    int nearest = -1, beginning = -1;
    size_t smallest = SPROF_DISTANCE_NEVER;
    const size_t length = strlen(word);
    for (int i = 0; names[i]; i++) {
        const size_t distance = sprof_suggest_distance(word, names[i]);
        if (distance < smallest) {
            nearest = i;
            smallest = distance;
        }
        if (beginning < 0 && length >= 3 && !strncmp(names[i], word, length))
            beginning = i;
    }
    return beginning >= 0 && smallest > 1 ? beginning : nearest;
}

/* The last part of a C++, Rust or Ada name, without scope, parameters and arguments of templates:
 * where it begins, and its length. */
static const char *plain_name(const char *name, size_t *length)
{
    const size_t whole = strcspn(name, "(<");
    const char *begin = name;
    for (const char *at = name; at + 1 < name + whole; at++)
        if (at[0] == ':' && at[1] == ':')
            begin = at + 2;
    *length = (size_t)(name + whole - begin);
    return begin;
}

/* The smaller one of the distances to the name and to its plain part. */
static size_t name_distance(const char *word, const char *name)
{
    char plain[LONGEST + 1];
    size_t length;
    const char *begin = plain_name(name, &length);
    const size_t distance = sprof_suggest_distance(word, name);
    if (!length || length > LONGEST)
        return distance;
    memcpy(plain, begin, length);
    plain[length] = '\0';
    return least(distance, sprof_suggest_distance(word, plain));
}

void sprof_suggest_offer(struct sprof_suggestions *suggestions, const char *expression,
                         const char *name)
{
    char word[LONGEST + 1];
    const char *begin = expression + (*expression == '^' || *expression == '*');
    size_t length = strlen(begin);
    length -= length && (begin[length - 1] == '$' || begin[length - 1] == '*');
    if (!length || length > LONGEST)
        return;
    memcpy(word, begin, length);
    word[length] = '\0';
    const size_t distance = strcasestr(name, word) ? 0 : name_distance(word, name);
    if (distance == SPROF_DISTANCE_NEVER)
        return;
    for (size_t i = 0; i < suggestions->count; i++)
        if (!strcmp(suggestions->names[i], name))
            return;
    const bool full = suggestions->count == SPROF_SUGGESTIONS_MAX;
    size_t at = full ? SPROF_SUGGESTIONS_MAX : suggestions->count++;
    for (; at > 0 && suggestions->distances[at - 1] > distance; at--) {
        if (at == SPROF_SUGGESTIONS_MAX)
            continue;
        suggestions->names[at] = suggestions->names[at - 1];
        suggestions->distances[at] = suggestions->distances[at - 1];
    }
    if (at < SPROF_SUGGESTIONS_MAX) {
        suggestions->names[at] = name;
        suggestions->distances[at] = distance;
    }
}

int sprof_suggest_append(struct sprof_str *out, const struct sprof_suggestions *suggestions)
{
    int result = 0;
    for (size_t i = 0; i < suggestions->count && !result; i++)
        result =
            sprof_str_appendf(out, "%s%.100s", i ? ", " : "; near it: ", suggestions->names[i]);
    return result;
}
