#include "report/quality.h"
#include "store/store.h"
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
        "   38 %  3.0 ms  13 %  ├ A2\n"
        "   25 %  2.0 ms   0 %  │ └ S1\n"
        "   25 %  2.0 ms  25 %  │   └ S2\n"
        "   25 %  2.0 ms   0 %  └ A3\n"
        "   25 %  2.0 ms  13 %    └ A2\n"
        "next: sprof record --clock wall -- prog --fast · sprof report --tree sprof.db · sprof "
        "html "
        "sprof.db\n");
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

/* Of the example after a change, what is written holds the text. */
static void assert_says(const char *change, const char *text)
{
    const struct place place = place_make();
    struct captured *captured = capture();
    const struct report_summary_options options = {.path = "a.db", .note = ""};
    struct store *store = example_changed(&place, change);
    CU_ASSERT_EQUAL(report_summary(captured->out, store, &options, NULL), 0);
    if (!strstr(captured_text(captured), text))
        fprintf(stderr, "no '%s' in:\n%s", text, captured->text);
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, text));
    capture_free(captured);
    CU_ASSERT_EQUAL(store_close(store, NULL), 0);
    place_remove(&place);
}

/* What records the waits, too, is said of the target itself. */
static void test_next(void)
{
    static const struct {
        const char *set, *next;
    } cases[] = {
        {"command = NULL, targets = '7,42'", "next: sprof record --clock wall -p 7,42 · "},
        {"command = NULL, targets = 'all that runs'", "next: sprof record -a --off-cpu · "},
        {"command = printf('%0200d', 1)", "next: sprof record --clock wall -- … · "},
        {"command = NULL, targets = 'thread 42'", "next: sprof record --clock wall -t 42 · "},
        {"command = NULL, targets = ''", "next: sprof record --clock wall -- … · "},
        {"command = NULL, targets = 'perf.data'", "next: sprof record --clock wall -- … · "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char sql[200];
        snprintf(sql, sizeof sql, "UPDATE run SET %s", cases[i].set);
        assert_says(sql, cases[i].next);
    }
}

/* The example's target was on a CPU for 8 ms of 2 s. What is known of the machine says why. */
static void test_busy_machine(void)
{
#define COUNTED(name, ms) "INSERT INTO counter VALUES (1, '" name "', " #ms "000000); "
    static const char on_busy[] =
        "sprof: the target was on a CPU for 0 % of the time, on a machine whose CPUs were busy for "
        "95 % of it: `sprof record --clock wall` shows whether it waited, or was ready without one"
        "\n";
    static const char idle[] = COUNTED(STORE_MACHINE_CPU, 4000) COUNTED(STORE_MACHINE_BUSY, 1000);
    static const char busy[] = COUNTED(STORE_MACHINE_CPU, 4000) COUNTED(STORE_MACHINE_BUSY, 3800);
    static const char ready[] = COUNTED(STORE_TARGET_READY, 1500) COUNTED(STORE_MACHINE_CPU, 4000)
        COUNTED(STORE_MACHINE_BUSY, 1000);
    static const char crowded[] = COUNTED(STORE_TARGET_READY, 1500) COUNTED(STORE_MACHINE_CPU, 4000)
        COUNTED(STORE_MACHINE_BUSY, 3800);
    static const char waits_first[] = "next: sprof record --clock wall -- prog --fast · ";
    assert_says(idle, "0 % of the time: `sprof record --clock wall` shows where it waited, or");
    assert_says(idle, waits_first);
    assert_says(busy, on_busy);
    assert_says(busy, "next: sprof report --tree a.db · sprof html a.db · "
                      "sprof record --clock wall -- prog --fast\n");
    assert_says(crowded,
                "sprof: the machine was busy: the target was on a CPU for 0 % of the time, "
                "and ready without one for 75 %, as other programs had the CPUs\n");
    assert_says(ready, "sprof: the target was on a CPU for 0 % of the time, and ready without one "
                       "for 75 %: a limit of its cgroup or of taskset held it, or its threads "
                       "shared too few CPUs\n");
    assert_says(ready, "next: sprof report --tree a.db · sprof html a.db\n");
    /* One thread's time is known: it has waited for all that it did not run. */
    char one_thread[512];
    snprintf(one_thread, sizeof one_thread,
             "%s; DELETE FROM sample WHERE thread_id > 1; DELETE FROM thread WHERE id > 1", busy);
    assert_says(one_thread, waits_first);
}

/* Where many command lines ran, a person asks which took the time. */
static void test_many_commands(void)
{
    static const char more[] =
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
        "INSERT INTO process (id, run_id, pid, start_ns, end_ns, name, command) "
        "SELECT 100 + i, 1, 100 + i, 0, 1, 'cc', 'cc ' || (i / %d) FROM n";
    char sql[512];
    snprintf(sql, sizeof sql, more, 20, 1);
    assert_says(sql, " · sprof report --by command a.db · sprof report --tree a.db · ");
    snprintf(sql, sizeof sql, more, 20, 10); /* often the same */
    assert_says(sql, "-- prog --fast · sprof report --tree a.db · ");
}

/* Where the kernel is not seen, C libraries may enter it by functions of their own. */
static void test_waits(void)
{
#define WALL "UPDATE event SET name = '" MODEL_EVENT_WALL "'; "
#define POLL "UPDATE function SET name = 'poll', named = 1 WHERE name = "
    static const char waits[] = "of threads' time is waiting: 38 % in poll by A2";
    assert_says(WALL POLL "'S2'", waits);
    assert_says(WALL POLL "'S1'; UPDATE function SET name = '__syscall_cancel_arch' "
                          "WHERE name = 'S2'",
                waits);
    assert_says(WALL POLL "'S1'; UPDATE function SET name = 'libs.so+0x600', named = 0 "
                          "WHERE name = 'S2'",
                waits);
}

void sprof_suite_report_summary(void);
void sprof_suite_report_summary(void)
{
    CU_pSuite suite = CU_add_suite("report/summary", example_open, example_close);
    CU_add_test(suite, "the whole of it", test_summary);
    CU_add_test(suite, "what comes next", test_next);
    CU_add_test(suite, "a machine that is busy", test_busy_machine);
    CU_add_test(suite, "many command lines", test_many_commands);
    CU_add_test(suite, "waits without the kernel's functions", test_waits);
}
