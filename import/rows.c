/* Reads rows of a fleet's database: tab-separated values with a line of column names, as `sprof
 * export -f rows` and ClickHouse's TSVWithNames write them, in any order of tables and columns. */
#include "import/rows.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char form[] =
    "rows are what `sprof export -f rows` writes, or a query with FORMAT TSVWithNames";

enum value { TEXT, MAP, NUMBER, REAL, TIME, CHAIN };

struct column {
    const char *name;
    enum value value;
    size_t offset;
    bool required;
};

#define OF(row, name_, value_, field, required_)                                                   \
    {                                                                                              \
        .name = name_, .value = value_, .offset = offsetof(struct row, field),                     \
        .required = required_                                                                      \
    }

static const struct column function_columns[] = {
    OF(import_row_function, "function_key", NUMBER, key, true),
    OF(import_row_function, "module", TEXT, module, true),
    OF(import_row_function, "kind", TEXT, kind, false),
    OF(import_row_function, "name", TEXT, name, true),
    OF(import_row_function, "linkage_name", TEXT, linkage_name, false),
    OF(import_row_function, "file", TEXT, file, false),
    OF(import_row_function, "line", NUMBER, line, false),
    OF(import_row_function, "start", NUMBER, start, false),
    OF(import_row_function, "named", NUMBER, named, false),
    {0},
};

static const struct column path_columns[] = {
    OF(import_row_path, "path_key", NUMBER, key, true),
    OF(import_row_path, "functions", CHAIN, first, true),
    {0},
};

static const struct column labels_columns[] = {
    OF(import_row_labels, "labels_key", NUMBER, key, true),
    OF(import_row_labels, "labels", MAP, map, true),
    {0},
};

static const struct column cost_columns[] = {
    OF(import_row_cost, "service", TEXT, service, false),
    OF(import_row_cost, "version", TEXT, version, false),
    OF(import_row_cost, "host", TEXT, host, false),
    OF(import_row_cost, "time", TIME, time_s, false),
    OF(import_row_cost, "event", TEXT, event, false),
    OF(import_row_cost, "unit", TEXT, unit, false),
    OF(import_row_cost, "state", TEXT, state, false),
    OF(import_row_cost, "labels_key", NUMBER, labels_key, false),
    OF(import_row_cost, "process", TEXT, process, false),
    OF(import_row_cost, "thread", TEXT, thread, false),
    OF(import_row_cost, "path_key", NUMBER, path_key, true),
    OF(import_row_cost, "samples", NUMBER, samples, true),
    OF(import_row_cost, "weight", NUMBER, weight, true),
    OF(import_row_cost, "total", NUMBER, total_ns, false),
    OF(import_row_cost, "outermost", NUMBER, outermost, false),
    OF(import_row_cost, "counted", NUMBER, counted, false),
    OF(import_row_cost, "in_flight", NUMBER, in_flight, false),
    {0},
};

static const struct column run_columns[] = {
    OF(import_row_run, "run_key", NUMBER, key, true),
    OF(import_row_run, "time", TIME, time_s, false),
    OF(import_row_run, "duration_ns", NUMBER, duration_ns, false),
    OF(import_row_run, "service", TEXT, service, false),
    OF(import_row_run, "version", TEXT, version, false),
    OF(import_row_run, "host", TEXT, host, false),
    OF(import_row_run, "event", TEXT, event, false),
    OF(import_row_run, "unit", TEXT, unit, false),
    OF(import_row_run, "is_clock", NUMBER, is_clock, false),
    OF(import_row_run, "varying", NUMBER, varying, false),
    OF(import_row_run, "period", NUMBER, period, false),
    OF(import_row_run, "mode", TEXT, mode, false),
    OF(import_row_run, "samples", NUMBER, samples, false),
    OF(import_row_run, "weight", NUMBER, weight, false),
    OF(import_row_run, "squares", REAL, squares, false),
    OF(import_row_run, "lost", NUMBER, lost, false),
    OF(import_row_run, "target_cpu_ns", NUMBER, target_cpu_ns, false),
    OF(import_row_run, "own_cpu_ns", NUMBER, own_cpu_ns, false),
    OF(import_row_run, "hz", NUMBER, hz, false),
    OF(import_row_run, "chance", REAL, chance, false),
    {0},
};

/* A table is known by the first of these columns that its rows have. */
enum table { RUN, PATH, FUNCTION, COST, LABELS, TABLES };
static const struct {
    const char *name, *mark;
    const struct column *columns;
} tables[TABLES] = {{"run", "run_key", run_columns},
                    {"path", "functions", path_columns},
                    {"function", "function_key", function_columns},
                    {"cost", "path_key", cost_columns},
                    {"labels", "labels_key", labels_columns}};

enum { FIELDS_MAX = 64 };

struct layout {
    enum table table;
    size_t count;
    const struct column *columns[FIELDS_MAX]; /* NULL: of no use here */
    uint32_t numbers[FIELDS_MAX];             /* of the text before in this field */
};

static int wrong(const struct import_rows *rows, struct sprof_error *error, const char *what)
{
    return sprof_error_set(error, SPROF_EFORMAT, 0, "%s:%zu: %s; nothing was imported", rows->name,
                           rows->line, what);
}

/* == Fields == */

/* Cuts a line at its tabs; how many fields there are. */
static size_t split(char *line, char *fields[FIELDS_MAX])
{
    size_t count = 0;
    for (char *field; count < FIELDS_MAX && (field = strsep(&line, "\t"));)
        fields[count++] = field;
    return line ? FIELDS_MAX + 1 : count;
}

static bool parse_number(const char *text, uint64_t *number)
{
    uint64_t sum = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        const unsigned digit = (unsigned)(*at - '0');
        if (sum > (UINT64_MAX - digit) / 10)
            return false;
        sum = sum * 10 + digit;
    }
    *number = sum;
    return at != text && !*at;
}

/* "2026-08-18 14:03:10" in UTC, or seconds since 1970. */
static bool parse_time(const char *text, uint64_t *seconds)
{
    struct tm parts = {0};
    if (parse_number(text, seconds))
        return *seconds < UINT64_C(1) << 34;
    const char *end = strptime(text, "%Y-%m-%d %H:%M:%S", &parts);
    if (!end || *end)
        return false;
    const time_t time = timegm(&parts);
    *seconds = time > 0 ? (uint64_t)time : 0;
    return true;
}

/* "[1,2,3]"; returns what is wrong, or NULL. */
static const char *take_chain(struct import_rows *rows, char *text, struct import_row_path *path,
                              int *result)
{
    char *at = text;
    path->first = rows->chains.count;
    if (*at++ != '[')
        return "the functions of a path are written [KEY,KEY]";
    for (char *key; (key = strsep(&at, ",]"));) {
        uint64_t number;
        if (!*key && !at)
            break;
        if (!parse_number(key, &number))
            return "the functions of a path are written [KEY,KEY]";
        *result = sprof_vec_push(&rows->chains, number);
        if (*result)
            return NULL;
        if (at && !*at)
            break;
    }
    path->count = rows->chains.count - path->first;
    return !at                               ? "the functions of a path do not end with ]"
           : path->count > IMPORT_FRAMES_MAX ? IMPORT_TOO_DEEP
           : !path->count                    ? "a path has no functions"
                                             : NULL;
}

/* Rows next to each other mostly have the same texts. */
static int take_text(struct import_rows *rows, struct layout *layout, size_t field, char *text,
                     uint32_t *number)
{
    if (!strcmp(text, "\\N")) /* NULL */
        *text = '\0';
    if (layout->columns[field]->value == TEXT) /* texts in a Map are escaped by themselves */
        sprof_unescape(text);
    if (!*text) {
        *number = 0;
        return 0;
    }
    const char *last = sprof_intern_text(&rows->texts, layout->numbers[field]);
    if (!last || strcmp(last, text) != 0)
        if (sprof_intern_put(&rows->texts, text, &layout->numbers[field]))
            return SPROF_ENOMEM;
    *number = layout->numbers[field];
    return 0;
}

/* Returns what is wrong with a field, or NULL. */
static const char *take_field(struct import_rows *rows, struct layout *layout, size_t field,
                              char *text, void *row, int *result)
{
    const struct column *column = layout->columns[field];
    void *value = (char *)row + column->offset;
    switch (column->value) {
    case MAP:
    case TEXT: *result = take_text(rows, layout, field, text, value); return NULL;
    case NUMBER: return parse_number(text, value) ? NULL : "no whole number";
    case TIME: return parse_time(text, value) ? NULL : "no time, as in 2026-08-18 14:03:10";
    case CHAIN: return take_chain(rows, text, row, result);
    case REAL: break;
    }
    char *end;
    *(double *)value = strtod(text, &end);
    return end == text || *end || !(*(double *)value >= 0) ? "no number" : NULL;
}

/* == Tables == */

/* A row of data has a number in one of its fields, column names have none. */
static bool is_heading(const char *line)
{
    bool marked = false;
    for (const char *at = line; at; at = strchr(at, '\t')) {
        at += *at == '\t';
        if (isdigit((unsigned char)*at) || *at == '[' || *at == '\'')
            return false;
        for (size_t i = 0; i < TABLES; i++) {
            const size_t length = strlen(tables[i].mark);
            marked |= !strncmp(at, tables[i].mark, length) && (at[length] == '\t' || !at[length]);
        }
    }
    return marked;
}

static const struct column *find_column(enum table table, const char *name)
{
    const struct column *column = tables[table].columns;
    while (column->name && strcmp(column->name, name) != 0)
        column++;
    return column->name ? column : NULL;
}

static bool has_field(char *const *fields, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(fields[i], name))
            return true;
    return false;
}

static int take_heading(struct import_rows *rows, struct layout *layout, char *line,
                        struct sprof_error *error)
{
    char *fields[FIELDS_MAX];
    *layout = (struct layout){.count = split(line, fields)};
    if (layout->count > FIELDS_MAX)
        return wrong(rows, error, "more columns than any table has");
    while (!has_field(fields, layout->count, tables[layout->table].mark))
        layout->table++;
    for (size_t i = 0; i < layout->count; i++)
        layout->columns[i] = find_column(layout->table, fields[i]);
    for (const struct column *column = tables[layout->table].columns; column->name; column++)
        if (column->required && !has_field(fields, layout->count, column->name))
            return sprof_error_set(error, SPROF_EFORMAT, 0,
                                   "%s:%zu: the table `%s` has no column `%s`: select it, too",
                                   rows->name, rows->line, tables[layout->table].name,
                                   column->name);
    return 0;
}

static int too_many(const struct import_rows *rows, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_ELIMIT, 0,
                           "%s:%zu: more than %s rows: choose fewer by service, version or time, "
                           "or add them up (SELECT path_key, sum(samples) AS samples, sum(weight) "
                           "AS weight … GROUP BY path_key)",
                           rows->name, rows->line, sprof_digits_of(IMPORT_ROWS_MAX).text);
}

/* Adds the row to its table. */
static int add_row(struct import_rows *rows, const struct layout *layout, const void *row,
                   struct sprof_error *error)
{
    if (rows->costs.count >= IMPORT_ROWS_MAX || rows->paths.count >= IMPORT_ROWS_MAX ||
        rows->functions.count >= IMPORT_ROWS_MAX || rows->runs.count >= IMPORT_ROWS_MAX ||
        rows->labels.count >= IMPORT_ROWS_MAX || rows->chains.count >= IMPORT_CHAINS_MAX)
        return too_many(rows, error);
    switch (layout->table) {
    case RUN: return sprof_vec_push(&rows->runs, *(const struct import_row_run *)row);
    case PATH: return sprof_vec_push(&rows->paths, *(const struct import_row_path *)row);
    case FUNCTION:
        return sprof_vec_push(&rows->functions, *(const struct import_row_function *)row);
    case LABELS: return sprof_vec_push(&rows->labels, *(const struct import_row_labels *)row);
    default: return sprof_vec_push(&rows->costs, *(const struct import_row_cost *)row);
    }
}

static int take_row(struct import_rows *rows, struct layout *layout, char *line,
                    struct sprof_error *error)
{
    union {
        struct import_row_function function;
        struct import_row_path path;
        struct import_row_labels labels;
        struct import_row_cost cost;
        struct import_row_run run;
    } row;
    char *fields[FIELDS_MAX];
    const size_t count = split(line, fields);
    int result = 0;
    memset(&row, 0, sizeof row);
    if (layout->table == FUNCTION)
        row.function.named = 1;
    if (count != layout->count)
        return sprof_error_set(error, SPROF_EFORMAT, 0,
                               "%s:%zu: %zu fields where the table `%s` has %zu columns: the file "
                               "is damaged; nothing was imported",
                               rows->name, rows->line, count, tables[layout->table].name,
                               layout->count);
    for (size_t i = 0; i < count && !result; i++) {
        const char *bad =
            layout->columns[i] ? take_field(rows, layout, i, fields[i], &row, &result) : NULL;
        if (bad)
            return sprof_error_set(error, SPROF_EFORMAT, 0,
                                   "%s:%zu: column `%s`: %s; nothing was imported", rows->name,
                                   rows->line, layout->columns[i]->name, bad);
    }
    return result ? sprof_error_memory(error) : add_row(rows, layout, &row, error);
}

int import_rows_read(struct import_rows *rows, struct import_input *input,
                     struct sprof_error *error)
{
    struct layout layout = {.count = 0};
    char *line;
    size_t length;
    int result;
    rows->line = 0;
    rows->name = input->path;
    while ((result = import_input_line(input, &line, &length, error)) == 0) {
        rows->line++;
        if (strlen(line) != length)
            result = wrong(rows, error, "the line holds a NUL byte");
        else if (input->is_cut)
            result = wrong(rows, error, "the last line has no end: the file was cut");
        else if (!length)
            continue;
        else if (is_heading(line))
            result = take_heading(rows, &layout, line, error);
        else if (!layout.count)
            result = sprof_error_set(error, SPROF_EFORMAT, 0, "%s:%zu: no line of column names: %s",
                                     rows->name, rows->line, form);
        else
            result = take_row(rows, &layout, line, error);
        if (result)
            return result == SPROF_ENOMEM ? sprof_error_memory(error) : result;
    }
    return result == 1 ? 0 : result;
}

/* == Keys == */

static int collide(struct sprof_error *error, const char *what, uint64_t key, const char *one,
                   const char *other)
{
    return sprof_error_set(error, SPROF_EFORMAT, 0,
                           "the key %llu stands for two %s%s%s%s%s; nothing was imported: choose "
                           "fewer services, or import them one by one",
                           (unsigned long long)key, what, one ? ", " : "", one ? one : "",
                           other ? " and " : "", other ? other : "");
}

static const char *identity(const struct import_rows *rows,
                            const struct import_row_function *function)
{
    return import_rows_text(rows, function->linkage_name ? function->linkage_name : function->name);
}

/* Of rows of one function the first that has a name is taken. */
static int index_functions(struct import_rows *rows, struct sprof_error *error)
{
    for (size_t i = 0; i < rows->functions.count; i++) {
        const struct import_row_function *row = &rows->functions.items[i];
        uint64_t *known = sprof_map_at(&rows->function_index, row->key);
        if (!known)
            return sprof_error_memory(error);
        const struct import_row_function *first =
            *known ? &rows->functions.items[*known - 1] : NULL;
        if (first && first->named && row->named &&
            strcmp(identity(rows, first), identity(rows, row)) != 0)
            return collide(error, "functions", row->key, import_rows_text(rows, first->name),
                           import_rows_text(rows, row->name));
        if (!first || (row->named && !first->named))
            *known = i + 1;
    }
    return 0;
}

static int index_paths(struct import_rows *rows, struct sprof_error *error)
{
    const uint64_t *chains = rows->chains.items;
    for (size_t i = 0; i < rows->paths.count; i++) {
        const struct import_row_path *row = &rows->paths.items[i];
        uint64_t *known = sprof_map_at(&rows->path_index, row->key);
        if (!known)
            return sprof_error_memory(error);
        const struct import_row_path *first = *known ? &rows->paths.items[*known - 1] : NULL;
        if (first &&
            (first->count != row->count ||
             memcmp(chains + first->first, chains + row->first, row->count * sizeof *chains) != 0))
            return collide(error, "call paths", row->key, NULL, NULL);
        *known = first ? *known : i + 1;
    }
    return 0;
}

static int index_labels(struct import_rows *rows, struct sprof_error *error)
{
    for (size_t i = 0; i < rows->labels.count; i++) {
        struct import_row_labels *row = &rows->labels.items[i];
        uint64_t *known = sprof_map_at(&rows->labels_index, row->key);
        if (!known || import_rows_read_labels(rows, row))
            return sprof_error_memory(error);
        const struct import_row_labels *first = *known ? &rows->labels.items[*known - 1] : row;
        if (first->user != row->user || first->cgroup != row->cgroup ||
            first->container != row->container)
            return collide(error, "sets of labels", row->key, import_rows_text(rows, first->map),
                           import_rows_text(rows, row->map));
        *known = *known ? *known : i + 1;
    }
    return 0;
}

static int missing(struct sprof_error *error, const char *what, const char *table, uint64_t key)
{
    return sprof_error_set(error, SPROF_EFORMAT, 0,
                           "the %s %llu has no row in the table `%s`: a part of the rows is "
                           "missing, select it, too; nothing was imported",
                           what, (unsigned long long)key, table);
}

int import_rows_check(struct import_rows *rows, struct sprof_error *error)
{
    int result = index_functions(rows, error);
    if (!result)
        result = index_paths(rows, error);
    if (!result)
        result = index_labels(rows, error);
    for (size_t i = 0; i < rows->costs.count && !result; i++)
        if (!sprof_map_get(&rows->path_index, rows->costs.items[i].path_key))
            result = missing(error, "path", "path", rows->costs.items[i].path_key);
    for (size_t i = 0; i < rows->chains.count && !result; i++)
        if (!sprof_map_get(&rows->function_index, rows->chains.items[i]))
            result = missing(error, "function", "function", rows->chains.items[i]);
    if (!result && !rows->costs.count)
        return sprof_error_set(error, SPROF_EFORMAT, 0, "%s holds no rows of the table `cost`: %s",
                               rows->name, form);
    return result;
}

/* Adds a number to a sum; whether a database holds the sum. */
static bool add_up(uint64_t *sum, uint64_t number)
{
    const bool fits = number <= INT64_MAX - *sum;
    *sum += fits ? number : 0;
    return fits;
}

int import_rows_add_up(const struct import_rows *rows, uint64_t *samples, struct sprof_error *error)
{
    uint64_t weight = 0, total_ns = 0, outermost = 0, counted = 0, in_flight = 0;
    *samples = 0;
    for (size_t i = 0; i < rows->costs.count; i++) {
        const struct import_row_cost *row = &rows->costs.items[i];
        if (!add_up(samples, row->samples) || !add_up(&weight, row->weight) ||
            !add_up(&total_ns, row->total_ns) || !add_up(&outermost, row->outermost) ||
            !add_up(&counted, row->counted) || !add_up(&in_flight, row->in_flight))
            return sprof_error_set(error, SPROF_EFORMAT, 0,
                                   "the rows add up to more than fits: nothing was imported");
    }
    return 0;
}

void import_rows_release(struct import_rows *rows)
{
    sprof_vec_release(&rows->functions);
    sprof_vec_release(&rows->paths);
    sprof_vec_release(&rows->labels);
    sprof_vec_release(&rows->costs);
    sprof_vec_release(&rows->runs);
    sprof_vec_release(&rows->chains);
    sprof_intern_release(&rows->texts);
    sprof_map_release(&rows->function_index);
    sprof_map_release(&rows->path_index);
    sprof_map_release(&rows->labels_index);
}

bool import_rows_recognizes(struct sprof_bytes head)
{
    char line[1024];
    const char *end = head.size ? memchr(head.data, '\n', head.size) : NULL;
    const size_t length = end ? (size_t)(end - (const char *)head.data) : 0;
    if (!end || length >= sizeof line)
        return false;
    memcpy(line, head.data, length);
    line[length] = '\0';
    return strlen(line) == length && is_heading(line);
}
