/* Tables of functions that a trace looked for, called or not, and of warnings of calls. */
#include "report/call_tables.h"

#include <inttypes.h>
#include <string.h>

/* == Coverage == */

/* Of a function in several runs the first of those in which it was called: a bare column comes from
 * the row of the minimum. */
static const char united[] =
    "(SELECT function, module, max(executed) AS executed, sum(executed) AS runs, min(CASE WHEN "
    "executed THEN run_id END) AS first_run, first_ns, tid, thread, address, file, line FROM "
    "v_coverage WHERE %u IN (0, run_id)";

static const struct report_call_column covered_columns[] = {
    {"first call", "first_ns", NULL, TABLE_MOMENT, COLUMN_STAYS},
    {"run", "first_run", NULL, TABLE_COUNT, TABLE_DETAIL},
    {"thread", "thread",
     "CASE WHEN first_ns IS NULL THEN '' ELSE coalesce(nullif(thread, ''), '?') END", TABLE_NAME,
     TABLE_SECOND},
    {"module", "module", NULL, TABLE_NAME, TABLE_SECOND + 1},
    {"function", "function", NULL, TABLE_NAME, COLUMN_NAMES},
    {"declared at", "file", "coalesce(file || ':' || coalesce(line, ''), '')", TABLE_NAME,
     COLUMN_PLACE},
    {"executed", "executed", NULL, TABLE_COUNT, COLUMN_DATA},
};
/* As programs read it. */
static const struct report_call_column covered_data[] = {
    {"function", "function", NULL, TABLE_NAME, COLUMN_STAYS},
    {"module", "module", NULL, TABLE_NAME, COLUMN_STAYS},
    {"executed", "executed", NULL, TABLE_COUNT, COLUMN_STAYS},
    {"runs", "runs", NULL, TABLE_COUNT, COLUMN_STAYS},
    {"run", "first_run", NULL, TABLE_COUNT, COLUMN_STAYS},
    {"first call", "first_ns", NULL, TABLE_NS, COLUMN_STAYS},
    {"tid", "tid", NULL, TABLE_COUNT, COLUMN_STAYS},
    {"thread", "thread", NULL, TABLE_NAME, COLUMN_STAYS},
    {"address", "address", NULL, TABLE_ADDRESS, COLUMN_STAYS},
    {"file", "file", NULL, TABLE_NAME, COLUMN_STAYS},
    {"line", "line", NULL, TABLE_COUNT, COLUMN_STAYS},
};

static int put_title(struct report_calls *calls, uint64_t functions, uint64_t executed,
                     uint64_t runs)
{
    struct sprof_str text = {0};
    sprof_str_appendf(&text,
                      "%" PRIu64 " of %" PRIu64 " function%s called: %.1f %% of those with a "
                      "probe%s",
                      executed, functions, functions == 1 ? " was" : "s were",
                      functions ? 100.0 * (double)executed / (double)functions : 0.0,
                      calls->run || runs < 2 ? "" : ", in all runs together");
    calls->table->title = sprof_arena_copy(calls->arena, text.text ? text.text : "", text.length);
    sprof_str_release(&text);
    return calls->table->title ? 0 : SPROF_ENOMEM;
}

/* How many of the rows are of functions that were called. Where only the others are wanted, these
 * alone stay. */
static int count_executed(struct report_calls *calls, uint64_t *executed, struct sprof_error *error)
{
    struct table *table = calls->table;
    const size_t rows = report_table_rows(table);
    uint32_t *others = malloc((rows + 1) * sizeof *others);
    size_t column, count = 0;
    int result = report_table_find_column(table, "executed", strlen("executed"), &column, error);
    for (uint32_t row = 0; others && !result && row < rows; row++)
        if (!report_table_cell(table, row, column)->count)
            others[count++] = row;
    *executed = rows - count;
    if (!result && others && calls->request->table.unexecuted)
        result = report_table_take(table, others, count);
    free(others);
    return others ? result : SPROF_ENOMEM;
}

/* Runs whose recorder was killed. */
static int put_killed(struct report_calls *calls, struct sprof_error *error)
{
    uint64_t run;
    struct sprof_str text = {0};
    const int result = report_calls_numbers(
        calls,
        "SELECT max(run_id) FROM counter c WHERE name = '" STORE_RECORDER_KILLED
        "' AND %1$u IN (0, run_id) AND EXISTS (SELECT 1 FROM entry_coverage e WHERE e.run_id = "
        "c.run_id)",
        &run, 1, error);
    if (result || !run)
        return result;
    sprof_str_appendf(&text, "incomplete: sprof was killed, or its disk was full, in run %" PRIu64,
                      run);
    return report_calls_note(calls, &text, error);
}

static int put_coverage(struct report_calls *calls, uint64_t functions, uint64_t executed,
                        struct sprof_error *error)
{
    uint64_t runs;
    int result = report_calls_numbers(calls, "SELECT count(DISTINCT run_id) FROM entry_coverage",
                                      &runs, 1, error);
    if (!result)
        result = put_title(calls, functions, executed, runs);
    if (!result && !calls->rows) {
        struct sprof_str none = {0};
        sprof_str_append(&none, "there is none that was not called");
        result = report_calls_note(calls, &none, error);
    }
    if (!result)
        result = put_killed(calls, error);
    return result ? result : report_calls_put_run(calls, runs, error);
}

int report_table_of_coverage(struct report_calls *calls, struct sprof_error *error)
{
    static const struct report_call_names names = {
        .module = "module", .tid = "tid", .thread = "thread"};
    const bool people = calls->for_people;
    struct sprof_str rows = {0};
    uint64_t functions = 0, executed = 0;
    if (calls->request->selection.process)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "coverage is of all processes of a run: --thread chooses functions "
                               "by the thread that called them first");
    sprof_str_appendf(&rows, united, calls->run);
    report_calls_choose(calls, &names, &rows);
    sprof_str_append(&rows, " GROUP BY function_id) ORDER BY first_run NULLS LAST, first_ns, "
                            "module, function");
    calls->table->hides_titles = true;
    int result = report_calls_read(calls, people ? covered_columns : covered_data,
                                   people ? sizeof covered_columns / sizeof *covered_columns
                                          : sizeof covered_data / sizeof *covered_data,
                                   &rows, error);
    sprof_str_release(&rows);
    functions = report_table_rows(calls->table);
    if (!result && !functions)
        result = sprof_error_set(error, SPROF_ENOTFOUND, 0,
                                 calls->run
                                     ? "run %u did not look for the functions that are called: "
                                       "`sprof trace --mode coverage -- COMMAND` does"
                                     : "no run of the recording looked for the functions that are "
                                       "called: `sprof trace --mode coverage -- COMMAND` does",
                                 calls->run);
    if (!result)
        result = count_executed(calls, &executed, error);
    if (!result)
        result = report_calls_order(calls, error);
    return result || !people ? result : put_coverage(calls, functions, executed, error);
}

/* == Warnings == */

/* Bytes, milliseconds, or which block of the heap. */
#define AMOUNT(value, block)                                                                       \
    "CASE kind WHEN 'stack' THEN PRINTF('%.1f KiB', " value " / 1024.0) WHEN 'chunk' THEN " block  \
    " WHEN 'heap' THEN PRINTF('%d bytes', " value ") ELSE PRINTF('%.3f ms', " value " / 1e6) END"

static const struct report_call_column warned_columns[] = {
    {"time", "time_ns", NULL, TABLE_MOMENT, COLUMN_STAYS},
    {"kind", "kind", NULL, TABLE_NAME, COLUMN_STAYS},
    {"took", "value", AMOUNT("value", "PRINTF('0x%x', value)"), TABLE_NAME, COLUMN_STAYS},
    {"may take", "bound", AMOUNT("bound", "PRINTF('%d bytes', bound)"), TABLE_NAME, COLUMN_STAYS},
    {"thread", "thread", "coalesce(nullif(thread, ''), '?') || ' ' || tid", TABLE_NAME,
     COLUMN_STAYS},
    {"module", "module", "coalesce(module, '')", TABLE_NAME, COLUMN_STAYS},
    {"function", "function", "coalesce(function, '')", TABLE_NAME, COLUMN_NAMES},
};
static const struct report_call_column warned_data[] = {
    {"time", "time_ns", NULL, TABLE_NS, COLUMN_STAYS},
    {"kind", "kind", NULL, TABLE_NAME, COLUMN_STAYS},
    {"function", "function", NULL, TABLE_NAME, COLUMN_STAYS},
    {"module", "module", NULL, TABLE_NAME, COLUMN_STAYS},
    {"took", "value", NULL, TABLE_COUNT, COLUMN_STAYS},
    {"may take", "bound", NULL, TABLE_COUNT, COLUMN_STAYS},
    {"pid", "pid", NULL, TABLE_COUNT, COLUMN_STAYS},
    {"tid", "tid", NULL, TABLE_COUNT, COLUMN_STAYS},
    {"thread", "thread", NULL, TABLE_NAME, COLUMN_STAYS},
};

int report_table_of_warnings(struct report_calls *calls, struct sprof_error *error)
{
    enum { NEWEST = 8 };
    static const struct report_call_names names = {.module = "module",
                                                   .tid = "tid",
                                                   .thread = "thread",
                                                   .pid = "pid",
                                                   .process = REPORT_PROCESS_NAME};
    const bool people = calls->for_people, newest = calls->request->table.newest;
    struct sprof_str rows = {0}, title = {0};
    int result = report_calls_find_run(calls, error);
    if (result)
        return result;
    sprof_str_appendf(&rows, "(SELECT * FROM v_warning WHERE run_id = %u", calls->run);
    report_calls_choose(calls, &names, &rows);
    if (newest)
        sprof_str_appendf(&rows, " ORDER BY time_ns DESC LIMIT %d", NEWEST);
    sprof_str_append(&rows, ") ORDER BY time_ns");
    calls->table->hides_titles = true;
    result = report_calls_read(calls, people ? warned_columns : warned_data,
                               people ? sizeof warned_columns / sizeof *warned_columns
                                      : sizeof warned_data / sizeof *warned_data,
                               &rows, error);
    sprof_str_release(&rows);
    if (!result)
        result = report_calls_order(calls, error);
    if (result || !people)
        return result;
    uint64_t count = calls->rows;
    if (newest)
        result = report_calls_numbers(calls, "SELECT count(*) FROM warning WHERE run_id = %1$u",
                                      &count, 1, error);
    sprof_str_appendf(&title, "%" PRIu64 " warning%s", count, sprof_plural(count));
    calls->table->title =
        sprof_arena_copy(calls->arena, title.text ? title.text : "", title.length);
    sprof_str_release(&title);
    return result ? result : calls->table->title ? 0 : SPROF_ENOMEM;
}
