/* Compares two groups of runs: functions, modules, call paths or source lines. */
#include "report/diff_parts.h"
#include "report/error_text.h"
#include "report/utf8_text.h"

#include <math.h>
#include <string.h>

/* == Rows == */

static int find_row(struct diff_comparison *comparison, uint64_t key, struct diff_row row,
                    size_t *index)
{
    const uint64_t *known = sprof_map_get(&comparison->indexes, key);
    if (known) {
        *index = *known - 1;
        return 0;
    }
    row.name = report_utf8_copy(&comparison->arena, row.name);
    row.module = report_utf8_copy(&comparison->arena, row.module);
    if (!row.name || !row.module || sprof_vec_push(&comparison->rows, row) ||
        sprof_map_put(&comparison->indexes, key, comparison->rows.count))
        return SPROF_ENOMEM;
    *index = comparison->rows.count - 1;
    for (size_t i = 0; i < comparison->run_count; i++)
        if (sprof_vec_push(&comparison->costs, (struct model_cost){0}))
            return SPROF_ENOMEM;
    return 0;
}

static int add(struct diff_comparison *comparison, uint64_t key, struct diff_row row, size_t run,
               struct model_cost cost)
{
    size_t index;
    if (!cost.samples && !cost.weight)
        return 0;
    if (find_row(comparison, key, row, &index))
        return SPROF_ENOMEM;
    struct model_cost *sum = &comparison->costs.items[index * comparison->run_count + run];
    sum->samples += cost.samples;
    sum->weight += cost.weight;
    return 0;
}

static struct model_cost chosen(const struct diff_comparison *comparison,
                                const struct model_costs *costs)
{
    return comparison->diff->inclusive ? costs->inclusive : costs->exclusive;
}

static struct diff_row function_row(const struct diff_comparison *comparison, size_t side,
                                    uint32_t number, bool unnamed)
{
    const struct report_dataset *dataset = &comparison->dataset;
    const char *module = report_dataset_module_name(dataset, number);
    return (struct diff_row){report_dataset_function_name(dataset, number),
                             report_diff_module_name(comparison, side, module), unnamed};
}

static int add_functions(struct diff_comparison *comparison, size_t side, size_t run)
{
    const struct report_dataset *dataset = &comparison->dataset;
    const struct model_functions facts = report_dataset_facts(dataset);
    struct model_costs *costs = calloc(facts.count + 1, sizeof *costs);
    int result = costs ? report_dataset_function_costs(dataset, costs) : SPROF_ENOMEM;
    for (uint32_t number = 1; number <= facts.count && !result; number++) {
        bool unnamed;
        uint64_t key;
        result = report_diff_function_key(comparison, side, number, &key, &unnamed);
        if (!result)
            result = add(comparison, key, function_row(comparison, side, number, unnamed), run,
                         chosen(comparison, &costs[number - 1]));
    }
    free(costs);
    return result;
}

static int add_modules(struct diff_comparison *comparison, size_t side, size_t run)
{
    const struct report_dataset *dataset = &comparison->dataset;
    const struct model_functions facts = report_dataset_facts(dataset);
    const size_t count = dataset->modules.count;
    struct model_costs *costs = calloc(count + 1, sizeof *costs);
    int result = costs ? model_module_costs(&dataset->paths, &facts, costs, count) : SPROF_ENOMEM;
    for (size_t i = 0; i < count && !result; i++) {
        const char *name =
            report_diff_module_name(comparison, side, dataset->modules.items[i].name);
        result = add(comparison,
                     report_diff_module_key(comparison, side, dataset->modules.items[i].name),
                     (struct diff_row){name, name, false}, run, chosen(comparison, &costs[i]));
    }
    free(costs);
    return result;
}

/* "main › work › hot": the way from the root. */
static int path_name(const struct report_dataset *dataset, uint32_t path, struct sprof_str *name)
{
    uint32_t functions[64];
    size_t count = 0;
    for (; path && count < sizeof functions / sizeof *functions;
         path = dataset->paths.items.items[path - 1].parent)
        functions[count++] = dataset->paths.items.items[path - 1].function;
    sprof_str_clear(name);
    int result = path ? sprof_str_append(name, "… › ") : 0;
    while (count-- > 0 && !result)
        result =
            sprof_str_appendf(name, "%s%s", report_dataset_function_name(dataset, functions[count]),
                              count ? " › " : "");
    return result;
}

static int add_paths(struct diff_comparison *comparison, size_t side, size_t run)
{
    const struct report_dataset *dataset = &comparison->dataset;
    const size_t count = dataset->paths.items.count;
    uint64_t *keys = calloc(count + 1, sizeof *keys);
    struct sprof_str name = {0};
    int result = keys ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < count && !result; i++) {
        const struct model_path *path = &dataset->paths.items.items[i];
        bool unnamed;
        uint64_t function;
        result = report_diff_function_key(comparison, side, path->function, &function, &unnamed);
        if (!result)
            result = path_name(dataset, path->id, &name);
        if (result)
            break;
        keys[path->id] = sprof_hash_pair(keys[path->parent], function);
        const struct diff_row row = {
            name.text,
            report_diff_module_name(comparison, side,
                                    report_dataset_module_name(dataset, path->function)),
            unnamed};
        result = add(comparison, keys[path->id], row, run, chosen(comparison, &path->costs));
    }
    free(keys);
    sprof_str_release(&name);
    return result;
}

static int add_lines(struct diff_comparison *comparison, size_t side, size_t run)
{
    const struct report_dataset *dataset = &comparison->dataset;
    struct sprof_str name = {0};
    int result = 0;
    for (size_t i = 0; i < dataset->line_costs.count && !result; i++) {
        const struct report_line_cost *line = &dataset->line_costs.items[i];
        const struct report_frame *frame = &dataset->frames.items[line->frame - 1];
        bool unnamed = false;
        if (!frame->function)
            continue;
        uint64_t function;
        result = report_diff_function_key(comparison, side, frame->function, &function, &unnamed);
        if (result)
            break;
        const struct diff_row of_function =
            function_row(comparison, side, frame->function, unnamed);
        sprof_str_clear(&name);
        result = frame->file ? sprof_str_appendf(&name, "%s:%u %s", frame->file, frame->line,
                                                 of_function.name)
                             : sprof_str_append(&name, of_function.name);
        const uint64_t key = sprof_hash_pair(
            function, sprof_hash_pair(report_diff_file_key(frame->file), frame->line));
        const struct diff_row row = {name.text, of_function.module, unnamed};
        if (!result)
            result = add(comparison, key, row, run, chosen(comparison, &line->costs));
    }
    sprof_str_release(&name);
    return result;
}

const struct diff_kind report_diff_kinds[] = {
    [REPORT_DIFF_FUNCTIONS] = {add_functions, 0, "function", "function", "functions"},
    [REPORT_DIFF_MODULES] = {add_modules, 0, "module", "module", "modules"},
    [REPORT_DIFF_PATHS] = {add_paths, 0, "call path", "path", "call paths"},
    [REPORT_DIFF_LINES] = {add_lines, REPORT_LINE_COSTS, "line", "line", "lines"},
};

/* == Reading the runs == */

static double factor_of(const struct diff_comparison *comparison, double total)
{
    const double seconds = (double)comparison->dataset.run.duration_ns / 1e9;
    switch (comparison->diff->per) {
    case REPORT_PER_SECOND: return seconds > 0 ? 1 / seconds : 0;
    case REPORT_PER_SAMPLE: return total > 0 ? 1 / total : 0;
    default: return 1;
    }
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
        comparison->mode = dataset->mode;
        comparison->frame_app = dataset->frame_app;
        comparison->drop_interior = dataset->drop_interior;
        return comparison->event ? 0 : SPROF_ENOMEM;
    }
    if (comparison->counts_calls != report_counts_calls(dataset))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "one run holds samples, another calls of probed functions: compare "
                               "recordings of one kind");
    if (strcmp(comparison->event, event) != 0)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "one run counted %s, another %s: choose a common one with --event",
                               comparison->event, event);
    if (comparison->mode != dataset->mode || comparison->frame_app != dataset->frame_app ||
        comparison->drop_interior != dataset->drop_interior)
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
    selection.run_id = source->run_id;
    report_dataset_release(&comparison->dataset);
    int result = report_dataset_load(&comparison->dataset, source->store, &selection,
                                     report_diff_kinds[diff->by].parts, error);
    comparison->dataset.compared = true;
    if (!result)
        result = check_same(comparison, error);
    if (!result)
        result = report_diff_note_builds(comparison, side);
    if (result)
        return result;
    const struct report_dataset *dataset = &comparison->dataset;
    struct diff_run *own = &comparison->runs[run];
    own->total = (double)dataset->total.weight;
    own->samples = (double)dataset->total.samples;
    own->factor = factor_of(comparison, own->total);
    return report_diff_kinds[diff->by].add(comparison, side, run);
}

/* == Rows of functions without a name == */

/* Adds up, for each module whose build changed, all rows that have no name of their own: they can
 * neither be called new nor gone. */
static int gather_unnamed(struct diff_comparison *comparison)
{
    const size_t count = comparison->rows.count, runs = comparison->run_count;
    for (size_t i = 0; i < count; i++) {
        const struct diff_row row = comparison->rows.items[i];
        if (!row.unnamed || report_diff_same_build(comparison, row.module))
            continue;
        struct sprof_str name = {0};
        int result = sprof_str_appendf(&name, "[unnamed in %s]", row.module);
        const struct diff_row all = {name.text, row.module, true};
        for (size_t run = 0; run < runs && !result; run++) {
            const struct model_cost cost = comparison->costs.items[i * runs + run];
            result = add(comparison, sprof_hash_text(name.text), all, run, cost);
            comparison->costs.items[i * runs + run] = (struct model_cost){0};
        }
        sprof_str_release(&name);
        if (result)
            return result;
    }
    return 0;
}

/* == The result == */

/* Calls are all counted and timed: what is unsure is a thousandth of their times. */
static double variance_of_calls(const struct diff_run *run, double value)
{
    const double own = value / 1000, least = run->total * run->factor / 1e6;
    return own * own + least * least;
}

static void estimate(const struct diff_run *run, struct model_cost cost, bool calls,
                     struct model_estimate *estimate)
{
    const double samples = (double)cost.samples;
    const double weight = run->samples > 0 ? run->total / run->samples : 0;
    const double rest = run->samples > 0 ? fmax(0, 1 - samples / (run->samples + 1)) : 1;
    estimate->value = (double)cost.weight * run->factor;
    estimate->variance = calls
                             ? variance_of_calls(run, estimate->value)
                             : (samples + 0.5) * rest * weight * weight * run->factor * run->factor;
    if (!(estimate->variance > 0))
        estimate->variance = 1e-300;
    estimate->samples = samples;
}

static int compute(const struct diff_comparison *comparison, struct diff_result *result)
{
    const size_t rows = comparison->rows.count, runs = comparison->run_count;
    const size_t before = comparison->diff->counts[0], after = comparison->diff->counts[1];
    double all = 0, matched = 0;
    result->estimates = calloc(rows * runs + runs + 1, sizeof *result->estimates);
    result->differences = calloc(rows + 1, sizeof *result->differences);
    result->order = calloc(rows + 1, sizeof *result->order);
    if (!result->estimates || !result->differences || !result->order)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < rows * runs; i++)
        estimate(&comparison->runs[i % runs], comparison->costs.items[i], comparison->counts_calls,
                 &result->estimates[i]);
    model_differences(result->estimates, rows, before, after, result->differences);
    struct model_estimate *totals = &result->estimates[rows * runs];
    for (size_t run = 0; run < runs; run++) {
        /* What a whole run used is known to a sample or two: chance only says where they fall. */
        const struct diff_run *own = &comparison->runs[run];
        const double one = (own->samples > 0 ? own->total / own->samples : 1) * own->factor;
        totals[run] =
            (struct model_estimate){own->total * own->factor, 4 * one * one + 1e-300, own->samples};
    }
    model_differences(totals, 1, before, after, &result->total);
    for (size_t i = 0; i < rows; i++) {
        const struct model_difference *row = &result->differences[i];
        uint64_t calls = 0; /* of functions that are only counted there is nothing else */
        for (size_t run = 0; run < runs && comparison->counts_calls; run++)
            calls += comparison->costs.items[i * runs + run].samples;
        if (row->before <= 0 && row->after <= 0 && !calls)
            continue;
        result->order[result->count++] = (uint32_t)i;
        all += row->before + row->after;
        if (row->before > 0 && row->after > 0 &&
            strncmp(comparison->rows.items[i].name, "[unnamed in ", 12) != 0)
            matched += row->before + row->after;
    }
    result->matched = all > 0 ? matched / all : 0;
    return 0;
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
    size_t run = 0;
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < diff->counts[side]; i++) {
            const int result = read_run(comparison, side, run++, &diff->runs[side][i], error);
            if (result)
                return result;
        }
    return gather_unnamed(comparison);
}

int report_diff(FILE *out, const struct report_diff *diff, const struct report_style *style,
                enum report_diff_outcome *outcome, char why[static 512], struct sprof_error *error)
{
    struct diff_comparison comparison = {.diff = diff,
                                         .run_count = diff->counts[0] + diff->counts[1]};
    struct diff_result result = {0};
    comparison.runs = calloc(comparison.run_count + 1, sizeof *comparison.runs);
    int status = comparison.runs ? read_runs(&comparison, error) : SPROF_ENOMEM;
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
    sprof_vec_release(&comparison.rows);
    sprof_vec_release(&comparison.costs);
    sprof_map_release(&comparison.indexes);
    sprof_map_release(&comparison.named);
    sprof_map_release(&comparison.builds[0]);
    sprof_map_release(&comparison.builds[1]);
    report_dataset_release(&comparison.dataset);
    sprof_arena_release(&comparison.arena);
    return report_error_code(status, error);
}
