/* Makes tables of calls from statements, and writes them. */
#include "report/call_tables.h"

#include "report/error_text.h"
#include "report/function_search.h"
#include "report/utf8_text.h"

#include <inttypes.h>
#include <string.h>

enum { ROWS_FOR_PEOPLE = 40 };

static uint64_t limit_of(const struct report_calls *calls)
{
    const struct report_table_options *options = &calls->request->table;
    return options->limit ? options->limit : calls->for_people ? ROWS_FOR_PEOPLE : UINT64_MAX;
}

/* == Rows == */

static uint64_t number_of(const char *text)
{
    if (!text)
        return TABLE_UNKNOWN;
    return *text == '-' ? 0 : strtoull(text, NULL, 10);
}

static int add_row(void *context, int count, char *const *values, char *const *names)
{
    struct report_calls *calls = context;
    struct table *table = calls->table;
    (void)names;
    for (size_t i = 0; i < table->column_count && i < (size_t)count; i++) {
        const bool is_text = report_column_is_text(&table->columns[i]);
        const char *copy = is_text && values[i] ? report_utf8_copy(calls->arena, values[i]) : NULL;
        if (is_text && values[i] && !copy)
            return SPROF_ENOMEM;
        if (is_text)
            report_table_put_text(table, copy);
        else
            report_table_put_count(table, number_of(values[i]));
    }
    return table->failed ? SPROF_ENOMEM : 0;
}

static void add_column(struct table *table, const struct report_call_column *column,
                       struct sprof_str *sql)
{
    sprof_str_appendf(sql, "%s%s", table->column_count ? ", " : "SELECT ",
                      column->value ? column->value : column->key);
    report_table_column(table, (struct table_column){
                                   .title = column->title,
                                   .key = column->key,
                                   .kind = column->kind,
                                   .functions = column->how & COLUMN_NAMES,
                                   .subject = column->how & COLUMN_NAMES,
                                   .only_data = column->how & COLUMN_DATA,
                                   .place = column->how & COLUMN_PLACE,
                                   .optional = column->how & (COLUMN_PLACE - 1),
                                   .decimals = 1,
                               });
}

/* Keeps the rows of the functions that --function finds. */
static int choose_functions(struct report_calls *calls, struct sprof_error *error)
{
    struct table *table = calls->table;
    const size_t rows = report_table_rows(table);
    const char *wanted = calls->request->selection.function;
    struct report_function_set set = {0};
    size_t column;
    if (!wanted)
        return 0;
    int result = report_table_find_column(table, "function", strlen("function"), &column, error);
    const char **names = malloc((rows + 1) * sizeof *names);
    for (size_t row = 0; names && row < rows; row++) {
        names[row] = report_table_cell(table, row, column)->text;
        names[row] = names[row] ? names[row] : "";
    }
    if (!result)
        result = names ? report_names_matching(names, rows, "function", wanted, &set, error)
                       : SPROF_ENOMEM;
    for (size_t i = 0; i < set.count; i++)
        set.items[i]--;
    if (!result)
        result = report_table_take(table, set.items, set.count);
    free(names);
    sprof_vec_release(&set);
    return result;
}

int report_calls_read(struct report_calls *calls, const struct report_call_column *columns,
                      size_t count, const struct sprof_str *from, struct sprof_error *error)
{
    struct sprof_str sql = {0};
    for (size_t i = 0; i < count; i++)
        add_column(calls->table, &columns[i], &sql);
    sprof_str_appendf(&sql, " FROM %s", from->text ? from->text : "");
    const int result = sql.failed || from->failed
                           ? SPROF_ENOMEM
                           : store_query(calls->store, sql.text, add_row, calls, error);
    sprof_str_release(&sql);
    return result ? result : choose_functions(calls, error);
}

int report_calls_order(struct report_calls *calls, struct sprof_error *error)
{
    struct table *table = calls->table;
    const uint64_t limit = limit_of(calls);
    const char *sort = calls->request->table.sort;
    size_t column;
    bool ascending;
    uint32_t *order = NULL;
    calls->rows = report_table_rows(table);
    table->ordered = true;
    const size_t shown = calls->rows < limit ? calls->rows : limit;
    if (!sort) {
        table->cells.count = shown * table->column_count;
        return 0;
    }
    int result = report_table_sort_column(table, sort, &column, &ascending, error);
    if (!result)
        result = report_table_sort(table, sort, &order, error);
    if (!result)
        result = report_table_take(table, order, shown);
    if (!result) {
        table->columns[column].only_data = false;
        table->columns[column].optional = TABLE_STAYS;
    }
    free(order);
    return result;
}

/* == What is selected == */

/* A name may be a glob; a number is one of the system's. */
static void append_choice(struct sprof_str *sql, const char *name, const char *number,
                          const char *chosen)
{
    if (!chosen)
        return;
    sprof_str_appendf(sql, " AND (coalesce(%s, '') GLOB ", name);
    store_quote(sql, chosen);
    if (number) {
        sprof_str_appendf(sql, " OR CAST(%s AS TEXT) = ", number);
        store_quote(sql, chosen);
    }
    sprof_str_append(sql, ")");
}

static void append_module(struct sprof_str *sql, const char *name, const char *chosen)
{
    if (!chosen)
        return;
    sprof_str_appendf(sql, " AND (coalesce(%s, '') GLOB ", name);
    store_quote(sql, chosen);
    for (const char *const *end = model_library_versions(chosen); *end; end++) {
        sprof_str_appendf(sql, "|| '%s' OR %s GLOB ", *end, name);
        store_quote(sql, chosen);
    }
    sprof_str_append(sql, ")");
}

void report_calls_choose(const struct report_calls *calls, const struct report_call_names *names,
                         struct sprof_str *sql)
{
    const struct report_selection *selection = &calls->request->selection;
    append_module(sql, names->module, selection->module);
    if (names->tid)
        append_choice(sql, names->thread, names->tid, selection->thread);
    if (names->pid)
        append_choice(sql, names->process, names->pid, selection->process);
}

struct numbers {
    uint64_t *items;
    size_t count;
};

static int note_numbers(void *context, int columns, char *const *values, char *const *names)
{
    const struct numbers *numbers = context;
    (void)names;
    for (size_t i = 0; i < numbers->count && i < (size_t)columns; i++)
        numbers->items[i] = values[i] ? strtoull(values[i], NULL, 10) : 0;
    return 0;
}

int report_calls_numbers(struct report_calls *calls, const char *sql, uint64_t *items, size_t count,
                         struct sprof_error *error)
{
    struct numbers numbers = {items, count};
    struct sprof_str text = {0};
    memset(items, 0, count * sizeof *items);
    sprof_str_appendf(&text, sql, calls->run, calls->request->table.view == REPORT_CALLS_BY_CALLER);
    const int result = text.failed
                           ? SPROF_ENOMEM
                           : store_query(calls->store, text.text, note_numbers, &numbers, error);
    sprof_str_release(&text);
    return result;
}

/* Runs may be taken away, so their numbers need not follow each other. */
static int look_at_runs(struct report_calls *calls, struct sprof_error *error)
{
    static const char sql[] =
        "SELECT EXISTS (SELECT 1 FROM run WHERE id = %1$u), traced, (SELECT count(*) FROM run), "
        "(SELECT count(*) FROM run WHERE id <= iif(%1$u, %1$u, traced)) FROM (SELECT max(run_id) "
        "AS traced FROM event WHERE unit = (SELECT number FROM word WHERE list = 'unit' AND word = "
        "'call') AND %1$u IN (0, run_id))";
    enum { IS_KNOWN, TRACED, COUNT, PLACE, NUMBERS };
    uint64_t numbers[NUMBERS];
    const int result = report_calls_numbers(calls, sql, numbers, NUMBERS, error);
    calls->traced = (uint32_t)numbers[TRACED];
    calls->run_count = numbers[COUNT];
    calls->run_place = numbers[PLACE];
    return result || !calls->run || numbers[IS_KNOWN]
               ? result
               : sprof_error_set(error, SPROF_ENOTFOUND, 0,
                                 "there is no run %u: `sprof sql 'SELECT id FROM run'` lists them",
                                 calls->run);
}

int report_calls_find_run(struct report_calls *calls, struct sprof_error *error)
{
    if (!calls->traced)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                               calls->run
                                   ? "run %u was not traced: `sprof report --run` shows samples"
                                   : "no run of the recording was traced: `sprof trace -- COMMAND` "
                                     "makes one, `sprof report` shows samples",
                               calls->run);
    calls->run = calls->traced;
    return 0;
}

/* == Below the table == */

int report_calls_note(struct report_calls *calls, struct sprof_str *text, struct sprof_error *error)
{
    const char *copy = report_utf8_keep(calls->arena, text);
    const char *clean = copy ? report_utf8_copy(calls->arena, copy) : NULL;
    return !clean || sprof_vec_push(&calls->table->notes, clean) ? sprof_error_memory(error) : 0;
}

int report_calls_put_run(struct report_calls *calls, uint64_t runs, struct sprof_error *error)
{
    struct sprof_str text = {0};
    if (calls->run_count < 2)
        return 0;
    if (calls->run)
        sprof_str_appendf(&text, "run %" PRIu64 " of %" PRIu64 "; --run N chooses",
                          calls->run_place, calls->run_count);
    else
        sprof_str_appendf(&text, "%" PRIu64 " of %" PRIu64 " runs; --run N chooses one", runs,
                          calls->run_count);
    return report_calls_note(calls, &text, error);
}

static int put_left_out(struct report_calls *calls)
{
    struct sprof_str text = {0};
    const size_t shown = report_table_rows(calls->table);
    if (calls->rows <= shown || calls->request->table.newest)
        return 0;
    sprof_str_appendf(&text, "… and %" PRIu64 " more: -n 0 shows them", calls->rows - shown);
    calls->table->left_out = report_utf8_keep(calls->arena, &text);
    return calls->table->left_out ? 0 : SPROF_ENOMEM;
}

int report_call_table_write(FILE *out, struct store *store, const struct report_request *request,
                            report_call_table *build, struct sprof_error *error)
{
    const struct report_format *format = request->style.format;
    struct sprof_arena arena = {0};
    struct table table = {0};
    struct report_calls calls = {.store = store,
                                 .request = request,
                                 .arena = &arena,
                                 .table = &table,
                                 .run = request->selection.run_id,
                                 .for_people = !format || format->brief};
    int result = look_at_runs(&calls, error);
    if (!result)
        result = build(&calls, error);
    if (!result)
        result = put_left_out(&calls);
    result = report_error_code(result, error);
    if (!result && (calls.rows || !request->table.newest))
        result =
            report_table_write(out, &table, &arena, request->table.show, &request->style, error);
    report_table_release(&table);
    sprof_arena_release(&arena);
    return result;
}
