#include "tests/unit/import/importing.h"

#define PATHS "SELECT path, exclusive_samples, inclusive_weight FROM v_call_tree ORDER BY path"

static void expect(const char *text, const char *sql, const char *expected)
{
    importing_expect(NULL, text, strlen(text), sql, expected);
}

static void refused(const char *text, const char *messages)
{
    importing_refused("perf-script", text, strlen(text), messages, "nothing was imported");
}

static void skipped(const char *text, const char *messages, const char *expected)
{
    importing_skips("perf-script", text, strlen(text), messages, PATHS, expected);
}

static const char two_samples[] =
    "# a comment\n"
    "\n"
    "my prog 2  4242/4243  [003] 13230.095754:    2004008 cpu-clock:u: \n"
    "\t            1151 work(int, char (*)(int))+0x18 (/opt/my prog/p q)\n"
    "\t            1200 main+0x10 (/opt/my prog/p q)\n"
    "\tffffffff81000130 entry_SYSCALL_64 ([kernel.kallsyms])\n"
    "\n"
    "my prog 2  4242/4243  [003] 13230.105754:    2004008 cpu-clock:u: \n"
    "\t            1200 main+0x10 (/opt/my prog/p q)\n"
    "\n";

static void test_samples(void)
{
    expect(two_samples, PATHS,
           "entry_SYSCALL_64|0|2004008 entry_SYSCALL_64;main|0|2004008"
           " entry_SYSCALL_64;main;work(int, char (*)(int))|1|2004008 main|1|2004008");
    expect(two_samples, "SELECT time_ns, cpu, count, weight FROM sample ORDER BY id",
           "0|3|1|2004008 10000000|3|1|2004008");
    expect(two_samples, "SELECT pid, tid, thread FROM v_thread", "4242|4243|my prog 2");
    expect(two_samples, "SELECT name, is_clock, varying, period FROM event",
           "cpu-clock:u|1|0|2004008");
    expect(two_samples, "SELECT module, path, kind FROM v_module ORDER BY module",
           "[kernel]|[kernel]|kernel p q|/opt/my prog/p q|app");
    expect(two_samples,
           "SELECT file_offset FROM frame WHERE file_offset BETWEEN 0 AND 100000 ORDER BY 1",
           "4433 4608");
    /* How whole the stacks are is not told. */
    expect(two_samples, "SELECT samples, user_stacks FROM v_quality", "2|0");
}

static void test_line_forms(void)
{
    static const struct {
        const char *line, *expected;
    } cases[] = {
        {"p 7 1.5: cycles: \n\t 10 f (/p)\n\n", "7|7|cycles|1|-1"},
        {"p 7/8 1.5: 30 cycles:uppp: \n\t 10 f (/p)\n\n", "7|8|cycles:uppp|30|-1"},
        {"p 7 [001] 1.500000001: 3 sched:sched_switch: prev=a next=b\n\t 10 f (/p)\n\n",
         "7|7|sched:sched_switch|3|1"},
        {"p 7 1.5: 9 cycles:  10 f+0x1 (/p)\n", "7|7|cycles|9|-1"},
        {"               p 7 1.5: 9 cycles:  10 f+0x1 (/p)\n", "7|7|cycles|9|-1"},
        {"p 7 cycles: \n\t 10 f (/p)", "7|7|cycles|1|-1"},
        {"12 34 7/8 1.5: 1 cycles: \n\t 10 f (/p)\n\n", "7|8|cycles|1|-1"},
        {":-1 7/8 1.5: 1 cycles: \n\t 10 f (/p)\r\n\r\n", "7|8|cycles|1|-1"},
        /* Threads choose their names: they may look like the fields that follow. */
        {"io:1 2 3.0: 7/8 [002] 1.5: 1 cycles: \n\t 10 f (/p)\n\n", "7|8|cycles|1|2"},
        {"9 8.0: 1 x: 7/8 [002] 1.5: 1 cycles: \n\t 10 f (/p)\n\n", "7|8|cycles|1|2"},
        {"9 8.0: 1 x: 7/8 1.5: 1 cycles: \n\t 10 f (/p)\n\n", "7|8|cycles|1|-1"},
        {"worker 12: 7/8 [002] 1.5: 1 cycles:u: \n\t 10 f (/p)\n\n", "7|8|cycles:u|1|2"},
        {"worker 12 7 1.5: cycles: \n\t 10 f (/p)\n\n", "7|7|cycles|1|-1"},
        {"worker 12 7 1.500000001: 3 cycles: \n\t 10 f (/p)\n\n", "7|7|cycles|3|-1"},
        {"p 7/8 1.5: \n\t 10 f\n\n", "7|8|samples|1|-1"},
        {"p -1/-1 [002] 1.5: 1 cycles: \n\t 10 f (/p)\n\n", "0|0|cycles|1|2"},
        {"p 7/8 [002] U 1.5: 1 cycles: \n\t 10 f (/p)\n\n", "7|8|cycles|1|2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(
            cases[i].line,
            "SELECT s.pid, s.tid, e.name, s.weight, coalesce(s.cpu, -1) FROM v_sample s, event e",
            cases[i].expected);
}

static void test_frame_forms(void)
{
    static const struct {
        const char *frame, *expected;
    } cases[] = {
        {"10 f+0x2 (/p)", "f|p|1"},
        {"10 f(int) const (/tmp/x (deleted))", "f(int) const|x (deleted)|1"},
        {"10 operator+ (/p)", "operator+|p|1"},
        {"10 [unknown] (/usr/lib/libq.so)", "libq.so|libq.so|0"},
        {"10 [unknown] ([unknown])", "[unknown]|[unknown]|0"},
        {"ffffffffc0000010 x [mod] ([mod])", "x [mod]|[mod]|1"},
        {"10 f+0x2 (/p)\n\t  a b.c:12", "f|p|1"},
        {"10 f+0x2 (/p)\n  dir (1)/b.c:12 (discriminator 3)", "f|p|1"},
        {"10 f+0x2 (/p)\n  libq.so[29d90]", "f|p|1"},
        {"10 f+0x2 (/p)\n  ??:0", "f|p|1"},
        {"10 f+0x2 (/p)\n  :0", "f|p|1"},
        {"10 f+0x2/0x20 (/p)", "f|p|1"},
        {"10 f+0x2 (/p+0x1136)", "f|p|1"},
        {"10 f (/p)\n\t ffffffffffffffff [unknown] ([unknown])", "f|p|1"},
        {"10 f+0x2 (/opt/Old (x86)/p)", "f|p|1"},
        {"10 f(int) (/opt/Old (x86)/p)", "f(int)|p|1"},
        {"10 f(int)+0x2 (/opt/a)b (c/p)", "f(int)|p|1"},
        {"10 (/p)", "p|p|0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sprof_str text = {0};
        sprof_str_appendf(&text, "p 7 1.5: 1 cycles: \n\t %s\n\n", cases[i].frame);
        expect(text.text,
               "SELECT f.name, m.name, f.named FROM function f, module m ON m.id = f.module_id",
               cases[i].expected);
        sprof_str_release(&text);
    }
}

static void test_inlined_functions(void)
{
    static const char text[] = "p 7 1.5: 1 cycles: \n"
                               "\t 10 inner (inlined)\n"
                               "\t 10 middle (inlined)\n"
                               "\t 10 outer+0x3 (/p)\n"
                               "\t 99 main (/p)\n\n"
                               "p 7 1.6: 1 cycles: \n"
                               "\t 10 outer+0x3 (/p)\n\n";
    expect(text, PATHS,
           "main|0|1 main;outer|0|1 main;outer;middle|0|1 main;outer;middle;inner|1|1 outer|1|1");
    expect(text, "SELECT count(*) FROM stack_node", "3");
    /* perf may write no frame that they are part of: they are one, in a module that is unknown. */
    expect("p 7 1.5: 1 cycles: \n\t 10 inner (inlined)\n\t 10 outer+0x3 (inlined)\n\n"
           "p 7 1.6: 1 cycles: \n\t 10 leaf (inlined)\n\t 99 main (/p)\n\n",
           PATHS, "main|0|1 main;leaf|1|1 outer|0|1 outer;inner|1|1");
}

/* Other records stand between samples, with and without lines of their own. */
static void test_other_records(void)
{
    expect("p 7/7 [001] 1.4: PERF_RECORD_MMAP2 7/7: [0x55(0x1000) @ 0 08:01 3 4]: r-xp /usr/bin/p\n"
           "p 7/7 [001] 1.5: 4 cycles: \n\t 10 f (/p)\n\n"
           "p 7/7 [001] 1.5: PERF_RECORD_NAMESPACES 7/7 - nr_namespaces: 7\n"
           "\t\t[0/net: 3/0xf0000075, 1/uts: 3/0xeffffffe]\n"
           "0 0x1e8 [0x8]: PERF_RECORD_FINISHED_ROUND\n"
           "p 7/7 [001] 1.6: PERF_RECORD_SWITCH_CPU_WIDE OUT          next pid/tid:     0/0    \n"
           "p 7/7 [001] 1.7: 4 cycles: \n\t 10 f (/p)\n\n",
           PATHS, "f|2|8");
}

static void test_samples_without_frames(void)
{
    expect("p 7 1.5: 4 cycles: \n\np 7 1.6: 4 cycles: \n\t 10 f (/p)\n\n", PATHS,
           "[unknown]|1|4 f|1|4");
    expect("p 7 1.5: PERF_RECORD_COMM: p:7/7\np 7 1.6: 4 cycles: \n\t 10 f (/p)\n\n", PATHS,
           "f|1|4");
}

static void test_several_events(void)
{
    static const char text[] = "p 7 1.5: 4 cycles: \n\t 10 f (/p)\n\n"
                               "p 7 1.4: 5 instructions: \n\t 10 f (/p)\n\n"
                               "p 7 1.6: 6 cycles: \n\t 10 f (/p)\n\n";
    expect(text,
           "SELECT e.name, varying, count(*), sum(weight), min(time_ns) FROM sample s, event e"
           " ON e.id = s.event_id GROUP BY e.id",
           "cycles|1|2|10|100000000 instructions|0|1|5|0");
    expect(text, "SELECT duration_ns FROM run", "200000000");
}

static void test_what_is_wrong_has_its_line(void)
{
    skipped("p 7 1.5: 4 cycles: \n\t 10 f (/p)\n\nwhat is this\n",
            "in:4: this begins no sample: it has no `PID TIME: EVENT:`\n"
            "in: 1 line could not be read and is left out\n",
            "f|1|4");
    refused("\t 10 f (/p)\n", "in:1: a frame without a sample above it\n");
    skipped("p 7 1.5: 4 cycles: \n\t main (/p)\n\t 10 f (/p)\n\n",
            "in:2: not a frame: `ADDRESS FUNCTION (MODULE)`\n"
            "in: 1 line could not be read and is left out\n",
            "f|1|4");
    skipped("p 7 1.5: 4 cycles: \n\t 11112222333344445 f (/p)\n\n",
            "in:2: not a frame: `ADDRESS FUNCTION (MODULE)`\n"
            "in: 1 line could not be read and is left out\n",
            "[unknown]|1|4");
    skipped("p 7 1.5: 9223372036854775807 c: \n\t 10 f (/p)\n\np 7 1.5: 1 c: \n\t 10 f (/p)\n",
            "in:5: the counts add up to more than fits\n"
            "in: 1 line could not be read and is left out\n",
            "f|1|9223372036854775807");
    refused("p 7 1.5: 99999999999999999999 c: \n\t 10 f (/p)\n",
            "in:1: this begins no sample: it has no `PID TIME: EVENT:`\n");
    static const char nul[] = "p 7 1.5: 4 cy\0cles: \n\n";
    importing_refused("perf-script", nul, sizeof nul - 1, "in:1: the line holds a NUL byte\n",
                      "1 malformed line;");
    importing_refused("perf-script", "# nothing\n", 10, "", "holds no samples of perf script");
}

static void test_cut_anywhere(void)
{
    for (size_t size = 0; size < sizeof two_samples; size++) {
        struct importing importing;
        importing_bytes(&importing, "perf-script", two_samples, size);
        CU_ASSERT_TRUE(importing.result == 0 || importing.result == SPROF_EFORMAT);
        CU_ASSERT_EQUAL(importing.result != 0, importing.error.message[0] != '\0');
        CU_ASSERT_EQUAL(importing.result == 0, file_exists(importing.made.path));
        importing_close(&importing);
    }
}

void sprof_suite_import_perf_script(void);
void sprof_suite_import_perf_script(void)
{
    CU_pSuite suite = CU_add_suite("import/perf_script", NULL, NULL);
    CU_add_test(suite, "samples", test_samples);
    CU_add_test(suite, "forms of a sample's line", test_line_forms);
    CU_add_test(suite, "forms of a frame", test_frame_forms);
    CU_add_test(suite, "inlined functions", test_inlined_functions);
    CU_add_test(suite, "samples without frames", test_samples_without_frames);
    CU_add_test(suite, "other records", test_other_records);
    CU_add_test(suite, "several events", test_several_events);
    CU_add_test(suite, "what is wrong has its line", test_what_is_wrong_has_its_line);
    CU_add_test(suite, "cut anywhere", test_cut_anywhere);
}
