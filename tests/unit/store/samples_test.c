/* Samples in order and by ranges of time, against sorting all of them. */
#include "store/samples.h"
#include "tests/unit/store/recording.h"

#include "store/database.h"

#include <stdlib.h>

enum { SAMPLES = 20000, TAIL = 40, DISORDER_NS = 700, STEP_NS = 100 };

static struct place place;
static struct store *store;

/* Times that ascend but for a bounded disorder, then rows of CPU time that was not sampled, of all
 * times. A second run follows. */
static int fill(void)
{
    const struct store_run run = example_run();
    struct store_run other = run;
    struct store_batch batch = {.run = &other};
    struct store_derived derived = {0};
    other.id = 2;
    other.key = 2;
    int status =
        sprof_vec_push(&batch.events,
                       (struct store_event){.id = 2, .run_id = 2, .name = "cycles"}) ||
        sprof_vec_push(&batch.processes,
                       (struct store_process){.id = 3, .run_id = 2, .pid = 300}) ||
        sprof_vec_push(&batch.threads,
                       (struct store_thread){.id = 4, .process_id = 3, .tid = 300}) ||
        sprof_vec_push(&batch.threads, (struct store_thread){.id = 5, .process_id = 3, .tid = 301});
    for (uint64_t i = 0; i < SAMPLES + TAIL && !status; i++) {
        const uint64_t random = sprof_hash_mix(i + 1);
        const bool sampled = i < SAMPLES;
        const struct store_sample sample = {
            .id = 100 + i,
            .run_id = 2,
            .event_id = 2,
            .thread_id = 4 + (uint32_t)(random >> 40) % 2,
            .node_id = 1 + (uint32_t)(random >> 8) % 5,
            .time_ns = sampled ? DISORDER_NS + i * STEP_NS - random % DISORDER_NS
                               : random % (SAMPLES * STEP_NS),
            .weight = 1 + random % 5,
            .count = sampled,
        };
        status = sprof_vec_push(&batch.samples, sample);
    }
    uint32_t id = 2;
    const struct store_sample_summary summary = {.run_id = 2,
                                                 .first_sample = 100,
                                                 .last_sample = 100 + SAMPLES - 1,
                                                 .disorder_ns = DISORDER_NS,
                                                 .samples = SAMPLES};
    status = status || sprof_vec_push(&derived.runs, id) ||
             sprof_vec_push(&derived.sample_summaries, summary) ||
             store_write(store, &batch, NULL) || store_write_derived(store, &derived, NULL);
    store_batch_release(&batch);
    store_derived_release(&derived);
    return status;
}

static int open_samples(void)
{
    place = place_make();
    store = example_create(&place);
    return fill();
}

static int close_samples(void)
{
    store_close(store, NULL);
    place_remove(&place);
    return 0;
}

struct seen {
    uint64_t count, hash, last_ns;
    bool ordered;
};

static int see(void *context, const struct store_sample_row *row)
{
    struct seen *seen = context;
    seen->ordered = (seen->ordered || !seen->count) && row->sample.time_ns >= seen->last_ns;
    seen->last_ns = row->sample.time_ns;
    seen->count++;
    seen->hash = sprof_hash_pair(seen->hash, row->sample.id);
    seen->hash = sprof_hash_pair(seen->hash, (uint64_t)row->tid);
    seen->hash = sprof_hash_pair(seen->hash, sprof_hash_text(row->event));
    return 0;
}

static void expect_as_sorted(const struct store_filter *filter, uint64_t least)
{
    struct seen found = {0}, sorted = {0};
    CU_ASSERT_EQUAL(store_each_sample(store, filter, see, &found, NULL), 0);
    CU_ASSERT_EQUAL(store_each_sorted_sample(store, filter, see, &sorted, NULL), 0);
    CU_ASSERT_TRUE(found.count == sorted.count && found.hash == sorted.hash);
    CU_ASSERT_TRUE(found.count >= least && (found.ordered || !found.count));
}

static void test_all_in_order(void)
{
    expect_as_sorted(&(struct store_filter){.run_id = 2}, SAMPLES + TAIL);
    expect_as_sorted(&(struct store_filter){.run_id = 1}, 7);
    expect_as_sorted(&(struct store_filter){.run_id = 2, .thread = "301"}, SAMPLES / 3);
    expect_as_sorted(&(struct store_filter){.run_id = 2, .process = "301"}, 0);
}

static void test_ranges(void)
{
    const uint64_t end = SAMPLES * STEP_NS + 2 * DISORDER_NS;
    for (uint64_t i = 0; i < 60; i++) {
        const uint64_t from = sprof_hash_mix(3 * i) % end,
                       length = sprof_hash_mix(3 * i + 1) % 5000;
        const struct store_filter filter = {
            .run_id = 2, .from_ns = from, .to_ns = from + length + 1};
        expect_as_sorted(&filter, 0);
    }
    expect_as_sorted(&(struct store_filter){.run_id = 2, .from_ns = end / 2}, SAMPLES / 3);
    expect_as_sorted(&(struct store_filter){.run_id = 2, .to_ns = end / 2}, SAMPLES / 3);
    expect_as_sorted(&(struct store_filter){.run_id = 2, .to_ns = 1}, 0);
    expect_as_sorted(&(struct store_filter){.run_id = 2, .from_ns = UINT64_MAX}, 0);
    expect_as_sorted(&(struct store_filter){.run_id = 2, .to_ns = UINT64_MAX}, SAMPLES + TAIL);
}

static int count_steps(void *steps)
{
    *(uint64_t *)steps += 100;
    return 0;
}

static void test_a_short_range_takes_few_steps(void)
{
    uint64_t steps = 0;
    struct seen seen = {0};
    const struct store_filter filter = {.run_id = 2, .from_ns = 1000000, .to_ns = 1002000};
    sqlite3_progress_handler(store->database, 100, count_steps, &steps);
    CU_ASSERT_EQUAL(store_each_sample(store, &filter, see, &seen, NULL), 0);
    sqlite3_progress_handler(store->database, 0, NULL, NULL);
    CU_ASSERT_TRUE(seen.count >= 15 && seen.count <= 30);
    CU_ASSERT_TRUE(steps < 10000);
}

struct hashed {
    uint64_t count, sum;
};

static int take_hash(void *context, const struct store_sample *sample)
{
    struct hashed *hashed = context;
    hashed->count++;
    hashed->sum += sprof_hash_mix(sample->id);
    return 0;
}

static int take_row_hash(void *context, const struct store_sample_row *row)
{
    return take_hash(context, &row->sample);
}

/* As one range after the other; also ranges whose rows overlap, as they are close to each other. */
static void expect_as_single_ranges(uint64_t count, uint64_t step_ns, uint64_t length_ns)
{
    struct hashed found = {0}, single = {0};
    SPROF_VEC(struct store_time_range) ranges = {0};
    for (uint64_t i = 0; i < count; i++) {
        const struct store_time_range range = {i * step_ns + 50, i * step_ns + 50 + length_ns};
        const struct store_filter filter = {
            .run_id = 2, .from_ns = range.from_ns, .to_ns = range.to_ns};
        CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&ranges, range), 0);
        CU_ASSERT_EQUAL(store_each_sample(store, &filter, take_row_hash, &single, NULL), 0);
    }
    CU_ASSERT_EQUAL(
        store_each_sample_in_ranges(store, 2, ranges.items, count, take_hash, &found, NULL), 0);
    CU_ASSERT_TRUE(found.count > 0 && found.count == single.count && found.sum == single.sum);
    sprof_vec_release(&ranges);
}

static void test_many_ranges(void)
{
    expect_as_single_ranges(1, 0, SAMPLES * STEP_NS);
    expect_as_single_ranges(20, 100000, 1000);
    expect_as_single_ranges(200, 1000, 300);  /* of rows that overlap */
    expect_as_single_ranges(1000, 2000, 500); /* so many that all rows are read */
}

/* As many ranges as there are cost no more than all rows, and few of them little. */
static void test_many_ranges_take_few_steps(void)
{
    static struct store_time_range ranges[2 * SAMPLES];
    struct hashed found = {0};
    uint64_t few = 0, many = 0, whole = 0;
    for (uint64_t i = 0; i < 2 * SAMPLES; i++)
        ranges[i] = (struct store_time_range){i * 100000, i * 100000 + 2000};
    sqlite3_progress_handler(store->database, 100, count_steps, &few);
    CU_ASSERT_EQUAL(store_each_sample_in_ranges(store, 2, ranges, 10, take_hash, &found, NULL), 0);
    sqlite3_progress_handler(store->database, 100, count_steps, &many);
    CU_ASSERT_EQUAL(
        store_each_sample_in_ranges(store, 2, ranges, 2 * SAMPLES, take_hash, &found, NULL), 0);
    sqlite3_progress_handler(store->database, 100, count_steps, &whole);
    CU_ASSERT_EQUAL(store_each_raw_sample(store, 2, take_hash, &found, NULL), 0);
    sqlite3_progress_handler(store->database, 0, NULL, NULL);
    CU_ASSERT_TRUE(few < whole / 4);
    CU_ASSERT_TRUE(many < whole * 2);
}

static int add_cost(void *context, const struct store_node_cost *cost)
{
    struct model_cost *sum = context;
    sum->samples += cost->cost.samples;
    sum->weight += cost->cost.weight;
    return 0;
}

static int add_sample(void *context, const struct store_sample_row *row)
{
    struct model_cost *sum = context;
    sum->samples += row->sample.count;
    sum->weight += row->sample.weight;
    return 0;
}

static void test_costs_of_a_range(void)
{
    struct model_cost by_node = {0}, by_sample = {0};
    const struct store_filter filter = {.run_id = 2, .from_ns = 5000, .to_ns = 300000};
    CU_ASSERT_EQUAL(store_each_node_cost(store, &filter, add_cost, &by_node, NULL), 0);
    CU_ASSERT_EQUAL(store_each_sample(store, &filter, add_sample, &by_sample, NULL), 0);
    CU_ASSERT_TRUE(by_node.samples > 2900 && by_node.samples == by_sample.samples);
    CU_ASSERT_EQUAL(by_node.weight, by_sample.weight);
}

void sprof_suite_store_samples(void);
void sprof_suite_store_samples(void)
{
    CU_pSuite suite = CU_add_suite("store/samples", open_samples, close_samples);
    CU_add_test(suite, "all in order", test_all_in_order);
    CU_add_test(suite, "ranges", test_ranges);
    CU_add_test(suite, "a short range takes few steps", test_a_short_range_takes_few_steps);
    CU_add_test(suite, "many ranges", test_many_ranges);
    CU_add_test(suite, "many ranges take few steps", test_many_ranges_take_few_steps);
    CU_add_test(suite, "costs of a range", test_costs_of_a_range);
}
