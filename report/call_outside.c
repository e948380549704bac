/* The table of functions outside of the traced modules that functions with probes have called. */
#include "report/call_tables.h"

static const struct report_call_column columns[] = {
    {"self", "self_ns", NULL, TABLE_NS, COLUMN_STAYS},
    {"total", "total_ns", NULL, TABLE_NS, COLUMN_STAYS},
    {"calls", "calls", NULL, TABLE_COUNT, COLUMN_STAYS},
    {"self-average", "self_average_ns", NULL, TABLE_NS, COLUMN_STAYS},
    {"max", "max_ns", NULL, TABLE_NS, COLUMN_STAYS},
    {"module", "module", NULL, TABLE_NAME, COLUMN_STAYS},
    {"function", "function", NULL, TABLE_NAME, COLUMN_NAMES},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* Figures are of all threads. */
int report_table_of_outside(struct report_calls *calls, struct sprof_error *error)
{
    static const struct report_call_names names = {.module = "module"};
    struct sprof_str rows = {0};
    int result = report_calls_find_run(calls, error);
    if (result)
        return result;
    sprof_str_appendf(&rows, "v_outside WHERE run_id = %u", calls->run);
    report_calls_choose(calls, &names, &rows);
    sprof_str_append(&rows, " ORDER BY self_ns DESC, calls DESC, function");
    result = report_calls_read(calls, columns, COLUMNS, &rows, error);
    sprof_str_release(&rows);
    if (!result)
        result = report_calls_order(calls, error);
    if (result || !calls->for_people)
        return result;
    if (!calls->rows)
        calls->table->title = "No call by a function with a probe left the traced modules";
    return report_calls_put_run(calls, 1, error);
}
