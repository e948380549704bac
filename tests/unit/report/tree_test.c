#include "report/tree.h"
#include "tests/unit/report/datasets.h"

/* A wide and a deep tree of random paths. */
static struct report_dataset random_profile(unsigned seed)
{
    struct report_dataset dataset = {0};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    for (int i = 0; i < 5; i++)
        add_function(&dataset, app, names[i]);
    for (int i = 0; i < 400; i++) {
        uint32_t path = 0;
        for (int depth = 0; depth < 8; depth++) {
            seed = seed * 1664525u + 1013904223u;
            path = add_path(&dataset, path, 1 + (seed >> 16) % 5, (seed >> 24) % 3);
        }
    }
    finish_dataset(&dataset);
    return dataset;
}

/* Whatever is left out: rows are connected, in order, and nothing is lost without being counted. */
static void check_tree(const struct table *table, const struct report_dataset *dataset)
{
    uint32_t depth_before = 0;
    for (size_t i = 0; i < report_table_rows(table); i++) {
        const uint32_t depth = table->places.items[i].depth;
        CU_ASSERT_TRUE(depth <= depth_before + (i > 0));
        depth_before = depth;
    }
    CU_ASSERT_EQUAL(table->left_out == NULL,
                    report_table_rows(table) == dataset->paths.items.count);
}

static void test_limits_keep_trees_connected(void)
{
    struct report_dataset dataset = random_profile(7);
    for (size_t limit = 1; limit <= dataset.paths.items.count + 1; limit += 97) {
        struct table table;
        const struct report_table_options options = {.view = REPORT_TREE, .limit = limit};
        CU_ASSERT_EQUAL(report_table_of_tree(&table, &dataset, &options, NULL), 0);
        const size_t all = dataset.paths.items.count;
        CU_ASSERT_EQUAL(report_table_rows(&table), limit < all ? limit : all);
        check_tree(&table, &dataset);
        report_table_release(&table);
    }
    report_dataset_release(&dataset);
}

static void test_least_shares_keep_trees_connected(void)
{
    struct report_dataset dataset = random_profile(11);
    size_t before = (size_t)-1;
    for (double least = 0; least < 60; least = least * 2 + 0.1) {
        struct table table;
        const struct report_table_options options = {.view = REPORT_TREE, .min_percent = least};
        CU_ASSERT_EQUAL(report_table_of_tree(&table, &dataset, &options, NULL), 0);
        check_tree(&table, &dataset);
        CU_ASSERT_TRUE(report_table_rows(&table) <= before);
        before = report_table_rows(&table);
        report_table_release(&table);
    }
    report_dataset_release(&dataset);
}

static void test_order_is_by_cost_then_name(void)
{
    struct report_dataset dataset = random_profile(13);
    struct table table;
    const struct report_table_options options = {.view = REPORT_TREE};
    CU_ASSERT_EQUAL(report_table_of_tree(&table, &dataset, &options, NULL), 0);
    size_t roots[5], count = 0;
    for (size_t i = 0; i < report_table_rows(&table); i++)
        if (!table.places.items[i].depth)
            roots[count++] = i;
    CU_ASSERT_EQUAL_FATAL(count, 5);
    for (size_t i = 1; i < count; i++)
        CU_ASSERT_TRUE(report_table_cell(&table, roots[i - 1], 0)->count >=
                       report_table_cell(&table, roots[i], 0)->count);
    CU_ASSERT_TRUE(table.places.items[roots[4]].last);
    CU_ASSERT_FALSE(table.places.items[roots[3]].last);
    report_table_release(&table);
    report_dataset_release(&dataset);
}

/* Of the calls below the hottest path's end the three largest are shown, in that order. */
static void test_branches_of_the_hottest_path(void)
{
    static const uint64_t costs[] = {12, 18, 9, 14, 20, 16};
    struct report_dataset dataset = {0};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    const uint32_t root = add_path(&dataset, 0, add_function(&dataset, app, "main"), 0);
    const uint32_t work = add_path(&dataset, root, add_function(&dataset, app, "work"), 11);
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        char *name = sprof_arena_text(&dataset.arena, (char[]){(char)('a' + i), 0});
        add_path(&dataset, work, add_function(&dataset, app, name), costs[i]);
    }
    finish_dataset(&dataset);
    struct table table;
    CU_ASSERT_EQUAL_FATAL(report_table_of_hottest(&table, &dataset, 20, NULL), 0);
    CU_ASSERT_EQUAL(report_table_show(&table, "samples,function", NULL), 0);
    same_text(text_of(&table, 100), "  samples  hottest path\n"
                                    "      100  main\n"
                                    "      100  └ work\n"
                                    "       20    ├ e\n"
                                    "       18    ├ b\n"
                                    "       16    └ f\n");
    report_table_release(&table);
    report_dataset_release(&dataset);
}

/* A long path keeps the frames at which its cost splits; the others are folded. */
static void test_splits_of_the_hottest_path(void)
{
    struct report_dataset dataset = {0};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    uint32_t path = 0;
    for (size_t i = 0; i < 30; i++) {
        char *name = sprof_arena_text(&dataset.arena, (char[]){'f', (char)('a' + i % 26), 0});
        const uint64_t self = i == 9 ? 40 : i == 17 ? 20 : i == 29 ? 35 : i < 5 ? 1 : 0;
        path = add_path(&dataset, path, add_function(&dataset, app, name), self);
    }
    finish_dataset(&dataset);
    struct table table;
    CU_ASSERT_EQUAL_FATAL(report_table_of_hottest(&table, &dataset, 7, NULL), 0);
    CU_ASSERT_EQUAL(report_table_show(&table, "samples,function", NULL), 0);
    same_text(text_of(&table, 100), "  samples  hottest path\n"
                                    "      100  fa\n"
                                    "       99  └ … 8 frames\n"
                                    "       95    └ fj\n"
                                    "       55      └ … 7 frames\n"
                                    "       55        └ fr\n"
                                    "       35          └ … 11 frames\n"
                                    "       35            └ fd\n");
    report_table_release(&table);
    report_dataset_release(&dataset);
}

/* Adds a chain of calls, outermost first, the last of which has all of the cost; its last path. */
static uint32_t add_chain(struct report_dataset *dataset, uint32_t parent, uint32_t module,
                          const char *names, uint64_t self)
{
    for (const char *name = names; *name; name++) {
        char *text = sprof_arena_text(&dataset->arena, (char[]){*name, 0});
        const uint32_t function = add_function(dataset, module, text);
        dataset->functions.items[function - 1].named = true;
        parent = add_path(dataset, parent, function, name[1] ? 0 : self);
    }
    return parent;
}

/* The hottest path in so many rows, of a, b, c, and below c: h, o, t of the cost `hot`; p, q, r of
 * a library, below which B and s are; l and m. */
static const char *forked(uint64_t hot, size_t rows)
{
    static struct report_dataset dataset;
    struct table table;
    dataset = (struct report_dataset){0};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    const uint32_t libc = add_module(&dataset, "libc.so.6", MODEL_KIND_SYSTEM);
    const uint32_t root = add_chain(&dataset, 0, app, "abc", 0);
    add_chain(&dataset, root, app, "hot", hot);
    const uint32_t middle = add_chain(&dataset, root, libc, "pqr", 0);
    add_chain(&dataset, add_chain(&dataset, middle, app, "B", 1), libc, "s", 30);
    add_chain(&dataset, root, app, "l", 6);
    add_chain(&dataset, root, app, "m", 11);
    finish_dataset(&dataset);
    CU_ASSERT_EQUAL_FATAL(report_table_of_hottest(&table, &dataset, rows, NULL), 0);
    CU_ASSERT_EQUAL(report_table_show(&table, "samples,function", NULL), 0);
    const char *text = text_of(&table, 100);
    report_table_release(&table);
    report_dataset_release(&dataset);
    return text;
}

/* Ways that leave the path early with much of all stand beside it, down to the program's innermost
 * function; those without room or with little are left out. */
static void test_ways_beside_the_hottest_path(void)
{
    same_text(forked(52, 9), "  samples  hottest path\n"
                             "      100  a\n"
                             "      100  └ b\n"
                             "      100    └ c\n"
                             "       52      ├ h\n"
                             "       52      │ └ o\n"
                             "       52      │   └ t\n"
                             "       31      └ p\n"
                             "       31        └ … 2 frames\n"
                             "       31          └ B\n");
    same_text(forked(52, 6), "  samples  hottest path\n"
                             "      100  a\n"
                             "      100  └ b\n"
                             "      100    └ c\n"
                             "       52      └ h\n"
                             "       52        └ o\n"
                             "       52          └ t\n");
}

/* Calls that share the cost of the path's end are followed alike. */
static void test_ways_below_the_hottest_path(void)
{
    same_text(forked(40, 10), "  samples  hottest path\n"
                              "       88  a\n"
                              "       88  └ b\n"
                              "       88    └ c\n"
                              "       40      ├ h\n"
                              "       40      │ └ o\n"
                              "       40      │   └ t\n"
                              "       31      ├ p\n"
                              "       31      │ └ … 2 frames\n"
                              "       31      │   └ B\n"
                              "       11      └ m\n");
    same_text(forked(40, 6), "  samples  hottest path\n"
                             "       88  a\n"
                             "       88  └ b\n"
                             "       88    └ c\n"
                             "       40      ├ h\n"
                             "       31      ├ p\n"
                             "       11      └ m\n");
}

void sprof_suite_report_tree(void);
void sprof_suite_report_tree(void)
{
    CU_pSuite suite = CU_add_suite("report/tree", NULL, NULL);
    CU_add_test(suite, "limits keep trees connected", test_limits_keep_trees_connected);
    CU_add_test(suite, "least shares keep trees connected", test_least_shares_keep_trees_connected);
    CU_add_test(suite, "branches of the hottest path", test_branches_of_the_hottest_path);
    CU_add_test(suite, "splits of the hottest path", test_splits_of_the_hottest_path);
    CU_add_test(suite, "ways beside the hottest path", test_ways_beside_the_hottest_path);
    CU_add_test(suite, "ways below the hottest path", test_ways_below_the_hottest_path);
    CU_add_test(suite, "order is by cost, then name", test_order_is_by_cost_then_name);
}
