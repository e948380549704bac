/* Lines that are added up from stacks are those of the recording, where no part shares one. */
#include "report/dataset_parts.h"

#include "tests/unit/report/recorded.h"

static const struct report_line_cost *find(const struct report_dataset *dataset,
                                           const struct report_frame *frame)
{
    for (size_t i = 0; i < dataset->line_costs.count; i++) {
        const struct report_line_cost *line = &dataset->line_costs.items[i];
        const struct report_frame *own = &dataset->frames.items[line->frame - 1];
        const bool same_file =
            own->file && frame->file ? !strcmp(own->file, frame->file) : own->file == frame->file;
        if (own->function == frame->function && own->line == frame->line && same_file)
            return line;
    }
    return NULL;
}

static void test_stacks_give_the_recorded_sums(void)
{
    const struct report_selection selection = {0};
    struct report_dataset recorded, added;
    bool overlap = true;
    CU_ASSERT_EQUAL_FATAL(
        report_dataset_load(&recorded, example.store, &selection, REPORT_LINE_COSTS, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(
        report_dataset_load(&added, example.store, &selection, REPORT_STACKS, NULL), 0);
    CU_ASSERT_EQUAL(report_dataset_lines_overlap(&recorded, &overlap), 0);
    CU_ASSERT_FALSE(overlap);
    CU_ASSERT_EQUAL_FATAL(report_dataset_add_up_lines(&added), 0);
    CU_ASSERT(added.line_costs.count > 0);
    CU_ASSERT_EQUAL(added.line_costs.count, recorded.line_costs.count);
    for (size_t i = 0; i < added.line_costs.count; i++) {
        const struct report_line_cost *line = &added.line_costs.items[i];
        const struct report_line_cost *wanted =
            find(&recorded, &added.frames.items[line->frame - 1]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(wanted);
        CU_ASSERT_EQUAL(memcmp(&line->costs, &wanted->costs, sizeof wanted->costs), 0);
    }
    report_dataset_release(&recorded);
    report_dataset_release(&added);
}

void sprof_suite_report_dataset_lines(void);
void sprof_suite_report_dataset_lines(void)
{
    CU_pSuite suite = CU_add_suite("report/dataset_lines", example_open, example_close);
    CU_add_test(suite, "stacks give the recorded sums", test_stacks_give_the_recorded_sums);
}
