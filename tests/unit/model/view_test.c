#include "tests/unit/model/trees.h"

/* 'Y' stands for "[outside the application]", 'Z' for "[not sampled]". */
static struct model_view view_of(enum model_mode mode, bool frame_app, bool drop_interior)
{
    return (struct model_view){mode, frame_app, drop_interior, letter('Y'), letter('Z')};
}

static void check(const char *const *stacks, size_t count, struct model_view view,
                  const char *expected)
{
    const struct model_functions functions = letter_functions();
    struct model_paths full = tree_of(stacks, count, 1), out;
    CU_ASSERT_EQUAL(model_paths_view(&full, &functions, &view, &out), 0);
    CU_ASSERT_STRING_EQUAL(tree_text(&out), expected);
    model_paths_release(&out);
    model_paths_release(&full);
}

static void test_worked_example(void)
{
    check(worked_example, WORKED_EXAMPLE, view_of(MODEL_MODE_APP, false, false),
          "A 1/6 AB 3/3 AC 0/2 ACB 2/2");
    check(worked_example, WORKED_EXAMPLE, view_of(MODEL_MODE_PC, false, false),
          "A 1/1 B 2/2 T 3/3");
    check(worked_example, WORKED_EXAMPLE, view_of(MODEL_MODE_PC, true, false), "A 1/1 B 5/5");
    check(worked_example, WORKED_EXAMPLE, view_of(MODEL_MODE_FULL, false, false),
          "A 1/6 AB 1/3 ABS 0/2 ABST 2/2 AC 0/2 ACB 1/2 ACBS 0/1 ACBST 1/1");
}

static void test_interior_frames_stay_or_go(void)
{
    static const char *const stacks[] = {"SASBT", "SATT", "SASTB", "ASTS"};
    check(stacks, 4, view_of(MODEL_MODE_APP, false, false),
          "A 2/4 AS 0/2 ASB 1/1 AST 0/1 ASTB 1/1");
    check(stacks, 4, view_of(MODEL_MODE_APP, false, true), "A 2/4 AB 2/2");
}

static void test_outside_the_application(void)
{
    static const char *const stacks[] = {"ST", "S", "AS"};
    check(stacks, 3, view_of(MODEL_MODE_APP, false, false), "Y 2/2 A 1/1");
    check(stacks, 3, view_of(MODEL_MODE_PC, true, false), "Y 2/2 A 1/1");
}

static void test_what_was_not_sampled_stays_so(void)
{
    const struct model_functions functions = letter_functions();
    const struct model_view views[] = {view_of(MODEL_MODE_APP, false, false),
                                       view_of(MODEL_MODE_PC, true, false),
                                       view_of(MODEL_MODE_PC, false, false)};
    for (int i = 0; i < 3; i++) {
        struct model_paths full = {0}, out;
        model_paths_add(&full, path_of(&full, "Z"), (struct model_cost){0, 77});
        model_paths_add(&full, path_of(&full, "A"), (struct model_cost){1, 1});
        model_paths_sum(&full);
        CU_ASSERT_EQUAL(model_paths_view(&full, &functions, &views[i], &out), 0);
        CU_ASSERT_STRING_EQUAL(tree_text(&out), "Z 0/0 A 1/1");
        CU_ASSERT_EQUAL(out.items.items[0].costs.exclusive.weight, 77);
        model_paths_release(&out);
        model_paths_release(&full);
    }
}

static void test_startup_functions_are_never_application(void)
{
    static struct model_function items[26];
    const struct model_functions letters = letter_functions();
    memcpy(items, letters.items, sizeof items);
    items[letter('R') - 1].startup = true; /* _start, in the program itself */
    items[letter('J') - 1].kind = MODEL_KIND_JIT;
    const struct model_functions functions = {items, 26};
    CU_ASSERT_FALSE(model_function_is_app(&functions, letter('R')));
    CU_ASSERT_TRUE(model_function_is_app(&functions, letter('J')));
    static const char *const stacks[] = {"RSAB", "RSAJS", "R"};
    struct model_paths full = tree_of(stacks, 3, 1), out;
    const struct model_view view = view_of(MODEL_MODE_APP, false, false);
    CU_ASSERT_EQUAL(model_paths_view(&full, &functions, &view, &out), 0);
    CU_ASSERT_STRING_EQUAL(tree_text(&out), "Y 1/1 A 0/2 AB 1/1 AJ 1/1");
    model_paths_release(&out);
    model_paths_release(&full);
}

/* The same by cutting each stack with model_view_cut. */
static struct model_paths naive(const struct random_stacks *random, const struct model_view *view)
{
    struct model_paths paths = {0};
    for (size_t i = 0; i < random->count; i++) {
        const char *stack = random->stacks[i];
        const size_t count = strlen(stack);
        bool is_app[16];
        for (size_t k = 0; k < count; k++)
            is_app[k] = stack[k] < 'S';
        char kept[16] = "Y";
        size_t first = 0, last = 0, length = 0;
        if (model_view_cut(view, is_app, count, &first, &last)) {
            for (size_t k = first; k <= last && length + 1 < sizeof kept; k++)
                if (!view->drop_interior || is_app[k])
                    kept[length++] = stack[k];
            kept[length] = '\0';
        }
        model_paths_add(&paths, path_of(&paths, kept), (struct model_cost){1, random->weights[i]});
    }
    model_paths_sum(&paths);
    return paths;
}

static void check_same(const struct model_paths *a, const struct model_paths *b)
{
    /* Ids may differ in order: walk a's paths in b. */
    uint32_t *there = calloc(a->items.count + 1, sizeof *there);
    CU_ASSERT_EQUAL(a->items.count, b->items.count);
    for (size_t i = 0; i < a->items.count; i++) {
        const struct model_path *path = &a->items.items[i];
        const uint64_t *id =
            sprof_map_get(&b->index, (uint64_t)there[path->parent] << 32 | path->function);
        CU_ASSERT_PTR_NOT_NULL_FATAL(id);
        there[path->id] = (uint32_t)*id;
        CU_ASSERT_EQUAL(memcmp(&path->costs, &b->items.items[*id - 1].costs, sizeof path->costs),
                        0);
    }
    free(there);
}

static void test_random_stacks_against_cutting(void)
{
    const struct model_functions functions = letter_functions();
    const struct model_view views[] = {
        view_of(MODEL_MODE_FULL, false, false), view_of(MODEL_MODE_PC, false, false),
        view_of(MODEL_MODE_PC, true, false), view_of(MODEL_MODE_APP, false, false),
        view_of(MODEL_MODE_APP, false, true)};
    for (unsigned seed = 200; seed < 230; seed++) {
        const struct random_stacks random = random_stacks_of(seed);
        struct model_paths full = random_tree(&random);
        for (int i = 0; i < 5; i++) {
            struct model_paths out, expected = naive(&random, &views[i]);
            CU_ASSERT_EQUAL(model_paths_view(&full, &functions, &views[i], &out), 0);
            check_same(&out, &expected);
            model_paths_release(&expected);
            model_paths_release(&out);
        }
        model_paths_release(&full);
    }
}

static void test_cut(void)
{
    const bool none[] = {false, false}, middle[] = {false, true, false, true, false};
    size_t first = 9, last = 9;
    struct model_view view = view_of(MODEL_MODE_APP, false, false);
    CU_ASSERT_FALSE(model_view_cut(&view, none, 2, &first, &last));
    CU_ASSERT_FALSE(model_view_cut(&view, none, 0, &first, &last));
    CU_ASSERT_TRUE(model_view_cut(&view, middle, 5, &first, &last));
    CU_ASSERT_TRUE(first == 1 && last == 3);
    view = view_of(MODEL_MODE_PC, true, false);
    CU_ASSERT_TRUE(model_view_cut(&view, middle, 5, &first, &last));
    CU_ASSERT_TRUE(first == 3 && last == 3);
    view = view_of(MODEL_MODE_PC, false, false);
    CU_ASSERT_TRUE(model_view_cut(&view, none, 2, &first, &last));
    CU_ASSERT_TRUE(first == 1 && last == 1);
    view = view_of(MODEL_MODE_FULL, false, false);
    CU_ASSERT_TRUE(model_view_cut(&view, none, 2, &first, &last));
    CU_ASSERT_TRUE(first == 0 && last == 1);
}

void sprof_suite_model_view(void);
void sprof_suite_model_view(void)
{
    CU_pSuite suite = CU_add_suite("model/view", NULL, NULL);
    CU_add_test(suite, "worked example", test_worked_example);
    CU_add_test(suite, "interior frames stay or go", test_interior_frames_stay_or_go);
    CU_add_test(suite, "outside the application", test_outside_the_application);
    CU_add_test(suite, "what was not sampled stays so", test_what_was_not_sampled_stays_so);
    CU_add_test(suite, "start-up functions are never application",
                test_startup_functions_are_never_application);
    CU_add_test(suite, "random stacks against cutting", test_random_stacks_against_cutting);
    CU_add_test(suite, "cut", test_cut);
}
