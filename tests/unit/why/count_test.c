/* What counts of calls add to a verdict. */
#include "tests/unit/why/scene.h"

static uint32_t number(struct scene *scene, const char *name)
{
    return scene_function(scene, name);
}

static void add_called(struct why_counts *counts, uint32_t function, uint64_t calls, uint64_t each)
{
    const struct why_called called = {function, calls, calls * each, each};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&counts->functions, called), 0);
}

static void add_edge(struct why_counts *counts, uint32_t caller, uint32_t callee, uint64_t calls)
{
    const struct why_edge edge = {caller, callee, calls};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&counts->edges, edge), 0);
}

/* `get` has most of the time, below main, handle, plan and `wrap`. */
static void judge(struct scene *scene, struct why_verdict *verdict)
{
    const uint32_t thread = scene_thread(scene, "prog");
    for (int i = 0; i < 100; i++) {
        scene_work(scene, thread, 6, "main handle plan wrap get");
        scene_work(scene, thread, 1, "main handle parse");
        scene_work(scene, thread, 1, "main handle");
    }
    CU_ASSERT_EQUAL_FATAL(why_judge(verdict, &scene->table), 0);
    CU_ASSERT_EQUAL_FATAL(verdict->function, number(scene, "get"));
}

static void release(struct scene *scene, struct why_verdict *verdict, struct why_counts *counts)
{
    why_counts_release(counts);
    why_verdict_release(verdict);
    why_table_release(&scene->table);
}

static void test_many(void)
{
    struct scene scene = {0};
    struct why_verdict verdict = {0};
    struct why_counts counts = {.look_ns = 500000000};
    judge(&scene, &verdict);
    uint32_t functions[WHY_COUNTED];
    CU_ASSERT_EQUAL(why_to_count(&scene.table, &verdict, functions), 6);
    CU_ASSERT_EQUAL(functions[0], number(&scene, "get"));
    add_called(&counts, number(&scene, "get"), 100000, 300);
    add_called(&counts, number(&scene, "wrap"), 99000, 320);
    add_called(&counts, number(&scene, "plan"), 10, 4000000);
    add_called(&counts, number(&scene, "handle"), 10, 5000000);
    add_edge(&counts, number(&scene, "wrap"), number(&scene, "get"), 99000);
    add_edge(&counts, number(&scene, "plan"), number(&scene, "wrap"), 99000);
    add_edge(&counts, number(&scene, "handle"), number(&scene, "plan"), 10);
    CU_ASSERT_EQUAL(why_count(&verdict, &scene.table, &counts), 0);
    CU_ASSERT_DOUBLE_EQUAL(verdict.rate.per_second, 200000, 1);
    CU_ASSERT_DOUBLE_EQUAL(verdict.rate.mean_ns, 300, 0.1);
    CU_ASSERT_EQUAL(verdict.rate.by, number(&scene, "wrap"));
    CU_ASSERT_DOUBLE_EQUAL(verdict.rate.by_share, 0.99, 0.001);
    CU_ASSERT_EQUAL(verdict.many.caller, number(&scene, "plan"));
    CU_ASSERT_EQUAL(verdict.many.callee, number(&scene, "wrap"));
    CU_ASSERT_DOUBLE_EQUAL(verdict.many.each, 9900, 0.1);
    struct sprof_str text = {0};
    CU_ASSERT_EQUAL(why_headline(&text, &scene.table, &verdict), 0);
    CU_ASSERT_STRING_EQUAL(
        text.text,
        "plan calls wrap 9 900 times in each of its own calls (320 ns each); get computes");
    sprof_str_release(&text);
    release(&scene, &verdict, &counts);
}

/* A caller that has not returned meanwhile has made one call. */
static void test_open_caller(void)
{
    struct scene scene = {0};
    struct why_verdict verdict = {0};
    struct why_counts counts = {.look_ns = 500000000};
    judge(&scene, &verdict);
    add_called(&counts, number(&scene, "get"), 70, 300);
    add_called(&counts, number(&scene, "wrap"), 0, 0);
    add_edge(&counts, number(&scene, "wrap"), number(&scene, "get"), 70);
    CU_ASSERT_EQUAL(why_count(&verdict, &scene.table, &counts), 0);
    CU_ASSERT_EQUAL(verdict.many.caller, number(&scene, "wrap"));
    CU_ASSERT_DOUBLE_EQUAL(verdict.many.each, 70, 0.1);
    release(&scene, &verdict, &counts);
}

/* Calls that take long, or are few, are no matter of their number. */
static void test_few(void)
{
    struct scene scene = {0};
    struct why_verdict verdict = {0};
    struct why_counts counts = {.look_ns = 500000000};
    judge(&scene, &verdict);
    add_called(&counts, number(&scene, "get"), 1000, 25000);
    add_called(&counts, number(&scene, "wrap"), 10, 2500000);
    add_edge(&counts, number(&scene, "wrap"), number(&scene, "get"), 1000);
    CU_ASSERT_EQUAL(why_count(&verdict, &scene.table, &counts), 0);
    CU_ASSERT_EQUAL(verdict.many.caller, 0);
    why_counts_release(&counts);
    counts.look_ns = 500000000;
    add_called(&counts, number(&scene, "get"), 290, 300);
    add_called(&counts, number(&scene, "wrap"), 10, 9000);
    add_edge(&counts, number(&scene, "wrap"), number(&scene, "get"), 290);
    CU_ASSERT_EQUAL(why_count(&verdict, &scene.table, &counts), 0);
    CU_ASSERT_EQUAL(verdict.many.caller, 0);
    CU_ASSERT_DOUBLE_EQUAL(verdict.rate.per_second, 580, 0.1);
    release(&scene, &verdict, &counts);
}

/* Nothing was counted, as of a function that is inlined. */
static void test_nothing(void)
{
    struct scene scene = {0};
    struct why_verdict verdict = {0};
    struct why_counts counts = {0};
    judge(&scene, &verdict);
    CU_ASSERT_EQUAL(why_count(&verdict, &scene.table, &counts), 0);
    CU_ASSERT_EQUAL(verdict.many.caller, 0);
    CU_ASSERT_DOUBLE_EQUAL(verdict.rate.per_second, 0, 0);
    release(&scene, &verdict, &counts);
}

/* A loop and the small function that it calls have 15 % each: neither is clear, both are. */
static void test_pair(void)
{
    struct scene scene = {0};
    struct why_verdict verdict = {0};
    struct why_counts counts = {.look_ns = 500000000};
    const uint32_t thread = scene_thread(&scene, "prog");
    for (int i = 0; i < 100; i++) {
        scene_work(&scene, thread, 3, "main handle plan");
        scene_work(&scene, thread, 3, "main handle plan get");
        for (int k = 0; k < 14; k++) {
            char stack[32];
            snprintf(stack, sizeof stack, "main handle leaf%d", k);
            scene_work(&scene, thread, 1, stack);
        }
    }
    CU_ASSERT_EQUAL_FATAL(why_judge(&verdict, &scene.table), 0);
    CU_ASSERT_EQUAL(verdict.answer, WHY_FLAT);
    add_called(&counts, number(&scene, "get"), 100000, 300);
    add_called(&counts, number(&scene, "plan"), 10, 4000000);
    add_edge(&counts, number(&scene, "plan"), number(&scene, "get"), 200);
    CU_ASSERT_EQUAL(why_count(&verdict, &scene.table, &counts), 0);
    CU_ASSERT_EQUAL(verdict.answer, WHY_FLAT); /* 20 calls in each are an ordinary loop */
    counts.edges.items[0].calls = 100000;
    CU_ASSERT_EQUAL(why_count(&verdict, &scene.table, &counts), 0);
    CU_ASSERT_EQUAL(verdict.answer, WHY_FUNCTION);
    CU_ASSERT_EQUAL(verdict.many.caller, number(&scene, "plan"));
    CU_ASSERT_EQUAL(verdict.many.callee, number(&scene, "get"));
    CU_ASSERT_TRUE(verdict.many.is_pair);
    CU_ASSERT_DOUBLE_EQUAL(verdict.share.share, 0.3, 0.001);
    CU_ASSERT_EQUAL(verdict.rate.by, number(&scene, "plan"));
    release(&scene, &verdict, &counts);
}

/* The loop is clear by itself, and what it calls takes a good part. */
static void test_clear_loop(void)
{
    struct scene scene = {0};
    struct why_verdict verdict = {0};
    struct why_counts counts = {.look_ns = 500000000};
    const uint32_t thread = scene_thread(&scene, "prog");
    for (int i = 0; i < 100; i++) {
        scene_work(&scene, thread, 5, "main handle plan");
        scene_work(&scene, thread, 2, "main handle plan get");
        scene_work(&scene, thread, 1, "main handle parse");
    }
    CU_ASSERT_EQUAL_FATAL(why_judge(&verdict, &scene.table), 0);
    CU_ASSERT_EQUAL(verdict.function, number(&scene, "plan"));
    add_called(&counts, number(&scene, "get"), 100000, 300);
    add_called(&counts, number(&scene, "plan"), 10, 4000000);
    add_edge(&counts, number(&scene, "plan"), number(&scene, "get"), 100000);
    const size_t next_count = verdict.next_count; /* of which none is left */
    verdict.next_count = 0;
    uint32_t functions[WHY_COUNTED];
    for (size_t i = why_to_count(&scene.table, &verdict, functions); i > 0; i--)
        CU_ASSERT_NOT_EQUAL(functions[i - 1], number(&scene, "get"));
    CU_ASSERT_EQUAL(why_count(&verdict, &scene.table, &counts), 0);
    CU_ASSERT_EQUAL(verdict.many.caller, 0);
    verdict.next_count = next_count;
    CU_ASSERT_EQUAL(why_count(&verdict, &scene.table, &counts), 0);
    CU_ASSERT_EQUAL(verdict.many.caller, number(&scene, "plan"));
    CU_ASSERT_EQUAL(verdict.many.callee, number(&scene, "get"));
    CU_ASSERT_DOUBLE_EQUAL(verdict.share.share, 0.875, 0.001);
    release(&scene, &verdict, &counts);
}

/* Of slow calls, whose loop has not ended while calls were counted, samples show the caller. */
static void test_slow_without_edge(void)
{
    struct scene scene = {0};
    struct why_verdict verdict = {0};
    struct why_counts counts = {.look_ns = 500000000};
    judge(&scene, &verdict);
    verdict.slow = (struct why_slow){.of = "^handle$", .slow_ns = 1e7, .usual_ns = 1e5};
    CU_ASSERT_EQUAL(why_count(&verdict, &scene.table, &counts), 0);
    CU_ASSERT_EQUAL(verdict.many.caller, 0); /* it was not called */
    add_called(&counts, number(&scene, "get"), 100000, 25000);
    CU_ASSERT_EQUAL(why_count(&verdict, &scene.table, &counts), 0);
    CU_ASSERT_EQUAL(verdict.many.caller, 0); /* it takes long */
    counts.functions.items[0].total_ns = 100000 * 300;
    counts.functions.items[0].long_ns = 400;
    CU_ASSERT_EQUAL(why_count(&verdict, &scene.table, &counts), 0);
    CU_ASSERT_EQUAL(verdict.many.caller, number(&scene, "wrap"));
    CU_ASSERT_EQUAL(verdict.many.callee, number(&scene, "get"));
    CU_ASSERT_DOUBLE_EQUAL(verdict.many.each, 0.75 * 9.9e6 / 300, 1);
    release(&scene, &verdict, &counts);
}

void sprof_suite_why_count(void);
void sprof_suite_why_count(void)
{
    CU_pSuite suite = CU_add_suite("why/count", NULL, NULL);
    CU_add_test(suite, "many calls", test_many);
    CU_add_test(suite, "a caller that has not returned", test_open_caller);
    CU_add_test(suite, "few calls", test_few);
    CU_add_test(suite, "nothing counted", test_nothing);
    CU_add_test(suite, "two functions that are one", test_pair);
    CU_add_test(suite, "a loop that is clear", test_clear_loop);
    CU_add_test(suite, "slow calls without counted callers", test_slow_without_edge);
}
