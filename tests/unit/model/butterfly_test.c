#include "tests/unit/model/trees.h"

static void test_worked_example_callees(void)
{
    struct model_paths paths = tree_of(worked_example, WORKED_EXAMPLE, 1), callees;
    CU_ASSERT_EQUAL(model_paths_callees(&paths, letter('B'), &callees), 0);
    CU_ASSERT_STRING_EQUAL(tree_text(&callees), "B 2/5 BS 0/3 BST 3/3");
    model_paths_release(&callees);
    model_paths_release(&paths);
}

static void test_worked_example_callers(void)
{
    struct model_paths paths = tree_of(worked_example, WORKED_EXAMPLE, 1), callers;
    CU_ASSERT_EQUAL(model_paths_callers(&paths, letter('B'), &callers), 0);
    CU_ASSERT_STRING_EQUAL(tree_text(&callers), "A 0/5 AB 3/3 AC 0/2 ACB 2/2");
    model_paths_release(&callers);
    model_paths_release(&paths);
}

static void test_recursion_starts_at_the_outermost(void)
{
    static const char *const stacks[] = {"ABCB", "BB", "ACBAB"};
    struct model_paths paths = tree_of(stacks, 3, 1), callees, callers;
    CU_ASSERT_EQUAL(model_paths_callees(&paths, letter('B'), &callees), 0);
    CU_ASSERT_STRING_EQUAL(tree_text(&callees), "B 0/3 BC 0/1 BCB 1/1 BB 1/1 BA 0/1 BAB 1/1");
    CU_ASSERT_EQUAL(model_paths_callers(&paths, letter('B'), &callers), 0);
    CU_ASSERT_STRING_EQUAL(tree_text(&callers), "A 0/2 AB 1/1 B 1/1 AC 0/1 ACB 1/1");
    model_paths_release(&callers);
    model_paths_release(&callees);
    model_paths_release(&paths);
}

static void test_an_absent_function_gives_empty_trees(void)
{
    struct model_paths paths = tree_of(worked_example, WORKED_EXAMPLE, 1), callees, callers;
    CU_ASSERT_EQUAL(model_paths_callees(&paths, letter('Z'), &callees), 0);
    CU_ASSERT_EQUAL(callees.items.count, 0);
    CU_ASSERT_EQUAL(model_paths_callers(&paths, letter('Z'), &callers), 0);
    CU_ASSERT_EQUAL(callers.items.count, 0);
    model_paths_release(&callers);
    model_paths_release(&callees);
    model_paths_release(&paths);
}

static uint64_t inclusive_of(const struct model_paths *paths, const char *stack)
{
    uint32_t path = 0;
    for (const char *name = stack; *name; name++) {
        const uint64_t *id = sprof_map_get(&paths->index, (uint64_t)path << 32 | letter(*name));
        if (!id)
            return 0;
        path = (uint32_t)*id;
    }
    return paths->items.items[path - 1].costs.inclusive.weight;
}

/* Every stack, cut by hand at the first `function`, against the trees. */
static void check_random(const struct random_stacks *random, char function)
{
    struct model_paths paths = random_tree(random), callees, callers;
    CU_ASSERT_EQUAL(model_paths_callees(&paths, letter(function), &callees), 0);
    CU_ASSERT_EQUAL(model_paths_callers(&paths, letter(function), &callers), 0);
    uint64_t all = 0;
    for (size_t i = 0; i < random->count; i++) {
        const char *tail = strchr(random->stacks[i], function);
        if (!tail)
            continue;
        all += random->weights[i];
        char head[16] = "";
        memcpy(head, random->stacks[i], (size_t)(tail - random->stacks[i]) + 1);
        uint64_t with_tail = 0, with_head = 0;
        for (size_t k = 0; k < random->count; k++) {
            const char *other = strchr(random->stacks[k], function);
            if (other && !strncmp(other, tail, strlen(tail)))
                with_tail += random->weights[k];
            if (other && !strncmp(random->stacks[k], head, strlen(head)) &&
                other == random->stacks[k] + strlen(head) - 1)
                with_head += random->weights[k];
        }
        CU_ASSERT_EQUAL(inclusive_of(&callees, tail), with_tail);
        CU_ASSERT_EQUAL(inclusive_of(&callers, head), with_head);
    }
    CU_ASSERT_EQUAL(model_paths_total(&callees).weight, all);
    CU_ASSERT_EQUAL(model_paths_total(&callers).weight, all);
    model_paths_release(&callers);
    model_paths_release(&callees);
    model_paths_release(&paths);
}

static void test_random_stacks_against_cutting(void)
{
    for (unsigned seed = 100; seed < 120; seed++) {
        const struct random_stacks random = random_stacks_of(seed);
        check_random(&random, "ABS"[seed % 3]);
    }
}

void sprof_suite_model_butterfly(void);
void sprof_suite_model_butterfly(void)
{
    CU_pSuite suite = CU_add_suite("model/butterfly", NULL, NULL);
    CU_add_test(suite, "worked example: callees", test_worked_example_callees);
    CU_add_test(suite, "worked example: callers", test_worked_example_callers);
    CU_add_test(suite, "recursion starts at the outermost", test_recursion_starts_at_the_outermost);
    CU_add_test(suite, "an absent function gives empty trees",
                test_an_absent_function_gives_empty_trees);
    CU_add_test(suite, "random stacks against cutting", test_random_stacks_against_cutting);
}
