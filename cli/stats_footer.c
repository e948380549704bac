/* What stands below the table of sprof stats: what its percentages are of, and what its figures
 * hold or leave out. */
#include "cli/stats_footer.h"
#include "cli/open.h"

#include <stdlib.h>
#include <string.h>

const char *cli_time_text(char buffer[32], const char *nanoseconds)
{
    static const char *const units[] = {"ns", "µs", "ms", "s"};
    double value = strtod(nanoseconds, NULL);
    size_t unit = 0;
    for (; value >= 999.5 && unit < 3; unit++)
        value /= 1000;
    const int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(buffer, 32, "%.*f %s", decimals, value, units[unit]);
    return buffer;
}

static const char *plural(const char *count)
{
    return sprof_plural(strtoull(count, NULL, 10));
}

/* What percentages that are shown are of; then who holds time of functions that were only counted.
 */
static int show_base(void *context, int columns, char *const *values, char *const *names)
{
    char self[32], wall[32];
    (void)names;
    if (columns != 5 || !values[0] || !values[1])
        return 0;
    fprintf(context, "\nself-percent: of %s, the self time of all probed functions",
            cli_time_text(self, values[0]));
    if (strcmp(values[3], "0") != 0)
        fprintf(context, " · total-percent: of %s, the wall time of the %s thread%s seen%s",
                cli_time_text(wall, values[1]), values[2], plural(values[2]),
                strcmp(values[4], "0") ? ", without pauses (but for calls that lasted on into them)"
                                       : "");
    fputc('\n', context);
    return 0;
}

static int show_open(void *context, int columns, char *const *values, char *const *names)
{
    (void)names;
    if (columns != 2 || !values[0] || !values[1])
        return 0;
    fputs("calls that have not ended, and have no time: ", context);
    sprof_utf8_put(context, values[0]);
    fputs(strtoul(values[1], NULL, 10) > 5 ? ", …\n" : "\n", context);
    return 0;
}

/* That is asked for by --by caller, and most traces do not measure. */
static int show_callers(void *context, int columns, char *const *values, char *const *names)
{
    (void)names;
    if (columns == 1 && values[0] && !strcmp(values[0], "0"))
        fputs("no callers are known: `sprof trace --callers`, or --paths, counts calls by who made "
              "them\n",
              context);
    return 0;
}

static int show_untimed(void *context, int columns, char *const *values, char *const *names)
{
    (void)names;
    if (columns != 2 || !values[0] || !values[1])
        return 0;
    fputs("self time holds that of functions that were only counted, by so many calls: ", context);
    sprof_utf8_put(context, values[0]);
    fputs(strtoul(values[1], NULL, 10) > 5 ? ", …\n" : "\n", context);
    return 0;
}

static int show_cut(void *context, int columns, char *const *values, char *const *names)
{
    (void)names;
    if (columns != 2 || !values[0] || !values[1])
        return 0;
    fputs("calls that jumped from one to the other in long chains or circles, where the total ends "
          "at the jump (tail-cuts): ",
          context);
    sprof_utf8_put(context, values[0]);
    fputs(strtoul(values[1], NULL, 10) > 5 ? ", …\n" : "\n", context);
    return 0;
}

static int show_changed(void *context, int columns, char *const *values, char *const *names)
{
    (void)names;
    if (columns != 3 || !values[0] || !values[1] || !values[2])
        return 0;
    fprintf(context, "%s to hold --max-overhead, since: ", values[1]);
    sprof_utf8_put(context, values[0]);
    const unsigned long functions = strtoul(values[2], NULL, 10);
    if (functions > 5)
        fprintf(context, ", and %lu more: `sprof sql 'SELECT * FROM v_probe_event'`",
                functions - 5);
    fputc('\n', context);
    return 0;
}

static int show_spared(void *context, int columns, char *const *values, char *const *names)
{
    (void)names;
    if (columns != 3 || !values[0] || !values[1] || !values[2])
        return 0;
    if (!strcmp(values[0], "timed"))
        fprintf(context, "to hold --memory no percentiles from %s s on\n", values[1]);
    else {
        fprintf(context,
                "only counted for lack of room (in --memory, or for more threads at a time), from "
                "%s s on: ",
                values[1]);
        sprof_utf8_put(context, values[2]);
        fputc('\n', context);
    }
    return 0;
}

static int show_covered(void *context, int columns, char *const *values, char *const *names)
{
    (void)names;
    if (columns == 2 && values[0] && values[1])
        fprintf(context,
                "mode coverage saw calls of %s function%s of %s: `sprof stats --coverage` lists "
                "them\n",
                values[0], plural(values[0]), values[1]);
    return 0;
}

static int show_killed(void *context, int columns, char *const *values, char *const *names)
{
    (void)names;
    if (columns == 2 && values[0] && values[1])
        fprintf(
            context,
            strcmp(values[1], "0")
                ? "incomplete: sprof was killed, or its disk was full, and what came after %s s is "
                  "missing\n"
                : "incomplete from the start: sprof was killed, or its disk was full, before it "
                  "had measured anything\n",
            values[0]);
    return 0;
}

int cli_show_stats_footer(FILE *out, struct store *store, uint64_t run,
                          const struct cli_stats_shown *shown, struct sprof_error *error)
{
    static const struct {
        int (*show)(void *, int, char *const *, char *const *);
        const char *sql;
    } parts[] = {
        {show_base,
         "SELECT sum(self_ns), max(wall_ns), (SELECT count(DISTINCT thread_id) FROM call_cost "
         "WHERE "
         "run_id = %1$llu), %2$d, EXISTS (SELECT 1 FROM phase WHERE run_id = %1$llu AND paused) "
         "FROM v_call_stats WHERE run_id = %1$llu"},
        {show_callers, "SELECT EXISTS (SELECT 1 FROM sample s JOIN node_path n ON n.node_id = "
                       "s.node_id JOIN call_path p ON p.id = n.path_id WHERE s.run_id = %1$llu AND "
                       "p.parent_id IS NOT NULL) WHERE EXISTS (SELECT 1 FROM call_cost "
                       "WHERE run_id = %1$llu)"},
        {show_open, "SELECT group_concat(text, ', ') FILTER (WHERE place <= 5), count(*) FROM "
                    "(SELECT function || ' ' || in_flight AS text, row_number() OVER (ORDER BY "
                    "in_flight DESC, function) AS place FROM v_call_stats WHERE run_id = %1$llu "
                    "AND in_flight > 0)"},
        {show_untimed, "SELECT group_concat(text, ', ') FILTER (WHERE place <= 5), count(*) FROM "
                       "(SELECT function "
                       "|| ' ' || untimed_calls AS text, row_number() OVER (ORDER BY untimed_calls "
                       "DESC) AS place "
                       "FROM v_call_stats WHERE run_id = %1$llu AND untimed_calls > 0 AND timed "
                       "AND EXISTS (SELECT 1 FROM call_untimed WHERE run_id = %1$llu))"},
        {show_cut,
         "SELECT group_concat(text, ', ') FILTER (WHERE place <= 5), count(*) FROM (SELECT "
         "function "
         "|| ' ' || tail_cuts AS text, row_number() OVER (ORDER BY tail_cuts DESC, function) AS "
         "place FROM v_call_stats WHERE run_id = %1$llu AND tail_cuts > 0 AND EXISTS (SELECT 1 "
         "FROM "
         "call_tail_cut WHERE run_id = %1$llu))"},
        {show_changed,
         "SELECT group_concat(function || printf(' %%.3f s', time_ns / 1e9), ', ') FILTER (WHERE "
         "place <= 5), tier, count(*) FROM (SELECT *, row_number() OVER (PARTITION BY tier ORDER "
         "BY "
         "time_ns) AS place FROM (SELECT function, tier, max(time_ns) AS time_ns FROM "
         "v_probe_event "
         "WHERE run_id = %1$llu AND share > 0 GROUP BY function_id)) WHERE tier <> 'timed' GROUP "
         "BY "
         "tier"},
        {show_spared,
         "SELECT tier, printf('%%.3f', min(time_ns) / 1e9), group_concat(function, ', ') FILTER "
         "(WHERE place <= 5) || CASE WHEN count(*) > 5 THEN ', …' ELSE '' END FROM (SELECT *, "
         "row_number() OVER (PARTITION BY tier ORDER BY time_ns, function) AS place FROM "
         "v_probe_event WHERE run_id = %1$llu AND share = 0) GROUP BY tier ORDER BY tier DESC"},
        {show_covered, "SELECT sum(executed), count(*) FROM v_coverage WHERE run_id = %1$llu"},
        {show_killed,
         "SELECT printf('%%.3f', duration_ns / 1e9), EXISTS (SELECT 1 FROM call_cost WHERE run_id "
         "= "
         "%1$llu) FROM run JOIN counter ON run_id = id AND name = '" STORE_RECORDER_KILLED
         "' WHERE "
         "id = %1$llu"},
    };
    int status = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !status; i++) {
        char sql[640];
        if (parts[i].show == show_callers && !shown->by_caller)
            continue;
        snprintf(sql, sizeof sql, parts[i].sql, (unsigned long long)run,
                 (int)shown->has_total_percent);
        status = store_query(store, sql, parts[i].show, out, error);
    }
    if (!status && shown->uncertain) {
        fputs("self time holds that in which coroutines were suspended (uncertain): ", out);
        sprof_utf8_put(out, shown->uncertain_names.text ? shown->uncertain_names.text : "");
        fputs(shown->uncertain > CLI_STATS_NAMES ? ", …\n" : "\n", out);
    }
    return status ? status : cli_tell_run(out, store, run, 1, error);
}
