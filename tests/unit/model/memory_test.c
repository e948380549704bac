/* Fails the n-th allocation, for every n: each call must say SPROF_ENOMEM and leave things so that
 * they can be released, and no call may go on as if nothing had happened. */
#include "tests/unit/scarce_memory.h"

#include "tests/unit/model/trees.h"

#include "model/process_table.h"
#include "model/stacks.h"

static int use_stacks(void)
{
    struct model_stacks stacks = {0};
    uint32_t node = 0, frame;
    int result = 0;
    for (uint32_t i = 0; i < 60 && !result; i++) {
        result = model_stacks_frame(&stacks, i % 20, i, &frame);
        if (!result)
            result = model_stacks_node(&stacks, node, frame, 0, false, &node);
    }
    model_stacks_release(&stacks);
    return result;
}

static int use_process_table(void)
{
    const struct sprof_file_id prog = {.path = "/opt/prog", .inode = 1}, anon = {.path = "//anon"};
    struct model_process_table table = {0};
    int result = model_process_table_comm(&table, 1, 1, "prog", true, 1);
    for (int i = 2; i < 40 && !result; i++) {
        const uint64_t now = (uint64_t)i;
        result =
            model_process_table_map(&table, 1, now * 0x1800, 0x1000, 0, i % 2 ? &prog : &anon, now);
        if (!result)
            result = model_process_table_fork(&table, 1, 1, i, i, now);
        if (!result)
            result = model_process_table_map(&table, i, 0x3000, 0x2000, 0, &anon, now);
        if (!result)
            result = model_process_table_exit(&table, i, i, now + 1);
    }
    model_process_table_release(&table);
    return result;
}

static int use_paths(void)
{
    const struct model_functions functions = letter_functions();
    const struct model_view view = {.mode = MODEL_MODE_APP, .outside = 26};
    struct model_paths paths = {0}, out = {0}, callees = {0}, callers = {0};
    struct model_costs costs[26] = {0};
    struct model_edges edges = {0};
    int result = 0;
    for (uint32_t i = 0, path = 0; i < 40 && !result; i++) {
        result = model_paths_child(&paths, i % 8 ? path : 0, 1 + i % 22, &path);
        if (!result)
            model_paths_add(&paths, path, (struct model_cost){1, 1});
    }
    if (!result) {
        model_paths_sum(&paths);
        result = model_function_costs(&paths, &functions, costs);
    }
    if (!result)
        result = model_edge_costs(&paths, &edges);
    if (!result)
        result = model_paths_callees(&paths, 2, &callees);
    if (!result)
        result = model_paths_callers(&paths, 2, &callers);
    if (!result)
        result = model_paths_view(&paths, &functions, &view, &out);
    model_edges_release(&edges);
    model_paths_release(&callers);
    model_paths_release(&callees);
    model_paths_release(&out);
    model_paths_release(&paths);
    return result;
}

static void test_stacks(void)
{
    scarce_memory_fail_each(use_stacks, 4);
}

static void test_process_table(void)
{
    scarce_memory_fail_each(use_process_table, 4);
}

static void test_paths(void)
{
    scarce_memory_fail_each(use_paths, 4);
}

void sprof_suite_model_memory(void);
void sprof_suite_model_memory(void)
{
    CU_pSuite suite = CU_add_suite("model/memory", NULL, NULL);
    CU_add_test(suite, "stacks", test_stacks);
    CU_add_test(suite, "process table", test_process_table);
    CU_add_test(suite, "paths", test_paths);
}
