/* Makes, upgrades and audits the tables of a fleet. */
#include "fleet/tables.h"

#include "fleet/clickhouse.h"

#include <inttypes.h>
#include <string.h>

/* == Statements == */

/* Appends a statement up to its end, with another database's name, without lines of comment.
 * Returns where the next one begins. */
static const char *take_statement(struct sprof_str *statement, const char *from,
                                  const char *database)
{
    static const char name[] = "sprof", end[] = ";\n";
    const size_t length = sizeof name - 1;
    for (bool at_word = true; *from && strncmp(from, end, 2) != 0;) {
        if (!strncmp(from, "--", 2)) {
            from += strcspn(from, "\n");
        } else if (at_word && !strncmp(from, name, length) && strchr(".;", from[length])) {
            sprof_str_append(statement, database);
            from += length;
            at_word = false;
        } else {
            at_word = *from == ' ';
            sprof_str_append_bytes(statement, from++, 1);
        }
    }
    return *from ? from + 2 : from;
}

/* The name of the table that a statement makes, NULL: of none. */
static const char *table_of(const char *statement, size_t *length)
{
    static const char head[] = "CREATE TABLE IF NOT EXISTS ";
    const char *at = strstr(statement, head);
    const char *dot = at ? strchr(at + sizeof head - 1, '.') : NULL;
    if (!dot)
        return NULL;
    *length = strcspn(dot + 1, "\n (");
    return dot + 1;
}

/* == Columns == */

struct making {
    struct fleet_link *link;
    struct fleet_made *made;
    struct sprof_str columns; /* "\ntable\tcolumn\n" of all tables that there are */
};

static int read_columns(struct making *making, struct sprof_error *error)
{
    struct sprof_str sql = {0}, text = {0};
    int result =
        sprof_str_appendf(&sql,
                          "SELECT table, name FROM system.columns WHERE database = '%s' FORMAT TSV",
                          making->link->options.target->database)
            ? sprof_error_memory(error)
            : fleet_clickhouse_ask(making->link, sql.text, NULL, &text, error);
    sprof_str_clear(&making->columns);
    if (!result && sprof_str_appendf(&making->columns, "\n%s\n", text.text ? text.text : ""))
        result = sprof_error_memory(error);
    sprof_str_release(&sql);
    sprof_str_release(&text);
    return result;
}

/* Whether there is such a column; of "" whether there is such a table. */
static bool has_column(const struct making *making, const char *table, size_t table_length,
                       const char *column, size_t length)
{
    char line[256];
    if (length)
        snprintf(line, sizeof line, "\n%.*s\t%.*s\n", (int)table_length, table, (int)length,
                 column);
    else
        snprintf(line, sizeof line, "\n%.*s\t", (int)table_length, table);
    return strstr(making->columns.text, line) != NULL;
}

static int add_column(struct making *making, const char *table, size_t table_length,
                      const char *line, size_t length, struct sprof_error *error)
{
    const char *database = making->link->options.target->database;
    struct sprof_str sql = {0}, *added = &making->made->added;
    int result = sprof_str_appendf(&sql, "ALTER TABLE %s.%.*s ADD COLUMN %.*s", database,
                                   (int)table_length, table, (int)length, line);
    if (!result)
        result = sprof_str_appendf(added, "%s%.*s.%.*s", added->length ? ", " : "",
                                   (int)table_length, table, (int)strcspn(line, " "), line);
    result = result ? sprof_error_memory(error)
                    : fleet_clickhouse_ask(making->link, sql.text, NULL, NULL, error);
    sprof_str_release(&sql);
    return result;
}

/* Adds what a statement has and the table has not: a line of four blanks, name and type each. */
static int upgrade(struct making *making, const char *statement, const char *table,
                   size_t table_length, struct sprof_error *error)
{
    int result = 0;
    for (const char *line = strchr(statement, '\n'); line && !result; line = strchr(line, '\n')) {
        const size_t length = strcspn(++line, "\n");
        if (strncmp(line, "    ", 4) != 0)
            continue;
        const size_t without_comma = length - 4 - (line[length - 1] == ',');
        if (!has_column(making, table, table_length, line + 4, strcspn(line + 4, " ")))
            result = add_column(making, table, table_length, line + 4, without_comma, error);
    }
    return result;
}

/* == Paths ==
 * Where they had no service, the table was in order of keys alone, and a row took the place of that
 * of another service. It is set aside, made anew and filled from what it was: if this ends in
 * between, the next `fleet init` goes on. */

#define PATHS_BEFORE "path_before"

/* @ stands for the database. */
static int say(struct making *making, const char *statement, struct sprof_str *answer,
               struct sprof_error *error)
{
    struct sprof_str sql = {0};
    for (const char *at = statement; *at; at++)
        if (*at == '@')
            sprof_str_append(&sql, making->link->options.target->database);
        else
            sprof_str_append_bytes(&sql, at, 1);
    const int result = sql.failed
                           ? sprof_error_memory(error)
                           : fleet_clickhouse_ask(making->link, sql.text, NULL, answer, error);
    sprof_str_release(&sql);
    return result;
}

static bool has_table(const struct making *making, const char *table)
{
    return has_column(making, table, strlen(table), "", 0);
}

static int set_paths_aside(struct making *making, struct sprof_error *error)
{
    static const char engine_is[] = "ReplacingMergeTree\n";
    struct sprof_str engine = {0};
    if (!has_table(making, "path") || has_column(making, "path", 4, "service", 7))
        return 0;
    int result = say(making,
                     "SELECT engine FROM system.tables WHERE database = '@' AND name = 'path' "
                     "FORMAT TSV",
                     &engine, error);
    if (!result && (!engine.text || strcmp(engine.text, engine_is) != 0))
        result = sprof_error_set(error, SPROF_ESTATE, 0,
                                 "%s.path has no column `service` and an engine of its own: make "
                                 "it anew by hand, ORDER BY (service, path_key), or as Distributed "
                                 "over such tables",
                                 making->link->options.target->database);
    if (!result)
        result = say(making, "RENAME TABLE @.path TO @." PATHS_BEFORE, NULL, error);
    if (!result && sprof_str_appendf(&making->made->added, "path.service"))
        result = sprof_error_memory(error);
    sprof_str_release(&engine);
    return result ? result : read_columns(making, error);
}

static int take_paths_back(struct making *making, struct sprof_error *error)
{
    if (!has_table(making, PATHS_BEFORE))
        return 0;
    const int result = say(making,
                           "INSERT INTO @.path (path_key, functions) SELECT path_key, functions "
                           "FROM @." PATHS_BEFORE,
                           NULL, error);
    return result ? result : say(making, "DROP TABLE @." PATHS_BEFORE, NULL, error);
}

/* == All == */

static int make_one(struct making *making, const char *statement, struct sprof_error *error)
{
    size_t length = 0;
    const char *table = table_of(statement, &length);
    if (table && has_column(making, table, length, "", 0))
        return upgrade(making, statement, table, length, error);
    making->made->tables += table != NULL;
    return fleet_clickhouse_ask(making->link, statement, NULL, NULL, error);
}

int fleet_tables_make(struct fleet_link *link, struct fleet_made *made, struct sprof_error *error)
{
    struct making making = {.link = link, .made = made};
    struct sprof_str statement = {0};
    *made = (struct fleet_made){.version = 0};
    int result = fleet_clickhouse_version(link, &made->version, error);
    if (!result)
        result = read_columns(&making, error);
    if (!result)
        result = set_paths_aside(&making, error);
    const char *rest =
        made->version >= FLEET_CLICKHOUSE_TODAY ? fleet_sql_clickhouse : fleet_sql_clickhouse_18;
    while (!result && *rest) {
        sprof_str_clear(&statement);
        rest = take_statement(&statement, rest, link->options.target->database);
        if (statement.failed)
            result = sprof_error_memory(error);
        else if (strspn(statement.text, " \n") < statement.length)
            result = make_one(&making, statement.text, error);
    }
    if (!result)
        result = take_paths_back(&making, error);
    sprof_str_release(&statement);
    sprof_str_release(&making.columns);
    return result;
}

/* == Audit == */

enum { AUDIT_FIELDS = 9 };

static int audit_sql(struct sprof_str *sql, const char *database, uint64_t from, uint64_t until)
{
    return sprof_str_appendf(
        sql,
        "SELECT service, version, host, event, sum(r), sum(c), sum(l), max(e), max(n) FROM ("
        "SELECT service, version, host, event, sum(samples) AS r, toUInt64(0) AS c, sum(lost) AS "
        "l, "
        "toUInt8(0) AS e, toUInt8(0) AS n FROM %1$s.run FINAL "
        "WHERE time >= toDateTime(%2$" PRIu64 ") AND time < toDateTime(%3$" PRIu64 ") "
        "GROUP BY service, version, host, event "
        "UNION ALL SELECT service, version, host, event, toUInt64(0) AS r, sum(samples) AS c, "
        "toUInt64(0) AS l, toUInt8(0) AS e, toUInt8(max(time) > now() - 120) AS n FROM %1$s.cost "
        "WHERE time >= toDateTime(%2$" PRIu64 ") AND time < toDateTime(%3$" PRIu64 ") "
        "GROUP BY service, version, host, event "
        "UNION ALL SELECT service, version, host, event, toUInt64(0) AS r, toUInt64(0) AS c, "
        "toUInt64(0) AS l, toUInt8(1) AS e, toUInt8(0) AS n FROM %1$s.run FINAL "
        "WHERE (toUInt64(toUnixTimestamp(time)) < %2$" PRIu64 " + window AND "
        "toUInt64(toUnixTimestamp(time)) + intDiv(duration_ns, 1000000000) + 1 > %2$" PRIu64 ") OR "
        "(toUInt64(toUnixTimestamp(time)) < %3$" PRIu64 " AND "
        "toUInt64(toUnixTimestamp(time)) + intDiv(duration_ns, 1000000000) + 1 > %3$" PRIu64 ") "
        "GROUP BY service, version, host, event"
        ") GROUP BY service, version, host, event ORDER BY service, version, host, event "
        "FORMAT TabSeparated",
        database, from, until);
}

static bool parse_audit(char *line, struct fleet_audit *audit)
{
    char *fields[AUDIT_FIELDS];
    for (size_t i = 0; i < AUDIT_FIELDS; i++)
        if (!(fields[i] = strsep(&line, "\t")))
            return false;
    *audit = (struct fleet_audit){
        .service = fields[0],
        .version = fields[1],
        .host = fields[2],
        .event = fields[3],
        .recorded = strtoull(fields[4], NULL, 10),
        .stored = strtoull(fields[5], NULL, 10),
        .lost = strtoull(fields[6], NULL, 10),
        .at_edge = *fields[7] == '1',
        .is_recent = *fields[8] == '1',
    };
    return true;
}

int fleet_tables_audit(struct fleet_link *link, uint64_t from_s, uint64_t until_s,
                       int (*call)(void *context, const struct fleet_audit *audit), void *context,
                       struct sprof_error *error)
{
    struct sprof_str sql = {0};
    FILE *file = tmpfile();
    int result = !file ? sprof_system_error(error, "make", "a temporary file")
                 : audit_sql(&sql, link->options.target->database, from_s, until_s)
                     ? sprof_error_memory(error)
                     : fleet_clickhouse_ask(link, sql.text, file, NULL, error);
    char *line = NULL;
    size_t capacity = 0;
    if (file)
        rewind(file);
    for (ssize_t length; !result && (length = getline(&line, &capacity, file)) > 0;) {
        struct fleet_audit audit;
        line[strcspn(line, "\n")] = '\0';
        result = parse_audit(line, &audit)
                     ? call(context, &audit)
                     : sprof_error_set(error, SPROF_EFORMAT, 0,
                                       "%s does not answer as ClickHouse does: %.100s",
                                       link->options.target->url, line);
    }
    free(line);
    if (file)
        fclose(file);
    sprof_str_release(&sql);
    return result;
}
