/* The table of formats that can be imported: one line each, the most distinctive content first. */
#include "import/parts.h"

#include <string.h>

static const struct import_format formats[] = {
    {"perf.data", import_perf_data_recognizes, import_perf_data_read},
    {"rows", import_rows_recognizes, NULL},
    {"pprof", import_pprof_recognizes, import_pprof_read},
    {"perf-script", import_perf_script_recognizes, import_perf_script_read},
    {"folded", import_folded_recognizes, import_folded_read},
    {0},
};

const struct import_format *import_format_of(struct sprof_bytes head)
{
    const struct import_format *format = formats;
    while (format->name && !format->recognizes(head))
        format++;
    return format->name ? format : NULL;
}

static bool begins(struct sprof_bytes head, const char *magic, size_t length)
{
    return head.size >= length && !memcmp(head.data, magic, length);
}

/* Texts may hold a damaged line; a binary file has more NUL bytes than lines. */
static bool is_binary(struct sprof_bytes head)
{
    size_t zeros = 0, lines = 1;
    for (size_t i = 0; i < head.size; i++) {
        zeros += !head.data[i];
        lines += head.data[i] == '\n';
    }
    return zeros > lines;
}

int import_format_check(const char *path, struct sprof_bytes head,
                        const struct import_format *chosen, struct sprof_error *error)
{
    static const char sqlite[] = "SQLite format 3"; /* with its NUL */
    const struct import_format *found = import_format_of(head);
    if (begins(head, sqlite, sizeof sqlite))
        return sprof_error_set(
            error, SPROF_EFORMAT, 0,
            "%s is a database, as recordings of sprof are: these need no import; "
            "`sprof report -i %s` reads it, `sprof merge` joins several",
            path, path);
    if (begins(head, "\177ELF", 4))
        return sprof_error_set(error, SPROF_EFORMAT, 0,
                               "%s is a program or library, and holds no samples: `sprof record` "
                               "takes samples while a program runs",
                               path);
    if (!chosen && found && found->recognizes == import_folded_recognizes && is_binary(head))
        return sprof_error_set(error, SPROF_EFORMAT, 0,
                               "%s is a binary file, and none that can be imported: perf.data, "
                               "output of `perf script`, a pprof profile, folded stacks and rows "
                               "can be",
                               path);
    return 0;
}

bool import_format_is_rows(const struct import_format *format)
{
    return format && !format->read;
}

const struct import_format *import_format_find(const char *name, struct sprof_error *error)
{
    struct sprof_str names = {0};
    for (const struct import_format *format = formats; format->name; format++) {
        if (!strcmp(format->name, name)) {
            sprof_str_release(&names);
            return format;
        }
        sprof_str_appendf(&names, "%s%s", names.length ? ", " : "", format->name);
    }
    sprof_error_set(error, SPROF_EUSAGE, 0, "choose one of %s", names.text ? names.text : "none");
    sprof_str_release(&names);
    return NULL;
}
