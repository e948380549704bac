#include "tests/unit/model/trees.h"

static uint64_t exclusive(const struct model_costs *costs, char function)
{
    return costs[letter(function) - 1].exclusive.samples;
}

static uint64_t inclusive(const struct model_costs *costs, char function)
{
    return costs[letter(function) - 1].inclusive.samples;
}

static void test_worked_example_functions(void)
{
    const struct model_functions functions = letter_functions();
    struct model_paths paths = tree_of(worked_example, WORKED_EXAMPLE, 1);
    struct model_costs costs[26] = {0};
    CU_ASSERT_EQUAL(model_function_costs(&paths, &functions, costs), 0);
    static const struct {
        char function;
        uint64_t exclusive, inclusive;
    } expected[] = {{'A', 1, 6}, {'B', 2, 5}, {'C', 0, 2}, {'S', 0, 3}, {'T', 3, 3}};
    for (int i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(exclusive(costs, expected[i].function), expected[i].exclusive);
        CU_ASSERT_EQUAL(inclusive(costs, expected[i].function), expected[i].inclusive);
    }
    model_paths_release(&paths);
}

static void test_worked_example_modules(void)
{
    const struct model_functions functions = letter_functions();
    struct model_paths paths = tree_of(worked_example, WORKED_EXAMPLE, 1);
    struct model_costs costs[2] = {0};
    CU_ASSERT_EQUAL(model_module_costs(&paths, &functions, costs, 2), 0);
    CU_ASSERT_EQUAL(costs[0].exclusive.samples, 3);
    CU_ASSERT_EQUAL(costs[1].exclusive.samples, 3);
    CU_ASSERT_EQUAL(costs[0].inclusive.samples, 6);
    CU_ASSERT_EQUAL(costs[1].inclusive.samples, 3);
    model_paths_release(&paths);
}

/* Foo 300, Bar 200 in one module, Moo 10 in another. */
static void test_second_example(void)
{
    const struct model_functions functions = letter_functions();
    struct model_paths paths = {0};
    model_paths_add(&paths, path_of(&paths, "A"), (struct model_cost){300, 300});
    model_paths_add(&paths, path_of(&paths, "B"), (struct model_cost){200, 200});
    model_paths_add(&paths, path_of(&paths, "S"), (struct model_cost){10, 10});
    model_paths_sum(&paths);
    struct model_costs costs[26] = {0}, modules[2] = {0};
    CU_ASSERT_EQUAL(model_function_costs(&paths, &functions, costs), 0);
    CU_ASSERT_EQUAL(model_module_costs(&paths, &functions, modules, 2), 0);
    CU_ASSERT_EQUAL(exclusive(costs, 'A'), 300);
    CU_ASSERT_EQUAL(exclusive(costs, 'B'), 200);
    CU_ASSERT_EQUAL(exclusive(costs, 'S'), 10);
    CU_ASSERT_EQUAL(modules[0].exclusive.samples, 500);
    CU_ASSERT_EQUAL(modules[1].exclusive.samples, 10);
    model_paths_release(&paths);
}

static void test_recursion_counts_once(void)
{
    static const char *const stacks[] = {"AAA", "ABAB", "BAB"};
    const struct model_functions functions = letter_functions();
    struct model_paths paths = tree_of(stacks, 3, 1);
    struct model_costs costs[26] = {0};
    CU_ASSERT_EQUAL(model_function_costs(&paths, &functions, costs), 0);
    CU_ASSERT_EQUAL(exclusive(costs, 'A'), 1);
    CU_ASSERT_EQUAL(inclusive(costs, 'A'), 3);
    CU_ASSERT_EQUAL(exclusive(costs, 'B'), 2);
    CU_ASSERT_EQUAL(inclusive(costs, 'B'), 2);
    struct model_edges edges;
    CU_ASSERT_EQUAL(model_edge_costs(&paths, &edges), 0);
    CU_ASSERT_EQUAL_FATAL(edges.items.count, 3);
    static const char expected[][3] = {"AA", "AB", "BA"};
    static const uint64_t samples[] = {1, 2, 2};
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(edges.items.items[i].caller, letter(expected[i][0]));
        CU_ASSERT_EQUAL(edges.items.items[i].callee, letter(expected[i][1]));
        CU_ASSERT_EQUAL(edges.items.items[i].cost.samples, samples[i]);
    }
    model_edges_release(&edges);
    model_paths_release(&paths);
}

static uint64_t weight_with(const struct random_stacks *random, const char *part)
{
    uint64_t weight = 0;
    for (size_t i = 0; i < random->count; i++)
        weight += strstr(random->stacks[i], part) ? random->weights[i] : 0;
    return weight;
}

static uint64_t weight_ending(const struct random_stacks *random, char function)
{
    uint64_t weight = 0;
    for (size_t i = 0; i < random->count; i++)
        weight +=
            random->stacks[i][strlen(random->stacks[i]) - 1] == function ? random->weights[i] : 0;
    return weight;
}

static void check_random(const struct random_stacks *random)
{
    const struct model_functions functions = letter_functions();
    struct model_paths paths = random_tree(random);
    struct model_costs costs[26] = {0}, modules[2] = {0};
    struct model_edges edges;
    CU_ASSERT_EQUAL(model_function_costs(&paths, &functions, costs), 0);
    CU_ASSERT_EQUAL(model_module_costs(&paths, &functions, modules, 2), 0);
    CU_ASSERT_EQUAL(model_edge_costs(&paths, &edges), 0);
    for (const char *name = "ABCDEST"; *name; name++) {
        const struct model_costs *cost = &costs[letter(*name) - 1];
        CU_ASSERT_EQUAL(cost->inclusive.weight, weight_with(random, (char[]){*name, 0}));
        CU_ASSERT_EQUAL(cost->exclusive.weight, weight_ending(random, *name));
    }
    for (size_t i = 0; i < edges.items.count; i++) {
        const struct model_edge *edge = &edges.items.items[i];
        const char call[] = {(char)('A' + edge->caller - 1), (char)('A' + edge->callee - 1), 0};
        CU_ASSERT_EQUAL(edge->cost.weight, weight_with(random, call));
    }
    uint64_t in_system = 0;
    for (size_t i = 0; i < random->count; i++)
        in_system += strpbrk(random->stacks[i], "ST") ? random->weights[i] : 0;
    CU_ASSERT_EQUAL(modules[1].inclusive.weight, in_system);
    CU_ASSERT_EQUAL(modules[1].exclusive.weight,
                    weight_ending(random, 'S') + weight_ending(random, 'T'));
    model_edges_release(&edges);
    model_paths_release(&paths);
}

static void test_random_stacks_against_counting(void)
{
    for (unsigned seed = 1; seed <= 50; seed++) {
        const struct random_stacks random = random_stacks_of(seed);
        check_random(&random);
    }
}

static void test_ten_thousand_levels(void)
{
    enum { LEVELS = 10000, ROUNDS = 20 };
    const struct model_functions functions = letter_functions();
    struct model_paths paths = {0};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t path = 0;
        for (uint32_t level = 0; level < LEVELS; level++) {
            CU_ASSERT_EQUAL_FATAL(
                model_paths_child(&paths, path, 1 + (level < round ? 1 : level % 3), &path), 0);
            model_paths_add(&paths, path, (struct model_cost){1, 1});
        }
    }
    model_paths_sum(&paths);
    struct model_costs costs[26] = {0};
    CU_ASSERT_EQUAL(model_function_costs(&paths, &functions, costs), 0);
    CU_ASSERT_EQUAL(model_paths_total(&paths).samples, LEVELS * ROUNDS);
    /* Round 0 begins with function 1, round 1 with function 2 and comes to 2, 3, 1 in turn. */
    CU_ASSERT_TRUE(costs[1].inclusive.samples <= LEVELS * ROUNDS);
    CU_ASSERT_EQUAL(costs[0].exclusive.samples + costs[1].exclusive.samples +
                        costs[2].exclusive.samples,
                    LEVELS * ROUNDS);
    struct model_edges edges;
    CU_ASSERT_EQUAL(model_edge_costs(&paths, &edges), 0);
    CU_ASSERT_TRUE(edges.items.count >= 3);
    model_edges_release(&edges);
    model_paths_release(&paths);
}

static void test_an_empty_tree(void)
{
    const struct model_functions functions = letter_functions();
    struct model_paths paths = {0};
    struct model_costs costs[26] = {0};
    struct model_edges edges;
    CU_ASSERT_EQUAL(model_function_costs(&paths, &functions, costs), 0);
    CU_ASSERT_EQUAL(model_edge_costs(&paths, &edges), 0);
    CU_ASSERT_EQUAL(edges.items.count, 0);
    model_edges_release(&edges);
}

void sprof_suite_model_costs(void);
void sprof_suite_model_costs(void)
{
    CU_pSuite suite = CU_add_suite("model/costs", NULL, NULL);
    CU_add_test(suite, "worked example: functions", test_worked_example_functions);
    CU_add_test(suite, "worked example: modules", test_worked_example_modules);
    CU_add_test(suite, "300, 200 and 10 samples", test_second_example);
    CU_add_test(suite, "recursion counts once", test_recursion_counts_once);
    CU_add_test(suite, "random stacks against counting", test_random_stacks_against_counting);
    CU_add_test(suite, "ten thousand levels", test_ten_thousand_levels);
    CU_add_test(suite, "an empty tree", test_an_empty_tree);
}
