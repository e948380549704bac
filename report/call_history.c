/* The table of what was in force when in a trace. */
#include "report/call_tables.h"

#include <string.h>

static const struct report_call_column columns[] = {
    {"time", "time_ns", NULL, TABLE_NS, COLUMN_STAYS},
    {"what", "what", NULL, TABLE_NAME, COLUMN_STAYS},
    {"by", "cause", "coalesce(cause, '')", TABLE_NAME, COLUMN_STAYS},
    {"functions", "functions", NULL, TABLE_COUNT, COLUMN_STAYS},
    {"detail", "detail", "coalesce(detail, '')", TABLE_NAME, COLUMN_STAYS},
};
enum { COLUMNS = sizeof columns / sizeof *columns, TIME = 0, DETAIL = COLUMNS - 1 };

/* At one moment the phase and the choices come before what became of probes by them. */
static const char in_order[] =
    " ORDER BY time_ns, CASE what WHEN 'phase' THEN 0 WHEN 'chosen' THEN 1 "
    "WHEN 'excluded' THEN 1 ELSE 2 END, what, cause";

/* With chosen functions or modules, what became of their probes, one by one. */
static void append_rows(const struct report_calls *calls, bool by_function, struct sprof_str *sql)
{
    static const struct report_call_names names = {.module = "module"};
    if (!by_function) {
        sprof_str_appendf(sql, "v_history WHERE run_id = %u", calls->run);
        return;
    }
    sprof_str_appendf(sql,
                      "(SELECT time_ns, what, cause, 1 AS functions, function, module FROM "
                      "v_probe_event WHERE run_id = %u AND function IS NOT NULL) WHERE true",
                      calls->run);
    report_calls_choose(calls, &names, sql);
}

int report_table_of_history(struct report_calls *calls, struct sprof_error *error)
{
    const struct report_selection *selection = &calls->request->selection;
    const bool by_function = selection->function || selection->module;
    struct report_call_column shown[COLUMNS];
    struct sprof_str rows = {0};
    int result = report_calls_find_run(calls, error);
    if (result)
        return result;
    memcpy(shown, columns, sizeof shown);
    if (calls->for_people)
        shown[TIME].kind = TABLE_MOMENT;
    if (by_function)
        shown[DETAIL] =
            (struct report_call_column){"function", "function", NULL, TABLE_NAME, COLUMN_NAMES};
    append_rows(calls, by_function, &rows);
    sprof_str_append(&rows, in_order);
    result = report_calls_read(calls, shown, COLUMNS, &rows, error);
    sprof_str_release(&rows);
    if (!result)
        result = report_calls_order(calls, error);
    if (result || !calls->for_people)
        return result;
    calls->table->title = calls->rows ? "What was in force when"
                          : by_function
                              ? "Nothing is known of probes of such functions"
                              : "What was in force is not recorded: an older sprof made the trace";
    return report_calls_put_run(calls, 1, error);
}
