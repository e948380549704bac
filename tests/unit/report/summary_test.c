#include "tests/unit/report/recorded.h"

static void test_summary(void)
{
    struct captured *captured = capture();
    CU_ASSERT_EQUAL(report_summary(captured->out, example.store,
                                   &(struct report_summary_options){.path = "sprof.db",
                                                                    .note = "What cures it."},
                                   NULL),
                    0);
    assert_text(
        captured_text(captured),
        "sprof: 6 samples · 8.0 ms of CPU time in 2.00 s (0 %) · 3 lost · 66.67 % whole stacks\n"
        "sprof: 1 guessed frame · 82.35 % named · sprof.db\n"
        "sprof: What cures it.\n"
        "sprof: the target was on a CPU for 0 % of the time: `sprof record --clock wall` shows "
        "where it waited, or was ready without one\n"
        "sprof: libs.so has no symbols: build it with -g, and do not strip it\n"
        "sprof: 24.9 % of the CPU time has no sample, mostly of samples that were lost: "
        "[not sampled]\n"
        "sprof: 33.3 % of the samples were lost: record with a lower -F or --stack-bytes\n"
        "  self   ±    time  function       module\n"
        "  38 %  31  3.0 ms  S2             libs.so\n"
        "  25 %  29  2.0 ms  A2             prog\n"
        "  25 %  29  2.0 ms  [not sampled]  [none]\n"
        "  13 %  25  1.0 ms  A1             prog\n"
        "  total    time  self  hottest path\n"
        "   75 %  6.0 ms  13 %  A1\n"
        "   38 %  3.0 ms  13 %  └ A2\n"
        "   25 %  2.0 ms   0 %    └ S1\n"
        "   25 %  2.0 ms  25 %      └ S2\n"
        "next: sprof record --clock wall … · sprof report --tree sprof.db · sprof html sprof.db\n");
    capture_free(captured);
    captured = capture();
    CU_ASSERT_EQUAL(
        report_summary(captured->out, example.store,
                       &(struct report_summary_options){.path = example.place.path, .note = ""},
                       NULL),
        0);
    CU_ASSERT_PTR_NOT_NULL(strstr(captured_text(captured), "sprof.db, 0."));
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, " · sprof html /tmp/"));
    capture_free(captured);
    captured = capture();
    CU_ASSERT_EQUAL(report_summary(captured->out, example.store,
                                   &(struct report_summary_options){
                                       .path = "a file.db", .note = "", .verbose = true},
                                   NULL),
                    0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(captured_text(captured), "sprof: cpu-clock, 997 Hz asked · 3 lost"));
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, "2 processes, 3 threads, 3 modules · own cost"));
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, "sprof html 'a file.db'"));
    capture_free(captured);
}

void sprof_suite_report_summary(void);
void sprof_suite_report_summary(void)
{
    CU_pSuite suite = CU_add_suite("report/summary", example_open, example_close);
    CU_add_test(suite, "the whole of it", test_summary);
}
