#include "report/function_search.h"
#include "tests/unit/report/datasets.h"

static void test_bare_names(void)
{
    static const char *const cases[][2] = {
        {"main", "main"},
        {"void a::b<int>::c(int) const", "a::b::c"},
        {"std::vector<std::pair<int, long>>::push_back(int const&)", "std::vector::push_back"},
        {"f(int, char**)", "f"},
        {"(anonymous namespace)::helper(int)", "(anonymous namespace)::helper"},
        {"unsigned long sum<unsigned long>(unsigned long const*, int)", "sum"},
        {"operator<<(std::ostream&, Point const&)", "operator<<"},
        {"Fn::operator()(int) const", "Fn::operator()"},
        {"<alloc::vec::Vec<T> as core::ops::Drop>::drop",
         "<alloc::vec::Vec as core::ops::Drop>::drop"},
        {"core::ptr::drop_in_place", "core::ptr::drop_in_place"},
        {"libz.so+0x1234", "libz.so+0x1234"},
        {"shop::price(Order const&)::{lambda(double)#1}::operator()(double) const",
         "shop::price()::{lambda(double)#1}::operator()"},
        {"bool a::b<int>(int) const &::{lambda()#2}::operator()() const",
         "a::b()::{lambda()#2}::operator()"},
        {"f(void (*)(int))", "f"},
        {"f(int", "f"},
        {"a::{lambda(int", "a::{lambda(int"},
        {"(", "("},
        {"a<", "a"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sprof_str out = {0};
        CU_ASSERT_EQUAL(report_function_bare_name(&out, cases[i][0]), 0);
        same_text(out.text, cases[i][1]);
        sprof_str_release(&out);
    }
}

/* Each bracket is read once: of a name as long as a file allows this must end soon. */
static void test_a_name_of_open_brackets(void)
{
    enum { BYTES = 1 << 20 };
    static const char *const starts[][2] = {{"a<", "a"}, {"a<(", "a"}, {"(", "("}};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        struct sprof_str name = {0}, out = {0};
        sprof_str_append(&name, starts[i][0]);
        while (name.length < BYTES)
            sprof_str_append_bytes(&name, i == 2 ? "((((((((" : "{{{{{{{{", 8);
        CU_ASSERT_EQUAL(report_function_bare_name(&out, name.text), 0);
        same_text(out.text, starts[i][1]);
        sprof_str_release(&name);
        sprof_str_release(&out);
    }
}

enum { PUSH_INT = 1, PUSH_CHAR, MAIN, HELPER, HELPER_TWIN, OTHER_MAIN };

static struct report_dataset example(void)
{
    struct report_dataset dataset = {0};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    const uint32_t lib = add_module(&dataset, "lib.so", MODEL_KIND_SYSTEM);
    CU_ASSERT_EQUAL(add_function(&dataset, app, "v<int>::push(int)"), PUSH_INT);
    add_function(&dataset, app, "v<char>::push(char)");
    add_function(&dataset, app, "main");
    add_function(&dataset, app, "helper");
    add_function(&dataset, app, "helper");
    add_function(&dataset, lib, "main");
    add_function(&dataset, lib, "absent");
    const uint32_t root = add_path(&dataset, 0, MAIN, 1);
    add_path(&dataset, root, PUSH_INT, 2);
    add_path(&dataset, root, PUSH_CHAR, 3);
    add_path(&dataset, root, HELPER, 4);
    add_path(&dataset, root, HELPER_TWIN, 5);
    add_path(&dataset, 0, OTHER_MAIN, 6);
    dataset.functions.items[PUSH_INT - 1].linkage_name = "_ZN1vIiE4pushEi";
    finish_dataset(&dataset);
    return dataset;
}

/* The function found, or 0 with the message in *error. */
static uint32_t find(struct report_dataset *dataset, const char *wanted, struct sprof_error *error)
{
    struct report_function_set set;
    *error = (struct sprof_error){0};
    const int result = report_function_search(dataset, wanted, &set, error);
    const uint32_t function = result ? 0 : set.items[0];
    sprof_vec_release(&set);
    return function;
}

static void test_ways_to_name_a_function(void)
{
    struct report_dataset dataset = example();
    struct sprof_error error;
    CU_ASSERT_EQUAL(find(&dataset, "v<int>::push(int)", &error), PUSH_INT);
    CU_ASSERT_EQUAL(find(&dataset, "_ZN1vIiE4pushEi", &error), PUSH_INT);
    CU_ASSERT_EQUAL(find(&dataset, "app!main", &error), MAIN);
    CU_ASSERT_EQUAL(find(&dataset, "lib.so!main", &error), OTHER_MAIN);
    report_dataset_release(&dataset);
}

/* The name of a function is not that of lambdas in it. */
static void test_lambdas(void)
{
    struct report_dataset dataset = {0};
    struct sprof_error error;
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    const uint32_t price = add_function(&dataset, app, "shop::price(Order const&)");
    const uint32_t lambda = add_function(
        &dataset, app, "shop::price(Order const&)::{lambda(double)#1}::operator()(double) const");
    add_path(&dataset, add_path(&dataset, 0, price, 1), lambda, 1);
    finish_dataset(&dataset);
    CU_ASSERT_EQUAL(find(&dataset, "shop::price", &error), price);
    CU_ASSERT_EQUAL(find(&dataset, "price", &error), price);
    CU_ASSERT_EQUAL(find(&dataset, "app!shop::price", &error), price);
    CU_ASSERT_EQUAL(find(&dataset, "shop::price()::λ(double)", &error), lambda);
    report_dataset_release(&dataset);
}

/* Compilers append to the names of copies and parts, which nobody types. */
static void test_copies_and_parts(void)
{
    enum { HEAP = 1, HEAP_PART, SORTED, GO, LONE };
    struct report_dataset dataset = {0};
    struct sprof_error error;
    struct report_function_set set;
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    static const char *const names[] = {"heap.constprop.0", "heap.part.0.cold",
                                        "a::sort(int) [clone .isra.0]", "main.partition", "lone"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        add_path(&dataset, 0, add_function(&dataset, app, names[i]), 1);
    add_path(&dataset, 0, add_function(&dataset, app, "lone.cold"), 1);
    finish_dataset(&dataset);
    CU_ASSERT_EQUAL(report_function_search(&dataset, "heap", &set, &error), 0);
    CU_ASSERT_EQUAL(set.count, 2);
    sprof_vec_release(&set);
    CU_ASSERT_EQUAL(find(&dataset, "heap.part.0.cold", &error), HEAP_PART);
    CU_ASSERT_EQUAL(find(&dataset, "a::sort(int)", &error), SORTED);
    CU_ASSERT_EQUAL(find(&dataset, "a::sort", &error), SORTED);
    CU_ASSERT_EQUAL(find(&dataset, "main.partition", &error), GO);
    CU_ASSERT_EQUAL(find(&dataset, "main", &error), 0);
    CU_ASSERT_EQUAL(report_function_search(&dataset, "lone", &set, &error), 0);
    CU_ASSERT_EQUAL(set.count, 1); /* what is called so is meant, not its part */
    CU_ASSERT_EQUAL(set.items[0], LONE);
    sprof_vec_release(&set);
    CU_ASSERT_EQUAL(find(&dataset, "haep", &error), 0);
    CU_ASSERT(strstr(error.message, "haep") != NULL);
    report_dataset_release(&dataset);
}

static void test_several_are_listed(void)
{
    struct report_dataset dataset = example();
    struct sprof_error error;
    CU_ASSERT_EQUAL(find(&dataset, "v::push", &error), 0);
    CU_ASSERT_EQUAL(error.code, SPROF_EUSAGE);
    same_text(error.message, "2 functions are called 'v::push'; choose: "
                             "'app!v<int>::push', 'app!v<char>::push'");
    CU_ASSERT_EQUAL(find(&dataset, "push", &error), 0);
    CU_ASSERT_EQUAL(error.code, SPROF_EUSAGE);
    CU_ASSERT_EQUAL(find(&dataset, "main", &error), 0);
    same_text(error.message, "2 functions are called 'main'; choose: 'app!main', 'lib.so!main'");
    report_dataset_release(&dataset);
}

static void test_twins_become_one(void)
{
    struct report_dataset dataset = example();
    struct report_function_set set;
    struct table table = {0};
    CU_ASSERT_EQUAL(report_function_search(&dataset, "helper", &set, NULL), 0);
    CU_ASSERT_EQUAL(set.count, 2);
    CU_ASSERT_EQUAL(set.items[0], HELPER);
    CU_ASSERT_EQUAL(report_table_of_callees(&table, &dataset,
                                            &(struct report_table_options){.function = "helper"},
                                            NULL),
                    0);
    CU_ASSERT_EQUAL(report_table_rows(&table), 1);
    CU_ASSERT_EQUAL(report_table_cell(&table, 0, 0)->count, 9);
    CU_ASSERT_EQUAL(model_paths_total(&dataset.paths).samples, 21);
    CU_ASSERT_EQUAL(dataset.paths.items.count, 6);
    report_table_release(&table);
    sprof_vec_release(&set);
    report_dataset_release(&dataset);
}

/* Runs of one recording may be of several builds; programs of one name in two places are two. */
static void test_builds_of_one_file_become_one(void)
{
    enum { FIRST = 1, SECOND };
    struct report_dataset dataset = {0};
    struct report_function_set set;
    struct sprof_error error;
    add_function(&dataset, add_module(&dataset, "lib.so", MODEL_KIND_APP), "work");
    add_function(&dataset, add_module(&dataset, "lib.so", MODEL_KIND_APP), "work");
    add_path(&dataset, 0, FIRST, 1);
    add_path(&dataset, 0, SECOND, 2);
    finish_dataset(&dataset);
    dataset.modules.items[0].path = dataset.modules.items[1].path = "/here/lib.so";
    CU_ASSERT_EQUAL(report_function_search(&dataset, "work", &set, NULL), 0);
    CU_ASSERT_EQUAL(set.count, 2);
    sprof_vec_release(&set);
    dataset.modules.items[1].path = "/there/lib.so";
    CU_ASSERT_EQUAL(find(&dataset, "work", &error), 0);
    same_text(error.message, "2 functions are called 'work'; choose: '/here/lib.so!work', "
                             "'/there/lib.so!work'");
    CU_ASSERT_EQUAL(find(&dataset, "/there/lib.so!work", &error), SECOND);
    report_dataset_release(&dataset);
}

static void test_unknown_names_offer_what_is_near(void)
{
    struct report_dataset dataset = example();
    struct sprof_error error;
    CU_ASSERT_EQUAL(find(&dataset, "halper", &error), 0);
    CU_ASSERT_EQUAL(error.code, SPROF_ENOTFOUND);
    same_text(error.message, "no sample contains a function 'halper'; near it: helper");
    CU_ASSERT_EQUAL(find(&dataset, "absent", &error), 0);
    same_text(error.message, "no sample contains a function 'absent'");
    CU_ASSERT_EQUAL(find(&dataset, "nowhere!main", &error), 0);
    CU_ASSERT_EQUAL(error.code, SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NULL(strstr(error.message, "in the name"));
    report_dataset_release(&dataset);
}

/* Of a line or file the message says which functions are there. */
static void test_places(void)
{
    struct report_dataset dataset = example();
    struct report_function *functions = dataset.functions.items;
    struct sprof_error error;
    functions[MAIN - 1].file = functions[HELPER - 1].file = "/src/shop.cpp";
    functions[HELPER - 1].line = 10;
    functions[MAIN - 1].line = 30;
    functions[OTHER_MAIN - 1].file = "/src/workshop.cpp";
    CU_ASSERT_EQUAL(find(&dataset, "shop.cpp:25", &error), 0);
    CU_ASSERT_EQUAL(error.code, SPROF_ENOTFOUND);
    same_text(error.message, "'shop.cpp:25' is a line, and a function is wanted: 'helper' begins "
                             "above it; `sprof report --by line` lists the lines of all");
    find(&dataset, "/src/shop.cpp:30", &error);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "'main' begins above it"));
    find(&dataset, "src/shop.cpp", &error);
    same_text(error.message, "'src/shop.cpp' is a file, and a function is wanted: 'main', 'helper' "
                             "are in it; `sprof report --by line` lists the lines of all");
    find(&dataset, "workshop.cpp", &error);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "'main' is in it"));
    find(&dataset, "shop.cpp:5", &error);
    same_text(error.message, "no sample contains a function 'shop.cpp:5'");
    find(&dataset, ":5", &error);
    same_text(error.message, "no sample contains a function ':5'");
    report_dataset_release(&dataset);
}

/* What only parts of names are is looked for by --peek, where no character of it means another. */
static void test_parts_of_names(void)
{
    struct report_dataset dataset = example();
    struct sprof_error error;
    CU_ASSERT_EQUAL(find(&dataset, "elpe", &error), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "; 2 functions have it in the name: `sprof report "
                                                 "-i FILE --peek elpe` shows callers and callees "
                                                 "of all"));
    dataset.recording = "shop.db";
    CU_ASSERT_EQUAL(find(&dataset, "elpe", &error), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "`sprof report -i shop.db --peek elpe`"));
    add_path(&dataset, 0, add_function(&dataset, 1, "Map::operator[]"), 1);
    CU_ASSERT_EQUAL(find(&dataset, "or[]", &error), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "; 1 function has it in the name"));
    CU_ASSERT_PTR_NULL(strstr(error.message, "--peek"));
    CU_ASSERT_EQUAL(find(&dataset, "lib.so!mai", &error), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "; 1 function has it in the name"));
    CU_ASSERT_PTR_NULL(strstr(error.message, "--peek"));
    report_dataset_release(&dataset);
}

void sprof_suite_report_function_search(void);
void sprof_suite_report_function_search(void)
{
    CU_pSuite suite = CU_add_suite("report/function_search", NULL, NULL);
    CU_add_test(suite, "bare names", test_bare_names);
    CU_add_test(suite, "a name of open brackets", test_a_name_of_open_brackets);
    CU_add_test(suite, "ways to name a function", test_ways_to_name_a_function);
    CU_add_test(suite, "lambdas", test_lambdas);
    CU_add_test(suite, "copies and parts", test_copies_and_parts);
    CU_add_test(suite, "several are listed", test_several_are_listed);
    CU_add_test(suite, "twins become one", test_twins_become_one);
    CU_add_test(suite, "builds of one file become one", test_builds_of_one_file_become_one);
    CU_add_test(suite, "unknown names offer what is near", test_unknown_names_offer_what_is_near);
    CU_add_test(suite, "lines and files", test_places);
    CU_add_test(suite, "parts of names", test_parts_of_names);
}
