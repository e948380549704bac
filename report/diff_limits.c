/* Judges the changes between two groups of runs by the limits of the user. */
#include "report/diff_parts.h"

#include <stdio.h>

/* Below this share of matched cost nothing is judged. */
static const double least_matched = 0.5;

static bool has_grown(enum model_change change)
{
    return change == MODEL_GROWN || change == MODEL_NEW;
}

/* Whether a row, or the total, passes a limit beyond chance. */
static bool passes(const struct model_difference *row, const struct model_difference *total,
                   const struct report_diff_limit *limit)
{
    const double base = limit->kind == REPORT_GROWN_OF_ALL ? total->before : row->before;
    return has_grown(row->change) && row->after - row->before > limit->percent / 100 * base;
}

void report_diff_judge(const struct diff_comparison *comparison, const struct diff_result *result,
                       enum report_diff_outcome *outcome, char why[static 512])
{
    const struct report_diff *diff = comparison->diff;
    size_t failed = 0, length = 0;
    *outcome = REPORT_DIFF_PASSED;
    why[0] = '\0';
    if (!diff->limit_count)
        return;
    if (diff->counts[0] < MODEL_RUNS_FOR_VERDICT || diff->counts[1] < MODEL_RUNS_FOR_VERDICT) {
        *outcome = REPORT_DIFF_CANNOT_JUDGE;
        snprintf(why, 512, "cannot be judged: it needs 3 runs a side, and has %zu and %zu",
                 diff->counts[0], diff->counts[1]);
        return;
    }
    if (result->matched < least_matched) {
        *outcome = REPORT_DIFF_CANNOT_JUDGE;
        snprintf(why, 512, "cannot be judged: only %.1f %% of the cost is in both sides",
                 100 * result->matched);
        return;
    }
    for (size_t i = 0; i <= result->count; i++) {
        const bool is_total = i == result->count;
        const struct model_difference *row =
            is_total ? &result->total : &result->differences[result->order[i]];
        const char *name = is_total ? "the total" : comparison->rows.items[result->order[i]].name;
        bool over = false;
        for (size_t k = 0; k < diff->limit_count; k++)
            if ((diff->limits[k].kind == REPORT_TOTAL_GROWN_BY) == is_total)
                over = over || passes(row, &result->total, &diff->limits[k]);
        if (!over)
            continue;
        failed++;
        const int more =
            snprintf(why + length, 512 - length, "%s%.120s", length ? ", " : "failed: ", name);
        if (more > 0 && length + (size_t)more < 500)
            length += (size_t)more;
        else
            why[length] = '\0';
    }
    if (failed)
        *outcome = REPORT_DIFF_FAILED;
}
