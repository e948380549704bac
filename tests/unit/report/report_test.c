#include "tests/unit/report/recorded.h"

/* Expects a report that is exactly this. */
static void check(struct report_request request, const char *expected)
{
    struct captured *captured = capture();
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(report_write(captured->out, example.store, &request, &error), 0);
    assert_text(captured_text(captured), expected);
    capture_free(captured);
}

static void check_failure(struct report_request request, int code, const char *message)
{
    struct captured *captured = capture();
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(report_write(captured->out, example.store, &request, &error), code);
    assert_text(error.message, message);
    assert_text(captured_text(captured), "");
    capture_free(captured);
}

#define WAITED                                                                                     \
    "the target was on a CPU for 0 % of the time: `sprof record --clock wall` shows where it "     \
    "waited, or was ready without one\n"
#define LOST "33.3 % of the samples were lost: record with a lower -F or --stack-bytes\n"
#define CURES                                                                                      \
    WAITED "libs.so has no symbols: build it with -g, and do not strip it\n"                       \
           "24.9 % of the CPU time has no sample, mostly of samples that were lost: "              \
           "[not sampled]\n" LOST

/* 6 × 1.003009 ms were sampled and 2 ms were not: percentages are of CPU time. */
static void test_time_that_was_not_sampled_has_its_share(void)
{
    check((struct report_request){0},
          "Functions by self time                       % of 8.0 ms of CPU time\n"
          "  self   ±    time  function       module\n"
          "  38 %  31  3.0 ms  S2             libs.so\n"
          "  25 %  29  2.0 ms  A2             prog\n"
          "  25 %  29  2.0 ms  [not sampled]  [none]\n"
          "  13 %  25  1.0 ms  A1             prog\n"
          "\n"
          "  total    time  self  hottest path\n"
          "   75 %  6.0 ms  13 %  A1\n"
          "   38 %  3.0 ms  13 %  ├ A2\n"
          "   25 %  2.0 ms   0 %  │ └ S1\n"
          "   25 %  2.0 ms  25 %  │   └ S2\n"
          "   25 %  2.0 ms   0 %  └ A3\n"
          "   25 %  2.0 ms  13 %    └ A2\n"
          "\n"
          "6 samples · 8.0 ms of CPU time in 2.00 s (0 %) · 3 lost · 66.67 % whole stacks · 1 "
          "guessed frame\n"
          "82.35 % named\n" CURES);
}

static void test_all_about_the_quality(void)
{
    check((struct report_request){.table = {.view = REPORT_TREE, .limit = 1},
                                  .style = {.verbose = true}},
          "Call paths                                   % of 8.0 ms of CPU time\n"
          "  samples  total    time  self  call path\n"
          "        6   75 %  6.0 ms  13 %  A1\n"
          "  … 8 more call paths, self 87 % together\n"
          "\n6 samples · 3 lost · 66.67 % whole stacks · 1 guessed frame · 82.35 % named\n"
          "mode full · perf per CPU, filtered · cpu-clock, 997 Hz asked\n"
          "8.0 ms of CPU time in 2.00 s (0 %) · sprof's own cost 20.0 ms\n" CURES);
}

static void test_one_thread(void)
{
    check(
        (struct report_request){.selection = {.thread = "worker"}, .table = {.view = REPORT_TREE}},
        "Call paths                                   % of 1 sample in thread worker\n"
        "  samples  total  of all    time   self  call path\n"
        "        1  100 %    17 %  1.0 ms    0 %  A1\n"
        "        1  100 %    17 %  1.0 ms    0 %  └ A3\n"
        "        1  100 %    17 %  1.0 ms  100 %    └ A2 (inlined)\n"
        "\nof the whole run: 6 samples · 6.0 ms of CPU time in 2.00 s (0 %) · 3 lost · 66.67 % "
        "whole stacks\n"
        "1 guessed frame · 82.35 % named\n" WAITED LOST);
}

static void test_the_tree_of_each_thread(void)
{
    static const enum report_key keys[] = {REPORT_PROCESS, REPORT_THREAD, REPORT_LINE};
    check((struct report_request){.table = {.view = REPORT_TREE_BY, .keys = keys, .key_count = 2}},
          "Call paths                                   % of 8.0 ms of CPU time\n"
          "  samples  total    time  self  call path\n"
          "        6   75 %  6.0 ms   0 %  prog 100\n"
          "        5   63 %  5.0 ms   0 %  ├ prog 100\n"
          "        5   63 %  5.0 ms  13 %  │ └ A1\n"
          "        3   38 %  3.0 ms  13 %  │   ├ A2\n"
          "        2   25 %  2.0 ms   0 %  │   │ └ S1\n"
          "        2   25 %  2.0 ms  25 %  │   │   └ S2\n"
          "        1   13 %  1.0 ms   0 %  │   └ A3\n"
          "        1   13 %  1.0 ms   0 %  │     └ A2\n"
          "        1   13 %  1.0 ms   0 %  │       └ S1\n"
          "        1   13 %  1.0 ms  13 %  │         └ S2\n"
          "        1   13 %  1.0 ms   0 %  └ worker 101\n"
          "        1   13 %  1.0 ms   0 %    └ A1\n"
          "        1   13 %  1.0 ms   0 %      └ A3\n"
          "        1   13 %  1.0 ms  13 %        └ A2\n"
          "        0   25 %  2.0 ms   0 %  child 200\n"
          "        0   25 %  2.0 ms   0 %  └ child 200\n"
          "        0   25 %  2.0 ms  25 %    └ [not sampled]\n"
          "\n6 samples · 8.0 ms of CPU time in 2.00 s (0 %) · 3 lost · 66.67 % whole stacks · 1 "
          "guessed frame\n82.35 % named\n" CURES);
    check_failure(
        (struct report_request){
            .table = {.view = REPORT_TREE_BY, .keys = keys + 2, .key_count = 1}},
        SPROF_EUSAGE,
        "a tree is grouped by what a whole sample is of, as process, thread, "
        "command or cpu, and not by line");
}

static void test_inlined_functions_count_for_real_ones(void)
{
    check((struct report_request){.selection = {.thread = "worker", .no_inlined = true},
                                  .table = {.view = REPORT_TREE}},
          "Call paths                                   % of 1 sample in thread worker\n"
          "  samples  total  of all    time   self  call path\n"
          "        1  100 %    17 %  1.0 ms    0 %  A1\n"
          "        1  100 %    17 %  1.0 ms  100 %  └ A3\n"
          "\nof the whole run: 6 samples · 6.0 ms of CPU time in 2.00 s (0 %) · 3 lost · 66.67 % "
          "whole stacks\n"
          "1 guessed frame · 82.35 % named\n" WAITED LOST);
}

static void test_read_as_app_keeps_what_was_not_sampled(void)
{
    struct captured *captured = capture();
    const struct report_request request = {
        .selection = {.other_mode = true, .mode = MODEL_MODE_APP},
        .table = {.view = REPORT_TREE},
        .style = style_of("csv")};
    CU_ASSERT_EQUAL(report_write(captured->out, example.store, &request, NULL), 0);
    const char *text = captured_text(captured);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "3,37.52"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "[not sampled]"));
    CU_ASSERT_PTR_NULL(strstr(text, "[outside"));
    CU_ASSERT_PTR_NULL(strstr(text, "S2"));
    capture_free(captured);
}

static void test_what_is_not_there(void)
{
    check_failure((struct report_request){.selection = {.run_id = 9}}, SPROF_ENOTFOUND,
                  "there is no run 9: the recording holds 1 run");
    check_failure((struct report_request){.selection = {.thread = "wroker"}}, SPROF_ENOTFOUND,
                  "no thread is called 'wroker'; near it: worker");
    check_failure((struct report_request){.selection = {.process = "child", .thread = "worker"}},
                  SPROF_ENOTFOUND,
                  "no thread is called 'worker'; `sprof report --threads` lists them");
    check_failure((struct report_request){.table = {.view = REPORT_CALLERS, .function = "A4"}},
                  SPROF_ENOTFOUND, "no sample contains a function 'A4'; near it: A1, A2, A3");
}

static void test_numbers_name_threads_too(void)
{
    struct captured *captured = capture();
    const struct report_request request = {.selection = {.thread = "101", .process = "100"}};
    CU_ASSERT_EQUAL(report_write(captured->out, example.store, &request, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(captured_text(captured), "% of 1 sample in process 100 in "
                                                           "thread 101"));
    capture_free(captured);
}

static void test_a_full_disk_is_said(void)
{
    FILE *full = fopen("/dev/full", "w");
    struct sprof_error error = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(full);
    CU_ASSERT_EQUAL(report_write(full, example.store, &(struct report_request){0}, &error),
                    SPROF_EFULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "No space left"));
    fclose(full);
}

void sprof_suite_report_report(void);
void sprof_suite_report_report(void)
{
    CU_pSuite suite = CU_add_suite("report/report", example_open, example_close);
    CU_add_test(suite, "time that was not sampled has its share",
                test_time_that_was_not_sampled_has_its_share);
    CU_add_test(suite, "all about the quality", test_all_about_the_quality);
    CU_add_test(suite, "one thread", test_one_thread);
    CU_add_test(suite, "the tree of each thread", test_the_tree_of_each_thread);
    CU_add_test(suite, "inlined functions count for real ones",
                test_inlined_functions_count_for_real_ones);
    CU_add_test(suite, "read as app, what was not sampled stays",
                test_read_as_app_keeps_what_was_not_sampled);
    CU_add_test(suite, "what is not there", test_what_is_not_there);
    CU_add_test(suite, "numbers name threads too", test_numbers_name_threads_too);
    CU_add_test(suite, "a full disk is said", test_a_full_disk_is_said);
}
