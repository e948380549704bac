/* Writes single calls of each run: those that were logged, or else those that rules have kept. */
#include "report/html/page.h"
#include "report/kept_logged.h"
#include "report/kept_tree.h"
#include "report/utf8_text.h"

#include <stdlib.h>

enum {
    CALLS_MOST = 20000,          /* in a page; it holds the longest */
    LOOKED_AT_MOST = 4000000,    /* of a log: more take too long to read */
    LENGTHS_PER_OCTAVE_BITS = 3, /* how finely lengths are divided when the longest are chosen */
    LENGTHS = 64 << LENGTHS_PER_OCTAVE_BITS,
};

struct single_call {
    uint32_t thread, function; /* indexes in the page */
    uint32_t caller; /* index among the calls, + 1; 0: none. Of kept calls first a number */
    uint32_t exit, why, arguments, result, beside, request; /* numbers of texts; 0: none */
    uint64_t start_ns;
    uint64_t duration_ns, self_ns; /* duration 0: the call did not end */
    uint64_t waiting_ns, ready_ns; /* + 1; 0: not known */
};

/* A logged call that may have called the next one. */
struct open_call {
    uint32_t index, depth;
    uint64_t end_ns; /* UINT64_MAX: it did not end */
};

/* The calls of one run. */
struct single_calls {
    struct html_part *part;
    struct json *json;
    struct sprof_error *error;
    uint32_t run_id;
    bool logged, kept_too; /* rules have kept some of the logged */
    uint64_t count;        /* in the recording */
    uint64_t by_length[LENGTHS];
    uint64_t least_ns;     /* calls that are shorter are left out … */
    uint64_t certain_ns;   /* … those that are at least so long are not, … */
    size_t room;           /* … and of those between only so many are taken */
    uint32_t thread;       /* whose logged calls are read: database id */
    struct sprof_map kept; /* number of a kept call → index + 1 */
    SPROF_VEC(struct open_call) open;
    SPROF_VEC(struct single_call) calls;
    SPROF_VEC(const char *) texts; /* in the arena of the part's dataset */
    struct sprof_map text_numbers; /* hash → number */
};

enum {
    THREAD,
    FUNCTION,
    START,
    DURATION,
    SELF,
    EXIT,
    WHY,
    ARGUMENTS,
    RESULT,
    BESIDE,
    NUMBER,
    CALLER,
    DEPTH,
    REQUEST,
    WAITING,
    READY,
    COLUMNS
};

/* All are given the run, the shortest duration, how many, and positions of values. */
static const char logged_sql[] =
    "SELECT thread_id, function_id, start_ns, duration_ns, self_ns, exit, NULL, NULL, NULL, NULL, "
    "NULL, NULL, depth, NULL, waiting_ns, ready_ns FROM v_call WHERE run_id = %1$u AND "
    "(duration_ns >= %2$llu OR exit = "
    "'open') ORDER BY thread_id, start_ns, depth LIMIT %3$d";
/* Values are cut: a page has no room for long ones. The exception stands behind how a call ended.
 */
#define VALUES_OF " FROM call_value v WHERE v.run_id = k.run_id AND v.call_number = k.call_id AND "
#define LIST_OF                                                                                    \
    " (SELECT group_concat(text, ', ') FROM (SELECT CASE WHEN name <> '' THEN name || ' = ' ELSE " \
    "'' END || substr(value, 1, 120) AS text" VALUES_OF "position "
#define LABELS                                                                                     \
    "labels AS MATERIALIZED (SELECT request AS id, max(label) AS label FROM request_part"          \
    " WHERE run_id = %1$u GROUP BY request)"
#define ENDED_AND_WHY(call)                                                                        \
    " " call ".exit || coalesce((SELECT ' ' || substr(value, 1, 120)" VALUES_OF                    \
    "position = %5$d), ''), why," LIST_OF "BETWEEN 1 AND %4$d - 1 ORDER BY position)),"            \
    " (SELECT substr(value, 1, 120)" VALUES_OF "position = 0)," LIST_OF                            \
    "BETWEEN %4$d AND %5$d - 1 ORDER BY position)),"
#define KEPT(how, why)                                                                             \
    ", k AS " how "(SELECT c.*, " why " AS why FROM v_kept_call c JOIN kept_call b ON b.run_id = " \
    "c.run_id AND b.number = c.call_id WHERE c.run_id = %1$u) SELECT "
#define REASON REPORT_WHY("b.rules")
#define REASON_OR_CALLER "coalesce(" REASON ", 'caller of kept')"
#define OF_KEPT KEPT("", REASON)
#define OF_LOGGED KEPT("MATERIALIZED ", REASON_OR_CALLER)
#define KEPT_ENDED ENDED_AND_WHY("k")
#define LOGGED_ENDED ENDED_AND_WHY("c")
static const char kept_sql[] =
    ", " LABELS OF_KEPT "thread_id, function_id, start_ns, duration_ns, self_ns," KEPT_ENDED
    " call_id, caller_id, NULL, request || coalesce(' ' || label, ''), waiting_ns, ready_ns"
    " FROM k LEFT JOIN labels ON labels.id = k.request WHERE run_id = %1$u "
    "AND (duration_ns >= %2$llu OR duration_ns IS NULL) "
    "ORDER BY thread_id, start_ns, call_id LIMIT %3$d";
/* Of a log with rules. */
static const char both_sql[] =
    ", " LABELS OF_LOGGED
    "c.thread_id, c.function_id, c.start_ns, c.duration_ns, c.self_ns," LOGGED_ENDED
    " NULL, NULL, depth, request || coalesce(' ' || label, ''), c.waiting_ns, c.ready_ns"
    " FROM v_call c LEFT JOIN k ON k.thread_id = c.thread_id AND k.function_id = c.function_id"
    " AND k.start_ns = c.start_ns LEFT JOIN labels ON labels.id = k.request"
    " WHERE c.run_id = %1$u AND (c.duration_ns >= %2$llu OR c.exit = 'open') "
    "ORDER BY c.thread_id, c.start_ns, depth LIMIT %3$d";

static uint64_t number_in(char *const *values, int column)
{
    return values[column] ? strtoull(values[column], NULL, 10) : 0;
}

/* == Which ones == */

static size_t length_of(uint64_t duration_ns)
{
    const unsigned bits = LENGTHS_PER_OCTAVE_BITS;
    if (duration_ns >> bits == 0)
        return (size_t)duration_ns;
    const unsigned octave = 63 - (unsigned)__builtin_clzll(duration_ns);
    const uint64_t part = duration_ns >> (octave - bits) & ((1u << bits) - 1);
    return ((size_t)(octave - bits + 1) << bits) + (size_t)part;
}

/* The shortest duration of a length. */
static uint64_t least_of(size_t length)
{
    const unsigned bits = LENGTHS_PER_OCTAVE_BITS;
    if (length >> bits == 0)
        return length;
    return ((1u << bits) + (length & ((1u << bits) - 1))) << ((length >> bits) - 1);
}

static int note_length(void *context, int columns, char *const *values, char *const *names)
{
    struct single_calls *singles = context;
    (void)names;
    if (columns == 1 && values[0])
        singles->by_length[length_of(number_in(values, 0))]++;
    return 0;
}

static int note_count(void *context, int columns, char *const *values, char *const *names)
{
    (void)names;
    *(uint64_t *)context = columns ? number_in(values, 0) : 0;
    return 0;
}

static int query(struct single_calls *singles, const char *sql,
                 int (*take)(void *, int, char *const *, char *const *), void *context)
{
    return store_query(singles->part->input->store, sql, take, context, singles->error);
}

static int count_calls(struct single_calls *singles)
{
    char sql[160];
    snprintf(sql, sizeof sql, "SELECT sum(calls) FROM call_block WHERE run_id = %u",
             singles->run_id);
    int result = query(singles, sql, note_count, &singles->count);
    singles->logged = singles->count > 0;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM kept_call WHERE run_id = %u", singles->run_id);
    uint64_t kept = 0;
    if (!result)
        result = query(singles, sql, note_count, &kept);
    singles->kept_too = singles->logged && kept;
    singles->count = singles->logged ? singles->count : kept;
    return result;
}

/* Finds how long the calls are that the page has room for. */
static int choose_lengths(struct single_calls *singles, size_t most)
{
    char sql[160];
    singles->room = most;
    if (singles->count <= most)
        return 0;
    snprintf(sql, sizeof sql, "SELECT duration_ns FROM %s WHERE run_id = %u LIMIT %d",
             singles->logged ? "call" : "kept_call", singles->run_id, LOOKED_AT_MOST);
    const int result = query(singles, sql, note_length, singles);
    size_t length = LENGTHS;
    singles->certain_ns = UINT64_MAX;
    while (length > 0 && singles->by_length[length - 1] <= singles->room) {
        singles->room -= (size_t)singles->by_length[--length];
        singles->certain_ns = least_of(length);
    }
    singles->least_ns = length ? least_of(length - 1) : 0;
    return result;
}

/* == Reading == */

/* The number of a text, from 1; 0: there is none, or UINT32_MAX: out of memory. */
static uint32_t number_of_text(struct single_calls *singles, const char *text)
{
    if (!text)
        return 0;
    const uint64_t key = sprof_hash_text(text);
    const uint64_t *known = sprof_map_get(&singles->text_numbers, key);
    if (known)
        return (uint32_t)*known;
    const char *copy = report_utf8_copy(&singles->part->dataset.arena, text);
    if (!copy || sprof_vec_push(&singles->texts, copy) ||
        sprof_map_put(&singles->text_numbers, key, singles->texts.count))
        return UINT32_MAX;
    return (uint32_t)singles->texts.count;
}

/* Of logged calls: the last one of its thread that is open and less deep. */
static int find_caller(struct single_calls *singles, struct single_call *call, uint32_t depth)
{
    const uint32_t index = (uint32_t)singles->calls.count;
    size_t open = singles->thread == call->thread ? singles->open.count : 0;
    while (open && (singles->open.items[open - 1].depth >= depth ||
                    singles->open.items[open - 1].end_ns <= call->start_ns))
        open--;
    singles->thread = call->thread;
    singles->open.count = open;
    call->caller = open ? singles->open.items[open - 1].index + 1 : 0;
    const uint64_t end_ns = call->duration_ns ? call->start_ns + call->duration_ns : UINT64_MAX;
    return sprof_vec_push(&singles->open, ((struct open_call){index, depth, end_ns}));
}

static int take_call(void *context, int columns, char *const *values, char *const *names)
{
    struct single_calls *singles = context;
    const struct html_part *part = singles->part;
    (void)names;
    if (columns != COLUMNS)
        return SPROF_EFORMAT;
    const uint64_t *thread = sprof_map_get(&part->threads, (uint32_t)number_in(values, THREAD));
    const uint32_t function =
        report_dataset_function_of(&part->dataset, (uint32_t)number_in(values, FUNCTION));
    const uint64_t duration_ns = number_in(values, DURATION);
    const bool is_certain = duration_ns >= singles->certain_ns;
    if (!thread || !function || (!is_certain && !singles->room))
        return 0;
    struct single_call call = {
        .thread = (uint32_t)*thread,
        .function = (uint32_t)part->first_function + function - 1,
        .caller = (uint32_t)number_in(values, CALLER),
        .exit = number_of_text(singles, values[EXIT]),
        .why = number_of_text(singles, values[WHY]),
        .arguments = number_of_text(singles, values[ARGUMENTS]),
        .result = number_of_text(singles, values[RESULT]),
        .beside = number_of_text(singles, values[BESIDE]),
        .request = number_of_text(singles, values[REQUEST]),
        .start_ns = number_in(values, START),
        .duration_ns = duration_ns,
        .self_ns = number_in(values, SELF),
        .waiting_ns = values[WAITING] ? number_in(values, WAITING) + 1 : 0,
        .ready_ns = values[READY] ? number_in(values, READY) + 1 : 0,
    };
    if (call.exit == UINT32_MAX || call.why == UINT32_MAX || call.arguments == UINT32_MAX ||
        call.result == UINT32_MAX || call.beside == UINT32_MAX || call.request == UINT32_MAX)
        return SPROF_ENOMEM;
    singles->room -= !is_certain;
    const int result =
        singles->logged
            ? find_caller(singles, &call, (uint32_t)number_in(values, DEPTH))
            : sprof_map_put(&singles->kept, number_in(values, NUMBER), singles->calls.count + 1);
    return result || sprof_vec_push(&singles->calls, call) ? SPROF_ENOMEM : 0;
}

/* Replaces the callers' numbers. */
static int find_kept_callers(struct single_calls *singles)
{
    const size_t count = singles->calls.count;
    struct report_kept_link *links = calloc(count + 1, sizeof *links);
    if (!links)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct single_call *call = &singles->calls.items[i];
        const uint64_t *caller = call->caller ? sprof_map_get(&singles->kept, call->caller) : NULL;
        links[i] = (struct report_kept_link){
            .start_ns = call->start_ns,
            .above = caller ? (uint32_t)*caller - 1 : REPORT_KEPT_NONE,
        };
    }
    report_kept_open_circles(links, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        singles->calls.items[i].caller =
            links[i].above == REPORT_KEPT_NONE ? 0 : links[i].above + 1;
    free(links);
    return 0;
}

static int read_calls(struct single_calls *singles)
{
    const bool only_logged = singles->logged && !singles->kept_too;
    struct sprof_str sql = {0};
    int result = 0;
    sprof_str_append(&sql, only_logged ? "" : "WITH ");
    if (!only_logged)
        result = report_kept_conditions(singles->part->input->store, singles->run_id, &sql,
                                        singles->error);
    sprof_str_appendf(&sql,
                      only_logged         ? logged_sql
                      : singles->kept_too ? both_sql
                                          : kept_sql,
                      singles->run_id, (unsigned long long)singles->least_ns, LOOKED_AT_MOST,
                      STORE_AFTER, STORE_EXCEPTION);
    if (!result)
        result = sql.failed ? sprof_error_memory(singles->error)
                            : query(singles, sql.text, take_call, singles);
    sprof_str_release(&sql);
    return result || singles->logged ? result : find_kept_callers(singles);
}

/* == Writing == */

/* A rule of --keep: [text, calls that met it, of these without room]. */
static int put_rule(void *context, int columns, char *const *values, char *const *names)
{
    struct single_calls *singles = context;
    (void)names;
    struct sprof_str text = {0};
    if (columns != 3 || !values[0])
        return SPROF_EFORMAT;
    sprof_utf8_clean(&text, values[0]);
    report_json_open_array(singles->json, NULL);
    report_json_text(singles->json, NULL, text.text);
    report_json_count(singles->json, NULL, number_in(values, 1));
    report_json_count(singles->json, NULL, number_in(values, 2));
    report_json_close_array(singles->json);
    const bool failed = text.failed;
    sprof_str_release(&text);
    return failed ? SPROF_ENOMEM : 0;
}

static int put_facts(struct single_calls *singles, size_t run)
{
    struct json *json = singles->json;
    char sql[160];
    snprintf(sql, sizeof sql,
             "SELECT text, fired, dropped FROM keep_rule WHERE run_id = %u ORDER BY number",
             singles->run_id);
    report_json_open_object(json, NULL);
    report_json_count(json, "run", run);
    report_json_bool(json, "logged", singles->logged);
    report_json_count(json, "all", singles->count);
    report_json_count(json, "count", singles->calls.count);
    report_json_open_array(json, "texts");
    for (size_t i = 0; i < singles->texts.count; i++)
        report_json_text(json, NULL, singles->texts.items[i]);
    report_json_close_array(json);
    report_json_open_array(json, "rules");
    const int result = query(singles, sql, put_rule, singles);
    report_json_close_array(json);
    report_json_close_object(json);
    return result;
}

/* In the order in which report/html/data.js reads them. */
static void put_columns(const struct single_calls *singles, struct html_columns *columns)
{
    const struct single_call *end = singles->calls.items + singles->calls.count, *call;
    report_html_column_begin(columns);
    for (call = singles->calls.items; call < end; call++)
        report_html_column_difference(columns, call->start_ns);
    for (call = singles->calls.items; call < end; call++)
        report_html_column_plain(columns, call->thread);
    for (call = singles->calls.items; call < end; call++)
        report_html_column_plain(columns, call->function);
    for (call = singles->calls.items; call < end; call++)
        report_html_column_plain(columns, call->caller);
    for (call = singles->calls.items; call < end; call++)
        report_html_column_plain(columns, call->exit);
    for (call = singles->calls.items; call < end; call++)
        report_html_column_plain(columns, call->why);
    for (call = singles->calls.items; call < end; call++)
        report_html_column_plain(columns, call->arguments);
    for (call = singles->calls.items; call < end; call++)
        report_html_column_plain(columns, call->result);
    for (call = singles->calls.items; call < end; call++)
        report_html_column_plain(columns, call->beside);
    for (call = singles->calls.items; call < end; call++)
        report_html_column_plain(columns, call->request);
    for (call = singles->calls.items; call < end; call++)
        report_html_column_plain(columns, call->duration_ns);
    for (call = singles->calls.items; call < end; call++)
        report_html_column_plain(columns, call->self_ns);
    for (call = singles->calls.items; call < end; call++)
        report_html_column_plain(columns, call->waiting_ns);
    for (call = singles->calls.items; call < end; call++)
        report_html_column_plain(columns, call->ready_ns);
}

static int put_run(struct html_page *page, struct html_part *part, uint32_t run_id, size_t run,
                   struct html_columns *columns)
{
    struct single_calls singles = {
        .part = part, .json = &page->json, .error = page->error, .run_id = run_id};
    int result = count_calls(&singles);
    if (!result && singles.count)
        result = choose_lengths(&singles, CALLS_MOST / page->runs);
    if (!result && singles.count)
        result = read_calls(&singles);
    if (!result && singles.calls.count) {
        result = put_facts(&singles, run);
        put_columns(&singles, columns);
    }
    sprof_map_release(&singles.kept);
    sprof_map_release(&singles.text_numbers);
    sprof_vec_release(&singles.open);
    sprof_vec_release(&singles.calls);
    sprof_vec_release(&singles.texts);
    return result;
}

int report_html_single_calls(struct html_page *page, struct html_columns *columns)
{
    size_t run = 0;
    int result = 0;
    report_json_open_array(&page->json, "singleCalls");
    for (size_t i = 0; i < page->part_count && !result; i++)
        for (size_t k = 0; k < page->parts[i].runs.count && !result; k++)
            result = put_run(page, &page->parts[i], page->parts[i].runs.items[k], run++, columns);
    report_json_close_array(&page->json);
    return result;
}
