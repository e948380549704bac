/* Reads call paths and what they cost: from sums by path, or by node and thread. */
#include "report/call_uses.h"
#include "report/dataset_parts.h"

#include <stdlib.h>

static int add_path(void *context, const struct model_path *row)
{
    struct report_loading *loading = context;
    const struct report_path_row path = {
        .parent = report_dataset_number(&loading->paths, row->parent),
        .function = report_dataset_function_of(loading->dataset, row->function),
        .part = report_dataset_number(&loading->dataset->numbers.functions, row->function),
    };
    if (!path.function || (row->parent && !path.parent))
        return SPROF_EFORMAT;
    if (report_dataset_number(&loading->paths, row->id)) /* of several events */
        return 0;
    if (sprof_vec_push(&loading->rows, path))
        return SPROF_ENOMEM;
    return report_row_numbers_put(&loading->paths, row->id, loading->rows.count);
}

/* Whether neither threads nor stacks matter. */
static bool takes_all(const struct report_loading *loading)
{
    const struct report_dataset *dataset = loading->dataset;
    return !(dataset->parts & REPORT_STACKS) && !dataset->chosen.thread &&
           !dataset->chosen.process && !dataset->chosen.of_service && !loading->folds_idle;
}

int report_dataset_choose_paths(struct report_loading *loading, struct sprof_error *error)
{
    const struct report_dataset *dataset = loading->dataset;
    if (dataset->runs.count != 1 || !takes_all(loading) || loading->from_samples ||
        dataset->parts & REPORT_INLINED)
        return 0;
    return store_has_few_paths(loading->store, dataset->runs.items[0].id, &loading->few_paths,
                               error);
}

int report_dataset_load_paths(struct report_loading *loading, struct sprof_error *error)
{
    return loading->few_paths
               ? store_each_path_of_run(loading->store, loading->dataset->runs.items[0].id,
                                        add_path, loading, error)
               : store_each_path(loading->store, add_path, loading, error);
}

static int add_cost(void *context, const struct store_node_cost *row)
{
    struct report_loading *loading = context;
    struct report_dataset *dataset = loading->dataset;
    const uint32_t event = report_dataset_number(&loading->dataset->numbers.events, row->event_id);
    if (!event)
        return 0;
    const uint32_t thread = report_dataset_number(&dataset->numbers.threads, row->thread_id);
    const uint32_t path = report_dataset_number(&loading->paths, row->path_id);
    if (!path || !thread)
        return SPROF_EFORMAT;
    dataset->all.samples += row->cost.samples;
    dataset->all.weight += row->cost.weight;
    if (!dataset->threads.items[thread - 1].selected)
        return 0;
    if (report_dataset_is_idle(loading, path, thread, event)) {
        report_dataset_fold(loading, path, row->cost);
        return 0;
    }
    report_dataset_count(loading, path, row->cost, row->sum_squares);
    if (!(loading->dataset->parts & REPORT_STACKS))
        return 0;
    const struct report_cost own = {
        .node = report_dataset_number(&dataset->numbers.nodes, row->node_id),
        .thread = thread,
        .event = event,
        .cpu = -1,
        .phase = loading->phase,
        .cost = row->cost,
    };
    return own.node ? sprof_vec_push(&dataset->costs, own) : SPROF_EFORMAT;
}

/* == From sums by path, where every sample counts == */

static int add_path_cost(void *context, const struct store_cost *row)
{
    struct report_loading *loading = context;
    if (!report_dataset_number(&loading->dataset->numbers.events, row->event_id))
        return 0;
    const uint32_t path = report_dataset_number(&loading->paths, row->id);
    if (!path)
        return SPROF_EFORMAT;
    loading->dataset->all.samples += row->costs.exclusive.samples;
    loading->dataset->all.weight += row->costs.exclusive.weight;
    report_dataset_count(loading, path, row->costs.exclusive, 0);
    return 0;
}

static int add_event_cost(void *context, const struct store_event_cost *row)
{
    struct report_loading *loading = context;
    if (report_dataset_number(&loading->dataset->numbers.events, row->event_id))
        loading->sum_of_squares += row->squares;
    return 0;
}

static int add_thread_cost(void *context, const struct store_thread_cost *row)
{
    struct report_loading *loading = context;
    const struct report_cost cost = {
        .thread = report_dataset_number(&loading->dataset->numbers.threads, row->thread_id),
        .event = report_dataset_number(&loading->dataset->numbers.events, row->event_id),
        .cpu = -1,
        .phase = loading->phase,
        .cost = row->cost,
    };
    if (!cost.event)
        return 0;
    return cost.thread ? sprof_vec_push(&loading->dataset->costs, cost) : SPROF_EFORMAT;
}

static int add_place_cost(void *context, const struct store_place_cost *row)
{
    struct report_loading *loading = context;
    struct report_dataset *dataset = loading->dataset;
    const struct report_cost cost = {
        .thread = report_dataset_number(&dataset->numbers.threads, row->thread_id),
        .event = report_dataset_number(&loading->dataset->numbers.events, row->event_id),
        .cpu = row->cpu,
        .phase = report_dataset_numbered_phase(dataset, row->run_id, row->phase),
        .cost = row->cost,
    };
    if (!cost.event)
        return 0;
    return cost.thread ? sprof_vec_push(&dataset->costs, cost) : SPROF_EFORMAT;
}

static int add_line_cost(void *context, const struct store_cost *row)
{
    struct report_loading *loading = context;
    const struct report_line_cost cost = {report_dataset_number(&loading->frames, row->id),
                                          row->costs};
    if (!report_dataset_number(&loading->dataset->numbers.events, row->event_id))
        return 0;
    return cost.frame ? sprof_vec_push(&loading->dataset->line_costs, cost) : SPROF_EFORMAT;
}

/* == The tree == */

/* Adds the cost of a row to its path, which *path is from then on. Parts of a function share one,
 * and a part that its function called is in that function's. */
static int add_row(struct report_loading *loading, const struct report_path_row *row,
                   uint32_t parent, uint32_t *path)
{
    struct report_dataset *dataset = loading->dataset;
    const size_t known = dataset->paths.items.count;
    const uint32_t outer = row->parent ? loading->rows.items[row->parent - 1].part : 0;
    const bool within = outer && report_dataset_is_called_part(dataset, row->part, outer);
    if (within)
        *path = parent;
    else if (model_paths_child(&dataset->paths, parent, row->function, path))
        return SPROF_ENOMEM;
    model_paths_add(&dataset->paths, *path, row->costs.exclusive);
    if (!(dataset->parts & REPORT_INLINED))
        return 0;
    const bool inlined = row->inlined && !row->called && !within;
    if (*path > known)
        return sprof_vec_push(&dataset->path_inlined, inlined);
    dataset->path_inlined.items[*path - 1] = dataset->path_inlined.items[*path - 1] && inlined;
    return 0;
}

/* Leaves out the paths that the selection never came to. */
static int build_tree(struct report_loading *loading)
{
    struct report_path_row *rows = loading->rows.items;
    uint32_t *paths = calloc(loading->rows.count + 1, sizeof *paths);
    int result = paths ? 0 : SPROF_ENOMEM;
    for (size_t i = loading->rows.count; i-- > 0 && !result;) {
        struct model_cost *sum = &rows[i].costs.inclusive;
        sum->samples += rows[i].costs.exclusive.samples;
        sum->weight += rows[i].costs.exclusive.weight;
        if (rows[i].parent) {
            rows[rows[i].parent - 1].costs.inclusive.samples += sum->samples;
            rows[rows[i].parent - 1].costs.inclusive.weight += sum->weight;
        }
    }
    for (size_t i = 0; i < loading->rows.count && !result; i++) {
        if (!rows[i].costs.inclusive.samples && !rows[i].costs.inclusive.weight)
            continue;
        result = add_row(loading, &rows[i], paths[rows[i].parent], &paths[i + 1]);
    }
    free(paths);
    model_paths_sum(&loading->dataset->paths);
    return result;
}

/* == Total times of calls == */

static void add_total(struct report_loading *loading, uint32_t event, uint32_t function_id,
                      uint64_t total_ns)
{
    const struct report_dataset *dataset = loading->dataset;
    const uint32_t function = report_dataset_function_of(dataset, function_id);
    if (function && report_dataset_number(&loading->dataset->numbers.events, event))
        dataset->counted.totals.items[function - 1] += total_ns;
}

static int add_function_cost(void *context, const struct store_cost *row)
{
    add_total(context, row->event_id, row->id, row->costs.inclusive.weight);
    return 0;
}

static int add_call_total(void *context, const struct store_call_total *row)
{
    add_total(context, row->event_id, row->function_id, row->total_ns);
    return 0;
}

/* Of calls that were counted by function alone, or by caller, paths do not hold what they called.
 * By phase and time total times are not stored. */
static int load_call_totals(struct report_loading *loading, struct sprof_error *error)
{
    struct report_dataset *dataset = loading->dataset;
    int result = 0;
    if (!report_counts_calls(dataset) || loading->from_samples)
        return 0;
    for (size_t i = 0; i < dataset->functions.count && !result; i++)
        result = sprof_vec_push(&dataset->counted.totals, 0);
    for (size_t i = 0; i < dataset->runs.count && !result; i++) {
        const struct store_filter filter = {.run_id = dataset->runs.items[i].id,
                                            .thread = dataset->chosen.thread,
                                            .process = dataset->chosen.process};
        result =
            dataset->chosen.thread || dataset->chosen.process
                ? store_each_call_total(loading->store, &filter, add_call_total, loading, error)
                : store_each_function_cost(loading->store, filter.run_id, add_function_cost,
                                           loading, error);
    }
    return result || dataset->chosen.thread || dataset->chosen.process
               ? result
               : report_call_uses_load(dataset, loading->store, error);
}

/* Where only the direct callers of calls are known, what is below a caller ends with its callees,
 * though one of them may call others in its turn. */
enum report_known_callers report_dataset_callers(const struct report_dataset *dataset)
{
    const struct model_path *paths = dataset->paths.items.items;
    const size_t count = dataset->paths.items.count;
    bool *calls = calloc(dataset->functions.count + 1, sizeof *calls);
    bool has_parents = false, is_deep = false, is_cut = !calls;
    for (size_t i = 0; i < count && !is_cut; i++) {
        const uint32_t parent = paths[i].parent;
        has_parents |= parent != 0;
        is_deep |= parent && paths[parent - 1].parent;
        if (parent)
            calls[paths[parent - 1].function] = true;
    }
    for (size_t i = 0; i < count && !is_deep && !is_cut; i++)
        is_cut = paths[i].parent && calls[paths[i].function];
    free(calls);
    return !has_parents ? REPORT_NO_CALLERS : is_cut ? REPORT_DIRECT_CALLERS : REPORT_ALL_CALLERS;
}

bool report_dataset_has_paths(const struct report_dataset *dataset)
{
    return report_dataset_callers(dataset) == REPORT_ALL_CALLERS;
}

int report_dataset_function_costs(const struct report_dataset *dataset, struct model_costs *costs)
{
    const struct model_functions functions = report_dataset_facts(dataset);
    const int result = model_function_costs(&dataset->paths, &functions, costs);
    const bool has_paths = !dataset->counted.totals.count || report_dataset_has_paths(dataset);
    for (size_t i = 0; i < dataset->counted.totals.count && !result; i++) {
        if (costs[i].inclusive.samples)
            costs[i].inclusive.weight = dataset->counted.totals.items[i];
        if (!has_paths)
            costs[i].inclusive.samples = costs[i].exclusive.samples;
    }
    return result;
}

int report_dataset_load_costs(struct report_loading *loading, struct sprof_error *error)
{
    int result = report_dataset_find_idle(loading, error);
    if (!result)
        result = report_dataset_load_fields(loading, error);
    if (result)
        return result;
    if (loading->from_samples)
        result = report_dataset_load_samples(loading, error);
    else
        for (size_t i = 0; i < loading->dataset->runs.count && !result; i++) {
            const struct store_filter filter = {.run_id = loading->dataset->runs.items[i].id};
            /* With the samples unread, each run has one phase (report/selection.c). */
            loading->phase = loading->dataset->parts & REPORT_PHASES ? (uint32_t)i + 1 : 0;
            if (!takes_all(loading)) {
                result = store_each_node_cost(loading->store, &filter, add_cost, loading, error);
                continue;
            }
            result =
                store_each_path_cost(loading->store, filter.run_id, add_path_cost, loading, error);
            if (!result)
                result = store_each_event_cost(loading->store, filter.run_id, add_event_cost,
                                               loading, error);
            if (!result && loading->by_place)
                result = store_each_place_cost(loading->store, filter.run_id, add_place_cost,
                                               loading, error);
            else if (!result && loading->dataset->parts & REPORT_THREAD_COSTS)
                result = store_each_thread_cost(loading->store, filter.run_id, add_thread_cost,
                                                loading, error);
            if (!result && loading->dataset->parts & REPORT_LINE_COSTS)
                result = store_each_line_cost(loading->store, filter.run_id, add_line_cost, loading,
                                              error);
        }
    report_dataset_idle_total(loading);
    if (!result)
        result = load_call_totals(loading, error);
    if (!result)
        result = report_dataset_load_outside(loading, error);
    return result ? result : build_tree(loading);
}
