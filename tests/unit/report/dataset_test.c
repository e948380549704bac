/* The dataset agrees with itself: what its stacks add up to is its tree. */
#include "report/dataset.h"
#include "tests/unit/report/recorded.h"

#include <unistd.h>

/* Adds every cost below the functions of its stack, root first. */
static void add_stacks(const struct report_dataset *dataset, struct model_paths *paths)
{
    struct report_stack stack = {0};
    for (size_t i = 0; i < dataset->costs.count; i++) {
        const struct report_cost *cost = &dataset->costs.items[i];
        uint32_t path = 0;
        CU_ASSERT_EQUAL(report_dataset_stack(dataset, cost->node, &stack), 0);
        for (size_t k = stack.frames.count; k-- > 0;)
            CU_ASSERT_EQUAL(
                model_paths_child(paths, path,
                                  report_dataset_frame_function(dataset, stack.frames.items[k]),
                                  &path),
                0);
        model_paths_add(paths, path, cost->cost);
    }
    model_paths_sum(paths);
    sprof_vec_release(&stack.frames);
}

static void test_stacks_add_up_to_the_tree(void)
{
    static const struct report_selection selections[] = {
        {0},
        {.thread = "worker"},
        {.other_mode = true, .mode = MODEL_MODE_PC},
        {.other_mode = true, .mode = MODEL_MODE_PC, .frame_app = true},
        {.other_mode = true, .mode = MODEL_MODE_APP},
        {.other_mode = true, .mode = MODEL_MODE_APP, .drop_interior = true},
    };
    for (size_t i = 0; i < sizeof selections / sizeof *selections; i++) {
        struct report_dataset dataset;
        struct model_paths paths = {0};
        CU_ASSERT_EQUAL_FATAL(
            report_dataset_load(&dataset, example.store, &selections[i], REPORT_STACKS, NULL), 0);
        add_stacks(&dataset, &paths);
        CU_ASSERT_EQUAL(paths.items.count, dataset.paths.items.count);
        for (size_t k = 0; k < dataset.paths.items.count; k++) {
            const struct model_path *path = &dataset.paths.items.items[k];
            uint32_t functions[16], depth = 0, same = 0;
            for (uint32_t id = path->id; id; id = dataset.paths.items.items[id - 1].parent)
                functions[depth++] = dataset.paths.items.items[id - 1].function;
            while (depth-- > 0)
                CU_ASSERT_EQUAL(model_paths_child(&paths, same, functions[depth], &same), 0);
            const struct model_path *other = &paths.items.items[same - 1];
            CU_ASSERT_EQUAL(other->costs.exclusive.samples, path->costs.exclusive.samples);
            CU_ASSERT_EQUAL(other->costs.inclusive.weight, path->costs.inclusive.weight);
        }
        model_paths_release(&paths);
        report_dataset_release(&dataset);
    }
}

static void test_what_exporters_need_is_there(void)
{
    struct report_dataset dataset;
    CU_ASSERT_EQUAL_FATAL(report_dataset_load(&dataset, example.store,
                                              &(struct report_selection){0}, REPORT_STACKS, NULL),
                          0);
    CU_ASSERT_STRING_EQUAL(dataset.modules.items[0].name, "prog");
    CU_ASSERT_PTR_NOT_NULL(dataset.modules.items[0].build_id);
    CU_ASSERT_NOT_EQUAL(dataset.modules.items[0].key, 0);
    CU_ASSERT_NOT_EQUAL(dataset.functions.items[0].key, 0);
    CU_ASSERT_PTR_NOT_NULL(dataset.functions.items[0].file);
    CU_ASSERT_TRUE(dataset.threads.count >= 2);
    CU_ASSERT_TRUE(dataset.events.count == 1);
    uint64_t samples = 0;
    for (size_t i = 0; i < dataset.costs.count; i++)
        samples += dataset.costs.items[i].cost.samples;
    CU_ASSERT_EQUAL(samples, dataset.total.samples);
    report_dataset_release(&dataset);
}

/* Samples are of what runs, but for those that are taken whatever a thread does. */
static void test_states_of_events(void)
{
    static const struct {
        const char *name;
        enum store_unit unit;
        const char *state;
    } cases[] = {
        {"cpu-clock", STORE_UNIT_SAMPLE, "running"},
        {"cycles", STORE_UNIT_SAMPLE, "running"},
        {MODEL_EVENT_WALL, STORE_UNIT_SAMPLE, "unknown"},
        {MODEL_EVENT_WAKEUP, STORE_UNIT_SAMPLE, "unknown"},
        {"calls", STORE_UNIT_CALL, "unknown"},
        {"off-cpu:sleep", STORE_UNIT_SAMPLE, "waiting"},
        {"off-cpu:ready", STORE_UNIT_SAMPLE, "ready"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct store_event event = {.name = cases[i].name, .unit = cases[i].unit};
        CU_ASSERT_STRING_EQUAL(report_event_state(&event), cases[i].state);
    }
}

/* Advice names the recording, but none that was removed once it was open. */
static void test_a_file_that_is_gone_has_no_name(void)
{
    const struct place place = place_make();
    struct store *store;
    example_make(&place);
    CU_ASSERT_EQUAL_FATAL(store_open_read(&store, place.path, NULL), 0);
    for (int gone = 0; gone < 2; gone++) {
        struct report_dataset dataset;
        CU_ASSERT_EQUAL_FATAL(report_dataset_load(&dataset, store, &(struct report_selection){0},
                                                  REPORT_STACKS, NULL),
                              0);
        CU_ASSERT_EQUAL(!dataset.recording, gone);
        report_dataset_release(&dataset);
        unlink(place.path);
    }
    CU_ASSERT_EQUAL(store_close(store, NULL), 0);
    place_remove(&place);
}

void sprof_suite_report_dataset(void);
void sprof_suite_report_dataset(void)
{
    CU_pSuite suite = CU_add_suite("report/dataset", example_open, example_close);
    CU_add_test(suite, "stacks add up to the tree", test_stacks_add_up_to_the_tree);
    CU_add_test(suite, "states of events", test_states_of_events);
    CU_add_test(suite, "a file that is gone has no name", test_a_file_that_is_gone_has_no_name);
    CU_add_test(suite, "what exporters need is there", test_what_exporters_need_is_there);
}
