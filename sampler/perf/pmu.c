/* Reads what sysfs says of the counters of processor and machine. */
#include "sampler/perf/pmu.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 512, TEXT_BYTES = 256, EVENT_DEPTH = 2 };

/* Reads the one line of a file. `parts` are names, and none may lead elsewhere. */
static bool read_line(const char *root, const char *pmu, const char *directory, const char *name,
                      char text[TEXT_BYTES])
{
    char path[PATH_BYTES];
    if (!*pmu || !*name || *pmu == '.' || *name == '.' || strchr(pmu, '/') || strchr(name, '/') ||
        snprintf(path, sizeof path, "%s/%s/%s%s%s", root, pmu, directory, *directory ? "/" : "",
                 name) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    const bool found = file && fgets(text, TEXT_BYTES, file);
    if (file)
        fclose(file);
    if (found)
        text[strcspn(text, "\n")] = '\0';
    return found;
}

bool perf_pmu_find(const char *root, const char *name, uint32_t *type)
{
    char text[TEXT_BYTES], *end;
    if (!read_line(root, name, "", "type", text))
        return false;
    *type = (uint32_t)strtoul(text, &end, 10);
    return end != text && !*end;
}

/* == Formats == */

/* Where the bits of a term go: "config1:0-7,32-35". */
struct format {
    unsigned word; /* of struct perf_pmu_event.config */
    uint64_t bits;
};

static bool parse_format(const char *text, struct format *format)
{
    *format = (struct format){0};
    const char *colon = strchr(text, ':');
    if (!colon || strncmp(text, "config", 6) != 0)
        return false;
    const size_t digits = (size_t)(colon - text) - 6;
    if (digits > 1 || (digits && (text[6] < '1' || text[6] > '2')))
        return false;
    format->word = digits ? (unsigned)(text[6] - '0') : 0;
    for (const char *at = colon + 1; *at;) {
        char *end;
        const unsigned long low = strtoul(at, &end, 10);
        unsigned long high = low;
        if (end == at)
            return false;
        if (*end == '-') {
            at = end + 1;
            high = strtoul(at, &end, 10);
        }
        if (end == at || low > high || high > 63 || (*end && *end != ','))
            return false;
        const unsigned long count = high - low + 1;
        format->bits |= (count == 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1) << low;
        at = end + (*end == ',');
    }
    return format->bits != 0;
}

/* Spreads a value over the bits of a format, the lowest first; false where it does not fit. */
static bool spread(uint64_t value, uint64_t bits, uint64_t *word)
{
    *word &= ~bits;
    for (; bits; bits &= bits - 1, value >>= 1)
        if (value & 1)
            *word |= bits & -bits;
    return !value;
}

/* A word of the event as a whole, which each PMU has. */
static bool is_word(const char *name, struct format *format)
{
    static const char *const words[] = {"config", "config1", "config2"};
    for (unsigned i = 0; i < 3; i++)
        if (!strcmp(name, words[i])) {
            *format = (struct format){i, UINT64_MAX};
            return true;
        }
    return false;
}

/* == Names == */

static int each_name(const char *root, const char *pmu, const char *directory,
                     int (*put)(void *context, const char *name), void *context)
{
    char path[PATH_BYTES];
    struct dirent **entries = NULL;
    int result = 0;
    if (snprintf(path, sizeof path, "%s/%s%s%s", root, pmu, *directory ? "/" : "", directory) >=
        (int)sizeof path)
        return 0;
    const int count = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (!result && entries[i]->d_name[0] != '.')
            result = put(context, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return result;
}

struct near {
    struct sprof_suggestions suggestions;
    struct sprof_str all;
    struct sprof_arena names;
    const char *wanted;
};

static int offer(void *context, const char *name)
{
    struct near *near = context;
    const char *copy = sprof_arena_text(&near->names, name);
    if (!copy)
        return SPROF_ENOMEM;
    sprof_suggest_offer(&near->suggestions, near->wanted, copy);
    sprof_str_appendf(&near->all, "%s%s", near->all.length ? ", " : "", name);
    return 0;
}

static int unknown_term(const char *root, const char *pmu, const char *name,
                        struct sprof_error *error)
{
    struct near near = {.wanted = name};
    struct sprof_str text = {0};
    each_name(root, pmu, "format", offer, &near);
    each_name(root, pmu, "events", offer, &near);
    sprof_suggest_append(&text, &near.suggestions);
    if (!text.length)
        sprof_str_appendf(&text, "; it has %.400s", near.all.text ? near.all.text : "none");
    const int result = sprof_error_set(error, SPROF_EUSAGE, 0, "`%s` has no term `%.60s`%s", pmu,
                                       name, text.text ? text.text : "");
    sprof_str_release(&text);
    sprof_str_release(&near.all);
    sprof_arena_release(&near.names);
    return result;
}

/* == Terms == */

static bool read_number(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 0);
    return isdigit((unsigned char)*text) && !*end && !errno;
}

static int add_term(const char *root, const char *pmu, const char *term, int depth,
                    struct perf_pmu_event *event, struct sprof_error *error);

/* The terms that the name of an event stands for. */
static int add_terms(const char *root, const char *pmu, char *terms, int depth,
                     struct perf_pmu_event *event, struct sprof_error *error)
{
    int result = 0;
    char *rest = NULL;
    for (char *term = strtok_r(terms, ",", &rest); term && !result;
         term = strtok_r(NULL, ",", &rest))
        result = add_term(root, pmu, term, depth, event, error);
    return result;
}

static int add_term(const char *root, const char *pmu, const char *term, int depth,
                    struct perf_pmu_event *event, struct sprof_error *error)
{
    char name[TEXT_BYTES], text[TEXT_BYTES];
    struct format format;
    uint64_t value = 1;
    const char *equals = strchr(term, '=');
    if (snprintf(name, sizeof name, "%.*s", (int)strcspn(term, "="), term) >= (int)sizeof name)
        return unknown_term(root, pmu, term, error);
    const bool is_format = is_word(name, &format) || (read_line(root, pmu, "format", name, text) &&
                                                      parse_format(text, &format));
    if (!is_format && !equals && depth < EVENT_DEPTH && read_line(root, pmu, "events", name, text))
        return add_terms(root, pmu, text, depth + 1, event, error);
    if (!is_format)
        return unknown_term(root, pmu, name, error);
    if ((equals && !read_number(equals + 1, &value)) ||
        !spread(value, format.bits, &event->config[format.word]))
        return sprof_error_set(
            error, SPROF_EUSAGE, 0,
            "`%.60s` is no value of the term `%.60s` of `%s`, which has %d bit%s",
            equals ? equals + 1 : "", name, pmu, __builtin_popcountll(format.bits),
            sprof_plural((uint64_t)__builtin_popcountll(format.bits)));
    return 0;
}

int perf_pmu_term(const char *root, const char *pmu, const char *term, struct perf_pmu_event *event,
                  struct sprof_error *error)
{
    return add_term(root, pmu, term, 0, event, error);
}

/* == Lists == */

struct listing {
    const char *root, *pmu;
    int (*put)(void *context, const char *name);
    void *context;
};

/* Beside each event lie files with its unit and scale. */
static int put_event(void *context, const char *name)
{
    const struct listing *listing = context;
    struct sprof_str text = {0};
    if (strchr(name, '.'))
        return 0;
    sprof_str_appendf(&text, "%s/%s/", listing->pmu, name);
    const int result = text.failed ? SPROF_ENOMEM : listing->put(listing->context, text.text);
    sprof_str_release(&text);
    return result;
}

static int put_pmu(void *context, const char *pmu)
{
    struct listing listing = *(const struct listing *)context;
    listing.pmu = pmu;
    return each_name(listing.root, pmu, "events", put_event, &listing);
}

int perf_pmu_each(const char *root, int (*put)(void *context, const char *name), void *context)
{
    struct listing listing = {.root = root, .put = put, .context = context};
    return each_name(root, "", "", put_pmu, &listing);
}
