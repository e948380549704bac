/* Costs of functions and lines, as the page has them, are those of the dataset. */
#include "report/html/line_costs.h"

#include "tests/unit/report/recorded.h"

static bool same(struct model_cost a, struct model_cost b)
{
    return a.samples == b.samples && a.weight == b.weight;
}

static void load(struct report_dataset *dataset, struct html_line_costs *lines)
{
    const struct report_selection selection = {0};
    CU_ASSERT_EQUAL_FATAL(
        report_dataset_load(dataset, example.store, &selection, REPORT_LINE_COSTS, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(report_html_lines_load(lines, dataset, example.store, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(
        report_html_lines_count(
            lines, example.store,
            &(struct html_source_event){.run = dataset->run.id, .event = dataset->event.id}, NULL),
        0);
}

static void test_functions(void)
{
    struct report_dataset dataset;
    struct html_line_costs lines = {0};
    load(&dataset, &lines);
    const struct model_functions facts = report_dataset_facts(&dataset);
    struct model_costs *expected = calloc(facts.count + 1, sizeof *expected);
    CU_ASSERT_EQUAL_FATAL(model_function_costs(&dataset.paths, &facts, expected), 0);
    uint64_t counted = 0;
    for (size_t i = 0; i < facts.count; i++) {
        CU_ASSERT(same(lines.functions[i].exclusive, expected[i].exclusive));
        CU_ASSERT(same(lines.functions[i].inclusive, expected[i].inclusive));
        counted += lines.functions[i].exclusive.samples;
    }
    CU_ASSERT(counted > 0);
    free(expected);
    report_html_lines_release(&lines);
    report_dataset_release(&dataset);
}

static const struct html_place *find_place(const struct html_line_costs *lines, uint32_t function,
                                           const char *file, uint32_t line)
{
    for (size_t i = 0; i < lines->places.count; i++) {
        const struct html_place *place = &lines->places.items[i];
        if (place->function == function && place->line == line &&
            !strcmp(lines->files.items[place->file], file))
            return place;
    }
    return NULL;
}

static void test_lines(void)
{
    struct report_dataset dataset;
    struct html_line_costs lines = {0};
    load(&dataset, &lines);
    size_t compared = 0;
    for (size_t i = 0; i < dataset.line_costs.count; i++) {
        const struct report_line_cost *expected = &dataset.line_costs.items[i];
        const struct report_frame *frame = &dataset.frames.items[expected->frame - 1];
        if (!frame->file || !frame->line || !frame->function)
            continue;
        const struct html_place *place =
            find_place(&lines, frame->function, frame->file, frame->line);
        CU_ASSERT_PTR_NOT_NULL_FATAL(place);
        CU_ASSERT(same(place->costs.exclusive, expected->costs.exclusive));
        CU_ASSERT(same(place->costs.inclusive, expected->costs.inclusive));
        compared++;
    }
    CU_ASSERT(compared > 0);
    report_html_lines_release(&lines);
    report_dataset_release(&dataset);
}

static void test_counting_again_changes_nothing(void)
{
    struct report_dataset dataset;
    struct html_line_costs lines = {0};
    load(&dataset, &lines);
    for (size_t i = 0; i < lines.frames.count; i++) {
        CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&lines.instructions, (struct html_instruction){0}), 0);
        lines.frames.items[i].instruction = (uint32_t)i + 1;
    }
    uint64_t sums[2] = {0};
    for (size_t round = 0; round < 2; round++) {
        CU_ASSERT_EQUAL_FATAL(
            report_html_lines_count(
                &lines, example.store,
                &(struct html_source_event){.run = dataset.run.id, .event = dataset.event.id},
                NULL),
            0);
        for (size_t i = 0; i < lines.instructions.count; i++) {
            CU_ASSERT_EQUAL(lines.instructions.items[i].open, 0);
            sums[round] += lines.instructions.items[i].costs.exclusive.samples;
        }
    }
    CU_ASSERT_EQUAL(sums[0], dataset.all.samples);
    CU_ASSERT_EQUAL(sums[1], sums[0]);
    /* An event that nobody has costs nothing. */
    CU_ASSERT_EQUAL_FATAL(
        report_html_lines_count(&lines, example.store,
                                &(struct html_source_event){.run = dataset.run.id, .event = 4242},
                                NULL),
        0);
    for (size_t i = 0; i < lines.places.count; i++)
        CU_ASSERT_EQUAL(lines.places.items[i].costs.inclusive.samples, 0);
    report_html_lines_release(&lines);
    report_dataset_release(&dataset);
}

void sprof_suite_report_line_costs(void);
void sprof_suite_report_line_costs(void)
{
    CU_pSuite suite = CU_add_suite("report/line_costs", example_open, example_close);
    CU_add_test(suite, "functions", test_functions);
    CU_add_test(suite, "lines", test_lines);
    CU_add_test(suite, "counting again changes nothing", test_counting_again_changes_nothing);
}
