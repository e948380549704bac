/* Compares two groups of runs: functions, modules, call paths or source lines. */
#include "report/diff_parts.h"
#include "report/error_text.h"
#include "report/key_text.h"
#include "report/utf8_text.h"

#include <math.h>
#include <string.h>

/* == Reading the runs == */

static double factor_of(const struct diff_comparison *comparison, const struct diff_run *run)
{
    const double seconds = (double)(run->end_ns - run->begin_ns) / 1e9;
    switch (comparison->diff->per) {
    case REPORT_PER_SECOND: return seconds > 0 ? 1 / seconds : 0;
    case REPORT_PER_SAMPLE: return run->total > 0 ? 1 / run->total : 0;
    default: return 1;
    }
}

/* Adds the dataset at hand, which may be a part of the run. */
static void add_to_run(const struct diff_comparison *comparison, struct diff_run *run)
{
    const struct report_dataset *dataset = &comparison->dataset;
    const uint64_t begin_ns = dataset->run.start_realtime_ns;
    const uint64_t most_ns = UINT64_MAX - begin_ns, length_ns = dataset->run.duration_ns;
    const uint64_t end_ns = begin_ns + (length_ns < most_ns ? length_ns : most_ns);
    const bool is_first = !run->end_ns;
    run->total += (double)dataset->total.weight;
    run->samples += (double)dataset->total.samples;
    run->begin_ns = is_first || begin_ns < run->begin_ns ? begin_ns : run->begin_ns;
    run->end_ns = is_first || end_ns > run->end_ns ? end_ns : run->end_ns;
    run->factor = factor_of(comparison, run);
}

/* Time of threads, as the sum of its parts or of one clock. */
static bool is_wall(const char *event)
{
    return !strcmp(event, MODEL_EVENT_WALL) || !strcmp(event, MODEL_EVENT_ON_AND_OFF);
}

static bool is_same_event(const char *a, const char *b)
{
    return !strcmp(a, b) || (is_wall(a) && is_wall(b));
}

/* Runs that do not measure the same cannot be compared. */
static int check_same(struct diff_comparison *comparison, struct sprof_error *error)
{
    const struct report_dataset *dataset = &comparison->dataset;
    const char *event = dataset->event.name ? dataset->event.name : "no event";
    if (!comparison->event) {
        comparison->event = report_utf8_copy(&comparison->arena, event);
        comparison->is_clock = dataset->event.is_clock;
        comparison->counts_calls = report_counts_calls(dataset);
        comparison->least_hz = comparison->most_hz = dataset->run.frequency_hz;
        comparison->mode = dataset->reading.mode;
        comparison->frame_app = dataset->reading.frame_app;
        comparison->drop_interior = dataset->reading.drop_interior;
        return comparison->event ? 0 : SPROF_ENOMEM;
    }
    if (comparison->counts_calls != report_counts_calls(dataset))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "one run holds samples, another calls of probed functions: compare "
                               "recordings of one kind");
    if (!is_same_event(comparison->event, event))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "one run counted %s, another %s: choose a common one with --event",
                               comparison->event, event);
    if (comparison->mode != dataset->reading.mode ||
        comparison->frame_app != dataset->reading.frame_app ||
        comparison->drop_interior != dataset->reading.drop_interior)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "the runs were recorded in different modes: read all of them in the "
                               "least detailed one, as with -m pc");
    const uint64_t hz = dataset->run.frequency_hz;
    comparison->least_hz = hz < comparison->least_hz ? hz : comparison->least_hz;
    comparison->most_hz = hz > comparison->most_hz ? hz : comparison->most_hz;
    return 0;
}

static int read_run(struct diff_comparison *comparison, size_t side, size_t run,
                    const struct report_diff_run *source, struct sprof_error *error)
{
    const struct report_diff *diff = comparison->diff;
    struct report_selection selection = diff->selection;
    const bool is_part = comparison->repeats.count > comparison->run_count;
    selection.run_id = source->run_id;
    if (is_part && !selection.event && !selection.state && !selection.all_events)
        selection.event = comparison->rows_event;
    if (!is_part)
        report_dataset_release(&comparison->dataset);
    const unsigned parts =
        report_diff_kinds[diff->by].parts | report_keys_tree_parts(diff->keys, diff->key_count);
    struct report_dataset loaded;
    int result = report_dataset_load(
        &loaded, source->store, &selection,
        diff->by == REPORT_DIFF_KEYS ? parts : report_diff_kinds[diff->by].parts, error);
    if (is_part && result == SPROF_ENOTFOUND) { /* another part may have it */
        report_dataset_release(&loaded);
        comparison->missing = *error;
        *error = (struct sprof_error){0};
        return 0;
    }
    if (is_part)
        report_dataset_release(&comparison->dataset);
    comparison->dataset = loaded;
    comparison->dataset.compared = true;
    if (!result)
        result = check_same(comparison, error);
    if (!result)
        result = report_diff_note_builds(comparison, side);
    if (result)
        return result;
    add_to_run(comparison, &comparison->runs[run]);
    result = report_diff_add_own(comparison, side, run);
    return result ? result : report_diff_kinds[diff->by].add(comparison, side, run);
}

/* == The result == */

/* Calls are all counted and timed: what is unsure is a thousandth of their times. */
static double variance_of_calls(const struct diff_run *run, double value)
{
    const double own = value / 1000, least = run->total * run->factor / 1e6;
    return own * own + least * least;
}

/* No row has more than all samples of its run. A row that has all of them is known to about one:
 * which samples fall into a run is chance. */
static struct model_estimate estimate(const struct diff_run *run, struct model_cost cost,
                                      bool calls)
{
    const double samples = fmin((double)cost.samples, run->samples);
    const double weight = run->samples > 0 ? run->total / run->samples : 0;
    const double rest = run->samples > 0 ? 1 - samples / (run->samples + 1) : 1;
    struct model_estimate estimate = {
        .value = fmin((double)cost.weight, run->total) * run->factor,
        .samples = calls ? (double)cost.samples : samples,
        .counted = calls,
    };
    estimate.variance = calls
                            ? variance_of_calls(run, estimate.value)
                            : (samples + 0.5) * rest * weight * weight * run->factor * run->factor;
    if (!(estimate.variance > 0))
        estimate.variance = 1e-300;
    return estimate;
}

/* What a whole run used is known to a sample or two: chance only says where they fall. */
static struct model_estimate estimate_total(const struct diff_run *run)
{
    const double one = (run->samples > 0 ? run->total / run->samples : 1) * run->factor;
    return (struct model_estimate){.value = run->total * run->factor,
                                   .variance = 4 * one * one + 1e-300,
                                   .samples = run->samples,
                                   .counted = true};
}

/* Speeds are taken out where the user did not choose what costs are compared per. */
static int find_speeds(const struct diff_comparison *comparison, struct diff_result *result)
{
    const struct report_diff *diff = comparison->diff;
    const size_t count = comparison->own.count;
    if (!diff->at_equal_speed || comparison->counts[0] < MODEL_RUNS_FOR_VERDICT ||
        comparison->counts[1] < MODEL_RUNS_FOR_VERDICT || !count)
        return 0;
    struct model_estimate *own = calloc(count, sizeof *own);
    if (!own)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < count; i++)
        own[i] = estimate(&comparison->runs[i % comparison->run_count], comparison->own.items[i],
                          comparison->counts_calls);
    result->has_speeds = true;
    const int status = model_speeds_find(&result->speeds, own, count / comparison->run_count,
                                         comparison->counts[0], comparison->counts[1]);
    free(own);
    return status;
}

/* Which part of the cost stands in rows of both sides; orders what has any. */
static void match(const struct diff_comparison *comparison, struct diff_result *result)
{
    const size_t runs = comparison->run_count;
    double all = 0, matched = 0;
    for (size_t i = 0; i < comparison->rows.count; i++) {
        const struct model_difference *row = &result->differences[i];
        uint64_t calls = 0; /* of functions that are only counted there is nothing else */
        for (size_t run = 0; run < runs && comparison->counts_calls; run++)
            calls += comparison->costs.items[i * runs + run].samples;
        if (row->before <= 0 && row->after <= 0 && !calls)
            continue;
        result->order[result->count++] = (uint32_t)i;
        all += row->before + row->after;
        if (row->before > 0 && row->after > 0 && !comparison->rows.items[i].gathered)
            matched += row->before + row->after;
    }
    result->matched = all > 0 ? matched / all : 0;
}

static int compute(const struct diff_comparison *comparison, struct diff_result *result)
{
    const size_t rows = comparison->rows.count, runs = comparison->run_count;
    const size_t before = comparison->counts[0], after = comparison->counts[1];
    result->estimates = calloc(rows * runs + runs + 1, sizeof *result->estimates);
    result->differences = calloc(rows + 1, sizeof *result->differences);
    result->order = calloc(rows + 1, sizeof *result->order);
    int status = result->estimates && result->differences && result->order
                     ? find_speeds(comparison, result)
                     : SPROF_ENOMEM;
    if (status)
        return status;
    const struct model_speeds *speeds = result->has_speeds ? &result->speeds : NULL;
    for (size_t i = 0; i < rows * runs; i++)
        result->estimates[i] = estimate(&comparison->runs[i % runs], comparison->costs.items[i],
                                        comparison->counts_calls);
    struct model_estimate *totals = &result->estimates[rows * runs];
    for (size_t run = 0; run < runs; run++)
        totals[run] = estimate_total(&comparison->runs[run]);
    status = model_differences(result->estimates, rows, before, after, speeds, result->differences);
    if (!status)
        status = model_differences(totals, 1, before, after, NULL, &result->raw_total);
    if (!status)
        status = model_differences(totals, 1, before, after,
                                   speeds && speeds->by_share ? speeds : NULL, &result->total);
    if (!status)
        match(comparison, result);
    return status;
}

static int compare_changes(const void *a, const void *b, void *context)
{
    const struct model_difference *differences = context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const struct model_difference *first = &differences[x], *second = &differences[y];
    const bool certain[] = {first->change > MODEL_WITHIN_CHANCE,
                            second->change > MODEL_WITHIN_CHANCE};
    const double one = fabs(first->after - first->before);
    const double two = fabs(second->after - second->before);
    if (certain[0] != certain[1])
        return certain[0] ? -1 : 1;
    return one != two ? (one > two ? -1 : 1) : (x > y) - (x < y);
}

static int read_runs(struct diff_comparison *comparison, struct sprof_error *error)
{
    const struct report_diff *diff = comparison->diff;
    size_t number = 0;
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < diff->counts[side]; i++) {
            const size_t run =
                comparison->repeats.items[number++] + (side ? comparison->counts[0] : 0);
            const int result = read_run(comparison, side, run, &diff->runs[side][i], error);
            if (result)
                return result;
        }
    for (size_t run = 0; run < comparison->run_count && comparison->missing.code; run++)
        if (!comparison->runs[run].end_ns) {
            *error = comparison->missing;
            return SPROF_ENOTFOUND;
        }
    report_diff_choose_unnamed(comparison);
    return 0;
}

int report_diff(FILE *out, const struct report_diff *diff, const struct report_style *style,
                enum report_diff_outcome *outcome, char why[static 512], struct sprof_error *error)
{
    struct diff_comparison comparison = {.diff = diff};
    struct diff_result result = {0};
    int status = report_keys_check(diff->keys, diff->key_count, "a comparison", error);
    if (!status)
        status = report_diff_find_repeats(&comparison, error);
    comparison.runs = calloc(comparison.run_count + 1, sizeof *comparison.runs);
    if (!status)
        status = comparison.runs ? read_runs(&comparison, error) : SPROF_ENOMEM;
    if (!status)
        status = report_diff_check_renamings(&comparison, error);
    if (!status)
        status = compute(&comparison, &result);
    if (!status) {
        qsort_r(result.order, result.count, sizeof *result.order, compare_changes,
                result.differences);
        report_diff_judge(&comparison, &result, outcome, why);
        status = report_diff_write_table(out, &comparison, &result, style, error);
    }
    free(result.estimates);
    free(result.differences);
    free(result.order);
    free(comparison.runs);
    sprof_vec_release(&comparison.repeats);
    sprof_vec_release(&comparison.rows);
    sprof_vec_release(&comparison.costs);
    sprof_vec_release(&comparison.own);
    sprof_map_release(&comparison.speed_indexes);
    model_speeds_release(&result.speeds);
    sprof_map_release(&comparison.indexes);
    sprof_map_release(&comparison.named);
    sprof_map_release(&comparison.builds[0]);
    sprof_map_release(&comparison.builds[1]);
    report_dataset_release(&comparison.dataset);
    sprof_arena_release(&comparison.arena);
    return report_error_code(status, error);
}
