/* The table of calls that had not ended when the run did, or have not yet. */
#include "report/call_tables.h"

#include <string.h>

/* Calls that were logged or kept have their own rows. Others are counted by thread and function:
 * when they began is not known, nor what called them. */
static const char open_calls[] =
    "(WITH logged AS MATERIALIZED (SELECT pid, tid, thread, thread_id, function_id, function, "
    "module, start_ns, depth FROM v_call WHERE run_id = %1$u AND exit = 'open'), "
    "kept AS MATERIALIZED (SELECT pid, tid, thread, thread_id, function_id, function, module, "
    "start_ns, caller_id FROM v_kept_call k WHERE run_id = %1$u AND exit = 'open' AND NOT EXISTS "
    "(SELECT 1 FROM logged l WHERE l.thread_id = k.thread_id AND l.function_id = k.function_id AND "
    "l.start_ns = k.start_ns)) "
    "SELECT pid, tid, thread, thread_id, function, module, start_ns AS since_ns, depth, 1 AS "
    "calls, "
    "(SELECT o.function FROM logged o WHERE o.thread_id = l.thread_id AND o.depth = l.depth - 1) "
    "AS caller FROM logged l "
    "UNION ALL SELECT pid, tid, thread, thread_id, function, module, start_ns, 0, 1, (SELECT "
    "o.function FROM "
    "v_kept_call o WHERE o.run_id = %1$u AND o.call_id = k.caller_id) FROM kept k "
    "UNION ALL SELECT r.pid, t.tid, t.name, t.id, f.name, m.name, NULL, 0, sum(c.in_flight), NULL "
    "FROM "
    "call_cost c JOIN thread t ON t.id = c.thread_id JOIN process r ON r.id = t.process_id JOIN "
    "node_path n ON n.node_id = c.node_id JOIN call_path p ON p.id = n.path_id JOIN function f ON "
    "f.id = p.function_id JOIN module m ON m.id = f.module_id WHERE c.run_id = %1$u AND "
    "c.in_flight > 0 AND NOT EXISTS (SELECT 1 FROM logged l WHERE l.thread_id = t.id AND "
    "l.function_id = f.id) AND NOT EXISTS (SELECT 1 FROM kept k WHERE k.thread_id = t.id AND "
    "k.function_id = f.id) GROUP BY t.id, f.id) WHERE true";

static const struct report_call_column columns[] = {
    {"calls", "calls", NULL, TABLE_COUNT, COLUMN_STAYS},
    {"since", "since_ns", NULL, TABLE_NS, COLUMN_STAYS},
    {"pid", "pid", NULL, TABLE_COUNT, COLUMN_STAYS},
    {"tid", "tid", NULL, TABLE_COUNT, COLUMN_STAYS},
    {"thread", "thread", NULL, TABLE_NAME, COLUMN_STAYS},
    {"module", "module", NULL, TABLE_NAME, COLUMN_STAYS},
    {"caller", "caller", NULL, TABLE_NAME, COLUMN_NAMES},
    {"function", "function", NULL, TABLE_NAME, COLUMN_NAMES},
};
enum { COLUMNS = sizeof columns / sizeof *columns, SINCE = 1 };

int report_table_of_open_calls(struct report_calls *calls, struct sprof_error *error)
{
    static const struct report_call_names names = {"module", "tid", "thread", "pid",
                                                   REPORT_PROCESS_NAME};
    struct report_call_column shown[COLUMNS];
    struct sprof_str rows = {0};
    int result = report_calls_find_run(calls, error);
    if (result)
        return result;
    memcpy(shown, columns, sizeof shown);
    if (calls->for_people)
        shown[SINCE].kind = TABLE_MOMENT;
    sprof_str_appendf(&rows, open_calls, calls->run);
    report_calls_choose(calls, &names, &rows);
    sprof_str_append(&rows, " ORDER BY since_ns NULLS LAST, pid, tid, depth, function");
    calls->table->hides_titles = true;
    result = report_calls_read(calls, shown, COLUMNS, &rows, error);
    sprof_str_release(&rows);
    if (!result)
        result = report_calls_order(calls, error);
    if (result || !calls->for_people)
        return result;
    calls->table->title = calls->rows ? "Calls that have not ended" : "All calls have ended";
    return report_calls_put_run(calls, 1, error);
}
