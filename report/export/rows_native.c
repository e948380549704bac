/* Turns a table of rows from tab-separated values into blocks of ClickHouse's Native format: the
 * numbers of columns and rows, then each column with its name, its type and its values (numbers are
 * little-endian; clickhouse.com/docs/interfaces/formats/Native). */
#include "report/export/rows.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>

enum { BLOCK_ROWS = 65536, COLUMNS_MAX = 32 };
enum column_type { TEXT, BYTE, NUMBER, LONG, REAL, TIME, KEYS, MAP };

static const char *const type_names[] = {[TEXT] = "String",        [BYTE] = "UInt8",
                                         [NUMBER] = "UInt32",      [LONG] = "UInt64",
                                         [REAL] = "Float64",       [TIME] = "DateTime('UTC')",
                                         [KEYS] = "Array(UInt64)", [MAP] = "Map(String, String)"};

/* The columns that are no texts. */
static const struct {
    const char *name;
    enum column_type type;
} types[] = {
    {"function_key", LONG}, {"path_key", LONG}, {"labels_key", LONG},    {"run_key", LONG},
    {"line", NUMBER},       {"start", LONG},    {"named", BYTE},         {"functions", KEYS},
    {"time", TIME},         {"samples", LONG},  {"weight", LONG},        {"total", LONG},
    {"outermost", LONG},    {"counted", LONG},  {"in_flight", LONG},     {"duration_ns", LONG},
    {"is_clock", BYTE},     {"varying", BYTE},  {"period", LONG},        {"window", NUMBER},
    {"squares", REAL},      {"lost", LONG},     {"target_cpu_ns", LONG}, {"labels", MAP},
    {"own_cpu_ns", LONG},   {"hz", NUMBER},     {"chance", REAL},
};

struct column {
    char *name;
    enum column_type type;
    struct sprof_str values;
    struct sprof_str inner; /* of arrays and maps: `values` are the ends of each */
    struct sprof_str more;  /* of maps: behind the names, which are `inner`, their values */
    uint64_t inner_count;
};

struct native {
    FILE *out;
    struct column columns[COLUMNS_MAX];
    size_t count, rows;
};

/* == Values == */

static void put_length(FILE *out, uint64_t length)
{
    for (; length > 127; length >>= 7)
        putc_unlocked((int)(length & 127) | 128, out);
    putc_unlocked((int)length, out);
}

static void put_text(FILE *out, const char *text)
{
    const size_t length = strlen(text);
    put_length(out, length);
    fwrite_unlocked(text, 1, length, out);
}

static int append_text(struct sprof_str *values, const char *text, size_t length)
{
    char head[10];
    size_t at = 0;
    for (size_t left = length; at == 0 || left; left >>= 7)
        head[at++] = (char)((left & 127) | (left > 127 ? 128 : 0));
    const int result = sprof_str_append_bytes(values, head, at);
    return result ? result : sprof_str_append_bytes(values, text, length);
}

static int append_number(struct sprof_str *values, uint64_t number, size_t size)
{
    char bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(number >> 8 * i);
    return sprof_str_append_bytes(values, bytes, size);
}

static int append_keys(struct column *column, const char *text)
{
    int result = 0;
    for (text += *text == '['; !result && isdigit((unsigned char)*text); text += *text == ',') {
        char *end;
        result = append_number(&column->inner, strtoull(text, &end, 10), 8);
        column->inner_count++;
        text = end;
    }
    return result ? result : append_number(&column->values, column->inner_count, 8);
}

static int append_real(struct sprof_str *values, const char *text)
{
    const double real = strtod(text, NULL);
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return append_number(values, bits, 8);
}

static int append_time(struct sprof_str *values, const char *text)
{
    struct tm parts = {.tm_year = 0};
    const bool good = strptime(text, "%Y-%m-%d %H:%M:%S", &parts) != NULL;
    return append_number(values, good ? (uint64_t)timegm(&parts) : 0, 4);
}

/* Takes a text in quotes, in which quotes and backslashes are escaped. */
static int append_quoted(struct sprof_str *values, char **at)
{
    char *text = *at + (**at == '\''), *end = text;
    while (*end && *end != '\'')
        end += *end == '\\' && end[1] ? 2 : 1;
    *at = end + (*end == '\'');
    *end = '\0';
    return append_text(values, text, sprof_unescape(text));
}

/* {'NAME':'VALUE','NAME':'VALUE'} */
static int append_map(struct column *column, char *text)
{
    int result = 0;
    for (char *at = text + (*text == '{'); !result && *at && *at != '}'; at += *at == ',') {
        column->inner_count++;
        result = append_quoted(&column->inner, &at);
        at += *at == ':';
        if (!result)
            result = append_quoted(&column->more, &at);
    }
    return result ? result : append_number(&column->values, column->inner_count, 8);
}

static int append_value(struct column *column, char *text)
{
    switch (column->type) {
    case TEXT: return append_text(&column->values, text, sprof_unescape(text));
    case MAP: return append_map(column, text);
    case BYTE: return append_number(&column->values, strtoull(text, NULL, 10), 1);
    case NUMBER: return append_number(&column->values, strtoull(text, NULL, 10), 4);
    case LONG: return append_number(&column->values, strtoull(text, NULL, 10), 8);
    case REAL: return append_real(&column->values, text);
    case TIME: return append_time(&column->values, text);
    case KEYS: break;
    }
    return append_keys(column, text);
}

/* == Blocks == */

static void put_bytes(FILE *out, struct sprof_str *bytes)
{
    if (bytes->length)
        fwrite_unlocked(bytes->text, 1, bytes->length, out);
    bytes->length = 0;
}

static void end_block(struct native *native)
{
    if (!native->rows)
        return;
    put_length(native->out, native->count);
    put_length(native->out, native->rows);
    for (size_t i = 0; i < native->count; i++) {
        struct column *column = &native->columns[i];
        put_text(native->out, column->name);
        put_text(native->out, type_names[column->type]);
        put_bytes(native->out, &column->values);
        put_bytes(native->out, &column->inner);
        put_bytes(native->out, &column->more);
        column->inner_count = 0;
    }
    native->rows = 0;
}

static int add_column(struct native *native, const char *name)
{
    struct column *column = &native->columns[native->count];
    if (native->count == COLUMNS_MAX || !(column->name = strdup(name)))
        return SPROF_ENOMEM;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, name))
            column->type = types[i].type;
    native->count++;
    return 0;
}

/* The first line names the columns. */
static int add_line(struct native *native, char *line, bool is_heading)
{
    int result = 0;
    size_t at = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *field; !result && (field = strsep(&line, "\t")); at++)
        result = is_heading           ? add_column(native, field)
                 : at < native->count ? append_value(&native->columns[at], field)
                                      : SPROF_EFORMAT;
    if (!is_heading && ++native->rows == BLOCK_ROWS)
        end_block(native);
    return result;
}

int report_rows_native(FILE *out, FILE *rows, struct sprof_error *error)
{
    struct native native = {.out = out};
    char *line = NULL;
    size_t capacity = 0;
    int result = 0;
    rewind(rows);
    for (bool is_heading = true; !result && getline(&line, &capacity, rows) > 0; is_heading = false)
        result = add_line(&native, line, is_heading);
    if (!result)
        end_block(&native);
    if (!result && ferror(rows))
        result = sprof_error_set(error, SPROF_EIO, errno, "cannot read a temporary file again");
    for (size_t i = 0; i < native.count; i++) {
        free(native.columns[i].name);
        sprof_str_release(&native.columns[i].values);
        sprof_str_release(&native.columns[i].inner);
        sprof_str_release(&native.columns[i].more);
    }
    free(line);
    return result == SPROF_ENOMEM ? sprof_error_memory(error) : result;
}
