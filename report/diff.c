/* Compares two groups of runs: functions, modules, call paths or source lines. */
#include "report/dataset.h"
#include "report/error_text.h"
#include "report/format.h"
#include "report/table.h"
#include "report/utf8_text.h"

#include <math.h>
#include <string.h>

/* In formats for people. */
enum { USUAL_ROWS = 40 };

/* Below this share of matched cost nothing is judged. */
static const double least_matched = 0.5;

struct row {
    const char *name, *module;
    bool unnamed; /* functions without a name, which two builds cannot tell apart */
};

/* What a run adds up to, and what turns its weights into the unit compared. */
struct run {
    double total, samples, factor;
};

struct comparison {
    const struct report_diff *diff;
    struct sprof_arena arena;      /* texts of rows */
    struct report_dataset dataset; /* of the run at hand; in the end of the last one */
    SPROF_VEC(struct row) rows;
    struct sprof_map indexes;           /* key → index + 1 */
    SPROF_VEC(struct model_cost) costs; /* row by row, a cost for each run */
    struct run *runs;
    size_t run_count;
    const char *event; /* of the first run, as all that follows */
    bool is_clock;
    enum model_mode mode;
    bool frame_app, drop_interior;
    struct sprof_map builds[2]; /* key of a module's name → key of its content; 1: several */
};

/* == What is the same == */

/* "libfoo.so.1.2.3" and "libfoo.so.1.3" are one library, libfoo.so.1, as its soname would say. */
static size_t stem_of(const char *name)
{
    const char *version = strstr(name, ".so.");
    const size_t length = version ? (size_t)(version - name) + 4 : strlen(name);
    return version ? length + strspn(version + 4, "0123456789") : length;
}

/* The name a module goes by on both sides. */
static const char *module_name(const struct comparison *comparison, size_t side, const char *name)
{
    const char *const *renamed = comparison->diff->renamed;
    for (; side == 0 && renamed && *renamed; renamed++) {
        const char *equals = strchr(*renamed, '=');
        const size_t length = (size_t)(equals - *renamed);
        if (strlen(name) == length && !strncmp(name, *renamed, length))
            return equals + 1;
    }
    return name;
}

static uint64_t module_key(const struct comparison *comparison, size_t side, const char *name)
{
    const char *known = module_name(comparison, side, name);
    return sprof_hash_bytes(known, stem_of(known));
}

static uint64_t file_key(const char *file)
{
    const char *slash = file ? strrchr(file, '/') : NULL;
    return file ? sprof_hash_text(slash ? slash + 1 : file) : 0;
}

/* Notes which build of each module a side ran. */
static int note_builds(struct comparison *comparison, size_t side)
{
    const struct report_dataset *dataset = &comparison->dataset;
    for (size_t i = 0; i < dataset->modules.count; i++) {
        const struct report_module *module = &dataset->modules.items[i];
        const uint64_t key = module_key(comparison, side, module->name);
        const uint64_t *known = sprof_map_get(&comparison->builds[side], key);
        const uint64_t build = known && *known != module->key ? 1 : module->key;
        if (sprof_map_put(&comparison->builds[side], key, build))
            return SPROF_ENOMEM;
    }
    return 0;
}

/* == Rows == */

static int find_row(struct comparison *comparison, uint64_t key, struct row row, size_t *index)
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

static int add(struct comparison *comparison, uint64_t key, struct row row, size_t run,
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

static struct model_cost chosen(const struct comparison *comparison,
                                const struct model_costs *costs)
{
    return comparison->diff->inclusive ? costs->inclusive : costs->exclusive;
}

/* The identity of a function in all builds. One without a name is known by its address, which says
 * something within one build only. */
static uint64_t function_key(const struct comparison *comparison, size_t side, uint32_t number,
                             bool *unnamed)
{
    const struct report_dataset *dataset = &comparison->dataset;
    const struct report_function *function = &dataset->functions.items[number - 1];
    const struct report_module *module =
        &dataset->modules.items[dataset->facts.items[number - 1].module - 1];
    const uint64_t place = module_key(comparison, side, module->name);
    *unnamed = !function->named && module->kind != MODEL_KIND_NONE;
    const uint64_t build = *unnamed ? module->key : 0;
    const char *name = function->linkage_name ? function->linkage_name : function->name;
    return sprof_hash_pair(sprof_hash_pair(place, build),
                           sprof_hash_pair(sprof_hash_text(name), file_key(function->file)));
}

static struct row function_row(const struct comparison *comparison, size_t side, uint32_t number,
                               bool unnamed)
{
    const struct report_dataset *dataset = &comparison->dataset;
    const char *module = report_dataset_module_name(dataset, number);
    return (struct row){report_dataset_function_name(dataset, number),
                        module_name(comparison, side, module), unnamed};
}

static int add_functions(struct comparison *comparison, size_t side, size_t run)
{
    const struct report_dataset *dataset = &comparison->dataset;
    const struct model_functions facts = report_dataset_facts(dataset);
    struct model_costs *costs = calloc(facts.count + 1, sizeof *costs);
    int result = costs ? model_function_costs(&dataset->paths, &facts, costs) : SPROF_ENOMEM;
    for (uint32_t number = 1; number <= facts.count && !result; number++) {
        bool unnamed;
        const uint64_t key = function_key(comparison, side, number, &unnamed);
        result = add(comparison, key, function_row(comparison, side, number, unnamed), run,
                     chosen(comparison, &costs[number - 1]));
    }
    free(costs);
    return result;
}

static int add_modules(struct comparison *comparison, size_t side, size_t run)
{
    const struct report_dataset *dataset = &comparison->dataset;
    const struct model_functions facts = report_dataset_facts(dataset);
    const size_t count = dataset->modules.count;
    struct model_costs *costs = calloc(count + 1, sizeof *costs);
    int result = costs ? model_module_costs(&dataset->paths, &facts, costs, count) : SPROF_ENOMEM;
    for (size_t i = 0; i < count && !result; i++) {
        const char *name = module_name(comparison, side, dataset->modules.items[i].name);
        result = add(comparison, module_key(comparison, side, dataset->modules.items[i].name),
                     (struct row){name, name, false}, run, chosen(comparison, &costs[i]));
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

static int add_paths(struct comparison *comparison, size_t side, size_t run)
{
    const struct report_dataset *dataset = &comparison->dataset;
    const size_t count = dataset->paths.items.count;
    uint64_t *keys = calloc(count + 1, sizeof *keys);
    struct sprof_str name = {0};
    int result = keys ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < count && !result; i++) {
        const struct model_path *path = &dataset->paths.items.items[i];
        bool unnamed;
        keys[path->id] = sprof_hash_pair(keys[path->parent],
                                         function_key(comparison, side, path->function, &unnamed));
        result = path_name(dataset, path->id, &name);
        const struct row row = {
            name.text,
            module_name(comparison, side, report_dataset_module_name(dataset, path->function)),
            unnamed};
        if (!result)
            result = add(comparison, keys[path->id], row, run, chosen(comparison, &path->costs));
    }
    free(keys);
    sprof_str_release(&name);
    return result;
}

static int add_lines(struct comparison *comparison, size_t side, size_t run)
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
        const uint64_t function = function_key(comparison, side, frame->function, &unnamed);
        const struct row of_function = function_row(comparison, side, frame->function, unnamed);
        sprof_str_clear(&name);
        result = frame->file ? sprof_str_appendf(&name, "%s:%u %s", frame->file, frame->line,
                                                 of_function.name)
                             : sprof_str_append(&name, of_function.name);
        const uint64_t key =
            sprof_hash_pair(function, sprof_hash_pair(file_key(frame->file), frame->line));
        const struct row row = {name.text, of_function.module, unnamed};
        if (!result)
            result = add(comparison, key, row, run, chosen(comparison, &line->costs));
    }
    sprof_str_release(&name);
    return result;
}

static const struct {
    int (*add)(struct comparison *, size_t side, size_t run);
    unsigned parts;
    const char *title, *key, *plural;
} kinds[] = {
    [REPORT_DIFF_FUNCTIONS] = {add_functions, 0, "function", "function", "functions"},
    [REPORT_DIFF_MODULES] = {add_modules, 0, "module", "module", "modules"},
    [REPORT_DIFF_PATHS] = {add_paths, 0, "call path", "path", "call paths"},
    [REPORT_DIFF_LINES] = {add_lines, REPORT_LINE_COSTS, "line", "line", "lines"},
};

/* == Reading the runs == */

static double factor_of(const struct comparison *comparison, double total)
{
    const double seconds = (double)comparison->dataset.run.duration_ns / 1e9;
    switch (comparison->diff->per) {
    case REPORT_PER_SECOND: return seconds > 0 ? 1 / seconds : 0;
    case REPORT_PER_SAMPLE: return total > 0 ? 1 / total : 0;
    default: return 1;
    }
}

/* Runs that do not measure the same cannot be compared. */
static int check_same(struct comparison *comparison, struct sprof_error *error)
{
    const struct report_dataset *dataset = &comparison->dataset;
    const char *event = dataset->event.name ? dataset->event.name : "no event";
    if (!comparison->event) {
        comparison->event = report_utf8_copy(&comparison->arena, event);
        comparison->is_clock = dataset->event.is_clock;
        comparison->mode = dataset->mode;
        comparison->frame_app = dataset->frame_app;
        comparison->drop_interior = dataset->drop_interior;
        return comparison->event ? 0 : SPROF_ENOMEM;
    }
    if (strcmp(comparison->event, event) != 0)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "one run counted %s, another %s: choose a common one with --event",
                               comparison->event, event);
    if (comparison->mode != dataset->mode || comparison->frame_app != dataset->frame_app ||
        comparison->drop_interior != dataset->drop_interior)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "the runs were recorded in different modes: read all of them in the "
                               "least detailed one, as with -m pc");
    return 0;
}

static int read_run(struct comparison *comparison, size_t side, size_t run,
                    const struct report_diff_run *source, struct sprof_error *error)
{
    const struct report_diff *diff = comparison->diff;
    struct report_selection selection = diff->selection;
    selection.run_id = source->run_id;
    report_dataset_release(&comparison->dataset);
    int result = report_dataset_load(&comparison->dataset, source->store, &selection,
                                     kinds[diff->by].parts, error);
    if (!result)
        result = check_same(comparison, error);
    if (!result)
        result = note_builds(comparison, side);
    if (result)
        return result;
    const struct report_dataset *dataset = &comparison->dataset;
    struct run *own = &comparison->runs[run];
    own->total = (double)dataset->total.weight;
    own->samples = (double)dataset->total.samples;
    own->factor = factor_of(comparison, own->total);
    return kinds[diff->by].add(comparison, side, run);
}

/* == Rows of functions without a name == */

static bool same_build(const struct comparison *comparison, const char *module)
{
    const uint64_t key = sprof_hash_bytes(module, stem_of(module));
    const uint64_t *before = sprof_map_get(&comparison->builds[0], key);
    const uint64_t *after = sprof_map_get(&comparison->builds[1], key);
    return before && after && *before > 1 && *before == *after;
}

/* Adds up, for each module whose build changed, all rows that have no name of their own: they can
 * neither be called new nor gone. */
static int gather_unnamed(struct comparison *comparison)
{
    const size_t count = comparison->rows.count, runs = comparison->run_count;
    for (size_t i = 0; i < count; i++) {
        const struct row row = comparison->rows.items[i];
        if (!row.unnamed || same_build(comparison, row.module))
            continue;
        struct sprof_str name = {0};
        int result = sprof_str_appendf(&name, "[unnamed in %s]", row.module);
        const struct row all = {name.text, row.module, true};
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

struct result {
    struct model_estimate *estimates;
    struct model_difference *differences;
    uint32_t *order; /* of rows that have any cost */
    size_t count;
    struct model_difference total;
    double matched; /* share of all cost that stands in rows of both sides */
};

static void estimate(const struct run *run, struct model_cost cost, struct model_estimate *estimate)
{
    const double samples = (double)cost.samples;
    const double weight = run->samples > 0 ? run->total / run->samples : 0;
    const double rest = run->samples > 0 ? fmax(0, 1 - samples / (run->samples + 1)) : 1;
    estimate->value = (double)cost.weight * run->factor;
    estimate->variance = (samples + 0.5) * rest * weight * weight * run->factor * run->factor;
    if (!(estimate->variance > 0))
        estimate->variance = 1e-300;
    estimate->samples = samples;
}

static int compute(const struct comparison *comparison, struct result *result)
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
        estimate(&comparison->runs[i % runs], comparison->costs.items[i], &result->estimates[i]);
    model_differences(result->estimates, rows, before, after, result->differences);
    struct model_estimate *totals = &result->estimates[rows * runs];
    for (size_t run = 0; run < runs; run++) {
        /* What a whole run used is known to a sample or two: chance only says where they fall. */
        const struct run *own = &comparison->runs[run];
        const double one = (own->samples > 0 ? own->total / own->samples : 1) * own->factor;
        totals[run] = (struct model_estimate){own->total * own->factor, 4 * one * one + 1e-300,
                                              own->samples};
    }
    model_differences(totals, 1, before, after, &result->total);
    for (size_t i = 0; i < rows; i++) {
        const struct model_difference *row = &result->differences[i];
        if (row->before <= 0 && row->after <= 0)
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

static const char *const change_words[] = {
    [MODEL_UNDECIDED] = "needs 3 runs",
    [MODEL_WITHIN_CHANCE] = "within chance",
    [MODEL_GROWN] = "grown",
    [MODEL_SHRUNK] = "shrunk",
    [MODEL_NEW] = "new",
    [MODEL_GONE] = "gone",
};

/* == The table == */

/* "3.31 s", "31.2 %": a value in the unit compared. */
static void value_text(const struct comparison *comparison, double value, char text[static 64])
{
    char number[NUMBER_BYTES];
    if (comparison->diff->per == REPORT_PER_SAMPLE)
        snprintf(text, 64, "%.2f %%", 100 * value);
    else if (!comparison->is_clock)
        snprintf(text, 64, "%.6g", value);
    else if (comparison->diff->per == REPORT_PER_SECOND)
        snprintf(text, 64, "%.2f %%", value / 1e7);
    else
        snprintf(
            text, 64, "%s",
            report_number_time(number, (uint64_t)value, report_number_time_unit((uint64_t)value)));
}

/* "+10.2 %" of what it was; "new", "gone". */
static void ratio_text(const struct model_difference *row, char text[static 64])
{
    if (row->before <= 0 || row->after <= 0)
        snprintf(text, 64, "%s", row->before <= 0 ? "new" : "gone");
    else
        snprintf(text, 64, "%+.1f %%", 100 * (row->after / row->before - 1));
}

static void add_columns(struct table *table, const struct comparison *comparison)
{
    const struct table_column columns[] = {
        {.title = "change", .key = "change_percent_of_all", .kind = TABLE_INTERVAL},
        {.title = "±", .key = "change_interval", .kind = TABLE_INTERVAL, .optional = 3},
        {.title = "verdict", .key = "verdict", .kind = TABLE_NAME},
        {.title = "own", .key = "own_change", .kind = TABLE_NAME, .optional = 2},
        {.title = "before", .key = "before", .kind = TABLE_NAME, .optional = 1},
        {.title = "after", .key = "after", .kind = TABLE_NAME, .optional = 1},
        {.key = "before_value", .kind = TABLE_INTERVAL, .only_data = true},
        {.key = "after_value", .kind = TABLE_INTERVAL, .only_data = true},
        {.title = kinds[comparison->diff->by].title,
         .key = kinds[comparison->diff->by].key,
         .kind = TABLE_NAME},
        {.title = "module", .key = "module", .kind = TABLE_NAME, .optional = 4},
    };
    const size_t count = sizeof columns / sizeof *columns;
    for (size_t i = 0; i < count - (comparison->diff->by == REPORT_DIFF_MODULES); i++)
        report_table_column(table, columns[i]);
}

static void put_text(struct table *table, struct comparison *comparison, const char *text)
{
    const char *copy = report_utf8_copy(&comparison->arena, text);
    table->failed = table->failed || !copy;
    report_table_put_text(table, copy);
}

static void put_row(struct table *table, struct comparison *comparison, const struct result *result,
                    uint32_t index)
{
    const struct model_difference *row = &result->differences[index];
    const double all = result->total.before > 0 ? result->total.before : 1;
    const double values[] = {row->before, row->after};
    char text[64];
    report_table_put(table, (union table_cell){.points = 100 * (row->after - row->before) / all});
    report_table_put(table, (union table_cell){.points = 100 * row->half_width / all});
    report_table_put_text(table, change_words[row->change]);
    ratio_text(row, text);
    put_text(table, comparison, text);
    for (size_t i = 0; i < 2; i++) {
        value_text(comparison, values[i], text);
        put_text(table, comparison, text);
    }
    for (size_t i = 0; i < 2; i++)
        report_table_put(table, (union table_cell){.points = values[i]});
    report_table_put_text(table, comparison->rows.items[index].name);
    if (comparison->diff->by != REPORT_DIFF_MODULES)
        report_table_put_text(table, comparison->rows.items[index].module);
}

static const char *title_of(struct comparison *comparison)
{
    char text[160];
    snprintf(text, sizeof text, "Changes of %s, %s", kinds[comparison->diff->by].plural,
             comparison->diff->inclusive ? "inclusive" : "exclusive");
    return report_utf8_copy(&comparison->arena, text);
}

static const char *note_of(struct comparison *comparison, const struct result *result)
{
    static const char *const units[] = {[REPORT_PER_RUN] = "a run",
                                        [REPORT_PER_SECOND] = "a second",
                                        [REPORT_PER_SAMPLE] = "of all samples"};
    char before[64], after[64], ratio[64], text[400];
    value_text(comparison, result->total.before, before);
    value_text(comparison, result->total.after, after);
    ratio_text(&result->total, ratio);
    snprintf(text, sizeof text, "%zu run%s before, %zu after · total %s → %s %s (%s, %s)",
             comparison->diff->counts[0], comparison->diff->counts[0] == 1 ? "" : "s",
             comparison->diff->counts[1], before, after, units[comparison->diff->per], ratio,
             change_words[result->total.change]);
    return report_utf8_copy(&comparison->arena, text);
}

static const char *footer_of(struct comparison *comparison, const struct result *result,
                             size_t shown)
{
    char text[300], more[80] = "";
    if (result->count > shown)
        snprintf(more, sizeof more, "… %zu more %s%s · ", result->count - shown,
                 kinds[comparison->diff->by].plural,
                 comparison->diff->all_rows ? "" : ", within chance or small");
    snprintf(text, sizeof text,
             "%s%.1f %% of the cost stands in %s of both sides · change in %% of the total before",
             more, 100 * result->matched, kinds[comparison->diff->by].plural);
    return report_utf8_copy(&comparison->arena, text);
}

static int write_table(FILE *out, struct comparison *comparison, const struct result *result,
                       const struct report_style *style, struct sprof_error *error)
{
    const struct report_diff *diff = comparison->diff;
    const bool brief = !style->format || style->format->brief;
    const size_t most = diff->limit ? diff->limit : brief ? USUAL_ROWS : SIZE_MAX;
    struct table table = {.decimals = 2, .time_unit_ns = 1};
    size_t shown = 0;
    add_columns(&table, comparison);
    for (; shown < result->count && shown < most; shown++) {
        const uint32_t index = result->order[shown];
        if (brief && !diff->all_rows && result->differences[index].change == MODEL_WITHIN_CHANCE)
            break;
        put_row(&table, comparison, result, index);
    }
    table.title = title_of(comparison);
    table.note = note_of(comparison, result);
    table.left_out = footer_of(comparison, result, shown);
    int status = table.failed || !table.title || !table.note || !table.left_out ? SPROF_ENOMEM : 0;
    if (!status) {
        const struct report_content content = {
            .kind = REPORT_TABLE, .dataset = &comparison->dataset, .table = &table};
        status = report_content_write(out, &content, style, error);
    }
    report_table_release(&table);
    return status;
}

/* == Limits == */

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

static void judge(const struct comparison *comparison, const struct result *result,
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

static int read_runs(struct comparison *comparison, struct sprof_error *error)
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
    struct comparison comparison = {.diff = diff, .run_count = diff->counts[0] + diff->counts[1]};
    struct result result = {0};
    comparison.runs = calloc(comparison.run_count + 1, sizeof *comparison.runs);
    int status = comparison.runs ? read_runs(&comparison, error) : SPROF_ENOMEM;
    if (!status)
        status = compute(&comparison, &result);
    if (!status) {
        qsort_r(result.order, result.count, sizeof *result.order, compare_changes,
                result.differences);
        judge(&comparison, &result, outcome, why);
        status = write_table(out, &comparison, &result, style, error);
    }
    free(result.estimates);
    free(result.differences);
    free(result.order);
    free(comparison.runs);
    sprof_vec_release(&comparison.rows);
    sprof_vec_release(&comparison.costs);
    sprof_map_release(&comparison.indexes);
    sprof_map_release(&comparison.builds[0]);
    sprof_map_release(&comparison.builds[1]);
    report_dataset_release(&comparison.dataset);
    sprof_arena_release(&comparison.arena);
    return report_error_code(status, error);
}
