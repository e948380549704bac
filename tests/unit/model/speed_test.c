/* Speeds of simulated runs, and verdicts at equal speed. */
#include "model/speed.h"

#include <CUnit/CUnit.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 3, SIDES = 2 * RUNS, ROWS = 60, SAMPLES = 3000 };

static uint64_t state;

static double uniform(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

/* The parts of a busy program: a few large functions and many small ones. They add up to 1. */
static void usual_parts(double *parts)
{
    const double large[] = {0.3, 0.2, 0.1, 0.05};
    double left = 1;
    for (size_t i = 0; i < ROWS; i++) {
        parts[i] = i < 4 ? large[i] : left * 0.06;
        left -= parts[i];
    }
    parts[ROWS - 1] += left;
}

struct trial {
    const double *before, *after; /* costs of rows in a run at speed 1, in runs of `before` */
    double speeds[SIDES];
    double noise; /* of each row's cost, as a part of it */
    struct model_estimate estimates[ROWS * SIDES];
    struct model_difference differences[ROWS];
    struct model_speeds speeds_found; /* without factors */
};

/* Samples each run and compares the sides. */
static void compare(struct trial *trial)
{
    for (size_t run = 0; run < SIDES; run++) {
        double counts[ROWS], sum = 0;
        for (size_t i = 0; i < ROWS; i++) {
            const double mean = (run < RUNS ? trial->before : trial->after)[i] * SAMPLES *
                                trial->speeds[run] * fmax(0.1, 1 + trial->noise * normal());
            counts[i] = fmax(0, floor(mean + sqrt(mean) * normal() + 0.5));
            sum += counts[i];
        }
        for (size_t i = 0; i < ROWS; i++)
            trial->estimates[i * SIDES + run] = (struct model_estimate){
                .value = counts[i],
                .variance = (counts[i] + 0.5) * (1 - counts[i] / (sum + 1)),
                .samples = counts[i],
            };
    }
    CU_ASSERT_EQUAL_FATAL(
        model_speeds_find(&trial->speeds_found, trial->estimates, ROWS, RUNS, RUNS), 0);
    CU_ASSERT_EQUAL_FATAL(model_differences(trial->estimates, ROWS, RUNS, RUNS,
                                            &trial->speeds_found, trial->differences),
                          0);
    model_speeds_release(&trial->speeds_found);
}

/* Speeds from 1 to 2.5, or within `spread` (a standard deviation) of 1. */
static void draw_speeds(struct trial *trial, double spread)
{
    for (size_t i = 0; i < SIDES; i++)
        trial->speeds[i] = spread > 0 ? exp(spread * normal()) : 1 + 1.5 * uniform();
}

struct outcome {
    int verdicts, named, everything, by_share;
};

/* What many trials say: `named` counts those that call `row` grown. */
static struct outcome try(const double *before, const double *after, double spread, double noise,
                          size_t row, int trials)
{
    static struct trial trial;
    struct outcome outcome = {0};
    state = 88172645463325252u;
    for (int n = 0; n < trials; n++) {
        trial.before = before;
        trial.after = after;
        trial.noise = noise;
        draw_speeds(&trial, spread);
        compare(&trial);
        for (size_t i = 0; i < ROWS; i++)
            outcome.verdicts += trial.differences[i].change != MODEL_WITHIN_CHANCE;
        outcome.named += trial.differences[row].change == MODEL_GROWN;
        outcome.everything += trial.speeds_found.everything;
        outcome.by_share += trial.speeds_found.by_share;
    }
    if (getenv("SPROF_TEST_NUMBERS"))
        printf("spread %.3f noise %.2f row %zu: %d verdicts on %d rows, named %d, everything %d, "
               "by share %d of %d\n",
               spread, noise, row, outcome.verdicts, ROWS * trials, outcome.named,
               outcome.everything, outcome.by_share, trials);
    return outcome;
}

enum { TRIALS = 150 };

/* Speeds that differ by up to 2.5 ×, or by 4 %: nothing is called changed. */
static void test_speed_is_no_change(void)
{
    double parts[ROWS];
    usual_parts(parts);
    const struct {
        double spread, noise;
    } cases[] = {{0, 0}, {0, 0.02}, {0.04, 0}, {0.04, 0.02}, {0.005, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct outcome outcome =
            try(parts, parts, cases[i].spread, cases[i].noise, 0, TRIALS);
        CU_ASSERT(outcome.verdicts * 1000 <= ROWS * TRIALS);
        CU_ASSERT(outcome.everything * 100 <= 5 * TRIALS);
    }
}

static void test_growth_is_named_at_any_speed(void)
{
    static const struct {
        size_t row;
        double factor;
    } cases[] = {{0, 1.25}, {1, 1.25}, {3, 1.7}};
    double parts[ROWS], slower[ROWS];
    usual_parts(parts);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        usual_parts(slower);
        slower[cases[i].row] *= cases[i].factor;
        for (int quiet = 0; quiet < 2; quiet++) {
            const struct outcome outcome =
                try(parts, slower, quiet ? 0.005 : 0, 0, cases[i].row, TRIALS);
            CU_ASSERT(outcome.named * 100 >= 98 * TRIALS);
            CU_ASSERT(outcome.verdicts - outcome.named <= TRIALS / 10);
            CU_ASSERT(outcome.everything * 100 <= 5 * TRIALS);
        }
    }
}

/* A uniform factor is a matter of its own: beyond the spread of speeds it is seen, within it is
 * not; no row is called changed for it. */
static void test_everything(void)
{
    double parts[ROWS], slower[ROWS];
    usual_parts(parts);
    for (size_t i = 0; i < ROWS; i++)
        slower[i] = 1.2 * parts[i];
    const struct outcome quiet = try(parts, slower, 0.01, 0, 0, TRIALS);
    CU_ASSERT(quiet.everything * 100 >= 98 * TRIALS);
    CU_ASSERT(quiet.verdicts * 1000 <= ROWS * TRIALS);
    const struct outcome loud = try(parts, slower, 0, 0, 0, TRIALS);
    CU_ASSERT(loud.everything * 100 <= 15 * TRIALS);
    CU_ASSERT(loud.verdicts * 1000 <= ROWS * TRIALS);
    /* One function grows beside: both are seen. */
    slower[1] *= 1.4;
    const struct outcome both = try(parts, slower, 0.01, 0, 1, TRIALS);
    CU_ASSERT(both.everything * 100 >= 95 * TRIALS);
    CU_ASSERT(both.named * 100 >= 98 * TRIALS);
}

/* Three runs a side of about 1 s and of 1.2 to 2.5 s; one function's share grows from 26.8 to
 * 33.7 %. */
static void test_a_slow_side(void)
{
    static struct trial trial;
    double parts[ROWS], slower[ROWS];
    usual_parts(parts);
    parts[0] = 0.268;
    parts[ROWS - 1] += 0.032;
    for (size_t i = 0; i < ROWS; i++)
        slower[i] = parts[i] * (i ? 1 : 0.337 / 0.663 * 0.732 / 0.268);
    trial = (struct trial){
        .before = parts, .after = slower, .speeds = {1.01, 1.03, 1.05, 1.2, 2.5, 1.6}};
    state = 2463534242u;
    compare(&trial);
    CU_ASSERT_EQUAL(trial.differences[0].change, MODEL_GROWN);
    CU_ASSERT(trial.speeds_found.by_share);
    CU_ASSERT(!trial.speeds_found.everything);
    CU_ASSERT_DOUBLE_EQUAL(trial.speeds_found.widest, 2.08, 0.1);
    for (size_t i = 1; i < ROWS; i++)
        CU_ASSERT_EQUAL(trial.differences[i].change, MODEL_WITHIN_CHANCE);
}

/* Nearly all of the program is one function: that it grew is not taken for the machine's speed. */
static void test_a_function_that_is_nearly_all(void)
{
    double parts[ROWS] = {0.91, 0.02, 0.02, 0.02, 0.02, 0.01}, slower[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        slower[i] = parts[i] * (i ? 1 : 1.37);
    const struct outcome outcome = try(parts, slower, 0.01, 0, 0, TRIALS);
    CU_ASSERT(outcome.named * 100 >= 95 * TRIALS);
    CU_ASSERT(outcome.everything * 100 <= 5 * TRIALS);
}

/* A row whose variance is next to nothing, and that varies, hides no change of other rows. */
static void test_a_degenerate_row_is_its_own(void)
{
    static struct trial trial;
    double parts[ROWS], slower[ROWS];
    usual_parts(parts);
    usual_parts(slower);
    slower[1] *= 1.5;
    trial = (struct trial){.before = parts, .after = slower, .speeds = {1, 1, 1, 1, 1, 1}};
    state = 1234567891u;
    compare(&trial);
    for (size_t run = 0; run < SIDES; run++) {
        struct model_estimate *row = &trial.estimates[2 * SIDES + run];
        row->variance = 1e-300;
        row->value *= run % 2 ? 2 : 1;
    }
    CU_ASSERT_EQUAL_FATAL(
        model_differences(trial.estimates, ROWS, RUNS, RUNS, NULL, trial.differences), 0);
    CU_ASSERT_EQUAL(trial.differences[1].change, MODEL_GROWN);
}

void sprof_suite_model_speed(void);
void sprof_suite_model_speed(void)
{
    CU_pSuite suite = CU_add_suite("model/speed", NULL, NULL);
    CU_add_test(suite, "speed is no change", test_speed_is_no_change);
    CU_add_test(suite, "growth is named at any speed", test_growth_is_named_at_any_speed);
    CU_add_test(suite, "everything", test_everything);
    CU_add_test(suite, "a slow side", test_a_slow_side);
    CU_add_test(suite, "a function that is nearly all", test_a_function_that_is_nearly_all);
    CU_add_test(suite, "a degenerate row is its own", test_a_degenerate_row_is_its_own);
}
