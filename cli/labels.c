/* Takes labels from OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES. */
#include "cli/otel_labels.h"

#include "fleet/fleet.h"

#include <stdlib.h>
#include <string.h>

static const char blank[] = " \t";

struct attribute {
    const char *name, *value;
};

struct attributes {
    SPROF_VEC(struct attribute) list;
};

/* What a label can hold: UTF-8 without control characters. */
static bool is_plain(const char *text)
{
    for (size_t length; *text; text += length) {
        length = sprof_utf8_length(text);
        if (!length || (unsigned char)*text < ' ' || *text == 0x7f)
            return false;
    }
    return true;
}

static char *trim(char *text)
{
    text += strspn(text, blank);
    size_t length = strlen(text);
    while (length && strchr(blank, text[length - 1]))
        length--;
    text[length] = '\0';
    return text;
}

static bool decode(char *text)
{
    return fleet_unescape(text) && is_plain(text);
}

/* Parses one "name=value". 0, 1 where it is malformed, or SPROF_ENOMEM. */
static int add_attribute(struct attributes *attributes, char *text)
{
    char *equals = strchr(text, '=');
    if (!equals)
        return 1;
    *equals = '\0';
    char *name = trim(text), *value = trim(equals + 1);
    /* In a label a name ends at its "=". */
    if (!*name || !decode(name) || strchr(name, '=') || !decode(value))
        return 1;
    const struct attribute attribute = {name, value};
    return sprof_vec_push(&attributes->list, attribute);
}

static bool is_name(const char *text, size_t length, const char *name)
{
    return length == strlen(name) && !strncmp(text, name, length);
}

bool cli_labels_have(const struct report_labels *labels, const char *name)
{
    static const char *const briefs[][2] = {
        {"service.name", "service"}, {"service.version", "version"}, {"host.name", "host"}};
    const char *brief = name;
    for (size_t i = 0; i < sizeof briefs / sizeof *briefs; i++)
        if (!strcmp(name, briefs[i][0]))
            brief = briefs[i][1];
        else if (!strcmp(name, briefs[i][1]))
            brief = briefs[i][0];
    for (size_t i = 0; i < labels->count; i++) {
        const size_t length = strcspn(labels->items[i], "=");
        if (is_name(labels->items[i], length, name) || is_name(labels->items[i], length, brief))
            return true;
    }
    return false;
}

static int add_label(struct cli_texts *labels, struct sprof_arena *arena, const char *name,
                     const char *value)
{
    const struct report_labels before = {labels->list.items, labels->list.count};
    const size_t size = strlen(name) + strlen(value) + 2;
    if (!*value || cli_labels_have(&before, name))
        return 0;
    char *text = sprof_arena_alloc(arena, size);
    if (!text)
        return SPROF_ENOMEM;
    snprintf(text, size, "%s=%s", name, value);
    return sprof_vec_push(&labels->list, text);
}

/* Of two attributes of one name the last prevails. */
static int add_attributes(struct cli_texts *labels, struct sprof_arena *arena,
                          const struct sprof_log *log, char *rest)
{
    struct attributes attributes = {.list = {0}};
    int result = 0;
    size_t number = 0;
    for (char *text; !result && (text = strsep(&rest, ","));) {
        number++;
        if (*trim(text))
            result = add_attribute(&attributes, text);
    }
    if (result == 1)
        sprof_log_message(log, SPROF_LOG_WARNING,
                          "OTEL_RESOURCE_ATTRIBUTES is ignored: number %zu in it is no KEY=VALUE "
                          "with %%XX for what is not plain text",
                          number);
    for (size_t i = attributes.list.count; !result && i-- > 0;)
        result =
            add_label(labels, arena, attributes.list.items[i].name, attributes.list.items[i].value);
    sprof_vec_release(&attributes.list);
    return result < 0 ? result : 0;
}

int cli_add_otel_labels(struct cli_texts *labels, struct sprof_arena *arena,
                        const struct sprof_log *log, struct sprof_error *error)
{
    const char *service = getenv("OTEL_SERVICE_NAME");
    const char *attributes = getenv("OTEL_RESOURCE_ATTRIBUTES");
    int result = 0;
    if (service && !is_plain(service))
        sprof_log_message(
            log, SPROF_LOG_WARNING,
            "OTEL_SERVICE_NAME is ignored: it is no UTF-8, or has control characters");
    else if (service)
        result = add_label(labels, arena, "service.name", service);
    char *copy = attributes ? sprof_arena_text(arena, attributes) : NULL;
    if (!result && attributes)
        result = copy ? add_attributes(labels, arena, log, copy) : SPROF_ENOMEM;
    return result ? sprof_error_memory(error) : 0;
}
