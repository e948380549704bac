/* The table of traced functions: calls and times, of all or by process, thread or caller. */
#include "report/call_tables.h"

#include <string.h>

/* What rows are of. Figures of chosen threads or processes, and of each, come from rows that hold
 * less than those of functions. */
enum rows { OF_FUNCTIONS, OF_CHOSEN, OF_PROCESSES, OF_THREADS, OF_CALLERS, KINDS_OF_ROWS };
enum {
    ALL = (1 << KINDS_OF_ROWS) - 1,
    TIMED = ALL & ~(1 << OF_CALLERS),
    FUNCTIONS = 1 << OF_FUNCTIONS,
    PROCESSES = 1 << OF_PROCESSES | 1 << OF_THREADS | 1 << OF_CALLERS,
    THREADS = 1 << OF_THREADS,
    CALLERS = 1 << OF_CALLERS
};

/* What goes first where the page is too narrow. */
enum { DROP_MEDIAN = TABLE_DETAIL, DROP_SHARE, DROP_MAX, DROP_BLOCKS };

static const struct figure {
    struct report_call_column column; /* COLUMN_DATA: people see it with all_columns */
    unsigned of;
} figures[] = {
    {{"self", "self_ns", NULL, TABLE_NS, COLUMN_STAYS}, ALL},
    {{"self-percent", "self_percent", "self_ns", TABLE_PERCENT, DROP_SHARE}, ALL},
    {{"outside", "outside_ns", NULL, TABLE_NS, COLUMN_STAYS}, TIMED},
    {{"total", "total_ns", NULL, TABLE_NS, COLUMN_STAYS}, TIMED},
    {{"total-percent", "total_percent", "total_ns", TABLE_PERCENT, COLUMN_DATA}, FUNCTIONS},
    {{"calls", "calls", NULL, TABLE_COUNT, COLUMN_STAYS}, ALL},
    {{"average", "average_ns", NULL, TABLE_NS, TABLE_SECOND}, TIMED},
    {{"self-average", "self_average_ns", NULL, TABLE_NS, COLUMN_DATA}, ALL},
    {{"min", "min_ns", NULL, TABLE_NS, COLUMN_DATA}, TIMED},
    {{"p50", "p50_ns", NULL, TABLE_NS, DROP_MEDIAN}, FUNCTIONS},
    {{"p90", "p90_ns", NULL, TABLE_NS, COLUMN_DATA}, FUNCTIONS},
    {{"p99", "p99_ns", NULL, TABLE_NS, TABLE_SECOND + 1}, FUNCTIONS},
    {{"p999", "p999_ns", NULL, TABLE_NS, COLUMN_DATA}, FUNCTIONS},
    {{"max", "max_ns", NULL, TABLE_NS, DROP_MAX}, TIMED},
    {{"stack-bytes", "stack_bytes", NULL, TABLE_COUNT, COLUMN_STAYS}, FUNCTIONS},
    {{"heap-self", "heap_self_bytes", NULL, TABLE_COUNT, COLUMN_STAYS}, FUNCTIONS},
    {{"heap-total", "heap_total_bytes", NULL, TABLE_COUNT, COLUMN_STAYS}, FUNCTIONS},
    {{"allocations", "allocations", NULL, TABLE_COUNT, DROP_BLOCKS}, FUNCTIONS},
    {{"open", "in_flight", NULL, TABLE_COUNT, COLUMN_DATA}, TIMED},
    {{"abnormal", "abnormal", NULL, TABLE_COUNT, COLUMN_DATA}, TIMED},
    {{"tails", "tails", NULL, TABLE_COUNT, COLUMN_DATA}, TIMED},
    {{"tail-cuts", "tail_cuts", NULL, TABLE_COUNT, COLUMN_DATA}, FUNCTIONS},
    {{"recursive", "recursive", NULL, TABLE_COUNT, COLUMN_DATA}, TIMED},
    {{"counted", "counted", NULL, TABLE_COUNT, COLUMN_DATA}, TIMED},
    {{"uncertain", "uncertain", NULL, TABLE_COUNT, COLUMN_DATA}, TIMED},
    {{"untimed", "untimed_calls", NULL, TABLE_COUNT, COLUMN_DATA}, FUNCTIONS},
    {{"address", "address", NULL, TABLE_ADDRESS, COLUMN_DATA}, FUNCTIONS},
    {{"probe", "probe_address", NULL, TABLE_ADDRESS, COLUMN_DATA}, FUNCTIONS},
    {{"mechanism", "mechanism", NULL, TABLE_NAME, COLUMN_DATA}, FUNCTIONS},
    {{"state", "state", NULL, TABLE_NAME, COLUMN_DATA}, FUNCTIONS},
    {{"inline-wanted", "inline_wanted", NULL, TABLE_COUNT, COLUMN_DATA}, FUNCTIONS},
    {{"pid", "pid", NULL, TABLE_COUNT, COLUMN_STAYS}, PROCESSES},
    {{"process", "process", NULL, TABLE_NAME, COLUMN_STAYS}, PROCESSES},
    {{"tid", "tid", NULL, TABLE_COUNT, COLUMN_STAYS}, THREADS},
    {{"thread", "thread", NULL, TABLE_NAME, COLUMN_STAYS}, THREADS},
    {{"module", "module", NULL, TABLE_NAME, TABLE_SECOND + 2}, ALL},
    {{"caller", "caller", NULL, TABLE_NAME, COLUMN_NAMES}, CALLERS},
    {{"function", "function", NULL, TABLE_NAME, COLUMN_NAMES}, ALL},
};
enum { FIGURES = sizeof figures / sizeof *figures };
_Static_assert((int)FIGURES <= (int)TABLE_COLUMNS, "a table has room for them");

/* == Where rows come from == */

/* Keys of rows that are made of call_cost. */
static const struct {
    const char *columns, *group;
} keys[] = {
    [OF_CHOSEN] = {"", ""},
    [OF_PROCESSES] = {"r.pid, r.name AS process, ", "r.id, "},
    [OF_THREADS] = {"r.pid, r.name AS process, t.tid, t.name AS thread, ", "t.id, "},
};
static const char timed_figures[] =
    "SELECT *, CASE WHEN outermost > 0 THEN total_ns / outermost END AS average_ns, "
    "CASE WHEN finished > 0 THEN self_ns / finished END AS self_average_ns FROM (SELECT ";
static const char sums[] =
    "m.name AS module, f.name AS function, sum(c.calls) AS calls, "
    "CASE WHEN max(c.timed) THEN sum(c.total_ns) END AS total_ns, "
    "CASE WHEN max(c.timed) THEN sum(c.self_ns) END AS self_ns, min(c.min_ns) AS min_ns, "
    "CASE WHEN max(c.timed) THEN sum(coalesce(o.outside_ns, 0)) END AS outside_ns, "
    "max(c.max_ns) AS max_ns, sum(c.in_flight) AS in_flight, sum(c.abnormal) AS abnormal, "
    "sum(c.tails) AS tails, sum(c.recursive) AS recursive, sum(c.counted) AS counted, "
    "sum(c.uncertain) AS uncertain, sum(c.calls - c.counted - c.in_flight) AS finished, "
    "sum(c.outermost) AS outermost "
    "FROM call_cost c JOIN thread t ON t.id = c.thread_id JOIN process r ON r.id = t.process_id "
    "JOIN node_path n ON n.node_id = c.node_id JOIN call_path p ON p.id = n.path_id "
    "JOIN function f ON f.id = p.function_id JOIN module m ON m.id = f.module_id "
    "LEFT JOIN call_outside o ON o.run_id = c.run_id AND o.thread_id = c.thread_id AND "
    "o.node_id = c.node_id WHERE c.run_id = ";
/* Which calls by a caller were timed and have ended is not recorded: averages are of functions all
 * of whose calls were and have. */
static const char by_caller[] =
    "WITH untimed AS (SELECT c.run_id, t.process_id, p.function_id, "
    "sum(c.counted + c.in_flight) AS calls FROM call_cost c JOIN thread t ON t.id = c.thread_id "
    "JOIN node_path n ON n.node_id = c.node_id JOIN call_path p ON p.id = n.path_id "
    "GROUP BY 1, 2, 3) SELECT *, CASE WHEN untimed = 0 THEN self_ns / nullif(calls, 0) END "
    "AS self_average_ns FROM (SELECT r.pid, r.name AS process, m.name AS module, "
    "g.name AS caller, f.name AS function, sum(s.count) AS calls, sum(s.weight) AS self_ns, "
    "max(u.calls) AS untimed FROM sample s JOIN thread t ON t.id = s.thread_id "
    "JOIN process r ON r.id = t.process_id JOIN node_path n ON n.node_id = s.node_id "
    "JOIN call_path p ON p.id = n.path_id JOIN function f ON f.id = p.function_id "
    "JOIN module m ON m.id = f.module_id LEFT JOIN call_path q ON q.id = p.parent_id "
    "LEFT JOIN function g ON g.id = q.function_id LEFT JOIN untimed u ON u.run_id = s.run_id "
    "AND u.process_id = r.id AND u.function_id = f.id WHERE s.run_id = ";

/* Functions, with what is known of their probes. */
#define TIMES(table)                                                                               \
    table "self_ns, " table "self_percent, " table "outside_ns, " table "total_ns, " table         \
          "total_percent, " table "average_ns, " table "self_average_ns, " table "min_ns, " table  \
          "p50_ns, " table "p90_ns, " table "p99_ns, " table "p999_ns, " table "max_ns, " table    \
          "stack_bytes, " table "heap_self_bytes, " table "heap_total_bytes, " table               \
          "allocations, "
#define COUNTS(table)                                                                              \
    table "calls, " table "in_flight, " table "abnormal, " table "tails, " table                   \
          "tail_cuts, " table "recursive, " table "counted, " table "uncertain, " table            \
          "untimed_calls, "
#define NAMES(table)                                                                               \
    table "address, " table "probe_address, " table "mechanism, " table "module, " table "functio" \
          "n"
static const char of_functions[] =
    "(WITH called AS MATERIALIZED (SELECT function_id, state, inline_wanted FROM v_probe WHERE "
    "run_id = %1$u AND NOT uncalled) SELECT " TIMES("s.") COUNTS("s.")
        NAMES("s.") ", p.state, coalesce(p.inline_wanted, 0) AS inline_wanted FROM v_call_stats s "
                    "LEFT JOIN called p ON p.function_id = s.function_id WHERE s.run_id = %1$u";
/* … and those that were not called, which have no times. */
static const char uncalled[] = " UNION ALL SELECT " TIMES("NULL AS ") COUNTS("0 AS ")
    NAMES("") ", state, 0 FROM v_probe "
              "WHERE run_id = %1$u AND uncalled";

static enum rows rows_of(const struct report_request *request)
{
    const struct report_selection *selection = &request->selection;
    switch (request->table.view) {
    case REPORT_CALLS_BY_PROCESS: return OF_PROCESSES;
    case REPORT_CALLS_BY_THREAD: return OF_THREADS;
    case REPORT_CALLS_BY_CALLER: return OF_CALLERS;
    default: return selection->thread || selection->process ? OF_CHOSEN : OF_FUNCTIONS;
    }
}

static void append_rows(const struct report_calls *calls, enum rows rows, struct sprof_str *sql)
{
    static const struct report_call_names inside = {"m.name", "t.tid", "t.name", "r.pid", "r.name"};
    static const struct report_call_names outside = {.module = "module"};
    if (rows == OF_FUNCTIONS) {
        sprof_str_appendf(sql, of_functions, calls->run);
        if (calls->request->table.uncalled)
            sprof_str_appendf(sql, uncalled, calls->run);
        sprof_str_append(sql, ") WHERE true");
        report_calls_choose(calls, &outside, sql);
    } else {
        sprof_str_appendf(sql, "(%s%s%s%u", rows == OF_CALLERS ? by_caller : timed_figures,
                          rows == OF_CALLERS ? "" : keys[rows].columns,
                          rows == OF_CALLERS ? "" : sums, calls->run);
        report_calls_choose(calls, &inside, sql);
        sprof_str_appendf(sql, " GROUP BY %sf.id))",
                          rows == OF_CALLERS ? "r.id, g.id, " : keys[rows].group);
    }
    sprof_str_append(sql, " ORDER BY self_ns DESC NULLS LAST, calls DESC, function");
}

/* == The table == */

/* What is read of a run before its rows are. */
enum fact {
    IS_COVERAGE, /* all the time: it has no figures */
    HAS_OUTSIDE,
    HAS_STACK,
    HAS_HEAP,
    THREADS_SEEN,
    HAS_PAUSES,
    SELF_NS,
    WALL_NS,
    CALLERS_NS, /* … where rows are of callers */
    FACTS
};

#define ANY_OF(table) "EXISTS (SELECT 1 FROM " table " WHERE run_id = %1$u)"
static const char fact_columns[] =
    "SELECT " ANY_OF("entry_coverage") " AND NOT " ANY_OF("call_cost") ", " ANY_OF(
        "call_outside") ", " ANY_OF("call_stack") ", " ANY_OF("call_heap") ", (SELECT "
                                                                           "count(DISTINCT "
                                                                           "thread_id) FROM "
                                                                           "call_cost WHERE run_id "
                                                                           "= %1$u), EXISTS "
                                                                           "(SELECT 1 FROM phase "
                                                                           "WHERE run_id = %1$u "
                                                                           "AND paused), "
                                                                           "sum(self_ns), "
                                                                           "max(wall_ns), "
                                                                           "iif(%2$d, (SELECT "
                                                                           "sum(weight) "
                                                                           "FROM sample WHERE "
                                                                           "run_id = %1$u), 0) "
                                                                           "FROM v_call_stats "
                                                                           "WHERE run_id = %1$u";

/* Whether a figure was measured in the run, as far as there are such that may not be. */
static bool is_measured(const uint64_t facts[static FACTS], const char *key)
{
    static const struct {
        const char *key;
        enum fact fact;
    } figures_of[] = {
        {"outside_ns", HAS_OUTSIDE},    {"stack_bytes", HAS_STACK}, {"heap_self_bytes", HAS_HEAP},
        {"heap_total_bytes", HAS_HEAP}, {"allocations", HAS_HEAP},
    };
    for (size_t i = 0; i < sizeof figures_of / sizeof *figures_of; i++)
        if (!strcmp(figures_of[i].key, key))
            return facts[figures_of[i].fact] != 0;
    return true;
}

/* Whether rows are sorted by a column: "heap-self" or "heap-self:asc". */
static bool is_named(const char *sort, const struct report_call_column *column)
{
    const size_t length = sort ? strcspn(sort, ":") : 0;
    return length && ((strlen(column->title) == length && !strncmp(column->title, sort, length)) ||
                      (strlen(column->key) == length && !strncmp(column->key, sort, length)));
}

/* Adds the columns of the figures. Those without any figure show only where they are named. */
static size_t choose_columns(const struct report_calls *calls, enum rows rows,
                             const uint64_t facts[static FACTS],
                             struct report_call_column columns[static FIGURES])
{
    const struct report_table_options *options = &calls->request->table;
    size_t count = 0;
    for (size_t i = 0; i < FIGURES; i++) {
        const struct report_call_column *column = &figures[i].column;
        if (!(figures[i].of >> rows & 1) ||
            (calls->for_people && !options->show && !is_named(options->sort, column) &&
             !is_measured(facts, column->key)))
            continue;
        columns[count] = *column;
        if (!calls->for_people || options->all_columns)
            columns[count].how &= ~(unsigned)COLUMN_DATA;
        count++;
    }
    return count;
}

static bool shows(const struct table *table, const char *key)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (!strcmp(table->columns[i].key, key))
            return !table->columns[i].only_data;
    return false;
}

static void set_bases(struct table *table, enum rows rows, const uint64_t facts[static FACTS])
{
    for (size_t i = 0; i < table->column_count; i++) {
        struct table_column *column = &table->columns[i];
        if (column->kind == TABLE_PERCENT)
            column->whole = facts[strcmp(column->key, "self_percent") ? WALL_NS
                                  : rows == OF_CALLERS                ? CALLERS_NS
                                                                      : SELF_NS];
    }
}

int report_table_of_calls(struct report_calls *calls, struct sprof_error *error)
{
    struct report_call_column columns[FIGURES];
    struct sprof_str sql = {0};
    uint64_t facts[FACTS];
    const enum rows rows = rows_of(calls->request);
    int result = report_calls_find_run(calls, error);
    if (!result)
        result = report_calls_numbers(calls, fact_columns, facts, FACTS, error);
    if (result)
        return result;
    if (facts[IS_COVERAGE] && calls->for_people)
        return report_table_of_coverage(calls, error);
    const size_t count = choose_columns(calls, rows, facts, columns);
    append_rows(calls, rows, &sql);
    result = report_calls_read(calls, columns, count, &sql, error);
    sprof_str_release(&sql);
    if (!result)
        result = report_calls_order(calls, error);
    if (result)
        return result;
    set_bases(calls->table, rows, facts);
    const struct report_call_bases bases = {
        .self_ns = facts[SELF_NS],
        .wall_ns = shows(calls->table, "total_percent") ? facts[WALL_NS] : 0,
        .threads = facts[THREADS_SEEN],
        .has_pauses = facts[HAS_PAUSES] != 0,
    };
    return calls->for_people ? report_calls_put_notes(calls, &bases, error) : 0;
}
