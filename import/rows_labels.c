/* Reads where processes belong out of labels, as ClickHouse writes a Map:
 * {'NAME':'VALUE','NAME':…}, in which texts are escaped. A database without Maps takes that for a
 * text: undoes the escapes when it reads it, and escapes the whole when it writes it,
 * {\'NAME\':\'VALUE\'}. There a value that holds ',' between quotes looks the same as two. */
#include "import/rows.h"

#include <string.h>

/* The quote behind a text in which quotes are escaped. */
static char *find_end(char *text)
{
    while (*text && *text != '\'')
        text += *text == '\\' && text[1] ? 2 : 1;
    return *text ? text : NULL;
}

/* The quote behind a text in which nothing is escaped. */
static char *find_plain_end(char *text, bool is_name)
{
    char *end = strstr(text, is_name ? "':'" : "','");
    if (end || is_name)
        return end;
    const size_t length = strlen(text);
    return length >= 2 ? text + length - 2 : NULL;
}

/* Takes the text between quotes out of `*at`, in place. NULL: there is none. */
static char *take_quoted(char **at, bool is_plain, bool is_name)
{
    char *text = *at + 1;
    char *end = **at != '\'' ? NULL : is_plain ? find_plain_end(text, is_name) : find_end(text);
    if (!end || *end != '\'')
        return NULL;
    *at = end + 1;
    *end = '\0';
    if (!is_plain)
        sprof_unescape(text);
    return text;
}

static int take_label(struct import_rows *rows, struct import_row_labels *row, const char *name,
                      const char *value)
{
    const struct {
        const char *name;
        uint32_t *number;
    } known[] = {{"process.owner", &row->user},
                 {"process.linux.cgroup", &row->cgroup},
                 {"container.id", &row->container}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name))
            return *value ? sprof_intern_put(&rows->texts, value, known[i].number) : 0;
    return 0;
}

int import_rows_read_labels(struct import_rows *rows, struct import_row_labels *row)
{
    char *copy = strdup(import_rows_text(rows, row->map));
    int result = copy ? 0 : SPROF_ENOMEM;
    const bool is_plain = copy && !strncmp(copy, "{\\'", 3);
    if (is_plain)
        sprof_unescape(copy);
    for (char *at = copy; !result && (*at == '{' || *at == ',');) {
        at++;
        const char *name = take_quoted(&at, is_plain, true);
        if (!name || *at++ != ':')
            break;
        const char *value = take_quoted(&at, is_plain, false);
        if (!value)
            break;
        result = take_label(rows, row, name, value);
    }
    free(copy);
    return result;
}
