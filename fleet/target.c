/* Parses the URLs of receivers. */
#include "fleet/target.h"

#include <ctype.h>
#include <string.h>

static const char *const kinds[FLEET_KINDS] = {"clickhouse", "pyroscope", "otlp"};

const char *fleet_kind_text(enum fleet_kind kind)
{
    return kinds[kind];
}

/* Where "http://" or "https://" begins behind the kind; NULL: it is no such URL. */
static const char *behind_kind(const char *text, enum fleet_kind *kind)
{
    for (size_t i = 0; i < FLEET_KINDS; i++) {
        const size_t length = strlen(kinds[i]);
        const char *rest = text + length + 1;
        if (strncmp(text, kinds[i], length) != 0 || text[length] != '+')
            continue;
        *kind = (enum fleet_kind)i;
        return !strncmp(rest, "http://", 7) || !strncmp(rest, "https://", 8) ? rest : NULL;
    }
    return NULL;
}

bool fleet_is_url(const char *text)
{
    enum fleet_kind kind;
    return behind_kind(text, &kind) != NULL;
}

bool fleet_unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++, to++) {
        *to = *from;
        if (*from != '%')
            continue;
        if (!isxdigit((unsigned char)from[1]) || !isxdigit((unsigned char)from[2]))
            return false;
        const char digits[3] = {from[1], from[2]};
        *to = (char)strtol(digits, NULL, 16);
        if (!*to)
            return false;
        from += 2;
    }
    *to = '\0';
    return true;
}

/* Undoes + and %XX. False: malformed, or a NUL. */
static bool decode(char *text)
{
    for (char *plus = text; (plus = strchr(plus, '+'));)
        *plus = ' ';
    return fleet_unescape(text);
}

static int add_parameter(struct fleet_target *target, char *text, struct sprof_error *error)
{
    char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`%s` is no NAME=VALUE: write ?service=shop&last=1h", text);
    *equals = '\0';
    if (!decode(text) || !decode(equals + 1))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "a %% in a URL stands before two hexadecimal digits: write %%25");
    const struct fleet_parameter parameter = {strdup(text), strdup(equals + 1)};
    if (!parameter.name || !parameter.value || sprof_vec_push(&target->parameters, parameter)) {
        free(parameter.name);
        free(parameter.value);
        return sprof_error_memory(error);
    }
    return 0;
}

static bool is_database(const char *name)
{
    if (!*name || isdigit((unsigned char)*name))
        return false;
    while (isalnum((unsigned char)*name) || *name == '_')
        name++;
    return !*name;
}

/* ClickHouse takes all requests at "/": a path is a database. */
static int take_database(struct fleet_target *target, char *path, struct sprof_error *error)
{
    char *name = path ? path + 1 : NULL;
    size_t length = name ? strlen(name) : 0;
    if (length && name[length - 1] == '/')
        name[--length] = '\0';
    if (length && !is_database(name))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`%s` is no name of a database: letters, digits and _", name);
    target->database = strdup(length ? name : "sprof");
    if (path)
        *path = '\0';
    return target->database ? 0 : sprof_error_memory(error);
}

static int parse(struct fleet_target *target, char *rest, struct sprof_error *error)
{
    char *query = strchr(rest, '?');
    int result = 0;
    if (query)
        *query++ = '\0';
    char *host = strstr(rest, "://") + 3;
    char *path = strchr(host, '/');
    const char *at = strchr(host, '@');
    if (at && (!path || at < path))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "a URL is seen by all users of this machine: leave name and "
                               "password out, and put them into SPROF_FLEET_USER and "
                               "SPROF_FLEET_PASSWORD, or into a file for --credentials");
    if (!*host || *host == '/' || *host == ':')
        return sprof_error_set(error, SPROF_EUSAGE, 0, "the URL names no host");
    if (target->kind == FLEET_CLICKHOUSE)
        result = take_database(target, path, error);
    while (!result && query && *query)
        result = add_parameter(target, strsep(&query, "&"), error);
    size_t length = strlen(rest);
    while (length && rest[length - 1] == '/')
        rest[--length] = '\0';
    target->url = rest;
    return result;
}

int fleet_target_parse(struct fleet_target *target, const char *url, struct sprof_error *error)
{
    *target = (struct fleet_target){.url = NULL};
    const char *rest = behind_kind(url, &target->kind);
    if (!rest)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`%.200s` is no receiver: write clickhouse+https://host:8443, "
                               "pyroscope+https://host or otlp+https://host:4318 (http:// without "
                               "TLS)",
                               url);
    for (const char *byte = url; *byte; byte++)
        if ((unsigned char)*byte <= ' ' || *byte == 0x7f || *byte == '#')
            return sprof_error_set(error, SPROF_EUSAGE, 0,
                                   "a URL holds no blanks, # or control characters: write %%20");
    char *copy = strdup(rest);
    if (!copy)
        return sprof_error_memory(error);
    const int result = parse(target, copy, error);
    if (!target->url)
        free(copy);
    return result;
}

void fleet_target_release(struct fleet_target *target)
{
    for (size_t i = 0; i < target->parameters.count; i++) {
        free(target->parameters.items[i].name);
        free(target->parameters.items[i].value);
    }
    sprof_vec_release(&target->parameters);
    free(target->url);
    free(target->database);
    *target = (struct fleet_target){.url = NULL};
}
