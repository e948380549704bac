/* Estimates how fast each run of two groups was, from what their rows share. */
#include "model/speed.h"
#include "base/base.h"

#include <math.h>
#include <stdlib.h>

/* Rows with fewer samples a run are added up to one row. */
static const double least_samples = 10;

/* A row counts by how exact it is, but none for more than one that is known to 5 %: what all rows
 * share is not what the largest did. */
static const double best_known = 0.05;

/* Rows vary by about so much of themselves besides sampling. */
static const double usual_variation = 0.02;

/* Rows within three standard deviations share the factor; the weight falls to 0 at four. */
static const double most_deviations = 3, no_weight = 4;

/* Speeds nearer to 1 than this say nothing; those of one machine differ by the second at least. */
static const double least_factor = 0.01, least_spread = 0.002;

/* The part of the factor between the sides that the totals show, where everything changed. */
static const double least_in_totals = 0.5;

/* How often a change of everything may be seen where there is none. */
static const double allowance = 0.02;

/* Exact costs, as those of calls, count as so many samples. */
static const double samples_of_counts = 1e6;

/* == Consensus: where most rows agree == */

struct vote {
    double at, variance;
    bool agrees;
};

static double weight_at(const struct vote *vote, double at)
{
    const double scale = no_weight * sqrt(vote->variance + usual_variation * usual_variation);
    const double u = (vote->at - at) / scale;
    const double near = fabs(u) < 1 ? (1 - u * u) * (1 - u * u) : 0;
    return near / (vote->variance + best_known * best_known);
}

static double support_of(const struct vote *votes, size_t count, double at)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += weight_at(&votes[i], at);
    return sum;
}

/* Where most weight lies together: at one of the votes, or at 0 where that has nearly as much. */
static double consensus(struct vote *votes, size_t count)
{
    enum { MOST_CANDIDATES = 200, STEPS = 10 };
    const size_t step = count / MOST_CANDIDATES + 1;
    double at = 0, best = support_of(votes, count, 0) / 0.9;
    for (size_t i = 0; i < count; i += step) {
        const double support = support_of(votes, count, votes[i].at);
        if (support > best) {
            best = support;
            at = votes[i].at;
        }
    }
    for (int i = 0; i < STEPS; i++) {
        double sum = 0, weights = 0;
        for (size_t k = 0; k < count; k++) {
            const double weight = weight_at(&votes[k], at);
            sum += weight * votes[k].at;
            weights += weight;
        }
        at = weights > 0 ? sum / weights : at;
    }
    for (size_t i = 0; i < count; i++) {
        const double scale = sqrt(votes[i].variance + usual_variation * usual_variation);
        votes[i].agrees = fabs(votes[i].at - at) <= most_deviations * scale;
    }
    return at;
}

/* == Rows large enough to vote == */

struct ballot {
    struct model_estimate *rows; /* count × runs; the last one holds all small rows */
    size_t count, runs, before;
    struct vote *votes; /* [count] */
    size_t *voter;      /* [count]: the row of a vote */
    double *means;      /* [count]: of the side at work, at equal speed */
};

static void ballot_release(struct ballot *ballot)
{
    free(ballot->rows);
    free(ballot->votes);
    free(ballot->voter);
    free(ballot->means);
}

static int ballot_init(struct ballot *ballot, const struct model_estimate *estimates, size_t rows,
                       size_t before, size_t after)
{
    const size_t runs = before + after;
    *ballot = (struct ballot){.runs = runs, .before = before};
    ballot->rows = calloc((rows + 1) * runs, sizeof *ballot->rows);
    ballot->votes = calloc(rows + 1, sizeof *ballot->votes);
    ballot->voter = calloc(rows + 1, sizeof *ballot->voter);
    ballot->means = calloc(2 * (rows + 1), sizeof *ballot->means);
    struct model_estimate *small = calloc(runs, sizeof *small);
    if (!ballot->rows || !ballot->votes || !ballot->voter || !ballot->means || !small) {
        free(small);
        return SPROF_ENOMEM;
    }
    for (size_t i = 0; i < rows; i++) {
        const struct model_estimate *row = &estimates[i * runs];
        double samples = 0;
        for (size_t k = 0; k < runs; k++)
            samples += row[k].samples;
        const bool votes = row->counted || samples >= least_samples * (double)runs;
        struct model_estimate *to = votes ? &ballot->rows[ballot->count++ * runs] : small;
        for (size_t k = 0; k < runs; k++) {
            to[k].value += row[k].value;
            to[k].variance += row[k].variance;
            to[k].samples += row[k].samples;
        }
    }
    for (size_t k = 0; k < runs; k++)
        ballot->rows[ballot->count * runs + k] = small[k];
    ballot->count++;
    free(small);
    return 0;
}

static void side_means(const struct ballot *ballot, const double *factors, size_t first,
                       size_t count, double *means)
{
    for (size_t i = 0; i < ballot->count; i++) {
        means[i] = 0;
        for (size_t k = first; k < first + count; k++)
            means[i] += ballot->rows[i * ballot->runs + k].value / factors[k] / (double)count;
    }
}

/* The speed of a run against its side's means: the sum of the rows that agree on it. `agreed` gets
 * these rows' part of the cost. */
static double speed_of(struct ballot *ballot, size_t run, double *agreed)
{
    size_t votes = 0;
    for (size_t i = 0; i < ballot->count; i++) {
        const struct model_estimate *row = &ballot->rows[i * ballot->runs + run];
        if (!(row->value > 0) || !(ballot->means[i] > 0))
            continue;
        ballot->voter[votes] = i;
        ballot->votes[votes++] = (struct vote){log(row->value / ballot->means[i]),
                                               row->variance / (row->value * row->value), false};
    }
    consensus(ballot->votes, votes);
    double sum = 0, means = 0, all = 0;
    for (size_t i = 0; i < votes; i++) {
        const size_t row = ballot->voter[i];
        all += ballot->means[row];
        if (!ballot->votes[i].agrees)
            continue;
        sum += ballot->rows[row * ballot->runs + run].value;
        means += ballot->means[row];
    }
    *agreed = all > 0 ? means / all : 1;
    return sum > 0 && means > 0 ? sum / means : 1;
}

/* The speeds of one side's runs, whose mean is 1. `agreed`: see speed_of, the least of the runs. */
static void side_speeds(struct ballot *ballot, double *factors, size_t first, size_t count,
                        double *agreed)
{
    enum { ROUNDS = 3 };
    for (size_t k = first; k < first + count; k++)
        factors[k] = 1;
    for (int round = 0; round < ROUNDS; round++) {
        double sum = 0;
        side_means(ballot, factors, first, count, ballot->means);
        for (size_t k = first; k < first + count; k++) {
            double part;
            factors[k] = speed_of(ballot, k, &part);
            *agreed = fmin(*agreed, part);
            sum += factors[k] / (double)count;
        }
        for (size_t k = first; k < first + count; k++)
            factors[k] /= sum;
    }
}

/* == The two sides == */

/* How the speeds spread within a side, without what sampling adds to them. */
static void find_spread(struct model_speeds *speeds, size_t before, size_t after, double agreed)
{
    double squares = 0;
    speeds->widest = 1;
    for (size_t side = 0; side < 2; side++) {
        const size_t first = side ? before : 0, count = side ? after : before;
        double mean = 0, least = INFINITY, most = 0;
        for (size_t k = first; k < first + count; k++) {
            mean += log(speeds->factors[k]) / (double)count;
            least = fmin(least, speeds->factors[k]);
            most = fmax(most, speeds->factors[k]);
        }
        for (size_t k = first; k < first + count; k++)
            squares += pow(log(speeds->factors[k]) - mean, 2);
        speeds->widest = fmax(speeds->widest, most / least);
    }
    const double chance = (1 / fmax(agreed, 0.01) - 1) / speeds->samples;
    speeds->spread = sqrt(fmax(0, squares / (double)(before + after - 2) - chance));
}

static double variance_of_mean(const struct model_estimate *items, const double *factors,
                               size_t count, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += items[i].variance / (factors[i] * factors[i]);
    return sum / ((double)count * (double)count) / (mean * mean);
}

/* The factor between the sides, of the rows that agree on one. Returns that of the totals. */
static double find_between(struct model_speeds *speeds, struct ballot *ballot)
{
    const size_t before = ballot->before, after = ballot->runs - before;
    double *was = ballot->means, *is = ballot->means + ballot->count;
    side_means(ballot, speeds->factors, 0, before, was);
    side_means(ballot, speeds->factors, before, after, is);
    size_t votes = 0;
    for (size_t i = 0; i < ballot->count; i++) {
        const struct model_estimate *row = &ballot->rows[i * ballot->runs];
        if (!(was[i] > 0) || !(is[i] > 0))
            continue;
        ballot->voter[votes] = i;
        ballot->votes[votes++] = (struct vote){
            log(is[i] / was[i]),
            variance_of_mean(row, speeds->factors, before, was[i]) +
                variance_of_mean(row + before, speeds->factors + before, after, is[i]),
            false};
    }
    consensus(ballot->votes, votes);
    double sums[2] = {0}, all[2] = {0};
    for (size_t i = 0; i < ballot->count; i++) {
        all[0] += was[i];
        all[1] += is[i];
    }
    for (size_t i = 0; i < votes; i++)
        if (ballot->votes[i].agrees) {
            sums[0] += was[ballot->voter[i]];
            sums[1] += is[ballot->voter[i]];
        }
    speeds->between = sums[0] > 0 && sums[1] > 0 ? sums[1] / sums[0] : 1;
    const double cost = all[0] + all[1] / speeds->between;
    speeds->shared = cost > 0 ? (sums[0] + sums[1] / speeds->between) / cost : 1;
    speeds->total = cost / 2;
    return all[0] > 0 && all[1] > 0 ? all[1] / all[0] : 1;
}

/* Whether the factor between the sides is beyond the spread of speeds within them, and shows in the
 * totals: where a run is given its time, what one row takes is missing in all others. */
static bool is_beyond(const struct model_speeds *speeds, double totals, size_t before, size_t after)
{
    const double units = 1 / (double)before + 1 / (double)after;
    const double own = (speeds->spread * speeds->spread + least_spread * least_spread) * units;
    const double chance = (1 / fmax(speeds->shared, 0.01) - 1) / speeds->samples * units;
    const double freedom = pow((own + chance) / own, 2) * (double)(before + after - 2);
    const double t = log(speeds->between) / sqrt(own + chance);
    return fabs(log(speeds->between)) > least_factor &&
           log(totals) / log(speeds->between) >= least_in_totals &&
           model_student_tail(t, freedom) < allowance;
}

int model_speeds_find(struct model_speeds *speeds, const struct model_estimate *estimates,
                      size_t rows, size_t before, size_t after)
{
    const size_t runs = before + after;
    struct ballot ballot;
    *speeds = (struct model_speeds){.factors = calloc(runs + 1, sizeof *speeds->factors)};
    if (!speeds->factors)
        return SPROF_ENOMEM;
    const int result = ballot_init(&ballot, estimates, rows, before, after);
    if (!result) {
        double agreed = 1;
        for (size_t i = 0; i < rows * runs; i++)
            speeds->samples += estimates[i].samples / (double)runs;
        if (rows && estimates->counted)
            speeds->samples = samples_of_counts;
        speeds->samples = fmax(1, speeds->samples);
        side_speeds(&ballot, speeds->factors, 0, before, &agreed);
        side_speeds(&ballot, speeds->factors, before, after, &agreed);
        find_spread(speeds, before, after, agreed);
        const double totals = find_between(speeds, &ballot);
        speeds->everything = speeds->shared >= 0.5 && is_beyond(speeds, totals, before, after);
        speeds->by_share =
            speeds->everything || speeds->spread > fmax(least_factor, 1 / sqrt(speeds->samples));
        for (size_t k = before; k < runs && speeds->by_share; k++)
            speeds->factors[k] *= speeds->between;
    }
    ballot_release(&ballot);
    return result;
}

void model_speeds_release(struct model_speeds *speeds)
{
    free(speeds->factors);
    speeds->factors = NULL;
}
