/* Costs by time agree with the tree of call paths, however coarse and folded they are. */
#include "report/slots.h"

#include "report/dataset.h"
#include "report/slots_fold.h"
#include "tests/unit/report/recorded.h"

static struct model_cost sum(const struct report_slots *slots)
{
    struct model_cost total = {0};
    for (size_t i = 0; i < slots->costs.count; i++) {
        total.samples += slots->costs.items[i].cost.samples;
        total.weight += slots->costs.items[i].cost.weight;
    }
    return total;
}

static struct model_cost total_of_dataset(void)
{
    struct report_dataset dataset;
    const struct report_selection selection = {0};
    CU_ASSERT_EQUAL_FATAL(report_dataset_load(&dataset, example.store, &selection, 0, NULL), 0);
    const struct model_cost total = dataset.total;
    report_dataset_release(&dataset);
    return total;
}

static void test_slots_hold_all_costs(void)
{
    struct report_slots slots;
    const struct report_slots_limits limits = {0};
    CU_ASSERT_EQUAL_FATAL(report_slots_load(&slots, example.store, &limits, NULL), 0);
    const struct model_cost expected = total_of_dataset(), found = sum(&slots);
    CU_ASSERT_EQUAL(found.samples, expected.samples);
    CU_ASSERT_EQUAL(found.weight, expected.weight);
    CU_ASSERT_EQUAL(slots.folded, 0);
    for (size_t i = 1; i < slots.costs.count; i++) {
        const struct report_slot_cost *a = &slots.costs.items[i - 1], *b = a + 1;
        CU_ASSERT(a->lane < b->lane ||
                  (a->lane == b->lane &&
                   (a->slot < b->slot || (a->slot == b->slot && a->path < b->path))));
    }
    for (size_t i = 0; i < slots.paths.count; i++)
        CU_ASSERT(slots.paths.items[i].parent <= i);
    report_slots_release(&slots);
}

static void test_limits_coarsen_and_fold_but_lose_nothing(void)
{
    const struct model_cost expected = total_of_dataset();
    for (size_t most = 1; most < 12; most++) {
        struct report_slots slots;
        const struct report_slots_limits limits = {.paths = most, .costs = most};
        CU_ASSERT_EQUAL_FATAL(report_slots_load(&slots, example.store, &limits, NULL), 0);
        const struct model_cost found = sum(&slots);
        CU_ASSERT_EQUAL(found.samples, expected.samples);
        CU_ASSERT_EQUAL(found.weight, expected.weight);
        if (most < 4)
            CU_ASSERT(slots.folded > 0);
        uint64_t folded = 0;
        for (size_t i = 0; i < slots.costs.count; i++) {
            const struct report_slot_path *path = &slots.paths.items[slots.costs.items[i].path - 1];
            folded += path->function ? 0 : slots.costs.items[i].cost.samples;
        }
        CU_ASSERT_EQUAL(folded, slots.folded_cost.samples);
        report_slots_release(&slots);
    }
}

/* Where there is room for it, the function in which a folded stack ends keeps its exclusive cost.
 */
static void test_folded_stacks_keep_their_end(void)
{
    struct report_slot_path paths[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {2, 5}, {5, 4}, {1, 6}};
    struct report_slot_cost costs[] = {
        {.path = 1, .cost = {90, 90}}, {.path = 4, .cost = {1, 1}}, {.path = 6, .cost = {1, 1}}};
    struct report_slots slots = {0};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&slots.paths, paths[i]), 0);
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&slots.costs, costs[i]), 0);
    CU_ASSERT_EQUAL_FATAL(report_slots_fold(&slots, 3), 0);
    CU_ASSERT_EQUAL_FATAL(slots.paths.count, 3);
    CU_ASSERT_EQUAL(slots.paths.items[1].function, 0);
    CU_ASSERT_EQUAL(slots.paths.items[1].parent, 1);
    CU_ASSERT_EQUAL(slots.paths.items[2].function, 4);
    CU_ASSERT_EQUAL(slots.paths.items[2].parent, 2);
    CU_ASSERT_EQUAL(slots.costs.items[0].path, 1);
    CU_ASSERT_EQUAL(slots.costs.items[1].path, 3);
    CU_ASSERT_EQUAL(slots.costs.items[2].path, 3);
    CU_ASSERT_EQUAL(slots.folded_cost.samples, 0);
    CU_ASSERT_EQUAL_FATAL(report_slots_fold(&slots, 2), 0);
    CU_ASSERT_EQUAL(slots.folded_cost.samples, 2);
    report_slots_release(&slots);
}

void sprof_suite_report_slots(void);
void sprof_suite_report_slots(void)
{
    CU_pSuite suite = CU_add_suite("report/slots", example_open, example_close);
    CU_add_test(suite, "slots hold all costs", test_slots_hold_all_costs);
    CU_add_test(suite, "limits coarsen and fold but lose nothing",
                test_limits_coarsen_and_fold_but_lose_nothing);
    CU_add_test(suite, "folded stacks keep their end", test_folded_stacks_keep_their_end);
}
