/* Reads where processes belong out of labels, as ClickHouse writes a Map:
 * {'NAME':'VALUE','NAME':…}. A database without Maps holds that as a text, in which quotes are not
 * escaped any more. */
#include "import/rows.h"

#include <string.h>

/* Takes the text between quotes out of `*at`, in place; the quote before one of `ends` is the last.
 * NULL: there is none. */
static char *take_quoted(char **at, const char *ends)
{
    char *from = *at, *to = from + 1, *text = to;
    if (*from++ != '\'')
        return NULL;
    for (; *from; from++) {
        if (*from == '\'' && from[1] && strchr(ends, from[1]))
            break;
        from += *from == '\\' && from[1];
        *to++ = *from;
    }
    if (!*from)
        return NULL;
    *at = from + 1;
    *to = '\0';
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
    for (char *at = copy; !result && (*at == '{' || *at == ',');) {
        at++;
        const char *name = take_quoted(&at, ":");
        if (!name || *at++ != ':')
            break;
        const char *value = take_quoted(&at, ",}");
        if (!value)
            break;
        result = take_label(rows, row, name, value);
    }
    free(copy);
    return result;
}
