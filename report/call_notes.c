/* The lines below the figures of calls: what percentages are of, what the figures hold or leave
 * out, and what --max-overhead and --memory have changed. */
#include "report/call_tables.h"
#include "report/dataset_parts.h"
#include "report/utf8_text.h"

#include "base/base.h"
#include "names/names.h"

#include <inttypes.h>
#include <string.h>

enum { NAMED = 5 };
#define FIRST "group_concat(text, ', ') FILTER (WHERE place <= 5)"
/* A function's name in a text, for put_line to shorten. */
#define NAME "char(1) || function || char(2)"

/* Statements whose rows are lines as they are, NULL none. Of the functions with a figure, the first
 * five are named. */
#define LIST(before, figure, where, order)                                                         \
    "SELECT '" before ": ' || " FIRST " || iif(count(*) > 5, ', …', '') FROM (SELECT " NAME        \
    " || ' ' || " figure " AS text, row_number() OVER (ORDER BY " figure " DESC" order             \
    ") AS place FROM figures WHERE " where ")"
static const char of_figures[] =
    "WITH figures AS MATERIALIZED (SELECT function, in_flight, untimed_calls, tail_cuts, timed "
    "FROM v_call_stats WHERE run_id = %1$u) " LIST(
        "calls that have not ended, and have no time", "in_flight", "in_flight > 0",
        ", function") " UNION ALL " LIST("self time includes functions that were only counted; "
                                         "calls of these",
                                         "untimed_calls", "untimed_calls > 0 AND timed",
                                         "") " UNION ALL " LIST("calls that jumped from one to the "
                                                                "other in long chains or circles, "
                                                                "where "
                                                                "the total ends at the jump "
                                                                "(tail-cuts)",
                                                                "tail_cuts", "tail_cuts > 0",
                                                                ", function");

static const char of_run[] =
    "SELECT * FROM (SELECT what || ' to hold --max-overhead, since: ' || " FIRST
    " || CASE WHEN count(*) > 5 THEN "
    "', and ' || (count(*) - 5) || ' more: `sprof sql ''SELECT * FROM v_probe_event''`' ELSE '' "
    "END FROM (SELECT what, " NAME " || PRINTF(' %%.3f s', time_ns / 1e9) AS text, row_number() "
    "OVER (PARTITION BY what ORDER BY time_ns) AS place FROM (SELECT function, what, max(time_ns) "
    "AS time_ns FROM v_probe_event WHERE run_id = %1$u AND share > 0 GROUP BY function_id)) WHERE "
    "what <> 'timed' GROUP BY what) UNION ALL "
    "SELECT * FROM (SELECT CASE what WHEN 'timed' THEN 'to hold --memory no percentiles from ' || "
    "since || ' s "
    "on' ELSE 'only counted for lack of room (in --memory, or for more threads at a time), from ' "
    "|| since || ' s on: ' || named END FROM (SELECT what, PRINTF('%%.3f', min(time_ns) / 1e9) AS "
    "since, group_concat(" NAME ", ', ') FILTER (WHERE place <= 5) || CASE WHEN count(*) > 5 THEN "
    "', …' ELSE '' END AS named FROM (SELECT *, row_number() OVER (PARTITION BY what ORDER BY "
    "time_ns, function) AS place FROM v_probe_event WHERE run_id = %1$u AND cause = 'room') GROUP "
    "BY what ORDER BY what DESC)) UNION ALL "
    "SELECT * FROM (SELECT 'mode coverage saw calls of ' || sum(executed) || iif(sum(executed) = "
    "1, ' function', "
    "' functions') || ' of ' || count(*) || ': `sprof stats --coverage` lists them' FROM "
    "v_coverage WHERE run_id = %1$u HAVING count(*) > 0) UNION ALL "
    "SELECT * FROM (SELECT 'inline wanted: ' || group_concat(text, ', ') FILTER (WHERE place <= 5) "
    "|| "
    "iif(count(*) "
    "> 5, ', …', '') || ': small, often called within their file, and quicker than a probe. Define "
    "them where they are called (in a header, or with -flto), or build with -O2' FROM (SELECT " NAME
    " || ' ' || calls AS text, row_number() OVER (ORDER BY calls DESC, function) AS place "
    "FROM v_probe WHERE run_id = %1$u AND inline_wanted) HAVING count(*) > 0) UNION ALL "
    "SELECT iif(EXISTS (SELECT 1 FROM call_cost WHERE run_id = %1$u), 'incomplete: sprof was "
    "killed, or its disk was full, and what came after ' || PRINTF('%%.3f', duration_ns / 1e9) || "
    "' s is missing', 'incomplete from the start: sprof was killed, or its disk was full, before "
    "it had measured anything') FROM run JOIN counter ON run_id = id AND name = "
    "'" STORE_RECORDER_KILLED "' WHERE id = %1$u";
static const char no_callers[] =
    "SELECT 'no callers are known: `sprof trace --callers`, or --paths, counts calls by who made "
    "them' WHERE EXISTS (SELECT 1 FROM call_cost WHERE run_id = %1$u) AND NOT EXISTS (SELECT 1 "
    "FROM sample s JOIN node_path n ON n.node_id = s.node_id JOIN call_path p ON p.id = n.path_id "
    "WHERE s.run_id = %1$u AND p.parent_id IS NOT NULL)";

struct putting {
    struct report_calls *calls;
    struct sprof_error *error;
};

/* Copies a text with the names in it short. */
static int shorten(struct sprof_str *out, const char *text)
{
    int result = 0;
    while (*text && !result) {
        const size_t length = strcspn(text, "\1");
        const char *end = text[length] ? strchr(text + length, 2) : NULL;
        result = sprof_str_append_bytes(out, text, length);
        text += length;
        if (!end) {
            text += *text != '\0'; /* a name that was never ended */
            continue;
        }
        struct sprof_str name = {0};
        result =
            result ? result : sprof_str_append_bytes(&name, text + 1, (size_t)(end - text) - 1);
        if (!result && name.length)
            result = names_append(out, name.text, NAMES_SHORT);
        sprof_str_release(&name);
        text = end + 1;
    }
    return result;
}

static int put_line(void *context, int columns, char *const *values, char *const *names)
{
    const struct putting *putting = context;
    struct sprof_str text = {0};
    (void)columns, (void)names;
    if (!values[0])
        return 0;
    if (shorten(&text, values[0])) {
        sprof_str_release(&text);
        return sprof_error_memory(putting->error);
    }
    return report_calls_note(putting->calls, &text, putting->error);
}

static int put_lines(struct report_calls *calls, const char *statement, struct sprof_error *error)
{
    struct putting putting = {calls, error};
    struct sprof_str sql = {0};
    sprof_str_appendf(&sql, statement, calls->run);
    const int result = sql.failed ? sprof_error_memory(error)
                                  : store_query(calls->store, sql.text, put_line, &putting, error);
    sprof_str_release(&sql);
    return result;
}

static int say_about(struct report_calls *calls, const char *key, struct sprof_str *text,
                     struct sprof_error *error)
{
    const char *kept = report_utf8_keep(calls->arena, text);
    for (size_t i = 0; i < calls->table->column_count; i++)
        if (!strcmp(calls->table->columns[i].key, key))
            calls->table->columns[i].about = kept;
    return kept ? 0 : sprof_error_memory(error);
}

static int put_bases(struct report_calls *calls, const struct report_call_bases *bases,
                     struct sprof_error *error)
{
    char number[NUMBER_BYTES];
    struct sprof_str self = {0}, wall = {0};
    if (!bases->threads)
        return 0;
    sprof_str_appendf(&self, "self-percent: of %s, the self time of all probed functions",
                      report_number_length(number, bases->self_ns));
    const int result = say_about(calls, "self_percent", &self, error);
    if (result || !bases->wall_ns)
        return result;
    sprof_str_appendf(
        &wall, "total-percent: of %s, the wall time of the %" PRIu64 " thread%s seen%s",
        report_number_length(number, bases->wall_ns), bases->threads, sprof_plural(bases->threads),
        bases->has_pauses ? ", without pauses (but for calls that lasted on into them)" : "");
    return say_about(calls, "total_percent", &wall, error);
}

/* Of the rows that are shown. */
static int put_uncertain(struct report_calls *calls, struct sprof_error *error)
{
    const struct table *table = calls->table;
    const size_t function = table->column_count - 1;
    struct sprof_str text = {0};
    size_t column = 0, found = 0;
    while (column < table->column_count && strcmp(table->columns[column].key, "uncertain"))
        column++;
    for (size_t row = 0; column < function && row < report_table_rows(table); row++)
        if (report_table_cell(table, row, column)->count && found++ < NAMED)
            sprof_str_appendf(
                &text, "%s%s",
                found > 1
                    ? ", "
                    : "self time includes time in which coroutines were suspended (uncertain): ",
                report_table_cell(table, row, function)->text);
    if (found > NAMED)
        sprof_str_append(&text, ", …");
    return found ? report_calls_note(calls, &text, error) : 0;
}

static int put_outside(struct report_calls *calls, struct sprof_error *error)
{
    struct sprof_str callees = {0}, text = {0};
    int result = report_outside_append(&callees, calls->store, calls->run, error);
    if (!result && callees.length) {
        sprof_str_appendf(&text,
                          "time outside of the traced modules, by callee (`sprof stats --by "
                          "outside`): %s",
                          callees.text);
        result = report_calls_note(calls, &text, error);
    }
    sprof_str_release(&callees);
    return result;
}

static bool is_part(const struct report_selection *selection)
{
    return selection->function || selection->module || selection->thread || selection->process;
}

/* Says above the table why it has no rows. */
static int put_empty(struct report_calls *calls, struct sprof_error *error)
{
    enum { CALLED, PROBED, COVERED, NUMBERS };
    uint64_t numbers[NUMBERS];
    struct sprof_str text = {0};
    if (calls->rows)
        return 0;
    const int result = report_calls_numbers(
        calls,
        "SELECT (SELECT count(*) FROM v_call_stats WHERE run_id = %1$u), (SELECT count(*) FROM "
        "v_probe WHERE run_id = %1$u), (SELECT count(*) FROM entry_coverage WHERE run_id = %1$u)",
        numbers, NUMBERS, error);
    if (result)
        return result;
    if (numbers[CALLED] && is_part(&calls->request->selection))
        sprof_str_appendf(&text,
                          "No function that fits was called, of %" PRIu64
                          " that were: leave out --function, --module, --thread or --process",
                          numbers[CALLED]);
    else if (!numbers[CALLED] && numbers[COVERED])
        sprof_str_append(&text, "Calls were not counted");
    else if (!numbers[CALLED] && numbers[PROBED] == 1)
        sprof_str_append(&text, "The one function with a probe was never called");
    else if (!numbers[CALLED] && numbers[PROBED])
        sprof_str_appendf(&text,
                          "None of the %" PRIu64
                          " functions with a probe was called: `sprof stats --uncalled` lists them",
                          numbers[PROBED]);
    else if (!numbers[CALLED])
        sprof_str_append(&text, "No function had a probe");
    if (text.length)
        calls->table->title = report_utf8_keep(calls->arena, &text);
    sprof_str_release(&text);
    return 0;
}

int report_calls_put_notes(struct report_calls *calls, const struct report_call_bases *bases,
                           struct sprof_error *error)
{
    int result = put_empty(calls, error);
    if (!result)
        result = put_bases(calls, bases, error);
    if (!result && calls->request->table.view == REPORT_CALLS_BY_CALLER)
        result = put_lines(calls, no_callers, error);
    if (!result)
        result = put_lines(calls, of_figures, error);
    if (!result)
        result = put_outside(calls, error);
    if (!result)
        result = put_lines(calls, of_run, error);
    if (!result)
        result = put_uncertain(calls, error);
    return result ? result : report_calls_put_run(calls, 1, error);
}
