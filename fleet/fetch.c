/* Reads the rows of a service, a version, a time from ClickHouse. */
#include "fleet/fetch.h"

#include "fleet/clickhouse.h"

#include <inttypes.h>
#include <string.h>

static int add_equal(struct sprof_str *sql, const char *column, const char *value)
{
    if (!value)
        return 0;
    const int result = sprof_str_appendf(sql, " AND %s = ", column);
    return result ? result : fleet_clickhouse_quote(sql, value);
}

/* What holds of rows of both `cost` and `run`. */
static int add_identity(struct sprof_str *sql, const struct fleet_selection *selection)
{
    int result = sprof_str_append(sql, " WHERE 1");
    if (!result)
        result = add_equal(sql, "service", selection->service);
    if (!result)
        result = add_equal(sql, "version", selection->version);
    if (!result)
        result = add_equal(sql, "host", selection->host);
    return result ? result : add_equal(sql, "event", selection->event);
}

/* A label in the text of a Map, 'NAME':'VALUE', in which names and values are escaped. Servers
 * without Maps hold it as a text, in which they are not. */
static int add_label(struct sprof_str *sql, const char *database, const struct fleet_label *label)
{
    struct sprof_str map = {0}, text = {0};
    sprof_str_appendf(&text, "'%s':'%s'", label->name, label->value);
    fleet_clickhouse_quote(&map, label->name);
    sprof_str_append(&map, ":");
    fleet_clickhouse_quote(&map, label->value);
    sprof_str_appendf(sql, " AND labels_key IN (SELECT labels_key FROM %s.labels WHERE ", database);
    if (!map.failed && !text.failed) {
        sprof_str_append(sql, "position(toString(labels), ");
        fleet_clickhouse_quote(sql, map.text);
        sprof_str_append(sql, ") > 0 OR position(toString(labels), ");
        fleet_clickhouse_quote(sql, text.text);
        sprof_str_append(sql, ") > 0)");
    }
    const int failed = map.failed || text.failed || sql->failed;
    sprof_str_release(&map);
    sprof_str_release(&text);
    return failed ? SPROF_ENOMEM : 0;
}

static int where_cost(struct sprof_str *sql, const struct fleet_selection *selection,
                      const char *database)
{
    int result = add_identity(sql, selection);
    if (!result)
        result = add_equal(sql, "process", selection->process);
    for (size_t i = 0; i < selection->labels.count && !result; i++)
        result = add_label(sql, database, &selection->labels.items[i]);
    if (!result && selection->from_s)
        result = sprof_str_appendf(sql, " AND time >= toDateTime(%" PRIu64 ")", selection->from_s);
    if (!result && selection->until_s)
        result = sprof_str_appendf(sql, " AND time < toDateTime(%" PRIu64 ")", selection->until_s);
    return result;
}

static int where_run(struct sprof_str *sql, const struct fleet_selection *selection)
{
    int result = add_identity(sql, selection);
    if (!result && selection->from_s)
        result = sprof_str_appendf(sql,
                                   " AND toUInt64(toUnixTimestamp(time)) + "
                                   "intDiv(duration_ns, 1000000000) + 1 > %" PRIu64,
                                   selection->from_s);
    if (!result && selection->until_s)
        result = sprof_str_appendf(sql, " AND time < toDateTime(%" PRIu64 ")", selection->until_s);
    return result;
}

/* Queries a number. */
static int count_rows(struct fleet_link *link, const char *cost_where, uint64_t *count,
                      struct sprof_error *error)
{
    struct sprof_str sql = {0}, text = {0};
    int result = sprof_str_appendf(&sql, "SELECT count() FROM %s.cost%s",
                                   link->options.target->database, cost_where)
                     ? sprof_error_memory(error)
                     : fleet_clickhouse_ask(link, sql.text, NULL, &text, error);
    *count = text.text ? strtoull(text.text, NULL, 10) : 0;
    sprof_str_release(&sql);
    sprof_str_release(&text);
    return result;
}

static int say_what_there_is(struct fleet_link *link, struct sprof_error *error)
{
    struct sprof_str sql = {0}, text = {0};
    int result = sprof_str_appendf(&sql,
                                   "SELECT arrayStringConcat(groupArray(service), ', ') FROM "
                                   "(SELECT DISTINCT service FROM %s.cost ORDER BY service LIMIT "
                                   "12) FORMAT TabSeparated",
                                   link->options.target->database)
                     ? sprof_error_memory(error)
                     : fleet_clickhouse_ask(link, sql.text, NULL, &text, error);
    if (!result) {
        const size_t length = text.text ? strcspn(text.text, "\n") : 0;
        result = sprof_error_set(
            error, SPROF_ENOTFOUND, 0,
            "no rows of that service, version, host, event, process, label and time%s%.*s",
            length ? "; there are the services " : ": there are none at all", (int)length,
            length ? text.text : "");
    }
    sprof_str_release(&sql);
    sprof_str_release(&text);
    return result;
}

/* Conditions of rows of each table. */
struct conditions {
    struct sprof_str cost, run, path;
};

/* Of paths that came without a service any may be of it. */
static int where_path(struct sprof_str *sql, const struct fleet_selection *selection)
{
    if (!selection->service)
        return sprof_str_append(sql, " WHERE 1");
    sprof_str_append(sql, " WHERE service IN ('', ");
    const int result = fleet_clickhouse_quote(sql, selection->service);
    return result ? result : sprof_str_append(sql, ")");
}

/* One table. @ stands for the database, ? for `where`, and ^ for the conditions of paths. */
static int write_table(struct fleet_link *link, FILE *out, struct sprof_error *error,
                       const char *format, const char *where, const char *path_where)
{
    const char *database = link->options.target->database;
    struct sprof_str sql = {0};
    for (const char *at = format; *at; at++)
        if (*at == '@')
            sprof_str_append(&sql, database);
        else if (*at == '?')
            sprof_str_append(&sql, where);
        else if (*at == '^')
            sprof_str_append(&sql, path_where);
        else
            sprof_str_append_bytes(&sql, at, 1);
    sprof_str_append(&sql, " FORMAT TSVWithNames");
    const int result = sql.failed ? sprof_error_memory(error)
                                  : fleet_clickhouse_ask(link, sql.text, out, NULL, error);
    sprof_str_release(&sql);
    return result;
}

/* Costs first: what they refer to was inserted before them. */
static int write_tables(struct fleet_link *link, const struct conditions *conditions, FILE *out,
                        struct sprof_error *error)
{
    const char *cost_where = conditions->cost.text, *run_where = conditions->run.text;
    const struct {
        const char *format, *where;
    } tables[] = {
        {"SELECT service, version, host, time, event, unit, state, labels_key, process, thread, "
         "path_key, samples, weight, total, outermost, counted, in_flight FROM @.cost?",
         cost_where},
        {"SELECT DISTINCT path_key, functions FROM @.path^ AND path_key IN (SELECT path_key FROM "
         "@.cost?)",
         cost_where},
        {"SELECT function_key, module, kind, name, linkage_name, file, line, start, named FROM "
         "@.function FINAL WHERE function_key IN (SELECT arrayJoin(functions) FROM @.path^ AND "
         "path_key IN (SELECT path_key FROM @.cost?))",
         cost_where},
        {"SELECT labels_key, labels FROM @.labels FINAL WHERE labels_key IN (SELECT labels_key "
         "FROM "
         "@.cost?)",
         cost_where},
        {"SELECT run_key, time, duration_ns, service, version, host, labels_key, labels, event, "
         "unit, is_clock, varying, period, mode, samples, weight, squares, lost, target_cpu_ns, "
         "own_cpu_ns, hz, chance FROM @.run FINAL?",
         run_where},
    };
    int result = 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !result; i++)
        result =
            write_table(link, out, error, tables[i].format, tables[i].where, conditions->path.text);
    return result;
}

int fleet_fetch(struct fleet_link *link, const struct fleet_selection *selection, uint64_t most,
                FILE *out, struct sprof_error *error)
{
    struct conditions where = {.cost = {0}};
    uint64_t count = 0;
    int result = where_cost(&where.cost, selection, link->options.target->database) ||
                         where_run(&where.run, selection) || where_path(&where.path, selection)
                     ? sprof_error_memory(error)
                     : count_rows(link, where.cost.text, &count, error);
    if (!result && !count)
        result = say_what_there_is(link, error);
    if (!result && count > most)
        result =
            sprof_error_set(error, SPROF_ELIMIT, 0,
                            "%s rows of cost are chosen, and at most %s can be taken: choose a "
                            "shorter time (last=10m), or one service, version, host or event",
                            sprof_digits_of(count).text, sprof_digits_of(most).text);
    if (!result)
        result = write_tables(link, &where, out, error);
    if (!result && fflush(out))
        result = sprof_system_error(error, "write", "a temporary file");
    sprof_str_release(&where.cost);
    sprof_str_release(&where.run);
    sprof_str_release(&where.path);
    return result;
}
