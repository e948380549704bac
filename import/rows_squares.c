/* Finds out how much the weights of samples vary that a row holds together, and with which chance
 * they were recorded. */
#include "import/rows.h"

#include <math.h>
#include <stdlib.h>

static int compare_numbers(const struct import_row_run *a, const struct import_row_run *b, bool all)
{
    const uint32_t pairs[][2] = {{a->service, b->service},
                                 {a->version, b->version},
                                 {a->host, b->host},
                                 {a->event, b->event}};
    for (size_t i = 0; i < (all ? 3 : 4); i++)
        if (pairs[i][0] != pairs[i][1])
            return pairs[i][0] < pairs[i][1] ? -1 : 1;
    return 0;
}

static int compare_runs(const void *left, const void *right)
{
    const struct import_row_run *a = left, *b = right;
    const int order = compare_numbers(a, b, false);
    if (order)
        return order;
    return a->time_s != b->time_s ? (a->time_s < b->time_s ? -1 : 1)
                                  : (a->key > b->key) - (a->key < b->key);
}

void import_rows_sort_runs(struct import_rows *rows)
{
    if (rows->runs.count)
        qsort(rows->runs.items, rows->runs.count, sizeof *rows->runs.items, compare_runs);
}

struct import_row_runs import_rows_runs(const struct import_rows *rows,
                                        const struct import_row_run *like, bool all)
{
    const struct import_row_run *runs = rows->runs.items;
    size_t bounds[2]; /* the first that is not before, and the first behind */
    for (int i = 0; i < 2; i++) {
        size_t low = 0, high = rows->runs.count;
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (compare_numbers(&runs[middle], like, all) < i)
                low = middle + 1;
            else
                high = middle;
        }
        bounds[i] = low;
    }
    const size_t count = bounds[1] - bounds[0];
    return (struct import_row_runs){count ? runs + bounds[0] : NULL, count};
}

/* The sum of squared weights that the rows of `run` give to so many samples. */
static double squares_of(struct import_row_runs runs, uint64_t samples)
{
    double squares = 0, recorded = 0;
    for (size_t i = 0; i < runs.count; i++) {
        squares += runs.items[i].squares;
        recorded += (double)runs.items[i].samples;
    }
    return recorded > (double)samples ? squares * (double)samples / recorded : squares;
}

double import_rows_chance(struct import_row_runs runs)
{
    double recorded = 0, all = 0;
    for (size_t i = 0; i < runs.count; i++) {
        const struct import_row_run *run = &runs.items[i];
        const bool is_chance = run->chance > 0 && run->chance < 1;
        recorded += (double)run->samples;
        all += (double)run->samples / (is_chance ? run->chance : 1);
    }
    return all > recorded ? recorded / all : 1;
}

void import_rows_weigh(struct import_row_weights *weights, const struct import_row_cost *row)
{
    const double weight = (double)row->weight;
    if (!row->samples)
        return;
    weights->samples += row->samples;
    *(row->samples == 1 ? &weights->single : &weights->several) +=
        weight * weight / (double)row->samples;
}

double import_rows_spread(struct import_row_runs runs, const struct import_row_weights *weights)
{
    const double several = weights->several;
    const double wanted = squares_of(runs, weights->samples) - weights->single;
    return several > 0 && wanted > several * (1 + 1e-9) ? wanted / several : 1;
}

/* Of n samples with the mean weight m, k weigh m (1 + d) and the others as much less that the sum
 * stays. Then the sum of squares is spread * n m² where d² = (spread - 1) (n - k) / k, and no
 * weight is negative as long as k is at most n / spread. */
size_t import_rows_divide(struct model_cost cost, double spread, struct model_cost parts[2])
{
    parts[0] = cost;
    if (cost.samples < 2 || spread <= 1)
        return 1;
    const double samples = (double)cost.samples, mean = (double)cost.weight / samples;
    const double most = spread > 2 ? samples / spread : samples / 2;
    const double heavy = most < 1 ? 1 : floor(most);
    const double apart = sqrt((spread - 1) * (samples - heavy) / heavy);
    const double weight = mean * heavy * (1 + apart);
    uint64_t rounded = weight < (double)cost.weight ? (uint64_t)(weight + 0.5) : cost.weight;
    if (rounded > cost.weight) /* a double has fewer digits */
        rounded = cost.weight;
    parts[0] = (struct model_cost){(uint64_t)heavy, rounded};
    parts[1] = (struct model_cost){cost.samples - parts[0].samples, cost.weight - rounded};
    return 2;
}
