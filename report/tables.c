/* The flat tables: functions and modules. */
#include "report/columns.h"

#include <string.h>

/* A function or a module with its costs. */
struct entry {
    const char *kind;         /* of a module; NULL: its kind is not shown */
    const char *name, *place; /* order among equals */
    uint64_t value;           /* order */
    const struct model_costs *costs;
};

/* What the two tables differ in. */
struct flat {
    const char *titles[2];        /* by exclusive, by inclusive samples */
    const char *what;             /* what one row is */
    bool both_measures;           /* also by exclusive samples */
    size_t usual;                 /* rows of text unless a limit is given */
    struct table_column names[3]; /* of kind, name and place; no key: no more */
    int (*costs)(const struct report_dataset *, struct model_costs *);
    struct entry (*entry)(const struct report_dataset *, uint32_t id);
};

/* A table while it is made. */
struct ranking {
    const struct flat *flat;
    struct report_dataset *dataset;
    const struct report_table_options *options;
    struct entry *entries;
    size_t count, shown;
    struct model_cost left_out;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *first = a, *second = b;
    if (first->value != second->value)
        return first->value > second->value ? -1 : 1;
    const int by_name = strcmp(first->name, second->name);
    return by_name ? by_name : strcmp(first->place, second->place);
}

static const struct measure *measure_of(bool inclusive)
{
    return inclusive ? &measure_inclusive : &measure_exclusive;
}

static struct model_cost cost_of(const struct model_costs *costs, bool inclusive)
{
    return inclusive ? costs->inclusive : costs->exclusive;
}

/* Whether the measure that does not rank is shown behind the one that does. */
static bool shows_other(const struct ranking *ranking)
{
    return ranking->options->inclusive || ranking->flat->both_measures;
}

static size_t limit_of(const struct ranking *ranking)
{
    const struct report_table_options *options = ranking->options;
    if (options->no_limit)
        return (size_t)-1;
    if (options->limit)
        return options->limit;
    return ranking->flat->usual;
}

/* Enters what has any cost. */
static int enter(struct ranking *ranking, struct model_costs *costs, uint32_t count)
{
    if (ranking->flat->costs(ranking->dataset, costs))
        return SPROF_ENOMEM;
    for (uint32_t id = 1; id <= count; id++) {
        const struct model_costs *own = &costs[id - 1];
        if (!own->inclusive.samples && !own->inclusive.weight)
            continue;
        struct entry entry = ranking->flat->entry(ranking->dataset, id);
        entry.costs = own;
        entry.value =
            report_dataset_value(ranking->dataset, cost_of(own, ranking->options->inclusive));
        ranking->entries[ranking->count++] = entry;
    }
    return 0;
}

/* Sorts the entries and decides how many of them are shown. */
static void rank(struct ranking *ranking)
{
    const struct report_table_options *options = ranking->options;
    const struct entry *entries = ranking->entries;
    const size_t most = limit_of(ranking);
    if (ranking->count)
        qsort(ranking->entries, ranking->count, sizeof *entries, compare_entries);
    while (ranking->shown < ranking->count && ranking->shown < most &&
           columns_enough(ranking->dataset,
                          cost_of(entries[ranking->shown].costs, options->inclusive),
                          options->min_percent))
        ranking->shown++;
    for (size_t i = ranking->shown; i < ranking->count; i++) {
        ranking->left_out.samples += entries[i].costs->exclusive.samples;
        ranking->left_out.weight += entries[i].costs->exclusive.weight;
    }
}

static void add_columns(struct table *table, const struct ranking *ranking)
{
    const struct flat *flat = ranking->flat;
    const bool inclusive = ranking->options->inclusive;
    columns_begin(table, ranking->dataset, flat->titles[inclusive], columns_base(ranking->dataset));
    columns_measure(table, ranking->dataset, measure_of(inclusive));
    if (shows_other(ranking))
        columns_measure(table, ranking->dataset, measure_of(!inclusive));
    for (size_t i = 0; i < sizeof flat->names / sizeof *flat->names && flat->names[i].key; i++)
        report_table_column(table, flat->names[i]);
}

static int add_rows(struct table *table, const struct ranking *ranking)
{
    const bool inclusive = ranking->options->inclusive;
    for (size_t i = 0; i < ranking->shown; i++) {
        const struct entry *entry = &ranking->entries[i];
        struct table_row row = {0};
        struct table_cell *at = row.cells;
        cells_measure(&at, ranking->dataset, measure_of(inclusive),
                      cost_of(entry->costs, inclusive));
        if (shows_other(ranking))
            cells_measure(&at, ranking->dataset, measure_of(!inclusive),
                          cost_of(entry->costs, !inclusive));
        if (entry->kind)
            cell_text(&at, entry->kind);
        cell_text(&at, entry->name);
        cell_text(&at, entry->place);
        if (sprof_vec_push(&table->rows, row))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int add_left_out(struct table *table, const struct ranking *ranking)
{
    if (ranking->shown == ranking->count)
        return 0;
    table->left_out = columns_left_out(ranking->dataset, table, ranking->count - ranking->shown,
                                       ranking->flat->what, ranking->left_out);
    return table->left_out ? 0 : SPROF_ENOMEM;
}

/* `count`: of the functions or modules there are. */
static int table_of(struct table *table, struct report_dataset *dataset,
                    const struct report_table_options *options, const struct flat *flat,
                    size_t count)
{
    struct model_costs *costs = calloc(count + 1, sizeof *costs);
    struct ranking ranking = {.flat = flat,
                              .dataset = dataset,
                              .options = options,
                              .entries = calloc(count + 1, sizeof *ranking.entries)};
    int result = costs && ranking.entries ? enter(&ranking, costs, (uint32_t)count) : SPROF_ENOMEM;
    if (result)
        goto done;
    add_columns(table, &ranking);
    rank(&ranking);
    result = add_rows(table, &ranking);
    if (!result)
        result = add_left_out(table, &ranking);
    if (!table->note)
        result = SPROF_ENOMEM;
done:
    free(ranking.entries);
    free(costs);
    return result;
}

static int function_costs(const struct report_dataset *dataset, struct model_costs *costs)
{
    const struct model_functions functions = report_dataset_facts(dataset);
    return model_function_costs(&dataset->paths, &functions, costs);
}

static struct entry function_entry(const struct report_dataset *dataset, uint32_t id)
{
    return (struct entry){.name = report_dataset_function_name(dataset, id),
                          .place = report_dataset_module_name(dataset, id)};
}

int report_table_of_functions(struct table *table, struct report_dataset *dataset,
                              const struct report_table_options *options)
{
    static const struct flat functions = {
        .titles = {"Functions by exclusive samples", "Functions by inclusive samples"},
        .what = "function",
        .usual = 40,
        .names = {{.title = "function", .key = "function", .kind = TABLE_NAME},
                  {.title = "module", .key = "module", .kind = TABLE_NAME}},
        .costs = function_costs,
        .entry = function_entry,
    };
    return table_of(table, dataset, options, &functions, dataset->functions.count);
}

static int module_costs(const struct report_dataset *dataset, struct model_costs *costs)
{
    const struct model_functions functions = report_dataset_facts(dataset);
    return model_module_costs(&dataset->paths, &functions, costs, dataset->modules.count);
}

static struct entry module_entry(const struct report_dataset *dataset, uint32_t id)
{
    const struct report_module *module = &dataset->modules.items[id - 1];
    return (struct entry){
        .kind = model_kind_text(module->kind), .name = module->name, .place = module->path};
}

int report_table_of_modules(struct table *table, struct report_dataset *dataset,
                            const struct report_table_options *options)
{
    static const struct flat modules = {
        .titles = {"Modules by exclusive samples", "Modules by inclusive samples"},
        .what = "module",
        .both_measures = true,
        .usual = (size_t)-1,
        .names = {{.title = "kind", .key = "kind", .kind = TABLE_NAME},
                  {.title = "module", .key = "module", .kind = TABLE_NAME},
                  {.key = "path", .kind = TABLE_NAME, .only_data = true}},
        .costs = module_costs,
        .entry = module_entry,
    };
    return table_of(table, dataset, options, &modules, dataset->modules.count);
}
