#include "tests/unit/store/recording.h"

#include <string.h>

/* What a callback saw: ids in order, and sums. */
struct seen {
    char ids[128];
    size_t stop_after, count;
    struct model_cost sum;
    double squares;
};

static int see(struct seen *seen, uint64_t id)
{
    const size_t length = strlen(seen->ids);
    snprintf(seen->ids + length, sizeof seen->ids - length, "%s%llu", length ? " " : "",
             (unsigned long long)id);
    return ++seen->count == seen->stop_after ? 42 : 0;
}

#define SEE(name, row_type, id)                                                                    \
    static int see_##name(void *seen, const struct row_type *row)                                  \
    {                                                                                              \
        return see(seen, row->id);                                                                 \
    }
SEE(event, store_event, id)
SEE(process, store_process, id)
SEE(thread, store_thread, id)
SEE(function, store_function, id)
SEE(frame, store_frame, id)
SEE(node, store_node, id)
SEE(path, model_path, parent)
SEE(counter, store_counter, value)
SEE(sample, store_sample_row, sample.time_ns)

static void test_rows_come_in_order(void)
{
    struct seen seen[8] = {0};
    CU_ASSERT_EQUAL(store_each_event(example.store, 1, see_event, &seen[0], NULL), 0);
    CU_ASSERT_STRING_EQUAL(seen[0].ids, "1");
    CU_ASSERT_EQUAL(store_each_process(example.store, 1, see_process, &seen[1], NULL), 0);
    CU_ASSERT_STRING_EQUAL(seen[1].ids, "1 2");
    CU_ASSERT_EQUAL(store_each_thread(example.store, 1, see_thread, &seen[2], NULL), 0);
    CU_ASSERT_STRING_EQUAL(seen[2].ids, "1 2 3");
    CU_ASSERT_EQUAL(store_each_function(example.store, see_function, &seen[3], NULL), 0);
    CU_ASSERT_STRING_EQUAL(seen[3].ids, "1 2 3 4 5 6");
    CU_ASSERT_EQUAL(store_each_frame(example.store, see_frame, &seen[4], NULL), 0);
    CU_ASSERT_STRING_EQUAL(seen[4].ids, "1 2 3 4 5 6 7");
    CU_ASSERT_EQUAL(store_each_node(example.store, see_node, &seen[5], NULL), 0);
    CU_ASSERT_STRING_EQUAL(seen[5].ids, "1 2 3 4 5 6 7 8");
    CU_ASSERT_EQUAL(store_each_path(example.store, see_path, &seen[6], NULL), 0);
    CU_ASSERT_STRING_EQUAL(seen[6].ids, "0 1 2 3 1 5 6 7 0");
    CU_ASSERT_EQUAL(store_each_counter(example.store, 1, see_counter, &seen[7], NULL), 0);
    CU_ASSERT_STRING_EQUAL(seen[7].ids, "75 25");
}

static void test_other_runs_are_left_out(void)
{
    struct seen seen = {0};
    CU_ASSERT_EQUAL(store_each_event(example.store, 2, see_event, &seen, NULL), 0);
    CU_ASSERT_EQUAL(store_each_process(example.store, 2, see_process, &seen, NULL), 0);
    CU_ASSERT_EQUAL(store_each_thread(example.store, 2, see_thread, &seen, NULL), 0);
    CU_ASSERT_EQUAL(store_each_counter(example.store, 2, see_counter, &seen, NULL), 0);
    const struct store_filter filter = {.run_id = 2};
    CU_ASSERT_EQUAL(store_each_sample(example.store, &filter, see_sample, &seen, NULL), 0);
    CU_ASSERT_EQUAL(seen.count, 0);
}

static void test_callback_stops(void)
{
    struct seen seen = {.stop_after = 3};
    CU_ASSERT_EQUAL(store_each_node(example.store, see_node, &seen, NULL), 42);
    CU_ASSERT_STRING_EQUAL(seen.ids, "1 2 3");
}

static void samples_are(struct store_filter filter, const char *times)
{
    struct seen seen = {0};
    CU_ASSERT_EQUAL(store_each_sample(example.store, &filter, see_sample, &seen, NULL), 0);
    assert_text(seen.ids, times);
}

static void test_samples_filtered_in_time_order(void)
{
    samples_are((struct store_filter){.run_id = 1}, "10 20 30 50 55 60 900");
    samples_are((struct store_filter){0}, "10 20 30 50 55 60 900");
    samples_are((struct store_filter){.thread = "worker"}, "60");
    samples_are((struct store_filter){.thread = "101"}, "60");
    samples_are((struct store_filter){.thread = "work"}, "");
    samples_are((struct store_filter){.process = "child"}, "900");
    samples_are((struct store_filter){.process = "100"}, "10 20 30 50 55 60");
    samples_are((struct store_filter){.process = "prog", .thread = "prog"}, "10 20 30 50 55");
    samples_are((struct store_filter){.process = "child", .thread = "worker"}, "");
    samples_are((struct store_filter){.thread = "x' OR 1 --"}, "");
}

static int check_sample(void *context, const struct store_sample_row *row)
{
    if (row->sample.time_ns != 60)
        return 0;
    CU_ASSERT_EQUAL(row->pid, 100);
    CU_ASSERT_EQUAL(row->tid, 101);
    CU_ASSERT_STRING_EQUAL(row->process, "prog");
    CU_ASSERT_STRING_EQUAL(row->thread, "worker");
    CU_ASSERT_STRING_EQUAL(row->event, "cpu-clock");
    CU_ASSERT_EQUAL(row->sample.node_id, 5);
    CU_ASSERT_TRUE(row->sample.user_stack);
    ++*(int *)context;
    return 0;
}

static void test_sample_has_its_names(void)
{
    int count = 0;
    CU_ASSERT_EQUAL(store_each_sample(example.store, NULL, check_sample, &count, NULL), 0);
    CU_ASSERT_EQUAL(count, 1);
}

static int add_unnamed_cost(void *context, const struct store_node_cost *cost)
{
    struct seen *seen = context;
    CU_ASSERT_EQUAL(cost->path_id, 0);
    seen->sum.samples += cost->cost.samples;
    seen->sum.weight += cost->cost.weight;
    return see(seen, cost->node_id);
}

static int add_node_cost(void *context, const struct store_node_cost *cost)
{
    struct seen *seen = context;
    seen->sum.samples += cost->cost.samples;
    seen->sum.weight += cost->cost.weight;
    seen->squares += cost->sum_squares;
    if (cost->node_id == 4) {
        CU_ASSERT_EQUAL(cost->cost.samples, 2);
        CU_ASSERT_EQUAL(cost->path_id, 4);
        CU_ASSERT_EQUAL(cost->event_id, 1);
    }
    return see(seen, cost->node_id);
}

static void test_costs_by_node(void)
{
    const struct store_filter prog = {.process = "prog"};
    struct seen all = {0}, some = {0};
    CU_ASSERT_EQUAL(store_each_node_cost(example.store, NULL, add_node_cost, &all, NULL), 0);
    CU_ASSERT_STRING_EQUAL(all.ids, "1 2 4 7 5 8");
    CU_ASSERT_EQUAL(all.sum.samples, 6);
    CU_ASSERT_EQUAL(all.sum.weight, 6 * WEIGHT_NS + UNSAMPLED_NS);
    CU_ASSERT_EQUAL(store_each_node_cost(example.store, &prog, add_node_cost, &some, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(some.squares, 6.0 * WEIGHT_NS * WEIGHT_NS, 1e6);
}

/* Without derived rows the samples are added up: to the same. */
static void test_costs_by_node_of_samples(void)
{
    const struct place other = place_make();
    struct store *young;
    struct seen all = {0};
    const struct store_run run = example_run();
    const struct store_filter worker = {.run_id = 1, .thread = "worker"};
    CU_ASSERT_EQUAL_FATAL(store_create(&young, other.path, NULL), 0);
    CU_ASSERT_EQUAL(example_write_raw(young, &run), 0);
    CU_ASSERT_EQUAL(store_each_node_cost(young, NULL, add_unnamed_cost, &all, NULL), 0);
    CU_ASSERT_STRING_EQUAL(all.ids, "1 2 4 5 7 8");
    CU_ASSERT_EQUAL(all.sum.samples, 6);
    CU_ASSERT_EQUAL(all.sum.weight, 6 * WEIGHT_NS + UNSAMPLED_NS);
    CU_ASSERT_EQUAL(store_each_node_cost(young, &worker, add_unnamed_cost, &all, NULL), 0);
    CU_ASSERT_STRING_EQUAL(all.ids, "1 2 4 5 7 8 5");
    store_close(young, NULL);
    place_remove(&other);
}

static int add_path_cost(void *context, const struct store_cost *cost)
{
    struct seen *seen = context;
    seen->sum.samples += cost->costs.exclusive.samples;
    if (cost->id == 1)
        CU_ASSERT_EQUAL(cost->costs.inclusive.samples, 6);
    return see(seen, cost->id);
}

static void test_costs_by_path(void)
{
    struct seen seen = {0};
    CU_ASSERT_EQUAL(store_each_path_cost(example.store, 1, add_path_cost, &seen, NULL), 0);
    CU_ASSERT_STRING_EQUAL(seen.ids, "1 2 3 4 5 6 7 8 9");
    CU_ASSERT_EQUAL(seen.sum.samples, 6);
}

static void test_quality(void)
{
    struct store_quality quality;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(store_quality(example.store, 1, &quality, NULL), 0);
    CU_ASSERT_EQUAL(quality.samples, 6);
    CU_ASSERT_EQUAL(quality.lost, 3);
    CU_ASSERT_TRUE(quality.has_user_stacks);
    CU_ASSERT_EQUAL(quality.whole_stacks, 4);
    CU_ASSERT_EQUAL(quality.frames, 17);
    CU_ASSERT_DOUBLE_EQUAL(quality.requested_hz, 997, 0);
    CU_ASSERT_DOUBLE_EQUAL(quality.reached_hz, 997, 0.1);
    CU_ASSERT_EQUAL(store_quality(example.store, 2, &quality, &error), SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "no run 2"));
}

static void test_reading_is_of_one_moment(void)
{
    struct sprof_error error = {0};
    struct seen before = {0}, within = {0}, after = {0};
    const struct store_counter row = {1, "late", 99};
    const struct store_batch batch = {.counters = {(struct store_counter *)&row, 1, 1}};
    struct store *other;
    CU_ASSERT_EQUAL_FATAL(store_open_write(&other, example.place.path, &error), 0);
    CU_ASSERT_EQUAL_FATAL(store_begin_reading(example.store, &error), 0);
    CU_ASSERT_EQUAL(store_each_counter(example.store, 1, see_counter, &before, NULL), 0);
    CU_ASSERT_EQUAL(store_write(other, &batch, &error), 0);
    CU_ASSERT_EQUAL(store_each_counter(example.store, 1, see_counter, &within, NULL), 0);
    CU_ASSERT_STRING_EQUAL(within.ids, before.ids);
    store_end_reading(example.store);
    store_end_reading(example.store); /* which did not begin */
    CU_ASSERT_EQUAL(store_each_counter(example.store, 1, see_counter, &after, NULL), 0);
    CU_ASSERT_EQUAL(after.count, before.count + 1);
    store_close(other, NULL);
}

void sprof_suite_store_reader(void);
void sprof_suite_store_reader(void)
{
    CU_pSuite suite = CU_add_suite("store/reader", example_open, example_close);
    CU_add_test(suite, "rows come in order", test_rows_come_in_order);
    CU_add_test(suite, "other runs are left out", test_other_runs_are_left_out);
    CU_add_test(suite, "a callback stops", test_callback_stops);
    CU_add_test(suite, "samples, filtered, in time order", test_samples_filtered_in_time_order);
    CU_add_test(suite, "a sample has its names", test_sample_has_its_names);
    CU_add_test(suite, "costs by node", test_costs_by_node);
    CU_add_test(suite, "costs by node, of samples", test_costs_by_node_of_samples);
    CU_add_test(suite, "costs by path", test_costs_by_path);
    CU_add_test(suite, "quality", test_quality);
    CU_add_test(suite, "reading is of one moment", test_reading_is_of_one_moment);
}
