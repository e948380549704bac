/* Verdicts on simulated runs, whose truth is known. */
#include "model/difference.h"

#include <CUnit/CUnit.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    TRIALS = 300,
    NAMED_TRIALS = 500,
    BURST_TRIALS = 100,
    RUNS = 3,
    SIDES = 2 * RUNS,
    SAMPLES = 9970
};

static uint64_t state;

/* What one of the runs has more of two small rows, as a share: the kernel's work where others
 * interrupt the program. */
enum { BURST_ROW = 110 };
static double burst;

static double uniform(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

/* Splits the samples of one run at random; `shares` add up to 1. */
static void sample_run(const double *shares, size_t rows, double *counts)
{
    for (size_t i = 0; i < rows; i++)
        counts[i] = 0;
    for (int n = 0; n < SAMPLES; n++) {
        double at = uniform();
        size_t row = 0;
        while (row + 1 < rows && at >= shares[row])
            at -= shares[row++];
        counts[row]++;
    }
}

/* One comparison: `before` and `after` are shares; `noise` is how much the cost of each row varies
 * from run to run, as a part of itself. */
static void compare(const double *before, const double *after, size_t rows, double noise,
                    struct model_difference *out)
{
    struct model_estimate *estimates = calloc(rows * SIDES, sizeof *estimates);
    double *counts = calloc(rows, sizeof *counts), *shares = calloc(rows, sizeof *shares);
    CU_ASSERT_FATAL(estimates && counts && shares);
    const size_t burst_run = burst > 0 ? (size_t)(uniform() * SIDES) : SIDES;
    for (size_t run = 0; run < SIDES; run++) {
        double sum = 0;
        for (size_t i = 0; i < rows; i++) {
            shares[i] = (run < RUNS ? before : after)[i] * fmax(0.01, 1 + noise * normal());
            sum += shares[i];
        }
        if (run == burst_run) {
            shares[BURST_ROW] += burst;
            shares[BURST_ROW + 1] += burst / 2;
            sum += 1.5 * burst;
        }
        for (size_t i = 0; i < rows; i++)
            shares[i] /= sum;
        sample_run(shares, rows, counts);
        for (size_t i = 0; i < rows; i++) {
            const double count = counts[i];
            estimates[i * SIDES + run] =
                (struct model_estimate){.value = count,
                                        .variance = (count + 0.5) * (1 - count / SAMPLES),
                                        .samples = count};
        }
    }
    model_differences(estimates, rows, RUNS, RUNS, NULL, out);
    free(estimates);
    free(counts);
    free(shares);
}

/* A busy program: a few large functions and many small ones. */
enum { ROWS = 120 };
static void usual_shares(double *shares)
{
    double left = 1;
    const double large[] = {0.3, 0.2, 0.15, 0.1, 0.05, 0.05};
    for (size_t i = 0; i < ROWS; i++)
        shares[i] = 0;
    for (size_t i = 0; i < 6; i++) {
        shares[i] = large[i];
        left -= large[i];
    }
    for (size_t i = 6; i < ROWS; i++) {
        shares[i] = left * 0.04;
        left -= shares[i];
    }
    shares[ROWS - 1] += left;
}

/* Makes row `row` slower by a factor; the others keep their time, so that their shares shrink. */
static void slow_down(const double *shares, size_t row, double factor, double *slower)
{
    const double sum = 1 + shares[row] * (factor - 1);
    for (size_t i = 0; i < ROWS; i++)
        slower[i] = shares[i] * (i == row ? factor : 1) / sum;
}

static void test_the_same_is_within_chance(void)
{
    double shares[ROWS];
    struct model_difference out[ROWS];
    usual_shares(shares);
    const double noises[] = {0, 0.02};
    for (size_t n = 0; n < 2; n++) {
        int verdicts = 0, seen = 0;
        state = 88172645463325252u;
        for (int trial = 0; trial < TRIALS; trial++) {
            compare(shares, shares, ROWS, noises[n], out);
            for (size_t i = 0; i < ROWS; i++) {
                verdicts += out[i].change != MODEL_WITHIN_CHANCE;
                seen += out[i].before + out[i].after > 0;
            }
        }
        CU_ASSERT(verdicts * 1000 <= seen);
    }
}

static void test_what_grew_is_named(void)
{
    static const struct {
        size_t row;
        double factor;
    } cases[] = {{0, 1.10}, {4, 1.25}};
    double shares[ROWS], slower[ROWS];
    struct model_difference out[ROWS];
    usual_shares(shares);
    for (size_t c = 0; c < 2; c++) {
        int named = 0;
        state = 2463534242u;
        slow_down(shares, cases[c].row, cases[c].factor, slower);
        for (int trial = 0; trial < NAMED_TRIALS; trial++) {
            compare(shares, slower, ROWS, 0, out);
            named += out[cases[c].row].change == MODEL_GROWN;
        }
        CU_ASSERT(named * 100 >= NAMED_TRIALS * 99);
    }
}

/* One run is disturbed: what is disturbed is not called a change, and does not hide one. */
static void test_a_burst_hides_no_change(void)
{
    double shares[ROWS], slower[ROWS];
    struct model_difference out[ROWS];
    double left = 0.62; /* 0.3 + 0.05 + 0.62 + 20 × 0.0015 = 1 */
    int named = 0, verdicts = 0, seen = 0;
    for (size_t i = 100; i < ROWS; i++)
        shares[i] = 0.0015;
    shares[0] = 0.3;
    shares[1] = 0.05;
    for (size_t i = 2; i < 100; i++, left *= 0.96)
        shares[i] = left * 0.04;
    shares[99] += left;
    burst = 0.05;
    state = 88172645463325252u;
    slow_down(shares, 1, 1.25, slower);
    for (int trial = 0; trial < BURST_TRIALS; trial++) {
        compare(shares, slower, ROWS, 0, out);
        named += out[1].change == MODEL_GROWN;
        compare(shares, shares, ROWS, 0, out);
        for (size_t i = 0; i < ROWS; i++) {
            verdicts += out[i].change != MODEL_WITHIN_CHANCE;
            seen += out[i].before + out[i].after > 0;
        }
    }
    burst = 0;
    CU_ASSERT(named * 100 >= BURST_TRIALS * 70); /* 4 where the burst counts for all rows */
    CU_ASSERT(verdicts * 1000 <= seen);
}

static void test_intervals_hold_the_truth(void)
{
    double shares[ROWS], slower[ROWS];
    struct model_difference out[ROWS];
    int held = 0;
    usual_shares(shares);
    slow_down(shares, 0, 1.10, slower);
    state = 1234567891u;
    for (int trial = 0; trial < 200; trial++) {
        compare(shares, slower, ROWS, 0, out);
        const double truth = (slower[0] - shares[0]) * SAMPLES;
        held += fabs(out[0].after - out[0].before - truth) <= out[0].half_width;
    }
    CU_ASSERT(held >= 180 && held <= 200); /* 95 % of 200, three standard errors */
}

static void test_new_and_gone(void)
{
    const struct model_estimate rows[][SIDES] = {
        {{0, .5, 0, false},
         {0, .5, 0, false},
         {0, .5, 0, false},
         {90, 90, 90, false},
         {95, 95, 95, false},
         {85, 85, 85, false}},
        {{90, 90, 90, false},
         {95, 95, 95, false},
         {85, 85, 85, false},
         {0, .5, 0, false},
         {0, .5, 0, false},
         {0, .5, 0, false}},
        {{1, 1.5, 1, false},
         {0, .5, 0, false},
         {2, 2.5, 2, false},
         {0, .5, 0, false},
         {0, .5, 0, false},
         {0, .5, 0, false}},
    };
    struct model_difference out[3];
    model_differences(&rows[0][0], 3, RUNS, RUNS, NULL, out);
    CU_ASSERT_EQUAL(out[0].change, MODEL_NEW);
    CU_ASSERT_EQUAL(out[1].change, MODEL_GONE);
    CU_ASSERT_EQUAL(out[2].change, MODEL_WITHIN_CHANCE);
}

static void test_two_runs_are_too_few(void)
{
    const struct model_estimate row[] = {
        {10, 10, 10, false}, {11, 11, 11, false}, {900, 900, 900, false}};
    struct model_difference out;
    model_differences(row, 1, 2, 1, NULL, &out);
    CU_ASSERT_EQUAL(out.change, MODEL_UNDECIDED);
    CU_ASSERT_DOUBLE_EQUAL(out.before, 10.5, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(out.half_width, 1.959964 * sqrt(21 / 4. + 900), 1e-3);
}

/* Values of a printed table of Student's distribution. */
static void test_student(void)
{
    CU_ASSERT_DOUBLE_EQUAL(model_student_tail(2.776, 4), 0.05, 1e-4);
    CU_ASSERT_DOUBLE_EQUAL(model_student_tail(4.604, 4), 0.01, 1e-4);
    CU_ASSERT_DOUBLE_EQUAL(model_student_tail(2.042, 30), 0.05, 1e-4);
    CU_ASSERT_DOUBLE_EQUAL(model_student_tail(1.959964, INFINITY), 0.05, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(model_student_tail(0, 3), 1, 1e-12);
}

void sprof_suite_model_difference(void);
void sprof_suite_model_difference(void)
{
    CU_pSuite suite = CU_add_suite("model/difference", NULL, NULL);
    CU_add_test(suite, "the same is within chance", test_the_same_is_within_chance);
    CU_add_test(suite, "what grew is named", test_what_grew_is_named);
    CU_add_test(suite, "a burst hides no change", test_a_burst_hides_no_change);
    CU_add_test(suite, "intervals hold the truth", test_intervals_hold_the_truth);
    CU_add_test(suite, "new and gone", test_new_and_gone);
    CU_add_test(suite, "two runs are too few", test_two_runs_are_too_few);
    CU_add_test(suite, "Student's distribution", test_student);
}
