#include "import/rows.h"

#include <CUnit/CUnit.h>

/* Σ weight² of samples that weigh the same in each part. */
static double squares_of(const struct model_cost *parts, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)parts[i].weight * (double)parts[i].weight / (double)parts[i].samples;
    return sum;
}

static void test_parts_have_the_sums_and_squares(void)
{
    static const double spreads[] = {1.0001, 1.1, 1.9, 2, 2.1, 5, 9.9};
    static const uint64_t counts[] = {10, 11, 1000, 999983};
    for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i++)
        for (size_t j = 0; j < sizeof counts / sizeof *counts; j++) {
            const struct model_cost cost = {counts[j], counts[j] * 1000000};
            struct model_cost parts[2];
            const double equal = squares_of(&cost, 1);
            CU_ASSERT_EQUAL_FATAL(import_rows_divide(cost, spreads[i], parts), 2);
            CU_ASSERT_EQUAL(parts[0].samples + parts[1].samples, cost.samples);
            CU_ASSERT_EQUAL(parts[0].weight + parts[1].weight, cost.weight);
            CU_ASSERT_DOUBLE_EQUAL(squares_of(parts, 2) / equal, spreads[i], 1e-5);
        }
}

static void test_what_cannot_vary_stays(void)
{
    struct model_cost parts[2];
    CU_ASSERT_EQUAL(import_rows_divide((struct model_cost){1, 5}, 3, parts), 1);
    CU_ASSERT_EQUAL(import_rows_divide((struct model_cost){0, 5}, 3, parts), 1);
    CU_ASSERT_EQUAL(import_rows_divide((struct model_cost){7, 5}, 1, parts), 1);
    CU_ASSERT_EQUAL(parts[0].samples, 7);
    CU_ASSERT_EQUAL(parts[0].weight, 5);
    /* More than its samples could: one has all. */
    CU_ASSERT_EQUAL(import_rows_divide((struct model_cost){4, 100}, 50, parts), 2);
    CU_ASSERT_EQUAL(parts[0].samples, 1);
    CU_ASSERT_EQUAL(parts[0].weight, 100);
    CU_ASSERT_EQUAL(parts[1].weight, 0);
    CU_ASSERT_EQUAL(import_rows_divide((struct model_cost){2, UINT64_MAX}, 2, parts), 2);
    CU_ASSERT_EQUAL(parts[0].samples + parts[1].samples, 2);
}

/* Only rows of the same service, version, host and event count. */
static void test_squares_are_of_their_run(void)
{
    struct import_row_run runs[] = {
        {.service = 1, .version = 2, .host = 3, .event = 4, .samples = 10, .squares = 2000},
        {.service = 1, .version = 2, .host = 5, .event = 4, .samples = 10, .squares = 5000},
        {.service = 1, .version = 2, .host = 3, .event = 6, .samples = 10, .squares = 7000},
        {.service = 1, .version = 8, .host = 3, .event = 4, .samples = 10, .squares = 8000},
        {.service = 9, .version = 2, .host = 3, .event = 4, .samples = 10, .squares = 9000},
    };
    struct import_rows rows = {.runs = {.items = runs, .count = sizeof runs / sizeof *runs}};
    struct import_row_run like = {.service = 1, .version = 2, .host = 3, .event = 4};
    struct import_row_weights weights = {0};
    import_rows_weigh(&weights, &(struct import_row_cost){.samples = 10, .weight = 100});
    import_rows_sort_runs(&rows);
    CU_ASSERT_DOUBLE_EQUAL(import_rows_spread(import_rows_runs(&rows, &like, false), &weights), 2,
                           1e-9);
    CU_ASSERT_EQUAL(import_rows_runs(&rows, &like, true).count, 2);
    like.host = 5;
    CU_ASSERT_DOUBLE_EQUAL(import_rows_spread(import_rows_runs(&rows, &like, false), &weights), 5,
                           1e-9);
    like.host = 7; /* nothing is known of it */
    CU_ASSERT_DOUBLE_EQUAL(import_rows_spread(import_rows_runs(&rows, &like, false), &weights), 1,
                           1e-9);
    CU_ASSERT_EQUAL(import_rows_runs(&rows, &like, true).count, 0);
}

/* Each row is found where it belongs, and nothing else. */
static void test_runs_are_found(void)
{
    enum { COUNT = 300 };
    struct import_row_run runs[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        runs[i] = (struct import_row_run){.key = i,
                                          .service = i % 3,
                                          .version = i % 4,
                                          .host = i % 5,
                                          .event = i % 2,
                                          .time_s = (i * 7919) % 101};
    struct import_rows rows = {.runs = {.items = runs, .count = COUNT}};
    import_rows_sort_runs(&rows);
    for (uint32_t i = 0; i < 60; i++) {
        const struct import_row_run like = {
            .service = i % 3, .version = i % 4, .host = i % 5, .event = i % 2};
        for (int all = 0; all < 2; all++) {
            const struct import_row_runs found = import_rows_runs(&rows, &like, all);
            CU_ASSERT_EQUAL(found.count, COUNT / 60); /* 2 divides 4: one event each */
            for (size_t j = 0; j < found.count; j++) {
                const struct import_row_run *run = &found.items[j];
                CU_ASSERT(run->service == like.service && run->version == like.version &&
                          run->host == like.host && run->event == like.event);
                CU_ASSERT(!j || run[-1].time_s < run->time_s);
            }
        }
    }
}

void sprof_suite_import_rows_squares(void);
void sprof_suite_import_rows_squares(void)
{
    CU_pSuite suite = CU_add_suite("import/rows_squares", NULL, NULL);
    CU_add_test(suite, "parts have the sums and squares", test_parts_have_the_sums_and_squares);
    CU_add_test(suite, "what cannot vary stays", test_what_cannot_vary_stays);
    CU_add_test(suite, "squares are of their run", test_squares_are_of_their_run);
    CU_add_test(suite, "runs are found", test_runs_are_found);
}
