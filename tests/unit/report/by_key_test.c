/* Flat tables by any key, sorted and cut as asked. */
#include "report/dataset.h"
#include "tests/unit/report/recorded.h"

/* The report as CSV; the caller frees the capture. */
static struct captured *csv_from(struct store *store, const struct report_selection *selection,
                                 const struct report_table_options *table)
{
    struct captured *captured = capture();
    struct sprof_error error = {0};
    const struct report_request request = {
        .selection = *selection, .table = *table, .style = style_of("csv")};
    CU_ASSERT_EQUAL(report_write(captured->out, store, &request, &error), 0);
    assert_text(error.message, "");
    captured_text(captured);
    return captured;
}

static struct captured *csv_of(const struct report_selection *selection,
                               const struct report_table_options *table)
{
    return csv_from(example.store, selection, table);
}

static void check(const enum report_key *keys, size_t count, const char *show, const char *expected)
{
    const struct report_table_options table = {.keys = keys, .key_count = count, .show = show};
    struct captured *captured = csv_of(&(struct report_selection){0}, &table);
    assert_text(captured->text, expected);
    capture_free(captured);
}

static void test_each_key(void)
{
    static const enum report_key thread[] = {REPORT_THREAD}, process[] = {REPORT_PROCESS},
                                 command[] = {REPORT_COMMAND}, line[] = {REPORT_LINE},
                                 file[] = {REPORT_FILE}, cpu[] = {REPORT_CPU},
                                 run[] = {REPORT_RUN, REPORT_HOST}, event[] = {REPORT_EVENT},
                                 address[] = {REPORT_ADDRESS}, user[] = {REPORT_USER},
                                 group[] = {REPORT_CGROUP}, container[] = {REPORT_CONTAINER};
    check(thread, 1, "samples,thread,tid,process,pid",
          "inclusive_samples,thread,tid,process,pid\r\n5,prog,100,prog,100\r\n0,child,200,child,200"
          "\r\n1,worker,101,prog,100\r\n");
    check(process, 1, "samples,pid", "inclusive_samples,pid\r\n6,100\r\n0,200\r\n");
    check(process, 1, "pid,short_command,command",
          "pid,short_command,command\r\n100,prog --fast,/bin/prog --fast\r\n200,,\r\n");
    check(command, 1, "samples,short_command,command",
          "inclusive_samples,short_command,command\r\n6,prog --fast,/bin/prog --fast\r\n0,?,\r\n");
    check(line, 1, "exclusive_samples,inclusive_samples,place,function",
          "exclusive_samples,inclusive_samples,place,function\r\n"
          "3,3,sys.c:9,S2\r\n0,0,?,[not sampled]\r\n1,6,main.c:10,A1\r\n1,3,main.c:20,A2\r\n"
          "1,2,main.c:21,A2\r\n0,2,main.c:31,A3\r\n0,3,sys.c:5,S1\r\n");
    check(file, 1, "exclusive_samples,inclusive_samples,file",
          "exclusive_samples,inclusive_samples,file\r\n3,6,main.c\r\n3,3,sys.c\r\n0,0,?\r\n");
    check(cpu, 1, "samples,cpu", "inclusive_samples,cpu\r\n6,0\r\n0,unknown\r\n");
    check(run, 2, "samples,run,host", "inclusive_samples,run,host\r\n6,1,host\r\n");
    check(user, 1, "samples,user", "inclusive_samples,user\r\n6,anna\r\n0,0\r\n");
    check(group, 1, "samples,cgroup",
          "inclusive_samples,cgroup\r\n6,/system.slice/shop.service\r\n0,/docker/0f1e\r\n");
    check(container, 1, "samples,container", "inclusive_samples,container\r\n6,none\r\n0,0f1e\r\n");
    check(event, 1, "samples,event", "inclusive_samples,event\r\n6,cpu-clock\r\n");
    struct captured *captured =
        csv_of(&(struct report_selection){0},
               &(struct report_table_options){.keys = address, .key_count = 1, .show = "address"});
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, "libs.so+0x600\r\n"));
    capture_free(captured);
}

static void test_keys_together(void)
{
    static const enum report_key keys[] = {REPORT_THREAD, REPORT_FUNCTION};
    check(keys, 2, "exclusive_samples,inclusive_samples,thread,function",
          "exclusive_samples,inclusive_samples,thread,function\r\n"
          "3,3,prog,S2\r\n0,0,child,[not sampled]\r\n1,5,prog,A1\r\n1,4,prog,A2\r\n"
          "1,1,worker,A2\r\n0,1,prog,A3\r\n0,3,prog,S1\r\n0,1,worker,A1\r\n0,1,worker,A3\r\n");
}

/* What stacks add up to is what the tree adds up to, with every selection. */
static void test_functions_are_the_same_by_stacks(void)
{
    static const enum report_key alone[] = {REPORT_FUNCTION, REPORT_MODULE};
    static const enum report_key with_run[] = {REPORT_FUNCTION, REPORT_MODULE, REPORT_RUN};
    static const struct report_selection selections[] = {
        {0},
        {.thread = "worker"},
        {.other_mode = true, .mode = MODEL_MODE_APP},
        {.focus = "A3"},
        {.ignore = "A3", .hide = "S1"},
        {.show_from = "^S"},
        {.module = "prog"},
        {.no_inlined = true},
        {.no_inlined = true, .focus = "A3"},
        {.no_inlined = true, .other_mode = true, .mode = MODEL_MODE_APP},
        {.no_standard = true},
        {.other_mode = true, .mode = MODEL_MODE_APP, .focus = "A3", .module = "pr*"},
    };
    for (size_t i = 0; i < sizeof selections / sizeof *selections; i++) {
        const char *show = "exclusive_weight,inclusive_weight,inclusive_samples,function,module";
        struct captured *tree =
            csv_of(&selections[i],
                   &(struct report_table_options){.keys = alone, .key_count = 2, .show = show});
        struct captured *stacks =
            csv_of(&selections[i],
                   &(struct report_table_options){.keys = with_run, .key_count = 3, .show = show});
        assert_text(stacks->text, tree->text);
        CU_ASSERT_TRUE(strlen(tree->text) > strlen(show) + 2);
        capture_free(tree);
        capture_free(stacks);
    }
}

/* Sums that the recording holds are those of its stacks. */
static void test_stored_sums_are_the_same(void)
{
    static const enum report_key lines[] = {REPORT_LINE, REPORT_RUN};
    static const enum report_key threads[] = {REPORT_THREAD, REPORT_CPU};
    static const struct {
        const enum report_key *keys;
        const char *show;
    } cases[] = {
        {lines, "exclusive_weight,inclusive_samples,file,line,function,module"},
        {threads, "inclusive_weight,inclusive_samples,thread,tid"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct captured *both[2];
        for (size_t count = 1; count <= 2; count++)
            both[count - 1] =
                csv_of(&(struct report_selection){0},
                       &(struct report_table_options){
                           .keys = cases[i].keys, .key_count = count, .show = cases[i].show});
        assert_text(both[0]->text, both[1]->text);
        capture_free(both[0]);
        capture_free(both[1]);
    }
}

static void test_sort(void)
{
    struct captured *captured =
        csv_of(&(struct report_selection){0},
               &(struct report_table_options){.sort = "function", .show = "function", .limit = 2});
    assert_text(captured->text, "function\r\nA1\r\nA2\r\n");
    capture_free(captured);
    captured = csv_of(&(struct report_selection){0},
                      &(struct report_table_options){
                          .sort = "samples:asc", .show = "samples,function", .limit = 2});
    assert_text(captured->text, "exclusive_samples,function\r\n0,A3\r\n0,S1\r\n");
    capture_free(captured);
}

static void check_usage(const struct report_table_options *table, const char *message)
{
    struct captured *captured = capture();
    struct sprof_error error = {0};
    const struct report_request request = {.table = *table};
    CU_ASSERT_EQUAL(report_write(captured->out, example.store, &request, &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, message));
    if (!strstr(error.message, message))
        fprintf(stderr, "\nmessage: %s\n", error.message);
    assert_text(captured_text(captured), "");
    capture_free(captured);
}

static void test_phases(void)
{
    static const enum report_key phase[] = {REPORT_PHASE};
    const struct report_table_options table = {
        .keys = phase, .key_count = 1, .show = "samples,of all,phase,mark,mode"};
    const struct report_table_options alone = {
        .keys = phase, .key_count = 1, .show = "samples,phase,mark,mode"};
    struct captured *captured = csv_of(&(struct report_selection){0}, &alone);
    assert_text(captured->text, "inclusive_samples,phase,mark,mode\r\n6,1,,full\r\n");
    capture_free(captured);
    captured = csv_of(&(struct report_selection){.phase = "1"}, &table);
    assert_text(captured->text, "inclusive_samples,inclusive_percent_of_all,phase,mark,mode\r\n"
                                "6,100,1,,full\r\n");
    capture_free(captured);
    struct captured *none = capture();
    struct sprof_error error = {0};
    const struct report_request request = {.selection = {.mark = "nosuch*"}};
    CU_ASSERT_EQUAL(report_write(none->out, example.store, &request, &error), SPROF_ENOTFOUND);
    assert_text(
        error.message,
        "there is no phase that begins with the mark 'nosuch*'; there are phase 1 (mode full, "
        "from 0.00 s)");
    capture_free(none);
}

/* Of a run that had one phase only, what is stored says it all. */
static void test_one_phase_needs_no_samples(void)
{
    static const enum report_key keys[] = {REPORT_PHASE, REPORT_FUNCTION};
    static const struct report_selection selections[] = {{0}, {.phase = "1"}};
    static const char show[] = "exclusive_samples,inclusive_samples,phase,function";
    const struct report_table_options table = {.keys = keys, .key_count = 2, .show = show};
    const struct place place = place_make();
    struct store *store = example_changed(&place, "DELETE FROM sample");
    for (size_t i = 0; i < sizeof selections / sizeof *selections; i++) {
        struct captured *captured = csv_from(store, &selections[i], &table);
        assert_text(captured->text, "exclusive_samples,inclusive_samples,phase,function\r\n"
                                    "3,3,1,S2\r\n2,5,1,A2\r\n0,0,1,[not sampled]\r\n"
                                    "1,6,1,A1\r\n0,2,1,A3\r\n0,3,1,S1\r\n");
        capture_free(captured);
    }
    CU_ASSERT_EQUAL(store_close(store, NULL), 0);
    place_remove(&place);
}

static void test_wrong_columns(void)
{
    check_usage(&(struct report_table_options){.sort = "cost"}, "no column 'cost'; it has self, ");
    check_usage(&(struct report_table_options){.sort = "samples:up"}, "write :asc or :desc");
    check_usage(&(struct report_table_options){.show = "samples,wat"}, "no column 'wat'");
    check_usage(&(struct report_table_options){.show = ""}, "name the columns");
    check_usage(&(struct report_table_options){.view = REPORT_TREE, .sort = "depth"},
                "a tree is not sorted by depth");
}

void sprof_suite_report_by_key(void);
void sprof_suite_report_by_key(void)
{
    CU_pSuite suite = CU_add_suite("report/by_key", example_open, example_close);
    CU_add_test(suite, "each key", test_each_key);
    CU_add_test(suite, "keys together", test_keys_together);
    CU_add_test(suite, "functions are the same by stacks", test_functions_are_the_same_by_stacks);
    CU_add_test(suite, "stored sums are the same", test_stored_sums_are_the_same);
    CU_add_test(suite, "sort", test_sort);
    CU_add_test(suite, "phases", test_phases);
    CU_add_test(suite, "one phase needs no samples", test_one_phase_needs_no_samples);
    CU_add_test(suite, "wrong columns", test_wrong_columns);
}
