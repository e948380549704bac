/* Computes a function's share in useful time, and how far it can be trusted. */
#include "why/parts.h"

#include <math.h>
#include <stdlib.h>

/* Samples of one wait, or of one burst, are not independent: the interval comes from a jackknife
 * over slices of the time that useful samples stand for (Efron and Stein 1981), with Student's t of
 * 23 degrees of freedom. */
enum { SLICES = 24, LEAST_SLICES = 3 };

/* A long wait says as much as one sample for each so long part of it. */
enum { WAIT_NS = 20000000 };

static const double student = 2.07, normal = 1.96;

struct slices {
    double picked[SLICES], all[SLICES];
    double squares; /* of the weights of independent parts */
};

static bool is_picked(const struct why_table *table, const struct why_picking *picking,
                      const struct why_sample *sample)
{
    const uint32_t owner = why_owner(table, sample);
    return why_kind(sample->cause) == picking->kind &&
           (owner == picking->function || (picking->also && owner == picking->also));
}

static bool is_counted(const struct why_picking *picking, const struct why_sample *sample)
{
    return why_is_useful(sample) &&
           (picking->thread == UINT32_MAX || picking->thread == sample->thread);
}

static double jackknife_half(const struct slices *slices, double picked, double all)
{
    double shares[SLICES], mean = 0, variance = 0;
    size_t count = 0;
    for (size_t i = 0; i < SLICES; i++)
        if (slices->all[i] > 0 && all > slices->all[i]) {
            shares[count] = (picked - slices->picked[i]) / (all - slices->all[i]);
            mean += shares[count++];
        }
    if (count < LEAST_SLICES)
        return 1;
    mean /= (double)count;
    for (size_t i = 0; i < count; i++)
        variance += (shares[i] - mean) * (shares[i] - mean);
    return student * sqrt(variance * (double)(count - 1) / (double)count);
}

/* Independent samples: (Σw)² ÷ Σw² (Kish 1965). */
static double effective(double sum, double squares)
{
    return squares > 0 ? sum * sum / squares : 0;
}

static uint64_t begin_of(const struct why_sample *sample)
{
    const uint64_t length_ns = why_length_ns(sample);
    return sample->end_ns > length_ns ? sample->end_ns - length_ns : 0;
}

/* The time that the counted samples stand for. */
struct stretch {
    uint64_t from_ns, to_ns;
};

static struct stretch stretch_of(const struct why_table *table, const struct why_picking *picking)
{
    struct stretch stretch = {UINT64_MAX, 0};
    for (size_t i = 0; i < table->samples.count; i++) {
        const struct why_sample *sample = &table->samples.items[i];
        if (!is_counted(picking, sample))
            continue;
        stretch.from_ns = begin_of(sample) < stretch.from_ns ? begin_of(sample) : stretch.from_ns;
        stretch.to_ns = sample->end_ns > stretch.to_ns ? sample->end_ns : stretch.to_ns;
    }
    return stretch;
}

static size_t slice_at(const struct stretch *stretch, uint64_t time_ns)
{
    const double length = (double)(stretch->to_ns - stretch->from_ns);
    const double at = (double)(time_ns - stretch->from_ns);
    const size_t slice = length > 0 ? (size_t)(at / length * SLICES) : 0;
    return slice < SLICES ? slice : SLICES - 1;
}

/* Spreads the weight of a wait evenly over the slices that it reaches; a sample of work saw the
 * moment of its end. */
static void spread(struct slices *slices, const struct stretch *stretch,
                   const struct why_sample *sample, bool picked)
{
    const size_t last = slice_at(stretch, sample->end_ns);
    const size_t first =
        why_cause_is_wait(sample->cause) ? slice_at(stretch, begin_of(sample)) : last;
    const double count = (double)(last - first + 1);
    const double weight = (double)sample->weight_ns;
    const double most = sample->look_ns ? 1 : weight / WAIT_NS + 1;
    for (size_t i = first; i <= last; i++) {
        slices->all[i] += weight / count;
        slices->picked[i] += picked ? weight / count : 0;
    }
    slices->squares += weight * weight / (count < most ? count : most);
}

void why_share_of(const struct why_table *table, const struct why_picking *picking,
                  struct why_share *share)
{
    struct slices slices = {0};
    double all = 0, picked = 0;
    const struct stretch stretch = stretch_of(table, picking);
    *share = (struct why_share){.half = 1, .binomial = 1};
    for (size_t i = 0; i < table->samples.count; i++)
        if (is_counted(picking, &table->samples.items[i]))
            spread(&slices, &stretch, &table->samples.items[i],
                   is_picked(table, picking, &table->samples.items[i]));
    for (size_t i = 0; i < SLICES; i++) {
        all += slices.all[i];
        picked += slices.picked[i];
    }
    if (all <= 0)
        return;
    const double p = picked / all, n = effective(all, slices.squares);
    const double half = jackknife_half(&slices, picked, all);
    share->share = p;
    share->binomial = normal * sqrt((p * (1 - p) + 1 / n) / n);
    share->half = half > share->binomial ? half : share->binomial;
    share->samples = n;
}
