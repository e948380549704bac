/* How fast the runs of two groups were: the factor that their rows share.
 *
 * A cost is taken for the product of three: what the row costs in the program of its side, the
 * speed of the run, which is the same for all rows, and the row's own deviation. The speeds are
 * estimated robustly, so that rows that changed do not count as speed (docs/design/reading.md,
 * "Differences between groups of runs"). */
#ifndef SPROF_MODEL_SPEED_H
#define SPROF_MODEL_SPEED_H

#include "model/difference.h"

struct model_speeds {
    double *factors; /* [run]: costs divided by it are at equal speed */
    double spread;   /* standard deviation of the speeds' logarithms within a side */
    double widest;   /* the largest ratio of two runs of one side; from 1 on */
    double between;  /* after / before, of the rows that share it */
    double shared;   /* these rows' part of the cost, 0 to 1 */
    double samples;  /* of a run; large where all is counted */
    double total;    /* what a run costs at equal speed */
    bool everything; /* `between` is beyond the spread, and most of the cost shares it */
    bool by_share;   /* the speeds differ by more than sampling hides: `factors` hold `between` */
};

/* Estimates the speeds of runs from the exclusive costs of rows, laid out as in model_differences:
 * each cost belongs to one row. Groups need MODEL_RUNS_FOR_VERDICT runs. Returns 0 or SPROF_ENOMEM;
 * release what it filled in either case. */
int model_speeds_find(struct model_speeds *speeds, const struct model_estimate *estimates,
                      size_t rows, size_t before, size_t after);
void model_speeds_release(struct model_speeds *speeds);

#endif
