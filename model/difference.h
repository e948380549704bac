/* Whether two groups of runs differ beyond chance, row by row.
 *
 * What a run shows of a row (a function, a line) is an estimate with a known sampling variance.
 * What runs differ by beyond that, because machines and programs do not repeat exactly, is seen
 * only between runs, and three runs show little of it. So each row's variation is moderated by what
 * all rows together show (empirical Bayes; G. K. Smyth, "Linear models and empirical Bayes
 * methods", 2004), and never taken for smaller than sampling makes it.
 *
 * Most variation between runs is a part of the cost itself. Only few large rows show how large a
 * part, so that this is uncertain, and just for these rows it matters: their tests count with fewer
 * degrees of freedom. */
#ifndef SPROF_MODEL_DIFFERENCE_H
#define SPROF_MODEL_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>

/* One run's estimate of a row. */
struct model_estimate {
    double value;    /* in any unit, the same for all */
    double variance; /* of sampling, in its square; > 0 */
    double samples;  /* behind the value */
    bool counted;    /* exactly: nothing of it is sampled */
};

enum model_change {
    MODEL_UNDECIDED, /* too few runs for a verdict */
    MODEL_WITHIN_CHANCE,
    MODEL_GROWN,
    MODEL_SHRUNK,
    MODEL_NEW,  /* no samples before */
    MODEL_GONE, /* none after */
};

struct model_difference {
    double before, after; /* means of the runs */
    double half_width;    /* of the 95 % interval of after − before */
    enum model_change change;
};

enum { MODEL_RUNS_FOR_VERDICT = 3 };

struct model_speeds; /* model/speed.h */

/* Compares `before` first with `after` later estimates of each row: `estimates` has rows × (before
 * + after) of them, row after row; `out` gets one difference a row. Verdicts are given from three
 * runs a side on, for rows with at least ten samples: of a thousand rows that did not change, one
 * is expected to be called changed. With `speeds`, costs are compared at equal speed: means are of
 * costs divided by the runs' factors. NULL: as they are. Returns 0 or SPROF_ENOMEM. */
int model_differences(const struct model_estimate *estimates, size_t rows, size_t before,
                      size_t after, const struct model_speeds *speeds,
                      struct model_difference *out);

/* The two-sided probability of |t| or more in Student's distribution; freedom > 0, also infinite.
 */
double model_student_tail(double t, double freedom);

#endif
