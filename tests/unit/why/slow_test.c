#include "tests/unit/why/scene.h"

/* A call that begins now, with its arguments; it ends with the last sample. */
static size_t begin_call(struct why_calls *calls, const struct scene *scene, uint32_t thread,
                         const char *shop, const char *rows)
{
    const struct why_value values[] = {{"shop", shop}, {"rows", rows}};
    const struct why_call call = {.start_ns = scene->now_ns[thread],
                                  .thread = thread,
                                  .first_value = (uint32_t)calls->values.count,
                                  .value_count = 2,
                                  .is_sample = true};
    for (size_t i = 0; i < 2; i++)
        CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&calls->values, values[i]), 0);
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&calls->list, call), 0);
    calls->count++;
    return calls->list.count - 1;
}

static void end_call(struct why_calls *calls, const struct scene *scene, size_t call)
{
    calls->list.items[call].end_ns = scene->now_ns[calls->list.items[call].thread];
}

static void says(struct scene *scene, struct why_calls *calls, const char *wanted,
                 struct why_verdict *verdict)
{
    struct sprof_str text = {0};
    struct why_table *table = &scene->table;
    qsort(table->samples.items, table->samples.count, sizeof *table->samples.items, scene_by_end);
    table->duration_ns = table->samples.items[table->samples.count - 1].end_ns;
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&calls->functions, scene_function(scene, "handle")), 0);
    calls->to_ns = table->duration_ns;
    CU_ASSERT_EQUAL_FATAL(why_judge_slow(verdict, table, calls), 0);
    CU_ASSERT_EQUAL(why_headline(&text, table, verdict), 0);
    CU_ASSERT_STRING_EQUAL(text.text, wanted);
    if (strcmp(text.text, wanted) != 0)
        printf("\nwanted: %s\nfound:  %s\n", wanted, text.text);
    sprof_str_release(&text);
}

static void release(struct scene *scene, struct why_calls *calls, struct why_verdict *verdict)
{
    why_verdict_release(verdict);
    why_calls_release(calls);
    why_table_release(&scene->table);
}

/* Each fiftieth call is of a shop of its own and works for longer; another thread does nothing but
 * that work outside of these calls. */
static void serve(struct scene *scene, struct why_calls *calls, unsigned count)
{
    static const char *const shops[] = {"1", "2", "3", "4", "5"};
    const uint32_t thread = scene_thread(scene, "prog"), other = scene_thread(scene, "other");
    for (unsigned i = 0; i < count; i++) {
        const bool is_slow = i % 50 == 7;
        const size_t call =
            begin_call(calls, scene, thread, is_slow ? "42" : shops[i % 5], "0x7f0000001000");
        scene_work(scene, thread, 1, "main handle parse");
        if (is_slow)
            scene_work(scene, thread, 20, "main handle discount");
        end_call(calls, scene, call);
        scene_work(scene, thread, 1, "main idle");
        scene_work(scene, other, 2, "main tend");
    }
}

static void test_a_value_makes_calls_slow(void)
{
    struct scene scene = {0};
    struct why_calls calls = {.of = "^handle$"};
    struct why_verdict verdict;
    serve(&scene, &calls, 1000);
    says(&scene, &calls, "Slow calls of handle are slow because discount computes, when shop = 42",
         &verdict);
    CU_ASSERT_EQUAL(verdict.slow.slow, 20);
    CU_ASSERT_EQUAL(verdict.slow.calls, 1000);
    CU_ASSERT_DOUBLE_EQUAL(verdict.slow.slow_ns, 21.0 * MS, 1);
    CU_ASSERT_DOUBLE_EQUAL(verdict.slow.usual_ns, 1.0 * MS, 1);
    CU_ASSERT_TRUE(verdict.share.share > 0.99); /* what usual calls do as well is none of it */
    release(&scene, &calls, &verdict);
}

static void test_a_limit_chooses(void)
{
    struct scene scene = {0};
    struct why_calls calls = {.of = "handle", .over_ns = 15 * MS};
    struct why_verdict verdict;
    serve(&scene, &calls, 500);
    says(&scene, &calls, "Slow calls of handle are slow because discount computes, when shop = 42",
         &verdict);
    CU_ASSERT_DOUBLE_EQUAL(verdict.slow.value_slow, 1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(verdict.slow.value_usual, 0, 1e-9);
    release(&scene, &calls, &verdict);
}

/* Calls take as long as they have rows. */
static void test_a_least_value(void)
{
    struct scene scene = {0};
    struct why_calls calls = {.of = "handle"};
    struct why_verdict verdict;
    static char rows[400][8];
    const uint32_t thread = scene_thread(&scene, "prog");
    for (unsigned i = 0; i < 400; i++) {
        const unsigned ms = i % 25 == 3 ? 20 + i % 20 : 1 + i % 3;
        snprintf(rows[i], sizeof rows[i], "%u", ms);
        const size_t call = begin_call(&calls, &scene, thread, "1", rows[i]);
        scene_work(&scene, thread, ms, "main handle scan");
        end_call(&calls, &scene, call);
    }
    says(&scene, &calls, "Slow calls of handle are slow because scan computes, when rows ≥ 23",
         &verdict);
    CU_ASSERT_TRUE(verdict.slow.is_least);
    release(&scene, &calls, &verdict);
}

/* A call that had no CPU is not slow by itself. */
static void test_time_without_a_cpu_is_taken_off(void)
{
    struct scene scene = {0};
    struct why_calls calls = {.of = "handle"};
    struct why_verdict verdict;
    const uint32_t thread = scene_thread(&scene, "prog");
    for (unsigned i = 0; i < 200; i++) {
        const size_t call = begin_call(&calls, &scene, thread, "1", "2");
        scene_work(&scene, thread, 1, "main handle scan");
        if (i % 20 == 3)
            scene_add(&scene, thread, WHY_READY, 80 * MS, "main handle scan");
        end_call(&calls, &scene, call);
    }
    says(&scene, &calls,
         "No calls of handle are slow: of 200, half take at most 1.00 ms, the longest takes "
         "1.00 ms",
         &verdict);
    CU_ASSERT_EQUAL(verdict.answer, WHY_NO_SLOW);
    release(&scene, &calls, &verdict);
}

/* A look stands for time of several threads, and of the whole call, however early in it it comes.
 */
static void test_early_looks_weigh_as_much_as_late_ones(void)
{
    struct scene scene = {0};
    struct why_calls calls = {.of = "handle"};
    struct why_verdict verdict;
    const uint32_t thread = scene_thread(&scene, "prog");
    for (unsigned i = 0; i < 1000; i++) {
        const size_t call = begin_call(&calls, &scene, thread, i % 50 == 7 ? "42" : "1", "2");
        scene_work(&scene, thread, 1, "main handle parse");
        if (i % 50 == 7) {
            scene_add(&scene, thread, WHY_SLEEP, 10 * MS, "main handle connect:usleep");
            scene_add(&scene, thread, WHY_SLEEP, 10 * MS, "main handle transfer:usleep");
        }
        end_call(&calls, &scene, call);
    }
    for (size_t i = 0; i < scene.table.samples.count; i++) {
        struct why_sample *sample = &scene.table.samples.items[i];
        sample->look_ns = sample->weight_ns;
        sample->weight_ns *= 6;
    }
    says(&scene, &calls,
         "Slow calls of handle are slow because connect sleeps in usleep, when shop = 42",
         &verdict);
    CU_ASSERT_DOUBLE_EQUAL(verdict.share.share, 0.5, 0.01);
    CU_ASSERT_TRUE_FATAL(verdict.next_count > 0);
    CU_ASSERT_DOUBLE_EQUAL(verdict.next[0].share, 0.5, 0.01);
    release(&scene, &calls, &verdict);
}

/* Clocks of two processors differ: the pause before a call seems to end in it. */
static void test_a_wait_before_a_call_is_none_of_it(void)
{
    struct scene scene = {0};
    struct why_calls calls = {.of = "handle"};
    struct why_verdict verdict;
    const uint32_t thread = scene_thread(&scene, "prog");
    for (unsigned i = 0; i < 1000; i++) {
        scene_add(&scene, thread, WHY_SLEEP, 50 * MS, "main pause:usleep");
        const size_t call = begin_call(&calls, &scene, thread, i % 50 == 7 ? "42" : "1", "2");
        calls.list.items[call].start_ns -= 100;
        scene_work(&scene, thread, i % 50 == 7 ? 20 : 1, "main handle discount");
        end_call(&calls, &scene, call);
    }
    says(&scene, &calls, "Slow calls of handle are slow because discount computes, when shop = 42",
         &verdict);
    CU_ASSERT_TRUE(verdict.share.share > 0.99);
    release(&scene, &calls, &verdict);
}

static void test_few_calls_are_not_compared(void)
{
    struct scene scene = {0};
    struct why_calls calls = {.of = "handle"};
    struct why_verdict verdict;
    serve(&scene, &calls, 10);
    says(&scene, &calls, "Too few calls of handle to compare: 10", &verdict);
    CU_ASSERT_EQUAL(verdict.answer, WHY_FEW_CALLS);
    release(&scene, &calls, &verdict);
}

/* By the time that slow calls take, and the mean of the small function's calls. */
static void test_many_calls_in_slow_ones(void)
{
    struct scene scene = {0};
    struct why_calls calls = {.of = "handle"};
    struct why_counts counts = {.look_ns = 1000 * (uint64_t)MS};
    struct why_verdict verdict;
    struct sprof_str text = {0};
    serve(&scene, &calls, 1000);
    says(&scene, &calls, "Slow calls of handle are slow because discount computes, when shop = 42",
         &verdict);
    const uint32_t discount = scene_function(&scene, "discount"),
                   handle = scene_function(&scene, "handle");
    struct why_called of = {discount, 40000, 40 * MS, 30000};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&counts.functions, of), 0);
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&counts.edges, (struct why_edge){handle, discount, 40000}),
                          0);
    CU_ASSERT_EQUAL(why_count(&verdict, &scene.table, &counts), 0);
    CU_ASSERT_EQUAL(why_headline(&text, &scene.table, &verdict), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(text.text, "because handle calls discount some 20"));
    verdict.many = (struct why_many){0};
    counts.functions.items[0].long_ns = 19 * MS; /* one long call */
    CU_ASSERT_EQUAL(why_count(&verdict, &scene.table, &counts), 0);
    CU_ASSERT_EQUAL(verdict.many.caller, 0);
    /* Nor do waits of a function that is called often, unless it computes as well. */
    const uint32_t parse = scene_function(&scene, "parse");
    of.function = parse;
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&counts.functions, of), 0);
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&counts.edges, (struct why_edge){discount, parse, 40000}),
                          0);
    verdict.next[0] = (struct why_candidate){.function = parse, .cause = WHY_LOCK, .share = 0.5};
    verdict.next[1] =
        (struct why_candidate){.function = parse, .cause = WHY_COMPUTES, .share = 0.9};
    verdict.next_count = 1;
    CU_ASSERT_EQUAL(why_count(&verdict, &scene.table, &counts), 0);
    CU_ASSERT_EQUAL(verdict.many.caller, 0);
    verdict.next_count = 2;
    CU_ASSERT_EQUAL(why_count(&verdict, &scene.table, &counts), 0);
    CU_ASSERT_EQUAL(verdict.many.caller, discount);
    sprof_str_release(&text);
    why_counts_release(&counts);
    release(&scene, &calls, &verdict);
}

void sprof_suite_why_slow(void);
void sprof_suite_why_slow(void)
{
    CU_pSuite suite = CU_add_suite("why/slow", NULL, NULL);
    CU_add_test(suite, "a value makes calls slow", test_a_value_makes_calls_slow);
    CU_add_test(suite, "a limit chooses", test_a_limit_chooses);
    CU_add_test(suite, "a least value", test_a_least_value);
    CU_add_test(suite, "time without a CPU is taken off", test_time_without_a_cpu_is_taken_off);
    CU_add_test(suite, "early looks weigh as much as late ones",
                test_early_looks_weigh_as_much_as_late_ones);
    CU_add_test(suite, "a wait before a call is none of it",
                test_a_wait_before_a_call_is_none_of_it);
    CU_add_test(suite, "few calls are not compared", test_few_calls_are_not_compared);
    CU_add_test(suite, "many calls in slow ones", test_many_calls_in_slow_ones);
}
