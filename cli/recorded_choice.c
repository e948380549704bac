/* Chooses by a recording which functions get probes. */
#include "cli/recorded_choice.h"

#include "cli/open.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

/* So many names are one expression. */
enum { NAMES = 100 };

static const double least_below = 0.2;

struct choosing {
    struct cli_recorded_choice *choice;
    struct sprof_str expression;
    size_t names; /* in it */
    struct sprof_error *error;
};

static int flush(struct choosing *choosing)
{
    struct cli_recorded_choice *choice = choosing->choice;
    if (!choosing->names)
        return 0;
    const char *text = choosing->expression.failed
                           ? NULL
                           : sprof_arena_text(&choice->texts, choosing->expression.text);
    sprof_str_release(&choosing->expression);
    choosing->expression = (struct sprof_str){0};
    choosing->names = 0;
    return text ? sprof_vec_push(&choice->functions, text) : SPROF_ENOMEM;
}

static int take_name(void *context, int columns, char *const *values, char *const *titles)
{
    struct choosing *choosing = context;
    (void)titles;
    if (columns < 1 || !values[0])
        return SPROF_EFORMAT;
    if (strstr(values[0], "\\E"))
        return 0;
    sprof_str_appendf(&choosing->expression, "%s^\\Q%s\\E$", choosing->names ? "|" : "", values[0]);
    choosing->choice->count++;
    return ++choosing->names == NAMES ? flush(choosing) : 0;
}

static int take_flag(void *context, int columns, char *const *values, char *const *titles)
{
    (void)titles;
    *(bool *)context = columns && values[0] && atoi(values[0]);
    return 0;
}

/* "'it''s'", as SQL reads it. */
static void append_quoted(struct sprof_str *sql, const char *text)
{
    sprof_str_append(sql, "'");
    for (; *text; text++)
        sprof_str_appendf(sql, "%s%c", *text == '\'' ? "'" : "", *text);
    sprof_str_append(sql, "'");
}

static void append_query(struct sprof_str *sql, bool is_traced, const char *module, double percent)
{
    const char *slash = strrchr(module, '/');
    if (is_traced)
        sprof_str_append(sql, "SELECT DISTINCT linkage_name FROM v_call_stats WHERE calls > 0"
                              " AND run_id = (SELECT max(id) FROM run) AND module = ");
    else
        sprof_str_appendf(sql,
                          "WITH f AS (SELECT linkage_name, module, sum(exclusive_weight) AS own,"
                          " sum(inclusive_weight) AS below FROM v_function WHERE state = 'running'"
                          " AND run_id = (SELECT max(id) FROM run) GROUP BY function_id),"
                          " a AS (SELECT sum(own) AS all_own FROM f)"
                          " SELECT DISTINCT linkage_name FROM f, a WHERE all_own > 0"
                          " AND (own >= all_own * %.9g OR below >= all_own * %.9g) AND module = ",
                          percent / 100, least_below);
    append_quoted(sql, slash ? slash + 1 : module);
}

static int choose_by(struct choosing *choosing, struct store *store, const char *sql)
{
    const int result = sql ? store_query(store, sql, take_name, choosing, choosing->error)
                           : sprof_error_memory(choosing->error);
    return !result && flush(choosing) ? sprof_error_memory(choosing->error) : result;
}

static int choose_for_embed(struct choosing *choosing, struct store *store, const char *module,
                            double least_percent)
{
    static const char traced[] =
        "SELECT count(*) FROM v_call_stats WHERE run_id = (SELECT max(id) FROM run)";
    struct sprof_str sql = {0};
    bool *is_traced = &choosing->choice->is_traced;
    int result = store_query(store, traced, take_flag, is_traced, choosing->error);
    append_query(&sql, *is_traced, module, least_percent);
    if (!result)
        result = choose_by(choosing, store, sql.failed ? NULL : sql.text);
    sprof_str_release(&sql);
    return result;
}

int cli_choose_for_embed(struct cli_recorded_choice *choice, const char *recording,
                         const char *module, double least_percent, struct cli_terminal *terminal,
                         struct sprof_error *error)
{
    struct choosing choosing = {.choice = choice, .error = error};
    struct store *store = NULL;
    int result = cli_open_recording(&store, recording, terminal, error);
    if (!result)
        result = choose_for_embed(&choosing, store, module, least_percent);
    if (store)
        store_close(store, NULL);
    sprof_str_release(&choosing.expression);
    if (!result && !choice->count)
        result = sprof_error_set(error, SPROF_ENOTFOUND, 0,
                                 choice->is_traced
                                     ? "the trace in %s has no calls of functions in %s"
                                     : "%s has no samples of functions in %s that are hot: lower "
                                       "--min-percent, or name functions by --function",
                                 recording, module);
    return result;
}

int cli_choose_for_errors(struct cli_recorded_choice *choice, const char *recording,
                          struct cli_terminal *terminal, struct sprof_error *error)
{
    static const char of_calls[] =
        "SELECT DISTINCT coalesce(f.linkage_name, f.name) FROM function f JOIN"
        " (SELECT function_id FROM v_kept_call WHERE (rules IS NOT NULL OR exit = 'exception')"
        "   AND run_id = (SELECT max(id) FROM run)"
        "  UNION SELECT function_id FROM v_call WHERE exit = 'exception'"
        "   AND run_id = (SELECT max(id) FROM run)) c ON c.function_id = f.id";
    static const char of_sums[] = "SELECT DISTINCT linkage_name FROM v_call_stats"
                                  " WHERE abnormal > 0 AND run_id = (SELECT max(id) FROM run)";
    struct choosing choosing = {.choice = choice, .error = error};
    struct store *store = NULL;
    int result = cli_open_recording(&store, recording, terminal, error);
    if (!result)
        result = choose_by(&choosing, store, of_calls);
    if (!result && !choice->count)
        result = choose_by(&choosing, store, of_sums);
    if (store)
        store_close(store, NULL);
    sprof_str_release(&choosing.expression);
    if (!result && !choice->count)
        result = sprof_error_set(error, SPROF_ENOTFOUND, 0,
                                 "no call in %s was kept by a rule or left by an exception or "
                                 "jump: name functions by --function",
                                 recording);
    return result;
}

void cli_recorded_choice_release(struct cli_recorded_choice *choice)
{
    sprof_vec_release(&choice->functions);
    sprof_arena_release(&choice->texts);
    *choice = (struct cli_recorded_choice){0};
}
