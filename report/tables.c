/* The flat tables: functions and modules. */
#include "report/columns.h"

#include <string.h>

/* A function or a module with its costs. */
struct entry {
    uint32_t id;
    const char *name, *place; /* order among equals */
    uint64_t value;           /* order */
    const struct model_costs *costs;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *first = a, *second = b;
    if (first->value != second->value)
        return first->value > second->value ? -1 : 1;
    const int by_name = strcmp(first->name, second->name);
    return by_name ? by_name : strcmp(first->place, second->place);
}

struct ranking {
    struct entry *entries;
    size_t count, shown;
    struct model_cost left_out;
};

static struct model_cost cost_of(const struct model_costs *costs, bool inclusive)
{
    return inclusive ? costs->inclusive : costs->exclusive;
}

/* Sorts the entries and decides how many of them are shown. */
static void rank(struct ranking *ranking, const struct profile *profile,
                 const struct report_options *options, size_t most)
{
    struct entry *entries = ranking->entries;
    for (size_t i = 0; i < ranking->count; i++)
        entries[i].value = profile_value(profile, cost_of(entries[i].costs, options->inclusive));
    if (ranking->count)
        qsort(entries, ranking->count, sizeof *entries, compare_entries);
    while (ranking->shown < ranking->count && ranking->shown < most &&
           columns_enough(profile, cost_of(entries[ranking->shown].costs, options->inclusive),
                          options->min_percent))
        ranking->shown++;
    for (size_t i = ranking->shown; i < ranking->count; i++) {
        ranking->left_out.samples += entries[i].costs->exclusive.samples;
        ranking->left_out.weight += entries[i].costs->exclusive.weight;
    }
}

static bool was_there(const struct model_costs *costs)
{
    return costs->inclusive.samples || costs->inclusive.weight;
}

static size_t limit_of(const struct report_options *options, size_t usual)
{
    if (options->no_limit)
        return (size_t)-1;
    return options->limit ? options->limit : usual;
}

static int add_left_out(struct table *table, struct profile *profile, const struct ranking *ranking,
                        const char *what)
{
    if (ranking->shown == ranking->count)
        return 0;
    table->left_out =
        columns_left_out(profile, table, ranking->count - ranking->shown, what, ranking->left_out);
    return table->left_out ? 0 : SPROF_ENOMEM;
}

static int function_rows(struct table *table, const struct profile *profile,
                         const struct ranking *ranking, bool inclusive)
{
    for (size_t i = 0; i < ranking->shown; i++) {
        const struct entry *entry = &ranking->entries[i];
        struct table_row row = {0};
        struct table_cell *at = row.cells;
        if (inclusive)
            cells_measure(&at, profile, &measure_inclusive, entry->costs->inclusive);
        cells_measure(&at, profile, &measure_exclusive, entry->costs->exclusive);
        cell_text(&at, entry->name);
        cell_text(&at, entry->place);
        if (sprof_vec_push(&table->rows, row))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int rank_functions(struct ranking *ranking, const struct profile *profile,
                          struct model_costs *costs)
{
    const struct model_functions functions = profile_facts(profile);
    if (model_function_costs(&profile->paths, &functions, costs))
        return SPROF_ENOMEM;
    for (uint32_t id = 1; id <= functions.count; id++)
        if (was_there(&costs[id - 1]))
            ranking->entries[ranking->count++] =
                (struct entry){id, profile_function_name(profile, id),
                               profile_module_name(profile, id), 0, &costs[id - 1]};
    return 0;
}

int table_of_functions(struct table *table, struct profile *profile,
                       const struct report_options *options)
{
    const size_t usual = options->format == REPORT_TEXT ? 40 : (size_t)-1;
    struct model_costs *costs = calloc(profile->functions.count + 1, sizeof *costs);
    struct ranking ranking = {.entries =
                                  calloc(profile->functions.count + 1, sizeof *ranking.entries)};
    int result = costs && ranking.entries ? rank_functions(&ranking, profile, costs) : SPROF_ENOMEM;
    if (result)
        goto done;
    columns_begin(table, profile,
                  options->inclusive ? "Functions by inclusive samples"
                                     : "Functions by exclusive samples",
                  columns_base(profile));
    if (options->inclusive)
        columns_measure(table, profile, &measure_inclusive);
    columns_measure(table, profile, &measure_exclusive);
    table_column(table,
                 (struct table_column){.title = "function", .key = "function", .kind = TABLE_NAME});
    table_column(table,
                 (struct table_column){.title = "module", .key = "module", .kind = TABLE_NAME});
    rank(&ranking, profile, options, limit_of(options, usual));
    result = function_rows(table, profile, &ranking, options->inclusive);
    if (!result)
        result = add_left_out(table, profile, &ranking, "function");
    if (!table->note)
        result = SPROF_ENOMEM;
done:
    free(ranking.entries);
    free(costs);
    return result;
}

static int module_rows(struct table *table, const struct profile *profile,
                       const struct ranking *ranking, bool inclusive)
{
    for (size_t i = 0; i < ranking->shown; i++) {
        const struct entry *entry = &ranking->entries[i];
        const struct profile_module *module = &profile->modules.items[entry->id - 1];
        struct table_row row = {0};
        struct table_cell *at = row.cells;
        cells_measure(&at, profile, &measure_exclusive, cost_of(entry->costs, inclusive));
        cells_measure(&at, profile, &measure_inclusive, cost_of(entry->costs, !inclusive));
        cell_text(&at, model_kind_text(module->kind));
        cell_text(&at, module->name);
        cell_text(&at, module->path);
        if (sprof_vec_push(&table->rows, row))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int rank_modules(struct ranking *ranking, const struct profile *profile,
                        struct model_costs *costs)
{
    const struct model_functions functions = profile_facts(profile);
    if (model_module_costs(&profile->paths, &functions, costs, profile->modules.count))
        return SPROF_ENOMEM;
    for (uint32_t id = 1; id <= profile->modules.count; id++) {
        const struct profile_module *module = &profile->modules.items[id - 1];
        if (was_there(&costs[id - 1]))
            ranking->entries[ranking->count++] =
                (struct entry){id, module->name, module->path, 0, &costs[id - 1]};
    }
    return 0;
}

int table_of_modules(struct table *table, struct profile *profile,
                     const struct report_options *options)
{
    struct model_costs *costs = calloc(profile->modules.count + 1, sizeof *costs);
    struct ranking ranking = {.entries =
                                  calloc(profile->modules.count + 1, sizeof *ranking.entries)};
    int result = costs && ranking.entries ? rank_modules(&ranking, profile, costs) : SPROF_ENOMEM;
    if (result)
        goto done;
    columns_begin(table, profile,
                  options->inclusive ? "Modules by inclusive samples"
                                     : "Modules by exclusive samples",
                  columns_base(profile));
    columns_measure(table, profile, options->inclusive ? &measure_inclusive : &measure_exclusive);
    columns_measure(table, profile, options->inclusive ? &measure_exclusive : &measure_inclusive);
    table_column(table, (struct table_column){.title = "kind", .key = "kind", .kind = TABLE_NAME});
    table_column(table,
                 (struct table_column){.title = "module", .key = "module", .kind = TABLE_NAME});
    table_column(table,
                 (struct table_column){.key = "path", .kind = TABLE_NAME, .only_data = true});
    rank(&ranking, profile, options, limit_of(options, (size_t)-1));
    result = module_rows(table, profile, &ranking, options->inclusive);
    if (!result)
        result = add_left_out(table, profile, &ranking, "module");
    if (!table->note)
        result = SPROF_ENOMEM;
done:
    free(ranking.entries);
    free(costs);
    return result;
}
