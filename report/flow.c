/* The flow of calls that were logged one by one, or kept: thread after thread, in the order in
 * which they began, indented by depth, with durations and exits. */
#include "names/names.h"
#include "report/kept_logged.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_WHY "coalesce(" REPORT_WHY("b.rules") ", 'caller of kept')"
/* Of calls in a log, and of those that rules have kept, too. Behind `conditions`. */
static const char logged_sql[] =
    ", kept AS MATERIALIZED (SELECT k.thread_id, k.function_id, k.start_ns, call_id, " KEPT_WHY
    " AS why FROM v_kept_call k JOIN kept_call b ON b.run_id = k.run_id AND b.number = k.call_id "
    "WHERE k.run_id = %1$u) "
    "SELECT c.call_id, c.depth, c.pid, c.tid, c.thread, c.function, c.module, c.start_ns, "
    "c.duration_ns, c.self_ns, c.exit, word1, word2, word3, word4, word5, word6, c.running_ns, "
    "c.waiting_ns, c.ready_ns, k.why, k.call_id AS kept_id, "
    "(SELECT group_concat(text, ', ') FROM (SELECT CASE WHEN name <> '' THEN name || ' = ' ELSE '' "
    "END || value AS text FROM call_value v WHERE v.run_id = %1$u AND v.call_number = k.call_id "
    "AND position BETWEEN 1 AND %2$d - 1 ORDER BY position)) AS arguments, (SELECT value FROM "
    "call_value v WHERE v.run_id = %1$u AND v.call_number = k.call_id AND position = 0) AS result "
    "FROM v_call c LEFT JOIN kept k ON k.thread_id = c.thread_id AND k.function_id = c.function_id "
    "AND k.start_ns = c.start_ns WHERE c.run_id = %1$u";
enum { COLUMNS = 24, NUMBERS = 0x2e038f }; /* bit i: column i is a number */
/* Of kept calls; the first ones are as above. */
static const struct report_listing_column kept_columns[] = {
    {"call_id", REPORT_CELL_NUMBER, false},     {"depth", REPORT_CELL_NUMBER, false},
    {"pid", REPORT_CELL_NUMBER, false},         {"tid", REPORT_CELL_NUMBER, false},
    {"thread", REPORT_CELL_TEXT, false},        {"function", REPORT_CELL_TEXT, false},
    {"module", REPORT_CELL_TEXT, false},        {"start_ns", REPORT_CELL_NUMBER, false},
    {"duration_ns", REPORT_CELL_NUMBER, false}, {"self_ns", REPORT_CELL_NUMBER, false},
    {"exit", REPORT_CELL_TEXT, false},          {"caller_id", REPORT_CELL_NUMBER, false},
    {"why", REPORT_CELL_TEXT, false},           {"suspended", REPORT_CELL_NUMBER, false},
    {"arguments", REPORT_CELL_TEXT, false},     {"result", REPORT_CELL_TEXT, false},
    {"exception", REPORT_CELL_TEXT, false},     {"values", REPORT_CELL_TEXT, false},
    {"request", REPORT_CELL_NUMBER, false},     {"running_ns", REPORT_CELL_NUMBER, false},
    {"waiting_ns", REPORT_CELL_NUMBER, false},  {"ready_ns", REPORT_CELL_NUMBER, false},
};
enum {
    KEPT_COLUMNS = sizeof kept_columns / sizeof *kept_columns,
    WHY = 12,
    ARGUMENTS = 14,
    RESULT,
    EXCEPTION,
    VALUES,
    REQUEST,
};
enum { DEPTH = 1, PID = 2, TID = 3, THREAD = 4, FUNCTION = 5, START = 7, DURATION = 8, EXIT = 10 };
enum { WORD = 11, WORDS_SHOWN = 3, INDENT_MOST = 100 };
enum { WAITING = 18, KEPT_WAITING = KEPT_COLUMNS - 2 }; /* then ready */
enum { LOGGED_WHY = 20, LOGGED_ARGUMENTS = 22, LOGGED_RESULT };

struct showing {
    FILE *out;
    bool is_text, is_kept;
    struct report_listing *listing; /* of kept calls, for programs */
    char tid[32];                   /* whose calls are being shown */
    struct sprof_arena arena;
    struct sprof_map numbers;     /* hash of a name → its number, from 1 */
    SPROF_VEC(const char *) full; /* names of functions; */
    const char **shown;           /* what people read for them */
};

/* == Names of functions == */

static int add_name(void *context, int count, char *const *values, char *const *names)
{
    struct showing *showing = context;
    (void)count;
    (void)names;
    const char *copy =
        values[0] ? sprof_arena_copy(&showing->arena, values[0], strlen(values[0])) : NULL;
    if (!values[0])
        return 0;
    return !copy || sprof_vec_push(&showing->full, copy) ||
                   sprof_map_put(&showing->numbers, sprof_hash_bytes(copy, strlen(copy)),
                                 showing->full.count)
               ? SPROF_ENOMEM
               : 0;
}

static int load_names(struct showing *showing, struct store *store, struct sprof_error *error)
{
    const int status =
        store_query(store, "SELECT DISTINCT name FROM function", add_name, showing, error);
    if (status)
        return status;
    showing->shown = malloc((showing->full.count + 1) * sizeof *showing->shown);
    return !showing->shown || names_shorten(&showing->arena, showing->full.items,
                                            showing->full.count, showing->shown)
               ? sprof_error_memory(error)
               : 0;
}

static const char *name_of(const struct showing *showing, const char *name)
{
    const uint64_t *number = sprof_map_get(&showing->numbers, sprof_hash_bytes(name, strlen(name)));
    return number && showing->shown ? showing->shown[*number - 1] : name;
}

static void release(struct showing *showing)
{
    free(showing->shown);
    sprof_vec_release(&showing->full);
    sprof_map_release(&showing->numbers);
    report_listing_free(showing->listing);
    sprof_arena_release(&showing->arena);
}

static int note_number(void *context, int count, char *const *values, char *const *names)
{
    (void)count;
    (void)names;
    *(uint32_t *)context = values[0] ? (uint32_t)strtoul(values[0], NULL, 10) : 0;
    return 0;
}

int report_flow_kind(struct store *store, uint32_t selected, uint32_t *run,
                     struct sprof_error *error)
{
    char sql[240];
    uint32_t found = 0;
    *run = selected;
    int status =
        selected ? 0 : store_query(store, "SELECT max(id) FROM run", note_number, run, error);
    snprintf(sql, sizeof sql,
             "SELECT CASE WHEN EXISTS (SELECT 1 FROM call_block WHERE run_id = %u) THEN 1"
             " WHEN EXISTS (SELECT 1 FROM keep_rule WHERE run_id = %u) THEN 2 END",
             *run, *run);
    if (!status)
        status = store_query(store, sql, note_number, &found, error);
    return status                        ? status
           : found == REPORT_FLOW_LOGGED ? REPORT_FLOW_LOGGED
           : found == REPORT_FLOW_KEPT   ? REPORT_FLOW_KEPT
                                         : REPORT_FLOW_NONE;
}

/* == One call == */

/* "1.34 µs", nine letters wide. */
static void write_time(FILE *out, const char *nanoseconds)
{
    static const char *const units[] = {"ns", "µs", "ms", "s "};
    double value = strtod(nanoseconds, NULL);
    size_t unit = 0;
    for (; value >= 999.5 && unit < 3; unit++)
        value /= 1000;
    fprintf(out, "%6.*f %s",
            unit == 0 || value >= 99.95 ? 0
            : value >= 9.995            ? 1
                                        : 2,
            value, units[unit]);
}

/* "waited 1.05 ms, ready 98.7 µs", where it is a hundredth of the call at least. */
static void write_states(FILE *out, const char *duration, const char *const *states)
{
    static const char *const words[] = {"waited", "ready"};
    const char *between = "  · ";
    for (int i = 0; i < 2 && duration; i++) {
        if (!states[i] || strtod(states[i], NULL) < strtod(duration, NULL) / 100 ||
            *states[i] == '0')
            continue;
        fprintf(out, "%s%s", between, words[i]);
        write_time(out, states[i]);
        between = ", ";
    }
}

/* "(id = 7) = -1", of a kept call. */
static void write_values(FILE *out, bool is_kept, const char *const *values)
{
    const char *arguments = values[is_kept ? ARGUMENTS : LOGGED_ARGUMENTS],
               *result = values[is_kept ? RESULT : LOGGED_RESULT];
    if (arguments) {
        fputs(is_kept ? "" : "(", out);
        sprof_utf8_put(out, arguments);
        fputs(is_kept ? "" : ")", out);
    }
    if (result) {
        fputs(" = ", out);
        sprof_utf8_put(out, result);
    }
}

/* "(0x1, 0x2, 0x3, …)", of a logged call. */
static void write_words(FILE *out, const char *const *values)
{
    for (int i = 0; i < WORDS_SHOWN; i++)
        if (values[WORD + i])
            fprintf(out, "%s%s", i ? ", " : " (", values[WORD + i]);
    fputs(values[WORD] ? ", …)" : "", out);
}

static void write_call(struct showing *showing, const char *const *values)
{
    FILE *out = showing->out;
    const bool is_kept = showing->is_kept;
    const long depth = strtol(values[DEPTH], NULL, 10);
    if (strcmp(showing->tid, values[TID]) != 0) {
        fprintf(out, "%sthread %s of process %s  ", *showing->tid ? "\n" : "", values[TID],
                values[PID]);
        sprof_utf8_put(out, values[THREAD] ? values[THREAD] : "");
        fputc('\n', out);
        snprintf(showing->tid, sizeof showing->tid, "%s", values[TID]);
    }
    fprintf(out, "%14.9f s  ", strtod(values[START], NULL) / 1e9);
    if (values[DURATION])
        write_time(out, values[DURATION]);
    else
        fputs("        –", out);
    fprintf(out, "  %*s", (int)(2 * ((depth < INDENT_MOST ? depth : INDENT_MOST) - 1)), "");
    sprof_utf8_put(out, name_of(showing, values[FUNCTION]));
    if (is_kept || values[LOGGED_ARGUMENTS] || values[LOGGED_RESULT])
        write_values(out, is_kept, values);
    else
        write_words(out, values);
    if (values[EXIT] && strcmp(values[EXIT], "return") != 0)
        fprintf(out, " → %s", values[EXIT]);
    if (showing->is_kept && values[EXCEPTION]) {
        fputs(" ", out);
        sprof_utf8_put(out, values[EXCEPTION]);
    }
    if (is_kept && values[VALUES]) {
        fputs(" [", out);
        sprof_utf8_put(out, values[VALUES]);
        fputs("]", out);
    }
    write_states(out, values[DURATION], values + (is_kept ? KEPT_WAITING : WAITING));
    if (is_kept) {
        fputs("  · ", out);
        sprof_utf8_put(out, values[WHY]);
        if (values[REQUEST])
            fprintf(out, " · request %s", values[REQUEST]);
    } else if (values[LOGGED_WHY]) {
        fputs("  · ", out);
        sprof_utf8_put(out, values[LOGGED_WHY]);
    }
    fputc('\n', out);
}

static int show_call(void *context, int count, char *const *values, char *const *names)
{
    struct showing *showing = context;
    (void)names;
    if (count < COLUMNS)
        return SPROF_EFORMAT;
    write_call(showing, (const char *const *)values);
    return 0;
}

/* == Kept calls == */

struct showing_kept {
    struct showing *showing;
    const struct report_flow_options *options;
    uint64_t shown;
};

/* A number as text; NULL: it is not known. */
struct digits {
    char text[24];
};
static const char *digits_of(struct digits *digits, uint64_t number, bool is_known)
{
    snprintf(digits->text, sizeof digits->text, "%llu", (unsigned long long)number);
    return is_known ? digits->text : NULL;
}

static int show_kept_call(void *context, const struct report_kept_text *call)
{
    struct showing_kept *kept = context;
    const struct report_flow_options *options = kept->options;
    struct digits digits[13];
    if (options->limit && kept->shown >= options->limit)
        return 1;
    if (options->over_ns && call->duration_ns && call->duration_ns < options->over_ns)
        return 0;
    kept->shown++;
    const char *const values[KEPT_COLUMNS] = {
        digits_of(&digits[0], call->number, true),
        digits_of(&digits[1], call->depth, true),
        digits_of(&digits[2], (uint64_t)call->pid, true),
        digits_of(&digits[3], (uint64_t)call->tid, true),
        call->thread,
        call->function,
        call->module,
        digits_of(&digits[4], call->start_ns, true),
        digits_of(&digits[5], call->duration_ns, call->duration_ns != 0),
        digits_of(&digits[6], call->self_ns, call->duration_ns != 0),
        call->exit,
        digits_of(&digits[7], call->caller, call->caller != 0),
        call->why,
        digits_of(&digits[8], call->is_apart, true),
        call->arguments,
        call->result,
        call->exception,
        call->values,
        digits_of(&digits[9], call->request, call->request != 0),
        digits_of(&digits[10], call->running_ns, call->running_ns != 0),
        digits_of(&digits[11], call->waiting_ns, call->running_ns != 0),
        digits_of(&digits[12], call->ready_ns, call->running_ns != 0),
    };
    if (kept->showing->is_text)
        write_call(kept->showing, values);
    else
        report_listing_row(kept->showing->listing, values);
    return 0;
}

int report_flow_write_kept(FILE *out, struct store *store, const struct report_selection *selection,
                           const struct report_flow_options *options, struct sprof_error *error)
{
    const bool is_text = !options->format || options->format->brief;
    struct showing showing = {.out = out, .is_text = is_text, .is_kept = true};
    struct showing_kept kept = {&showing, options, 0};
    const struct report_style style = {.format = options->format, .full_names = true};
    int status = is_text && !options->full_names ? load_names(&showing, store, error) : 0;
    if (!is_text && !(showing.listing = report_listing_new(kept_columns, KEPT_COLUMNS)))
        status = sprof_error_memory(error);
    if (!status)
        status = report_each_kept(store, selection, show_kept_call, &kept, error);
    if (status >= 0 && !is_text)
        status = report_listing_write(showing.listing, out, &style, error);
    if (!status && is_text && !kept.shown)
        fputs("no calls were kept\n", out);
    release(&showing);
    return status > 0 ? 0 : status;
}

/* == All == */

static int check(const struct report_selection *selection, struct sprof_error *error)
{
    const bool more = selection->all_runs || selection->host || selection->event ||
                      selection->state || selection->process || selection->module ||
                      selection->cpus || selection->phase || selection->mark || selection->time ||
                      selection->during || selection->focus || selection->ignore ||
                      selection->hide || selection->show_from || selection->no_standard ||
                      selection->other_mode || selection->rules.count;
    return more ? sprof_error_set(error, SPROF_EUSAGE, 0,
                                  "calls that were logged are chosen by --run and --thread alone; "
                                  "`sprof sql` chooses freely, from the view v_call")
                : 0;
}

/* A name may be a glob, and a number is a thread's. */
static void append_thread(struct sprof_str *sql, const char *thread)
{
    sprof_str_append(sql, " AND (thread GLOB ");
    store_quote(sql, thread);
    sprof_str_append(sql, " OR CAST(tid AS TEXT) = ");
    store_quote(sql, thread);
    sprof_str_append(sql, ")");
}

static int check_thread(struct store *store, uint32_t run, const char *thread,
                        struct sprof_error *error)
{
    struct sprof_str sql = {0};
    uint32_t found = 0;
    sprof_str_appendf(&sql, "SELECT EXISTS (SELECT 1 FROM v_thread WHERE run_id = %u", run);
    append_thread(&sql, thread);
    sprof_str_append(&sql, ")");
    int status = sql.failed ? sprof_error_memory(error)
                            : store_query(store, sql.text, note_number, &found, error);
    sprof_str_release(&sql);
    if (!status && !found)
        status = sprof_error_set(
            error, SPROF_ENOTFOUND, 0,
            "no thread is called '%.200s'; `sprof report --threads` lists them", thread);
    return status;
}

static int show_missing(void *context, int count, char *const *values, char *const *names)
{
    (void)names;
    if (count && values[0])
        fprintf(context,
                "\n%s call%s not in the log, for lack of room: `sprof sql 'SELECT * FROM "
                "v_not_logged'`\n",
                values[0], strcmp(values[0], "1") ? "s are" : " is");
    return 0;
}

int report_flow_write(FILE *out, struct store *store, uint32_t run,
                      const struct report_selection *selection,
                      const struct report_flow_options *options, struct sprof_error *error)
{
    const bool is_text = !options->format || options->format->brief;
    const struct report_style style = {.format = options->format};
    struct showing showing = {.out = out, .is_text = is_text};
    struct sprof_str sql = {0};
    int status = check(selection, error);
    if (!status && selection->thread)
        status = check_thread(store, run, selection->thread, error);
    if (!status && is_text && !options->full_names)
        status = load_names(&showing, store, error);
    if (status) {
        release(&showing);
        return status;
    }
    sprof_str_append(&sql, "WITH ");
    status = report_kept_conditions(store, run, &sql, error);
    sprof_str_appendf(&sql, logged_sql, run, STORE_AFTER);
    if (selection->thread)
        append_thread(&sql, selection->thread);
    if (options->over_ns)
        sprof_str_appendf(&sql, " AND (c.duration_ns IS NULL OR c.duration_ns >= %llu)",
                          (unsigned long long)options->over_ns);
    sprof_str_appendf(&sql, " ORDER BY c.thread_id, c.start_ns, depth LIMIT %llu",
                      options->limit ? (unsigned long long)options->limit
                                     : (unsigned long long)INT64_MAX);
    if (!status)
        status = sql.failed ? sprof_error_memory(error)
                 : is_text  ? store_query(store, sql.text, show_call, &showing, error)
                            : report_query(out, store, sql.text, NUMBERS, &style, error);
    sprof_str_clear(&sql);
    sprof_str_appendf(&sql, "SELECT sum(not_logged) FROM probe_ledger WHERE run_id = %u", run);
    if (!status && is_text)
        status = sql.failed ? sprof_error_memory(error)
                            : store_query(store, sql.text, show_missing, out, error);
    sprof_str_release(&sql);
    release(&showing);
    return status;
}
