#include "tests/unit/report/recorded.h"

static void test_summary(void)
{
    struct captured *captured = capture();
    CU_ASSERT_EQUAL(
        report_summary(captured->out, example.store, "sprof.db", "What cures it.", 100, NULL), 0);
    assert_text(
        captured_text(captured),
        "sprof: 6 samples in 6.0 ms (cpu-clock, 997 Hz asked) · 3 lost · 66.67 % whole stacks\n"
        "sprof: 1 guessed frame · 82.35 % named · 2 processes, 3 threads, 3 modules · own cost "
        "20.0 ms CPU\n"
        "sprof: sprof.db\n"
        "sprof: What cures it.\n"
        "sprof: the target was on a CPU for 0 % of the time: where it waited is not seen by these "
        "samples\n"
        "sprof: 24.9 % of the CPU time has no sample, mostly of samples that were lost: "
        "[not sampled]\n"
        "sprof: 33.3 % of the samples were lost: record with a lower -F or --stack-bytes\n"
        "  self   ±    time  function       module\n"
        "  38 %  31  3.0 ms  S2             libs.so\n"
        "  25 %  29  2.0 ms  A2             prog\n"
        "  25 %  29  2.0 ms  [not sampled]  [none]\n"
        "  13 %  25  1.0 ms  A1             prog\n"
        "next: sprof report · sprof report --inclusive · sprof report --tree\n");
    capture_free(captured);
    captured = capture();
    CU_ASSERT_EQUAL(report_summary(captured->out, example.store, example.place.path, "", 100, NULL),
                    0);
    CU_ASSERT_PTR_NOT_NULL(strstr(captured_text(captured), "sprof.db, 0."));
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, "next: sprof report -i /tmp/"));
    capture_free(captured);
}

void sprof_suite_report_summary(void);
void sprof_suite_report_summary(void)
{
    CU_pSuite suite = CU_add_suite("report/summary", example_open, example_close);
    CU_add_test(suite, "the whole of it", test_summary);
}
