/* Parts and copies of functions are found by their names, and count for their function. */
#include "report/split_functions.h"
#include "tests/unit/report/datasets.h"

static void test_suffixes(void)
{
    static const struct {
        const char *name, *base;
        unsigned called_parts;
    } cases[] = {
        {"f", "f", 0},
        {"f.cold", "f", 0},
        {"f.cold.0", "f", 0},
        {"f.cold.1", "f", 1},
        {"f.part.0", "f", 1},
        {"f.part.12.cold", "f", 1},
        {"f.__part.1", "f", 0},
        {"f.constprop.0.isra.3", "f", 0},
        {"f.part.0.constprop.1", "f", 1},
        {"f.part.0.part.1", "f", 2},
        {"f.llvm.1234567890123456789", "f", 0},
        {"f.lto_priv.0.cold", "f", 0},
        {"f(int) [clone .cold]", "f(int)", 0},
        {"f(int) [clone .part.0] [clone .cold]", "f(int)", 1},
        {"f(int) [clone .isra.0.part.1]", "f(int)", 1},
        {"f(int) [clone .avx2]", "f(int) [clone .avx2]", 0},
        {"f(int) [clone ]", "f(int) [clone ]", 0},
        {"f(int) [clone .0]", "f(int) [clone .0]", 0},
        {"f.part", "f.part", 0}, /* a function of a package, or of a module */
        {"f.partition.0", "f.partition.0", 0},
        {"f.constprop.0x", "f.constprop.0x", 0},
        {"f.0", "f.0", 0},
        {".cold", ".cold", 0},
        {"cold", "cold", 0},
        {"]", "]", 0},
        {"", "", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned called = 9;
        const size_t length = report_split_base(cases[i].name, &called);
        CU_ASSERT_EQUAL(length, strlen(cases[i].base));
        CU_ASSERT_EQUAL(called, cases[i].called_parts);
        if (length != strlen(cases[i].base) || called != cases[i].called_parts)
            fprintf(stderr, "\n%s: %zu characters, %u called\n", cases[i].name, length, called);
    }
}

/* Adds a function with code at `start`, declared where `file` and `line` say; returns its number.
 */
static uint32_t add(struct report_dataset *dataset, uint32_t module, const char *name,
                    uint64_t start, const char *file, uint32_t line)
{
    const uint32_t number = add_function(dataset, module, name);
    struct report_function *function = &dataset->functions.items[number - 1];
    function->start = start;
    function->size = 16;
    function->file = file;
    function->line = line;
    function->named = true;
    return number;
}

static uint32_t owner(const struct report_dataset *dataset, uint32_t function)
{
    return dataset->functions.items[function - 1].owner;
}

static const char *name(const struct report_dataset *dataset, uint32_t function)
{
    return dataset->functions.items[function - 1].name;
}

static void test_parts_find_their_function(void)
{
    struct report_dataset dataset = {0};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    const uint32_t lib = add_module(&dataset, "lib.so", MODEL_KIND_SYSTEM);
    const uint32_t cold = add(&dataset, app, "f.cold", 0x10, NULL, 0);
    const uint32_t f = add(&dataset, app, "f", 0x20, NULL, 0);
    const uint32_t part = add(&dataset, app, "f.part.0", 0x30, NULL, 0);
    const uint32_t elsewhere = add(&dataset, lib, "f.cold", 0x10, NULL, 0);
    const uint32_t copy = add(&dataset, lib, "f.constprop.0", 0x30, NULL, 0);
    dataset.functions.items[f - 1].linkage_name = "f";
    CU_ASSERT_EQUAL(report_split_functions_join(&dataset), 0);
    CU_ASSERT_EQUAL(owner(&dataset, cold), f);
    CU_ASSERT_EQUAL(owner(&dataset, part), f);
    CU_ASSERT_EQUAL(owner(&dataset, f), 0);
    same_text(name(&dataset, part), "f.part.0");
    CU_ASSERT(report_dataset_is_called_part(&dataset, part, f));
    CU_ASSERT(report_dataset_is_called_part(&dataset, part, cold));
    CU_ASSERT(!report_dataset_is_called_part(&dataset, cold, f)); /* a recursive call's jump */
    CU_ASSERT(!report_dataset_is_called_part(&dataset, f, part)); /* a recursive call */
    CU_ASSERT(!report_dataset_is_called_part(&dataset, part, part));
    /* In the library the function itself was never sampled. */
    CU_ASSERT_EQUAL(owner(&dataset, elsewhere), 0);
    same_text(name(&dataset, elsewhere), "f");
    same_text(dataset.functions.items[elsewhere - 1].part, "f.cold");
    CU_ASSERT_EQUAL(owner(&dataset, copy), elsewhere);
    report_dataset_release(&dataset);
}

static void test_functions_of_one_name(void)
{
    struct report_dataset dataset = {0};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    const uint32_t lib = add_module(&dataset, "lib.so", MODEL_KIND_SYSTEM);
    const uint32_t first = add(&dataset, app, "f", 0x10, "a.c", 3);
    const uint32_t second = add(&dataset, app, "f", 0x20, "b.c", 3);
    const uint32_t of_second = add(&dataset, app, "f.cold", 0x30, "b.c", 3);
    const uint32_t of_first = add(&dataset, app, "f.cold", 0x40, "a.c", 3);
    const uint32_t of_none = add(&dataset, app, "f.part.0", 0x50, "c.c", 3);
    const uint32_t unknown = add(&dataset, app, "f.isra.0", 0x60, NULL, 0);
    add(&dataset, lib, "g", 0x10, NULL, 0);
    const uint32_t twin = add(&dataset, lib, "g.cold", 0x20, NULL, 0);
    const uint32_t other_twin = add(&dataset, lib, "g.cold", 0x30, NULL, 0);
    CU_ASSERT_EQUAL(report_split_functions_join(&dataset), 0);
    CU_ASSERT_EQUAL(owner(&dataset, of_second), second);
    CU_ASSERT_EQUAL(owner(&dataset, of_first), first);
    CU_ASSERT_EQUAL(owner(&dataset, of_none), 0);
    same_text(name(&dataset, of_none), "f");
    CU_ASSERT_EQUAL(owner(&dataset, unknown), 0);
    /* They have the name that each would have alone, and count for none. */
    same_text(name(&dataset, unknown), "f");
    same_text(dataset.functions.items[unknown - 1].part, "f.isra.0");
    CU_ASSERT_EQUAL(owner(&dataset, twin), 0);
    CU_ASSERT_EQUAL(owner(&dataset, other_twin), 0);
    same_text(name(&dataset, twin), "g");
    same_text(name(&dataset, other_twin), "g");
    report_dataset_release(&dataset);
}

/* Two units have a static function of one name, and a part of it each, which its function called.
 */
static void test_parts_that_their_callers_tell_apart(void)
{
    struct report_dataset dataset = {0};
    const uint32_t kernel = add_module(&dataset, "[kernel]", MODEL_KIND_KERNEL);
    const uint32_t f = add(&dataset, kernel, "f", 0x10, NULL, 0);
    const uint32_t other = add(&dataset, kernel, "f", 0x20, NULL, 0);
    const uint32_t elsewhere =
        add(&dataset, add_module(&dataset, "app", MODEL_KIND_APP), "f", 0x10, NULL, 0);
    const uint32_t part = add(&dataset, kernel, "f.part.0", 0x30, NULL, 0);
    const uint32_t other_part = add(&dataset, kernel, "f.part.0", 0x40, NULL, 0);
    const uint32_t g = add(&dataset, kernel, "g", 0x50, NULL, 0);
    CU_ASSERT_EQUAL(report_split_functions_join(&dataset), 0);
    CU_ASSERT_EQUAL(owner(&dataset, part), 0);
    CU_ASSERT(report_dataset_is_called_part(&dataset, part, f));
    CU_ASSERT(report_dataset_is_called_part(&dataset, other_part, other));
    CU_ASSERT(!report_dataset_is_called_part(&dataset, part, g));
    CU_ASSERT(!report_dataset_is_called_part(&dataset, part, elsewhere));
    CU_ASSERT(!report_dataset_is_called_part(&dataset, part, other_part));
    report_dataset_release(&dataset);
}

static void test_constructors(void)
{
    struct report_dataset dataset = {0};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    const uint32_t base = add(&dataset, app, "A::A()", 0x10, "a.cc", 3);
    const uint32_t whole = add(&dataset, app, "A::A()", 0x20, "a.cc", 3);
    const uint32_t part = add(&dataset, app, "A::A() [clone .cold]", 0x30, "a.cc", 3);
    dataset.functions.items[base - 1].linkage_name = "_ZN1AC2Ev";
    dataset.functions.items[whole - 1].linkage_name = "_ZN1AC1Ev";
    dataset.functions.items[part - 1].linkage_name = "_ZN1AC1Ev.cold";
    CU_ASSERT_EQUAL(report_split_functions_join(&dataset), 0);
    CU_ASSERT_EQUAL(owner(&dataset, part), whole);
    report_dataset_release(&dataset);
}

static void test_names_with_dots_of_their_own(void)
{
    struct report_dataset dataset = {0};
    const uint32_t go = add_module(&dataset, "server", MODEL_KIND_APP);
    const uint32_t jit = add_module(&dataset, "[jit]", MODEL_KIND_JIT);
    const uint32_t imported = add_module(&dataset, "[unknown]", MODEL_KIND_APP);
    const uint32_t cold = add(&dataset, go, "main.cold", 0x10, NULL, 0);
    const uint32_t placed = add(&dataset, go, "main.part.1", 0x20, "/src/main.go", 9);
    const uint32_t in_c = add(&dataset, go, "helper.cold", 0x30, "/src/helper.c", 9);
    const uint32_t compiled = add(&dataset, jit, "main.cold", 0x10, NULL, 0);
    const uint32_t lone = add_function(&dataset, imported, "list.cold");
    add(&dataset, go, "main", 0x80, "/src/cgo.c", 9);
    add(&dataset, go, "runtime.main", 0x40, NULL, 0);
    CU_ASSERT_EQUAL(report_split_functions_join(&dataset), 0);
    same_text(name(&dataset, cold), "main.cold");
    CU_ASSERT_EQUAL(owner(&dataset, cold), 0);
    CU_ASSERT_EQUAL(owner(&dataset, placed), 0);
    same_text(name(&dataset, in_c), "helper");
    same_text(name(&dataset, compiled), "main.cold");
    same_text(name(&dataset, lone), "list.cold"); /* whatever wrote it */
    report_dataset_release(&dataset);
}

void sprof_suite_report_split_functions(void);
void sprof_suite_report_split_functions(void)
{
    CU_pSuite suite = CU_add_suite("report/split_functions", NULL, NULL);
    CU_add_test(suite, "suffixes", test_suffixes);
    CU_add_test(suite, "parts find their function", test_parts_find_their_function);
    CU_add_test(suite, "functions of one name", test_functions_of_one_name);
    CU_add_test(suite, "parts that their callers tell apart",
                test_parts_that_their_callers_tell_apart);
    CU_add_test(suite, "constructors", test_constructors);
    CU_add_test(suite, "names with dots of their own", test_names_with_dots_of_their_own);
}
