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
