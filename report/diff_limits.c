/* Judges the changes between two groups of runs by the limits of the user. */
#include "report/diff_parts.h"

#include <math.h>
#include <stdio.h>

/* Below this share of matched cost nothing is judged. */
static const double least_matched = 0.5;

static bool has_grown(enum model_change change)
{
    return change == MODEL_GROWN || change == MODEL_NEW;
}

/* What a row grew by, in % of what the limit is about. */
static double growth_of(const struct model_difference *row, const struct model_difference *total,
                        enum report_diff_limit_kind kind)
{
    const double base = kind == REPORT_GROWN_OF_ALL ? total->before : row->before;
    return base > 0 ? 100 * (row->after - row->before) / base : INFINITY;
}

/* Whether a row, or the total, passes a limit beyond chance. Where everything became faster, a row
 * that only lags behind fails nothing: it may have become faster with the program. */
static bool passes(const struct diff_result *result, const struct model_difference *row,
                   const struct report_diff_limit *limit)
{
    struct model_difference raw = *row;
    if (result->has_speeds && result->speeds.everything)
        raw.after *= result->speeds.between;
    return has_grown(row->change) && growth_of(row, &result->total, limit->kind) > limit->percent &&
           growth_of(&raw, &result->total, limit->kind) > limit->percent;
}

/* Whether a change of everything is larger than a limit allows, in either direction: a faster
 * machine may hide a slower program. */
static bool hides_a_failure(const struct diff_comparison *comparison,
                            const struct diff_result *result)
{
    if (!result->has_speeds || !result->speeds.everything)
        return false;
    const double factor = fmax(result->speeds.between, 1 / result->speeds.between);
    for (size_t k = 0; k < comparison->diff->limit_count; k++)
        if (100 * (factor - 1) > comparison->diff->limits[k].percent)
            return true;
    return false;
}

/* Names a row that failed, as far as there is room. */
static void name_failure(char why[static 512], size_t *length, const char *name, double growth,
                         const struct report_diff_limit *limit)
{
    static const char *const of[] = {
        [REPORT_GROWN_BY] = "", [REPORT_GROWN_OF_ALL] = " of all", [REPORT_TOTAL_GROWN_BY] = ""};
    char number[48] = "new";
    if (!isinf(growth))
        snprintf(number, sizeof number, "%+.1f %%%s", growth, of[limit->kind]);
    const int more = snprintf(why + *length, 512 - *length, "%s%.120s (%s; limit %.4g %%)",
                              *length ? ", " : "failed: ", name, number, limit->percent);
    if (more > 0 && *length + (size_t)more < 500)
        *length += (size_t)more;
    else
        why[*length] = '\0';
}

/* Why nothing can be judged, whatever the rows say; false: nothing speaks against it. */
static bool cannot_judge(const struct diff_comparison *comparison, const struct diff_result *result,
                         char why[static 512])
{
    if (comparison->counts[0] < MODEL_RUNS_FOR_VERDICT ||
        comparison->counts[1] < MODEL_RUNS_FOR_VERDICT)
        snprintf(why, 512, "cannot be judged: that needs 3 runs a side, and there are %zu and %zu",
                 comparison->counts[0], comparison->counts[1]);
    else if (result->matched < least_matched)
        snprintf(why, 512,
                 "cannot be judged: only %.1f %% of the cost is in both sides; a module with "
                 "another name: `--map OLD=NEW`",
                 100 * result->matched);
    return why[0];
}

void report_diff_judge(const struct diff_comparison *comparison, const struct diff_result *result,
                       enum report_diff_outcome *outcome, char why[static 512])
{
    const struct report_diff *diff = comparison->diff;
    size_t length = 0;
    *outcome = REPORT_DIFF_PASSED;
    why[0] = '\0';
    if (!diff->limit_count)
        return;
    if (cannot_judge(comparison, result, why)) {
        *outcome = REPORT_DIFF_CANNOT_JUDGE;
        return;
    }
    for (size_t i = 0; i <= result->count; i++) {
        const bool is_total = i == result->count;
        const struct model_difference *row =
            is_total ? &result->total : &result->differences[result->order[i]];
        const char *name = is_total ? "the total" : comparison->rows.items[result->order[i]].name;
        for (size_t k = 0; k < diff->limit_count; k++) {
            if ((diff->limits[k].kind == REPORT_TOTAL_GROWN_BY) != is_total ||
                !passes(result, row, &diff->limits[k]))
                continue;
            name_failure(why, &length, name, growth_of(row, &result->total, diff->limits[k].kind),
                         &diff->limits[k]);
            *outcome = REPORT_DIFF_FAILED;
            break;
        }
    }
    if (*outcome == REPORT_DIFF_PASSED && hides_a_failure(comparison, result)) {
        *outcome = REPORT_DIFF_CANNOT_JUDGE;
        snprintf(why, 512,
                 "cannot be judged: everything %.3g ×: program or machine, cannot be told apart; "
                 "record both sides anew, or take the program for the cause with `--per run`",
                 result->speeds.between);
    }
}
