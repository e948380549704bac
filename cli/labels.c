/* Takes labels from -l, and from OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES. */
#include "cli/labels.h"

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
    for (size_t i = 0; i < labels->count; i++)
        if (is_name(labels->items[i], strcspn(labels->items[i], "="), name))
            return true;
    return false;
}

struct report_labels cli_labels_of(const struct cli_labels *labels)
{
    return (struct report_labels){labels->list.items, labels->list.count};
}

void cli_labels_release(struct cli_labels *labels)
{
    sprof_vec_release(&labels->list);
    sprof_arena_release(&labels->texts);
}

static int make_label(struct cli_labels *labels, const char *name, const char *value)
{
    const size_t size = strlen(name) + strlen(value) + 2;
    char *text = sprof_arena_alloc(&labels->texts, size);
    if (!text)
        return SPROF_ENOMEM;
    snprintf(text, size, "%s=%s", name, value);
    return sprof_vec_push(&labels->list, text);
}

int cli_add_label(void *field, const char *value, struct sprof_error *error)
{
    static const char *const briefs[][2] = {
        {"service", "service.name"}, {"version", "service.version"}, {"host", "host.name"}};
    struct cli_labels *labels = field;
    const size_t length = strcspn(value, "=");
    if (!*value)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "the value is empty");
    for (size_t i = 0; i < sizeof briefs / sizeof *briefs; i++)
        if (value[length] && is_name(value, length, briefs[i][0]))
            return make_label(labels, briefs[i][1], value + length + 1) ? sprof_error_memory(error)
                                                                        : 0;
    return sprof_vec_push(&labels->list, value) ? sprof_error_memory(error) : 0;
}

static int add_label(struct cli_labels *labels, const char *name, const char *value)
{
    const struct report_labels before = cli_labels_of(labels);
    return *value && !cli_labels_have(&before, name) ? make_label(labels, name, value) : 0;
}

/* Of two attributes of one name the last prevails. */
static int add_attributes(struct cli_labels *labels, const struct sprof_log *log, char *rest)
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
        result = add_label(labels, attributes.list.items[i].name, attributes.list.items[i].value);
    sprof_vec_release(&attributes.list);
    return result < 0 ? result : 0;
}

int cli_add_otel_labels(struct cli_labels *labels, const struct sprof_log *log,
                        struct sprof_error *error)
{
    const char *service = getenv("OTEL_SERVICE_NAME");
    const char *attributes = getenv("OTEL_RESOURCE_ATTRIBUTES");
    int result = 0;
    if (service && !is_plain(service))
        sprof_log_message(
            log, SPROF_LOG_WARNING,
            "OTEL_SERVICE_NAME is ignored: it is no UTF-8, or has control characters");
    else if (service)
        result = add_label(labels, "service.name", service);
    char *copy = attributes ? sprof_arena_text(&labels->texts, attributes) : NULL;
    if (!result && attributes)
        result = copy ? add_attributes(labels, log, copy) : SPROF_ENOMEM;
    return result ? sprof_error_memory(error) : 0;
}
