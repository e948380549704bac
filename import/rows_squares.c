/* Finds out how much the weights of samples vary that a row holds together, and with which chance
 * they were recorded. */
#include "import/rows.h"

#include <math.h>

static bool is_of(const struct import_row_run *run, const struct import_row_cost *cost)
{
    return run->service == cost->service && run->version == cost->version &&
           run->host == cost->host && run->event == cost->event;
}

/* The sum of squared weights that the rows of `run` give to so many samples. */
static double squares_of(const struct import_rows *rows, const struct import_row_cost *like,
                         uint64_t samples)
{
    double squares = 0, recorded = 0;
    for (size_t i = 0; i < rows->runs.count; i++)
        if (is_of(&rows->runs.items[i], like)) {
            squares += rows->runs.items[i].squares;
            recorded += (double)rows->runs.items[i].samples;
        }
    return recorded > (double)samples ? squares * (double)samples / recorded : squares;
}

double import_rows_chance(const struct import_rows *rows, uint32_t service, uint32_t version,
                          uint32_t host)
{
    double recorded = 0, all = 0;
    for (size_t i = 0; i < rows->runs.count; i++) {
        const struct import_row_run *run = &rows->runs.items[i];
        if (run->service != service || run->version != version || run->host != host)
            continue;
        const bool is_chance = run->chance > 0 && run->chance < 1;
        recorded += (double)run->samples;
        all += (double)run->samples / (is_chance ? run->chance : 1);
    }
    return all > recorded ? recorded / all : 1;
}

double import_rows_spread(const struct import_rows *rows, size_t first, size_t end,
                          const struct import_row_cost *like)
{
    uint64_t samples = 0;
    double single = 0, several = 0;
    for (size_t i = first; i < end; i++) {
        const struct import_row_cost *row = &rows->costs.items[i];
        const double weight = (double)row->weight;
        if (row->event != like->event || !row->samples)
            continue;
        samples += row->samples;
        *(row->samples == 1 ? &single : &several) += weight * weight / (double)row->samples;
    }
    const double wanted = squares_of(rows, like, samples) - single;
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
