/* Finds rows that differ between two groups of runs beyond chance. */
#include "model/difference.h"
#include "base/base.h"
#include "model/speed.h"

#include <math.h>
#include <stdlib.h>

/* Rows with fewer samples on both sides together say nothing about variation, and get no verdict.
 */
static const double least_samples = 10;

/* How many rows of a thousand that did not change may be called changed, and the fewest rows that
 * this is reckoned for. The allowance is shared out by a power of the cost: large rows matter most,
 * and there are few of them. */
static const double allowance = 0.001, fewest_rows = 20, most_for_one = 0.05, share_power = 1.25;

/* Four degrees of freedom, the fewest there are, pass this once in two thousand rows. */
static const double most_of_line = 5;

/* == Functions of statistics == */

/* The continued fraction of the incomplete beta function (Numerical analysis: Lentz's method; DLMF
 * 8.17.22). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double fraction = d;
    for (int m = 1; m <= 500; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        const double steps[] = {even, odd};
        double change = 1;
        for (int i = 0; i < 2; i++) {
            d = 1 + steps[i] * d;
            c = 1 + steps[i] / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            change = c * d;
            fraction *= change;
        }
        if (fabs(change - 1) < 1e-14)
            break;
    }
    return fraction;
}

/* The regularized incomplete beta function. */
static double incomplete_beta(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double model_student_tail(double t, double freedom)
{
    if (isinf(freedom) || freedom > 1e7)
        return erfc(fabs(t) / sqrt(2));
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

/* The density of Student's distribution. */
static double student_density(double t, double freedom)
{
    if (isinf(freedom) || freedom > 1e7)
        return exp(-t * t / 2) / sqrt(2 * M_PI);
    return exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2) -
               (freedom + 1) / 2 * log1p(t * t / freedom)) /
           sqrt(freedom * M_PI);
}

/* The t whose tail has that probability, at most 1000. `from` is not above it: the tail is convex,
 * so Newton's steps from there never pass it. */
static double student_quantile(double probability, double freedom, double from)
{
    double step = 1;
    for (int i = 0; i < 100 && step > from * 1e-12 && from < 1000; i++) {
        step = (model_student_tail(from, freedom) - probability) /
               (2 * student_density(from, freedom));
        from += step;
    }
    return fmin(from, 1000);
}

/* Derivatives of log Γ (Abramowitz and Stegun 6.3.18 and 6.4.12, after a recurrence to large x). */
static double digamma(double x)
{
    double sum = 0;
    for (; x < 8; x++)
        sum -= 1 / x;
    const double y = 1 / (x * x);
    return sum + log(x) - 0.5 / x - y * (1. / 12 - y * (1. / 120 - y / 252));
}

static double trigamma(double x)
{
    double sum = 0;
    for (; x < 8; x++)
        sum += 1 / (x * x);
    const double y = 1 / (x * x);
    return sum + 1 / x + y / 2 + y / x * (1. / 6 - y * (1. / 30 - y / 42));
}

static double trigamma_inverse(double value)
{
    double low = 1e-6, high = 1e8; /* trigamma falls */
    for (int i = 0; i < 200; i++) {
        const double middle = sqrt(low * high);
        if (trigamma(middle) > value)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* == Variation == */

/* Variation between runs beside that of sampling, 1 being none. */
struct variation {
    double relative;       /* see fit_relative */
    double relative_error; /* its standard error */
    double prior;          /* what all rows show beside it */
    double prior_freedom;  /* how much that is worth, in degrees of freedom */
    double row_freedom;    /* what a row has of its own */
};

static double mean_of(const struct model_estimate *items, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += items[i].value;
    return count ? sum / (double)count : 0;
}

static double samples_of(const struct model_estimate *items, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += items[i].samples;
    return sum;
}

/* The variance to expect of an estimate: of sampling, and of a cost that varies between runs by
 * `relative` (squared) of itself. */
static double expected_variance(const struct model_estimate *item, double value, double relative)
{
    return item->variance + relative * value * value;
}

/* The variance that an estimate shows variation with. Where nearly every sample is the row's, what
 * sampling adds is next to nothing; were it taken as it is, that one row would be the only measure
 * of how all rows vary. It is taken as at least half of what so many samples vary by chance. */
static double shown_variance(const struct model_estimate *item)
{
    return item->counted
               ? item->variance
               : fmax(item->variance, item->value * item->value / (2 * fmax(item->samples, 0.5)));
}

/* The squares of deviations from the side's mean, in units of what is expected of them. */
static double variation_of(const struct model_estimate *row, size_t before, size_t after,
                           double relative, bool shown)
{
    const double means[] = {mean_of(row, before), mean_of(row + before, after)};
    double sum = 0;
    for (size_t i = 0; i < before + after; i++) {
        const double mean = means[i >= before], deviation = row[i].value - mean;
        const double variance = shown ? shown_variance(&row[i]) : row[i].variance;
        sum += deviation * deviation / (variance + relative * mean * mean);
    }
    return sum / (double)(before + after - 2);
}

/* What a relative variance of 1 would add to a row's variation. */
static double unit_of(const struct model_estimate *row, size_t runs)
{
    double unit = 0;
    for (size_t k = 0; k < runs; k++)
        unit += row[k].value * row[k].value / shown_variance(&row[k]) / (double)runs;
    return unit;
}

static bool shows_variation(const struct model_estimate *row, size_t runs)
{
    return samples_of(row, runs) >= least_samples * (double)runs;
}

/* The slope of the likelihood of a relative variance, each row's variation being that of
 * chi-squared: rows count by how much they show of it, and where it explains most of what they
 * vary by, all the same. What it does not explain of a row, as the kernel's work in a run that was
 * often interrupted, is a matter of that row alone: it counts as `most_of_line` times what is
 * expected. `information` gets that of the relative variance. */
static double score_of(const struct model_estimate *estimates, size_t rows, size_t before,
                       size_t after, double relative, double *information)
{
    const size_t runs = before + after;
    double score = 0;
    *information = 0;
    for (size_t i = 0; i < rows; i++) {
        const struct model_estimate *row = &estimates[i * runs];
        if (!shows_variation(row, runs))
            continue;
        const double unit = unit_of(row, runs), part = unit / (1 + relative * unit);
        const double own = variation_of(row, before, after, relative, true);
        score += (fmin(own, most_of_line) - 1) * part;
        *information += part * part;
    }
    return score;
}

/* By which part of itself (squared) a cost varies between runs, over all rows. Few rows are large
 * enough to show it, so that it is uncertain: each row's variation has `row_freedom` degrees of
 * freedom. */
static void fit_relative(struct variation *variation, const struct model_estimate *estimates,
                         size_t rows, size_t before, size_t after)
{
    enum { STEPS = 40 };
    double information, low = 1e-9, high = 1;
    if (score_of(estimates, rows, before, after, 0, &information) > 0) {
        for (int i = 0; i < STEPS; i++) {
            const double middle = sqrt(low * high);
            if (score_of(estimates, rows, before, after, middle, &information) > 0)
                low = middle;
            else
                high = middle;
        }
        variation->relative = high;
    }
    variation->relative_error =
        information > 0 ? sqrt(2 / variation->row_freedom / information) : 0;
}

/* Fits a scaled F distribution to the rows' variations by the moments of their logarithms. */
static struct variation fit(const struct model_estimate *estimates, size_t rows, size_t before,
                            size_t after)
{
    const size_t runs = before + after;
    struct variation variation = {
        .prior = 1, .prior_freedom = INFINITY, .row_freedom = (double)(runs - 2)};
    fit_relative(&variation, estimates, rows, before, after);
    const double half = variation.row_freedom / 2;
    double count = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < rows; i++) {
        const struct model_estimate *row = &estimates[i * runs];
        if (!shows_variation(row, runs))
            continue;
        const double own = variation_of(row, before, after, variation.relative, true);
        const double logarithm = log(own > 1e-6 ? own : 1e-6) - digamma(half) + log(half);
        count++;
        sum += logarithm;
        squares += logarithm * logarithm;
    }
    if (count < 3) {
        variation.prior_freedom = 4;
        return variation;
    }
    const double mean = sum / count;
    const double excess = (squares - count * mean * mean) / (count - 1) - trigamma(half);
    variation.prior = exp(mean);
    if (excess > 0) {
        const double prior_half = trigamma_inverse(excess);
        variation.prior_freedom = 2 * prior_half;
        variation.prior = exp(mean + digamma(prior_half) - log(prior_half));
    }
    if (variation.prior < 1)
        variation.prior = 1;
    return variation;
}

/* What is known of a row's variation before its own is looked at, in degrees of freedom: less for
 * large rows, whose variation is mostly the relative one, than for small ones. */
static double prior_freedom_of(const struct variation *variation, double unit)
{
    const double error =
        unit * variation->relative_error / (1 + variation->relative * unit); /* relative to 1 */
    return 1 / (1 / variation->prior_freedom + error * error / 2);
}

static double moderated(const struct variation *variation, double prior_freedom, double own)
{
    if (isinf(prior_freedom))
        return variation->prior;
    const double both = prior_freedom + variation->row_freedom;
    const double mixed = (prior_freedom * variation->prior + variation->row_freedom * own) / both;
    return mixed > 1 ? mixed : 1;
}

/* == Verdicts == */

static enum model_change change_of(const struct model_estimate *row, size_t before, size_t after,
                                   double difference)
{
    if (samples_of(row, before) <= 0)
        return MODEL_NEW;
    if (samples_of(row + before, after) <= 0)
        return MODEL_GONE;
    return difference > 0 ? MODEL_GROWN : MODEL_SHRUNK;
}

static double variance_of_mean(const struct model_estimate *items, size_t count, double relative)
{
    const double mean = mean_of(items, count);
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += expected_variance(&items[i], mean, relative);
    return sum / ((double)count * (double)count);
}

/* What a row gets of the allowance is in proportion to this. */
static double claim_of(const struct model_estimate *row, size_t before, size_t after)
{
    return pow(mean_of(row, before) + mean_of(row + before, after), share_power);
}

/* The part of the allowance that a claim of 1 is worth. Rows without any samples are none. */
static double allowance_of_claim(const struct model_estimate *estimates, size_t rows, size_t before,
                                 size_t after)
{
    double claims = 0, seen = 0;
    for (size_t i = 0; i < rows; i++) {
        const struct model_estimate *row = &estimates[i * (before + after)];
        claims += claim_of(row, before, after);
        seen += samples_of(row, before + after) > 0;
    }
    return claims > 0 ? allowance * fmax(seen, fewest_rows) / claims : 0;
}

enum { INTERVALS = 64 };

/* Half widths of 95 % intervals in standard deviations. They are smooth in 1 / freedom, and there
 * may be a million rows: a table of few is enough. */
struct interval_table {
    double largest;              /* 1 / freedom of the last entry */
    double items[INTERVALS + 1]; /* from infinite freedom on */
};

static void fill_intervals(struct interval_table *table, double least_freedom)
{
    double quantile = 0;
    table->largest = 1 / least_freedom;
    for (int i = 0; i <= INTERVALS; i++) {
        const double freedom = i ? INTERVALS / (i * table->largest) : INFINITY;
        table->items[i] = quantile = student_quantile(0.05, freedom, quantile);
    }
}

static double interval_of(const struct interval_table *table, double freedom)
{
    const double at = fmin(1, 1 / freedom / table->largest) * INTERVALS;
    const int first = at < INTERVALS ? (int)at : INTERVALS - 1;
    return table->items[first] + (at - first) * (table->items[first + 1] - table->items[first]);
}

/* == What rows share == */

/* The variance that a difference of means has because of the speeds: their spread where costs are
 * compared as they are, else how exactly the rows that share a speed show it. A row of the part p
 * of the cost lies at least with p + shared − 1 among these. */
static double variance_of_speed(const struct model_speeds *speeds, double was, double is,
                                size_t before, size_t after)
{
    if (!speeds)
        return 0;
    if (!speeds->by_share)
        return speeds->spread * speeds->spread *
               (was * was / (double)before + is * is / (double)after);
    const double mean = (was + is) / 2, shared = fmax(speeds->shared, 0.01);
    const double part = speeds->total > 0 ? fmin(1, mean / speeds->total) : 1;
    const double both = fmax(0, part + shared - 1);
    const double extra = part > 0 ? 1 / shared + 1 - 2 * both / (part * shared) : 0;
    return fmax(0, extra) / speeds->samples * mean * mean *
           (1 / (double)before + 1 / (double)after);
}

/* The degrees of freedom of a sum of two variances (Welch and Satterthwaite). */
static double freedom_of_sum(double one, double one_freedom, double two, double two_freedom)
{
    const double sum = one + two;
    return two > 0 ? sum * sum / (one * one / one_freedom + two * two / two_freedom) : one_freedom;
}

/* The estimates at equal speed; NULL when out of memory. */
static struct model_estimate *at_equal_speed(const struct model_estimate *estimates, size_t rows,
                                             size_t runs, const struct model_speeds *speeds)
{
    struct model_estimate *copy = calloc(rows * runs + 1, sizeof *copy);
    for (size_t i = 0; copy && i < rows * runs; i++) {
        const double factor = speeds ? speeds->factors[i % runs] : 1;
        copy[i] = estimates[i];
        copy[i].value /= factor;
        copy[i].variance /= factor * factor;
    }
    return copy;
}

int model_differences(const struct model_estimate *estimates, size_t rows, size_t before,
                      size_t after, const struct model_speeds *speeds, struct model_difference *out)
{
    const size_t runs = before + after;
    const bool decides = before >= MODEL_RUNS_FOR_VERDICT && after >= MODEL_RUNS_FOR_VERDICT;
    struct model_estimate *equal = at_equal_speed(estimates, rows, runs, speeds);
    if (!equal)
        return SPROF_ENOMEM;
    struct variation variation = {.prior = 1, .prior_freedom = INFINITY};
    if (decides)
        variation = fit(equal, rows, before, after);
    struct interval_table intervals;
    fill_intervals(&intervals, decides ? variation.row_freedom : 1);
    const double worth = allowance_of_claim(equal, rows, before, after);
    for (size_t i = 0; i < rows; i++) {
        const struct model_estimate *row = &equal[i * runs];
        const double was = mean_of(row, before), is = mean_of(row + before, after);
        const double own =
            decides ? variation_of(row, before, after, variation.relative, false) : 1;
        const double prior_freedom = prior_freedom_of(&variation, unit_of(row, runs));
        const double of_row = (variance_of_mean(row, before, variation.relative) +
                               variance_of_mean(row + before, after, variation.relative)) *
                              moderated(&variation, prior_freedom, own);
        const double of_speed = variance_of_speed(speeds, was, is, before, after);
        const double freedom =
            freedom_of_sum(of_row, prior_freedom + variation.row_freedom, of_speed,
                           speeds && !speeds->by_share ? (double)(runs - 2) : INFINITY);
        const double deviation = sqrt(of_row + of_speed);
        const bool known = samples_of(row, runs) >= least_samples;
        out[i] = (struct model_difference){was, is, interval_of(&intervals, freedom) * deviation,
                                           MODEL_UNDECIDED};
        const double significance = fmin(worth * claim_of(row, before, after), most_for_one);
        if (decides)
            out[i].change =
                known && model_student_tail((is - was) / deviation, freedom) < significance
                    ? change_of(row, before, after, is - was)
                    : MODEL_WITHIN_CHANCE;
    }
    free(equal);
    return 0;
}
