/* Leaves rows out of a flat table: too small ones, and those behind the last that is shown. */
#include "report/by_key.h"
#include "report/columns.h"

#include <stdlib.h>

void report_by_key_drop_row(struct by_key *by, const struct key_row *row)
{
    struct key_cut *cut = &by->cut;
    cut->dropped++;
    cut->cost.samples += row->costs.exclusive.samples;
    cut->cost.weight += row->costs.exclusive.weight;
}

static struct model_cost shown_cost(const struct by_key *by, size_t row)
{
    const struct model_costs *costs = &by->rows.items[row].costs;
    return by->inclusive ? costs->inclusive : costs->exclusive;
}

static void drop_small_rows(struct by_key *by)
{
    const struct report_dataset *dataset = by->dataset;
    size_t kept = 0;
    for (size_t i = 0; i < by->rows.count; i++) {
        const struct key_row row = by->rows.items[i];
        const struct model_cost cost = shown_cost(by, i);
        if (report_dataset_value(dataset, cost) < by->cut.least ||
            !report_columns_enough(dataset, cost, dataset->total, by->cut.min_percent))
            report_by_key_drop_row(by, &row);
        else
            by->rows.items[kept++] = row;
    }
    by->rows.count = kept;
}

static int compare_values(const void *a, const void *b)
{
    const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return first > second ? -1 : first < second;
}

int report_by_key_drop(struct by_key *by)
{
    drop_small_rows(by);
    if (by->rows.count <= by->cut.most || !by->cut.largest_first)
        return 0;
    uint64_t *values = malloc(by->rows.count * sizeof *values);
    if (!values)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < by->rows.count; i++)
        values[i] = report_dataset_value(by->dataset, shown_cost(by, i));
    qsort(values, by->rows.count, sizeof *values, compare_values);
    by->cut.least = values[by->cut.most - 1];
    free(values);
    drop_small_rows(by);
    return 0;
}
