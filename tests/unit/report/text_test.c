#include "report/utf8_text.h"
#include "tests/unit/report/datasets.h"

static size_t widest_line(const char *text)
{
    size_t widest = 0;
    while (*text) {
        const char *end = strchr(text, '\n');
        char line[1024];
        snprintf(line, sizeof line, "%.*s", (int)(end - text), text);
        const size_t width = report_utf8_width(line);
        widest = width > widest ? width : widest;
        text = end + 1;
    }
    return widest;
}

static void test_long_names_are_cut_to_the_page(void)
{
    struct report_dataset dataset = {0};
    const uint32_t app =
        add_module(&dataset, "a-module-with-quite-a-long-name-as-well.so.1.2.3", MODEL_KIND_APP);
    char name[400];
    for (size_t i = 0; i + 2 < sizeof name; i += 2)
        memcpy(name + i, "ß", 3);
    add_path(&dataset, 0, add_function(&dataset, app, name), 3);
    add_path(&dataset, 0, add_function(&dataset, app, "short"), 1);
    finish_dataset(&dataset);
    for (unsigned columns = 60; columns <= 200; columns += 7) {
        struct table table;
        const struct report_table_options options = {0};
        CU_ASSERT_EQUAL(report_table_by_keys(&table, &dataset, &options, NULL), 0);
        const char *text = text_of(&table, columns);
        CU_ASSERT_TRUE(widest_line(text) <= columns);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "…"));
        report_table_release(&table);
    }
    report_dataset_release(&dataset);
}

static void test_a_small_table_is_not_padded(void)
{
    struct report_dataset dataset = {.event.is_clock = true};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    add_path(&dataset, 0, add_function(&dataset, app, "f"), 2000000);
    finish_dataset(&dataset);
    struct table table;
    const struct report_table_options options = {0};
    CU_ASSERT_EQUAL(report_table_by_keys(&table, &dataset, &options, NULL), 0);
    same_text(text_of(&table, 100),
              "Functions by self samples                    % of 2 000 000 samples\n"
              "     self    ±    time  samples  function  module\n"
              "  100.0 %  0.0  2.0 ms  2000000  f         app\n");
    report_table_release(&table);
    report_dataset_release(&dataset);
}

static uint64_t count_in(const struct table *table, size_t row, const char *key)
{
    size_t column = 0;
    CU_ASSERT_EQUAL_FATAL(report_table_find_column(table, key, strlen(key), &column, NULL), 0);
    return report_table_cell(table, row, column)->count;
}

/* Reading as another mode adds [outside] behind the functions whose figures were read: it has none,
 * whatever lies behind them. */
static void test_an_added_function_has_no_figures(void)
{
    struct report_dataset dataset = {0};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    for (uint64_t i = 5; i < 7; i++) {
        CU_ASSERT_EQUAL(sprof_vec_push(&dataset.counted.outside, i), 0);
        CU_ASSERT_EQUAL(
            sprof_vec_push(&dataset.counted.uses, ((struct report_call_uses){{i, i, i, i}})), 0);
    }
    dataset.counted.outside.count = dataset.counted.uses.count = 1;
    add_path(&dataset, 0, add_function(&dataset, app, "f"), 2);
    add_path(&dataset, 0, add_function(&dataset, app, MODEL_OUTSIDE), 1);
    finish_dataset(&dataset);
    struct table table;
    const struct report_table_options options = {0};
    CU_ASSERT_EQUAL_FATAL(report_table_by_keys(&table, &dataset, &options, NULL), 0);
    CU_ASSERT_EQUAL(count_in(&table, 0, "outside_seconds"), 5);
    CU_ASSERT_EQUAL(count_in(&table, 0, "stack_bytes"), 5);
    CU_ASSERT_EQUAL(count_in(&table, 1, "outside_seconds"), TABLE_UNKNOWN);
    CU_ASSERT_EQUAL(count_in(&table, 1, "stack_bytes"), TABLE_UNKNOWN);
    report_table_release(&table);
    report_dataset_release(&dataset);
}

/* A recursion of 10 000 levels: one line each, none wider than the page. */
static void test_deep_trees_keep_their_width(void)
{
    enum { LEVELS = 10000 };
    struct report_dataset dataset = {0};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    const uint32_t function = add_function(&dataset, app, "recurse_with_a_rather_long_name");
    for (uint32_t level = 0, path = 0; level < LEVELS; level++)
        path = add_path(&dataset, path, function, 1);
    finish_dataset(&dataset);
    struct table table;
    const struct report_table_options options = {.view = REPORT_TREE};
    CU_ASSERT_EQUAL(report_table_of_tree(&table, &dataset, &options, NULL), 0);
    CU_ASSERT_EQUAL(report_table_rows(&table), LEVELS);
    char *text = NULL;
    size_t size = 0, lines = 0;
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_EQUAL(report_table_write_text(out, &table, 80, false), 0);
    fclose(out);
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    CU_ASSERT_EQUAL(lines, LEVELS + 2);
    CU_ASSERT_TRUE(widest_line(text) <= 80);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "…10000 └ "));
    free(text);
    report_table_release(&table);
    report_dataset_release(&dataset);
}

static void test_branches(void)
{
    struct report_dataset dataset = {0};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    const uint32_t a = add_function(&dataset, app, "a"), b = add_function(&dataset, app, "b");
    const uint32_t root = add_path(&dataset, 0, a, 0);
    add_path(&dataset, add_path(&dataset, root, a, 1), b, 3);
    add_path(&dataset, add_path(&dataset, root, b, 1), a, 2);
    add_path(&dataset, 0, b, 3);
    finish_dataset(&dataset);
    struct table table;
    const struct report_table_options options = {.view = REPORT_TREE};
    CU_ASSERT_EQUAL(report_table_of_tree(&table, &dataset, &options, NULL), 0);
    same_text(text_of(&table, 100), "Call paths                                   % of 10 samples\n"
                                    "  samples  total  self  call path\n"
                                    "        7   70 %   0 %  a\n"
                                    "        4   40 %  10 %  ├ a\n"
                                    "        3   30 %  30 %  │ └ b\n"
                                    "        3   30 %  10 %  └ b\n"
                                    "        2   20 %  20 %    └ a\n"
                                    "        3   30 %  30 %  b\n");
    report_table_release(&table);
    report_dataset_release(&dataset);
}

/* Long names of siblings leave room for what tells them apart. */
static void test_marks_fit_beside_long_names(void)
{
    struct report_dataset dataset = {0};
    const char *name = "a_function_with_quite_a_long_name_that_two_modules_have_of_a_long_family";
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    const uint32_t library = add_module(&dataset, "library.so", MODEL_KIND_SYSTEM);
    const uint32_t root = add_path(&dataset, 0, add_function(&dataset, app, "main"), 0);
    add_path(&dataset, root, add_function(&dataset, app, name), 3);
    const struct report_function same = {.name = name};
    const struct model_function facts = {library, MODEL_KIND_SYSTEM, false};
    add_path(&dataset, root, report_dataset_add_function(&dataset, same, facts), 2);
    finish_dataset(&dataset);
    for (unsigned columns = 50; columns <= 90; columns += 8) {
        struct table table;
        const struct report_table_options options = {.view = REPORT_TREE, .marks = true};
        CU_ASSERT_EQUAL_FATAL(report_table_of_tree(&table, &dataset, &options, NULL), 0);
        const char *text = text_of(&table, columns);
        CU_ASSERT_TRUE(widest_line(text) <= columns);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "(library.so)"));
        report_table_release(&table);
    }
    report_dataset_release(&dataset);
}

/* The width of the name that stands behind the numbers of a line with `mark`, with its branch. */
static size_t name_width(const char *text, const char *mark)
{
    const char *found = strstr(text, mark), *line = found;
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    while (line > text && line[-1] != '\n')
        line--;
    char name[1024];
    const char *begin = strstr(line, "└ ");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(begin, "\n"), begin);
    return report_utf8_width(name);
}

/* Two measures with long titles and times beside names that do not fit. */
static void test_callees_keep_their_names(void)
{
    struct report_dataset dataset = {.event.is_clock = true};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    const char *long_name = "a_function_of_a_compiler_that_folds_constants_of_trees(tree_node*)";
    const uint32_t outer = add_function(&dataset, app, "outer_function_with_a_name(int)");
    const uint32_t inner = add_function(&dataset, app, long_name);
    add_path(&dataset, add_path(&dataset, 0, outer, 12345), inner, 54321);
    finish_dataset(&dataset);
    for (unsigned columns = 60; columns <= 132; columns += 12) {
        struct table table;
        const struct report_table_options options = {.view = REPORT_CALLEES,
                                                     .function = "outer_function_with_a_name"};
        CU_ASSERT_EQUAL_FATAL(report_table_of_callees(&table, &dataset, &options, NULL), 0);
        const char *text = text_of(&table, columns);
        CU_ASSERT_TRUE(widest_line(text) <= columns);
        CU_ASSERT_TRUE(name_width(text, "└ a_func") >= 40);
        report_table_release(&table);
    }
    report_dataset_release(&dataset);
}

/* Of two names that are equally wide the first gives way. */
static void test_first_of_equal_names_gives_way(void)
{
    struct report_dataset dataset = {0};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    const char *caller = "a_caller_with_quite_a_long_name_and_an_end";
    const char *callee = "a_callee_with_quite_a_long_name_and_an_end";
    const uint32_t root = add_path(&dataset, 0, add_function(&dataset, app, caller), 1);
    add_path(&dataset, root, add_function(&dataset, app, callee), 3);
    finish_dataset(&dataset);
    struct table table;
    const struct report_table_options options = {.view = REPORT_EDGES};
    CU_ASSERT_EQUAL_FATAL(report_table_of_edges(&table, &dataset, &options, NULL), 0);
    const char *text = text_of(&table, 200);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, caller));
    for (unsigned columns = 200; columns && strstr(text, caller); columns--)
        text = text_of(&table, columns);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, callee)); /* one column is missing */
    report_table_release(&table);
    report_dataset_release(&dataset);
}

/* Parts that are joined by " · " stay whole. */
static void test_notes_go_below_where_there_is_no_room(void)
{
    struct report_dataset dataset = {0};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    add_path(&dataset, 0, add_function(&dataset, app, "f"), 2);
    finish_dataset(&dataset);
    struct table table;
    const struct report_table_options options = {0};
    CU_ASSERT_EQUAL(report_table_by_keys(&table, &dataset, &options, NULL), 0);
    table.note = "some words of a note · and others";
    table.left_out = "one part of three · the second part · the last";
    same_text(text_of(&table, 36), "Functions by self samples\n"
                                   "  some words of a note · and others\n"
                                   "   self  samples  function  module\n"
                                   "  100 %        2  f         app\n"
                                   "  one part of three\n"
                                   "  the second part · the last\n");
    report_table_release(&table);
    report_dataset_release(&dataset);
}

/* Siblings of one name: told apart by module, by where they are declared, by address. */
static void test_namesakes_are_told_apart(void)
{
    struct report_dataset dataset = {0};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    const uint32_t library = add_module(&dataset, "library.so", MODEL_KIND_SYSTEM);
    const uint32_t root = add_path(&dataset, 0, add_function(&dataset, app, "main"), 0);
    const uint32_t kept = add_function(&dataset, app, "keep");
    const struct {
        uint32_t module;
        struct report_function function;
    } made[] = {
        {library, {.name = "get"}},
        {app, {.name = "read", .file = "a/input.c", .line = 7}},
        {app, {.name = "read", .file = "b/output.c", .line = 7}},
        {app, {.name = "sort", .start = 0x1230}},
        {app, {.name = "sort", .start = 0x4560}},
    };
    add_path(&dataset, root, kept, 30);
    add_path(&dataset, root, add_function(&dataset, app, "get"), 20);
    for (unsigned i = 0; i < sizeof made / sizeof *made; i++) {
        const struct model_function facts = {made[i].module, MODEL_KIND_APP, false};
        add_path(&dataset, root, report_dataset_add_function(&dataset, made[i].function, facts),
                 19 - i);
    }
    /* Below another function it stands alone. */
    add_path(&dataset, add_path(&dataset, root, kept, 0), 3, 1);
    finish_dataset(&dataset);
    struct table table;
    const struct report_table_options options = {.view = REPORT_TREE, .marks = true};
    CU_ASSERT_EQUAL(report_table_of_tree(&table, &dataset, &options, NULL), 0);
    CU_ASSERT_EQUAL(report_table_show(&table, "function", NULL), 0);
    same_text(text_of(&table, 100),
              "Call paths                                   % of 136 samples\n"
              "  call path\n"
              "  main\n"
              "  ├ keep\n"
              "  │ └ get\n"
              "  ├ get (app)\n"
              "  ├ get (library.so)\n"
              "  ├ read (input.c:7)\n"
              "  ├ read (output.c:7)\n"
              "  ├ sort (+0x1230)\n"
              "  └ sort (+0x4560)\n");
    report_table_release(&table);
    const struct report_table_options flat = {0};
    CU_ASSERT_EQUAL(report_table_by_keys(&table, &dataset, &flat, NULL), 0);
    CU_ASSERT_EQUAL(report_table_show(&table, "samples,function,module,at", NULL), 0);
    same_text(text_of(&table, 100),
              "Functions by self samples                    % of 136 samples\n"
              "  samples  function  module      at\n"
              "       30  keep      app\n"
              "       21  get       app\n"
              "       19  get       library.so\n"
              "       18  read      app         a/input.c:7\n"
              "       17  read      app         b/output.c:7\n"
              "       16  sort      app         +0x1230\n"
              "       15  sort      app         +0x4560\n"
              "        0  main      app\n");
    report_table_release(&table);
    report_dataset_release(&dataset);
}

/* A static function of a header is in two units, and one of that name is elsewhere. */
static void test_one_place_of_two_is_no_distinction(void)
{
    struct report_dataset dataset = {0};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    const uint32_t root = add_path(&dataset, 0, add_function(&dataset, app, "main"), 0);
    const struct report_function made[] = {
        {.name = "read", .file = "a.h", .line = 7, .start = 0x10},
        {.name = "read", .file = "b.c", .line = 9, .start = 0x20},
        {.name = "read", .file = "a.h", .line = 7, .start = 0x30},
    };
    for (unsigned i = 0; i < sizeof made / sizeof *made; i++) {
        const struct model_function facts = {app, MODEL_KIND_APP, false};
        add_path(&dataset, root, report_dataset_add_function(&dataset, made[i], facts), 9 - i);
    }
    finish_dataset(&dataset);
    struct table table;
    const struct report_table_options flat = {0};
    CU_ASSERT_EQUAL(report_table_by_keys(&table, &dataset, &flat, NULL), 0);
    CU_ASSERT_EQUAL(report_table_show(&table, "samples,function,at", NULL), 0);
    same_text(text_of(&table, 100), "Functions by self samples                    % of 24 samples\n"
                                    "  samples  function  at\n"
                                    "        9  read      +0x10\n"
                                    "        8  read      +0x20\n"
                                    "        7  read      +0x30\n"
                                    "        0  main\n");
    report_table_release(&table);
    report_dataset_release(&dataset);
}

/* Of a narrow table modules go before names are cut, and of a file its end stays. */
static void test_places_keep_their_ends(void)
{
    struct table table = {0};
    report_table_column(&table, (struct table_column){.title = "function",
                                                      .key = "function",
                                                      .kind = TABLE_NAME,
                                                      .functions = true,
                                                      .subject = true});
    report_table_column(&table, (struct table_column){.title = "module",
                                                      .key = "module",
                                                      .kind = TABLE_NAME,
                                                      .optional = TABLE_SECOND});
    report_table_column(&table, (struct table_column){
                                    .title = "at", .key = "at", .kind = TABLE_NAME, .place = true});
    report_table_put_text(&table, "first::scope::a_long_last_component");
    report_table_put_text(&table, "libmodule.so");
    report_table_put_text(&table, "/home/user/project/file.cpp:17");
    same_text(text_of(&table, 60),
              "  function                  module        at\n"
              "  fi…a_long_last_component  libmodule.so  …oject/file.cpp:17\n");
    same_text(text_of(&table, 42), "  function                    at\n"
                                   "  firs…a_long_last_component  …file.cpp:17\n");
    report_table_release(&table);
}

void sprof_suite_report_text(void);
void sprof_suite_report_text(void)
{
    CU_pSuite suite = CU_add_suite("report/text", NULL, NULL);
    CU_add_test(suite, "long names are cut to the page", test_long_names_are_cut_to_the_page);
    CU_add_test(suite, "a small table is not padded", test_a_small_table_is_not_padded);
    CU_add_test(suite, "an added function has no figures", test_an_added_function_has_no_figures);
    CU_add_test(suite, "deep trees keep their width", test_deep_trees_keep_their_width);
    CU_add_test(suite, "branches", test_branches);
    CU_add_test(suite, "the first of equal names gives way", test_first_of_equal_names_gives_way);
    CU_add_test(suite, "marks fit beside long names", test_marks_fit_beside_long_names);
    CU_add_test(suite, "callees keep their names", test_callees_keep_their_names);
    CU_add_test(suite, "notes go below where there is no room",
                test_notes_go_below_where_there_is_no_room);
    CU_add_test(suite, "namesakes are told apart", test_namesakes_are_told_apart);
    CU_add_test(suite, "one place of two is no distinction",
                test_one_place_of_two_is_no_distinction);
    CU_add_test(suite, "places keep their ends", test_places_keep_their_ends);
}
