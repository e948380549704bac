/* Speaks to ClickHouse: statements, and inserts that count once where the server has tokens. */
#include "fleet/clickhouse.h"

#include "fleet/receivers.h"

#include <inttypes.h>
#include <string.h>

static const char init_cure[] = "run `sprof fleet init --to URL` to make or upgrade them";

/* == What went wrong == */

/* Codes of src/Common/ErrorCodes.cpp, which never change. */
static bool is_one_of(long code, const short *codes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (codes[i] == code)
            return true;
    return false;
}

/* The rows themselves are refused. */
static bool is_about_data(long code)
{
    static const short codes[] = {6, 26, 27, 32, 33, 38, 41, 53, 69, 72, 117, 130, 131, 190, 349};
    return is_one_of(code, codes, sizeof codes / sizeof *codes);
}

/* Tables, rights, statement or settings are wrong. */
static bool is_about_set_up(long code)
{
    static const short codes[] = {16,  47,  60,  62,  81,  115, 164, 192,
                                  193, 194, 195, 291, 392, 497, 516, 746};
    return is_one_of(code, codes, sizeof codes / sizeof *codes);
}

/* "Code: 60, e.displayText() = …", "Code: 60. DB::Exception: …"; 0: none. */
static long code_of(const struct fleet_answer *answer)
{
    const char *at = answer->text.text ? strstr(answer->text.text, "Code: ") : NULL;
    return at ? strtol(at + strlen("Code: "), NULL, 10) : 0;
}

static bool is_about_tables(long code)
{
    return code == 16 || code == 47 || code == 60 || code == 81;
}

static enum fleet_verdict judge_failure(struct fleet_answer *answer, long code)
{
    const size_t length = strlen(answer->problem);
    if (is_about_tables(code))
        snprintf(answer->problem + length, sizeof answer->problem - length, "\n%s", init_cure);
    return is_about_data(code)     ? FLEET_REFUSED
           : is_about_set_up(code) ? FLEET_STOP
           : answer->status >= 400 ? fleet_link_judge(answer)
                                   : FLEET_AGAIN;
}

/* The server sends its status first, and may fail behind it. */
static enum fleet_verdict judge_query(struct fleet_answer *answer)
{
    const long code = code_of(answer);
    if (answer->status == 200 && !code)
        return FLEET_TAKEN;
    if (answer->status == 200)
        snprintf(answer->problem, sizeof answer->problem, "%.400s", answer->text.text);
    return code ? judge_failure(answer, code) : fleet_link_judge(answer);
}

static enum fleet_verdict judge(struct fleet_answer *answer)
{
    if (answer->status == 200 && answer->text.length && !code_of(answer)) {
        snprintf(answer->problem, sizeof answer->problem,
                 "it answers an insert with something that ClickHouse does not say");
        return FLEET_AGAIN;
    }
    return judge_query(answer);
}

/* == Statements == */

int fleet_clickhouse_quote(struct sprof_str *sql, const char *text)
{
    static const char escaped[] = "\\'\t\n\r", letters[] = "\\'tnr";
    int result = sprof_str_append(sql, "'");
    for (; *text && !result; text++) {
        const char *is = strchr(escaped, *text);
        result = is ? sprof_str_appendf(sql, "\\%c", letters[is - escaped])
                    : sprof_str_append_bytes(sql, text, 1);
    }
    return result ? result : sprof_str_append(sql, "'");
}

int fleet_clickhouse_ask(struct fleet_link *link, const char *sql, FILE *out,
                         struct sprof_str *text, struct sprof_error *error)
{
    struct sprof_str url = {0};
    struct fleet_answer answer = {.status = 0};
    int result = sprof_str_appendf(&url, "%s/", link->options.target->url);
    if (!result)
        result = fleet_url_add(&url, "wait_end_of_query", "1"); /* so that the status says all */
    const struct fleet_request request = {
        .url = url.text,
        .type = "text/plain; charset=UTF-8",
        .body = {(const uint8_t *)sql, strlen(sql)},
        .out = out,
    };
    result = result ? sprof_error_memory(error)
                    : fleet_link_post(link, &request, judge_query, &answer, NULL, error);
    if (result == 1)
        result = sprof_error_set(error, SPROF_EUNSUPPORTED, 0, "%s: %s", link->options.target->url,
                                 answer.problem);
    if (text && !result)
        *text = answer.text;
    else
        sprof_str_release(&answer.text);
    sprof_str_release(&url);
    return result;
}

int fleet_clickhouse_version(struct fleet_link *link, unsigned *version, struct sprof_error *error)
{
    struct sprof_str text = {0};
    unsigned year = 0, number = 0;
    const int result = fleet_clickhouse_ask(link, "SELECT version()", NULL, &text, error);
    const bool good = !result && text.text && sscanf(text.text, "%3u.%2u.", &year, &number) == 2;
    sprof_str_release(&text);
    *version = 100 * year + number;
    return result || good ? result
                          : sprof_error_set(error, SPROF_ESTATE, 0,
                                            "%s answers, but not as ClickHouse does: is that its "
                                            "HTTP port (8123, 8443 with TLS)?",
                                            link->options.target->url);
}

/* == Inserts == */

static uint64_t column_key(struct sprof_bytes table, const char *column, size_t length)
{
    return sprof_hash_pair(sprof_hash_bytes(table.data, table.size),
                           sprof_hash_bytes(column, length));
}

/* Notes which columns there are. */
static int learn(struct fleet_receiver *receiver, struct sprof_error *error)
{
    const char *database = receiver->link->options.target->database;
    struct sprof_str sql = {0}, text = {0};
    int result = fleet_clickhouse_version(receiver->link, &receiver->version, error);
    if (!result && sprof_str_appendf(&sql,
                                     "SELECT table, name FROM system.columns WHERE database = '%s' "
                                     "AND table IN ('function', 'path', 'labels', 'cost', 'run') "
                                     "FORMAT TabSeparated",
                                     database))
        result = sprof_error_memory(error);
    if (!result)
        result = fleet_clickhouse_ask(receiver->link, sql.text, NULL, &text, error);
    char *rest = text.text, *line;
    while (!result && rest && (line = strsep(&rest, "\n"))) {
        char *name = strchr(line, '\t');
        if (!name)
            continue;
        *name++ = '\0';
        if (sprof_map_put(&receiver->columns,
                          column_key((struct sprof_bytes){(const uint8_t *)line, strlen(line)},
                                     name, strlen(name)),
                          1))
            result = sprof_error_memory(error);
    }
    sprof_str_release(&sql);
    sprof_str_release(&text);
    return result;
}

/* The table of a piece. */
static struct sprof_bytes table_of(const struct fleet_piece *piece)
{
    return (struct sprof_bytes){(const uint8_t *)piece->name, strcspn(piece->name, ".")};
}

static bool is_native(const struct fleet_piece *piece)
{
    return strchr(piece->name, '.') != NULL;
}

static int check(const struct fleet_receiver *receiver, const struct fleet_batch *batch,
                 struct sprof_error *error)
{
    const struct fleet_target *target = receiver->link->options.target;
    for (size_t i = 0; i < batch->pieces.count; i++) {
        const struct fleet_piece *piece = &batch->pieces.items[i];
        for (const char *name = piece->columns; *name;) {
            const size_t length = strcspn(name, ",");
            if (!sprof_map_get(&receiver->columns, column_key(table_of(piece), name, length)))
                return sprof_error_set(
                    error, SPROF_ESTATE, 0,
                    "%s: the database %s has no column %.*s.%.*s: its tables are missing, or of "
                    "another version\n%s",
                    target->url, target->database, (int)table_of(piece).size, piece->name,
                    (int)length, name, init_cure);
            name += length + (name[length] == ',');
        }
    }
    return 0;
}

/* One insert is one block of rows, with a token that a repetition has, too. */
static int address(const struct fleet_receiver *receiver, const struct fleet_batch *batch,
                   size_t number, struct sprof_str *url, struct fleet_request *request)
{
    const struct fleet_target *target = receiver->link->options.target;
    const struct fleet_piece *piece = &batch->pieces.items[number];
    struct sprof_str sql = {0};
    char token[64];
    snprintf(token, sizeof token, "%016" PRIx64 "-%zu", batch->key, number);
    int result = sprof_str_appendf(&sql, "INSERT INTO %s.%.*s (%s) FORMAT %s", target->database,
                                   (int)table_of(piece).size, piece->name, piece->columns,
                                   is_native(piece) ? "Native" : "TabSeparated");
    if (!result)
        result = sprof_str_appendf(url, "%s/", target->url);
    if (!result)
        result = fleet_url_add(url, "query", sql.text);
    if (!result && receiver->version >= FLEET_CLICKHOUSE_TOKENS) {
        result = fleet_url_add(url, "insert_deduplication_token", token);
        if (!result)
            result = fleet_url_add(url, "deduplicate_blocks_in_dependent_materialized_views", "1");
        if (!result)
            result = fleet_url_add(url, "async_insert", "0");
    }
    request->type = is_native(piece) ? "application/octet-stream" : "text/tab-separated-values";
    sprof_str_release(&sql);
    return result;
}

/* Of the other tables, rows of one key are one. */
static bool counts_once(const struct fleet_receiver *receiver, const struct fleet_piece *piece)
{
    return receiver->version >= FLEET_CLICKHOUSE_TOKENS ||
           strncmp(piece->name, "cost", table_of(piece).size);
}

const struct fleet_receiver_kind fleet_receiver_clickhouse = {
    .learn = learn,
    .check = check,
    .address = address,
    .judge = judge,
    .counts_once = counts_once,
};
